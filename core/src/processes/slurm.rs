//! Slurm's lists of hosts.

/// The first host of a list: `node[007-009,12],other` begins with `node007`.
pub(super) fn first_host(list: &str) -> Option<String> {
    let mut host = String::new();
    let mut rest = list.trim();
    loop {
        let end = rest.find(['[', ',']).unwrap_or(rest.len());
        host.push_str(&rest[..end]);
        let Some(ranges) = rest[end..].strip_prefix('[') else { break };
        let (ranges, behind) = ranges.split_once(']')?;
        let first = ranges.split([',', '-']).next()?;
        host.push_str(first);
        rest = behind;
    }
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | ':');
    (!host.is_empty() && host.chars().all(is_name)).then_some(host)
}

/// A port for a job, the same for all its ranks: others of the machine have other numbers, most likely.
pub(super) fn port(job: u64, step: u64) -> u16 {
    const FIRST: u16 = 20_000;
    const COUNT: u64 = 12_000;
    let at = (job % COUNT + step % COUNT * 97) % COUNT;
    FIRST + u16::try_from(at).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_host_of_a_list() {
        for (list, first) in [
            ("node1", Some("node1")),
            ("node[007-009,12],other", Some("node007")),
            ("gpu-a[3,5-6]", Some("gpu-a3")),
            ("r[1-2]n[04-08].cluster", Some("r1n04.cluster")),
            ("a,b", Some("a")),
            ("10.0.0.7,10.0.0.8", Some("10.0.0.7")),
            ("", None),
            ("[", None),
            ("node[1-2", None),
            ("no de", None),
        ] {
            assert_eq!(first_host(list).as_deref(), first, "{list}");
        }
    }

    #[test]
    fn ports_are_in_their_range() {
        for job in [0, 1, 11_999, 12_000, u64::MAX] {
            assert!((20_000..32_000).contains(&port(job, job)));
        }
        assert_ne!(port(7, 0), port(7, 1), "steps of a job");
    }
}
