//! Why a copy is carried out as it is, in words for people.

use std::convert::Infallible;

use devarray::copy::{Class, Plan};

use super::{Addresses, Launch, MemorySpeed, select};

/// How the copy of `plan` between the allocations at `dst` and `src` is carried out on a device with such memory, and why, line by line.
///
/// Pure: the kernels are chosen from the arguments alone, so no device is needed to ask.
#[must_use]
pub fn explain_copy(memory: MemorySpeed, plan: &Plan, dst: u64, src: u64) -> Vec<String> {
    match plan.class() {
        Class::Empty => return vec!["nothing to copy".to_owned()],
        Class::Linear => {
            return vec![
                "the driver's device-to-device copy".to_owned(),
                "why: both sides are contiguous".to_owned(),
            ];
        }
        _ => {}
    }
    let (mut lines, mut launches) = (Vec::new(), 0);
    // The launches of a large copy differ only in where they begin, and the last in how far it reaches.
    let each = |launch: &Launch| {
        if launches == 0 {
            lines.push(format!("kernel {}", launch.explain()));
            lines.push(format!("vectors: {}", vectors(launch)));
            lines.push(format!("why: {}", why(launch)));
        }
        launches += 1;
        Ok::<(), Infallible>(())
    };
    let Ok(()) = select(memory, plan, Addresses { dst, src }, each);
    if launches > 1 {
        lines.push(format!("the first of {launches} launches of at most 1 GiB"));
    }
    lines
}

fn name(launch: &Launch) -> &str {
    launch.kernel.name.to_str().unwrap_or_default()
}

/// How wide memory is accessed.
fn vectors(launch: &Launch) -> String {
    let name = name(launch);
    let width = name.rsplit('_').next().and_then(|digits| digits.parse::<u32>().ok());
    match (name, width) {
        (_, Some(width)) if name.starts_with("gather") => format!("{width} B loaded, {width} B stored"),
        (_, Some(width)) if ["rows_stride", "rows_repeat"].iter().any(|kind| name.starts_with(kind)) => {
            format!("{width} B loaded, 16 B stored")
        }
        ("tile_pairs_8" | "tile_pairs_skewed_8" | "tile_pairs_wrapped_8", _) => {
            "16 B loaded, 8 B stored".to_owned()
        }
        ("tile_pairs_4" | "tile_pairs_skewed_4" | "tile_pairs_wrapped_4", _) => {
            "16 B loaded, 4 B stored".to_owned()
        }
        ("tile_scatter", _) => "16 B loaded, single elements stored".to_owned(),
        _ => "16 B loaded, 16 B stored".to_owned(),
    }
}

/// What about the plan led to the kernel.
fn why(launch: &Launch) -> &'static str {
    let name = name(launch);
    let starts = |prefix: &str| name.starts_with(prefix);
    match name {
        "rows_aligned" => "both sides run along the same axis, every row from a multiple of 16 B to another",
        "rows_again" => {
            "both sides run along the same axis, every row from a multiple of 16 B to another, and rows of the source \
             come back: only writing counts"
        }
        "rows_realign" => {
            "both sides run along the same axis, but rows start at different places of 16 B: two aligned loads are \
             shifted into each store"
        }
        "rows_join" => {
            "both sides run along the same axis, and short rows follow each other in the destination: joined, so that \
             stores are whole"
        }
        "tile_linear" | "tile_pairs" => {
            "the sides run along different axes, so tiles turn round in shared memory; every run starts at a multiple \
             of 16 B, its elements one step apart"
        }
        "tile_linear_held" | "tile_pairs_held" => {
            "the sides run along different axes, so tiles turn round in shared memory; every run starts at a multiple \
             of 16 B, its elements one step apart; so much streams through that whole lines are held in the cache until read"
        }
        "tile_pairs_8" | "tile_pairs_4" => {
            "the sides run along different axes, so tiles turn round in shared memory; runs start at multiples of 8 or 4 B, \
             and so do the source's rows: elements of neighbouring runs are fetched together"
        }
        "tile_pairs_skewed" | "tile_pairs_skewed_8" | "tile_pairs_skewed_4" => {
            "the sides run along different axes, so tiles turn round in shared memory; elements of neighbouring runs are fetched \
             together, and tiles overlap so that each run is stored from one sector of memory to another"
        }
        "tile_linear_shifted" => {
            "the sides run along different axes, so tiles turn round in shared memory; runs start anywhere, their \
             elements one step apart"
        }
        "tile_periodic" | "tile_periodic_shifted" => {
            "the sides run along different axes, so tiles turn round in shared memory; one run goes over all rows of a tile and then \
             along them"
        }
        "tile_table" => {
            "the sides run along different axes, so tiles turn round in shared memory; a table finds the elements of \
             runs over several axes"
        }
        "tile_table_shifted" | "tile_table_shifted_wide" => {
            "the sides run along different axes, so tiles turn round in shared memory; runs start anywhere, and a table \
             finds their elements"
        }
        "tile_pairs_wrapped" | "tile_pairs_wrapped_8" | "tile_pairs_wrapped_4" => {
            "the sides run along different axes, so tiles turn round in shared memory; elements of neighbouring runs are fetched \
             together, and runs go on over the ends of an axis, which lie within sectors of memory"
        }
        "tile_linear_shifted_wrapped" | "tile_table_shifted_wrapped" | "tile_table_shifted_wide_wrapped" => {
            "the sides run along different axes, so tiles turn round in shared memory; runs start anywhere, and go on over the \
             ends of an axis, which lie within sectors of memory"
        }
        "tile_split_2" | "tile_split_3" | "tile_split_4" => {
            "elements of a few runs take turns in the source: vectors of them are picked apart in registers"
        }
        "tile_scatter" => "the source has dense rows, but elements of the destination lie apart",
        _ if starts("rows_reverse") => "the source runs backwards along the axis of the destination",
        _ if starts("rows_repeat") => {
            "the source repeats along the axis of the destination: only writing counts"
        }
        _ if starts("rows_stride") => {
            "the source skips along the axis of the destination and has no faster axis: elements are picked \
             into whole stores"
        }
        _ => "pieces are too short, or too far apart, for rows and tiles",
    }
}

#[cfg(test)]
mod tests {
    use devarray::{Layout, backend::Capabilities};

    use super::*;

    fn explained(shape: &[usize], dst: &[isize], src: &[isize], width: usize) -> String {
        let layout = |strides| Layout::new(shape, strides, 0).unwrap();
        let plan = Plan::new(&layout(dst), &layout(src), width, &Capabilities::default()).unwrap();
        explain_copy(MemorySpeed::default(), &plan, 0, 1 << 40).join("\n")
    }

    #[test]
    fn each_family_says_why() {
        for (shape, dst, src, width, parts) in [
            (&[64, 64][..], &[64, 1][..], &[64, 1][..], 4, &["driver", "contiguous"][..]),
            (&[512, 512], &[512, 1], &[1024, 1], 4, &["rows_aligned", "multiple of 16 B"]),
            (&[512, 511], &[511, 1], &[1023, 1], 4, &["rows_", "same axis"]),
            (&[512, 512], &[512, 1], &[1, 512], 4, &["tile_4:tile_pairs", "16 B loaded", "different axes"]),
            (
                &[200, 200],
                &[200, 1],
                &[1, 200],
                1,
                &["tile_1:tile_pairs_8", "8 B stored", "fetched together"],
            ),
            (&[8192, 4096], &[4096, 1], &[1, 8192], 4, &["tile_4:tile_pairs_held", "held in the cache"]),
            // Runs over two axes: words of 16 bytes and of 8, and elements that start anywhere.
            (
                &[304, 312, 312],
                &[312 * 312, 312, 1],
                &[1, 304, 304 * 312],
                1,
                &[
                    "tile_1:tile_pairs_wrapped ",
                    "over the ends of 312 steps",
                    "16 B stored",
                    "ends of an axis",
                ],
            ),
            (
                &[304, 302, 308],
                &[308 * 302, 308, 1],
                &[1, 304, 304 * 302],
                1,
                &[
                    "tile_1:tile_pairs_wrapped_8",
                    "over the ends of 308 steps",
                    "8 B stored",
                    "ends of an axis",
                ],
            ),
            (
                &[301, 313, 313],
                &[313 * 313, 313, 1],
                &[1, 301, 301 * 313],
                2,
                &["tile_2:tile_table_shifted_wrapped", "start anywhere", "ends of an axis"],
            ),
            (
                &[313, 313, 313],
                &[313 * 313, 313, 1],
                &[1, 313, 313 * 313],
                1,
                &["tile_1:tile_linear_shifted_wrapped", "words turned by 1 a run and 0 a vector"],
            ),
            // All rows, of which the first ends in a sector.
            (
                &[64009, 253],
                &[253, 1],
                &[1, 64009],
                1,
                &[
                    "tile_1:tile_periodic_shifted",
                    "253 rows of 80 B",
                    "in periods of 253",
                    "all rows of a tile",
                ],
            ),
            (&[8192, 4096], &[4096, 1], &[8192, 1], 4, &["rows_aligned", "held in the cache until read"]),
            (&[8192, 4096], &[4096, 1], &[0, 1], 4, &["rows_again", "only writing counts"]),
            (&[512, 512], &[512, 1], &[1024, 2], 2, &["rows_stride_2", "2 B loaded, 16 B stored", "picked"]),
            (&[4096, 3], &[3, 1], &[512, 1], 4, &["gather_4", "4 B stored", "too short"]),
        ] {
            let text = explained(shape, dst, src, width);
            assert!(parts.iter().all(|part| text.contains(part)), "{parts:?}: {text}");
        }
    }

    #[test]
    fn large_copies_say_how_many_launches() {
        let text = explained(&[1 << 16, 1 << 15], &[1 << 15, 1], &[1, 1 << 16], 4);
        assert!(text.contains("the first of 8 launches"), "{text}");
        assert_eq!(explained(&[0, 2], &[2, 1], &[1, 1], 4), "nothing to copy");
    }
}
