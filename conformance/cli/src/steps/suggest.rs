//! Suggests the step that the user of an unknown name meant.

/// Every step.
const NAMES: [&str; 11] = [
    "index",
    "permute",
    "flip",
    "squeeze",
    "broadcast",
    "reshape",
    "ravel",
    "copy",
    "split",
    "array_split",
    "split_at",
];

/// Names of steps in other libraries.
const OTHER_NAMES: [(&str, &str); 14] = [
    ("transpose", "permute"),
    ("permute_dims", "permute"),
    ("swapaxes", "permute"),
    ("swap_axes", "permute"),
    ("moveaxis", "permute"),
    ("t", "permute"),
    ("slice", "index"),
    ("broadcast_to", "broadcast"),
    ("expand", "broadcast"),
    ("flatten", "ravel"),
    ("view", "reshape"),
    ("contiguous", "copy"),
    ("ascontiguousarray", "copy"),
    ("reverse", "flip"),
];

/// The step for another library's name, or for a misspelt name.
pub(super) fn suggest(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    let known = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, step)| *step);
    known.or_else(|| {
        let near = NAMES.iter().map(|step| (distance(&name, step), *step));
        near.filter(|&(distance, step)| distance <= step.len() / 3).min().map(|(_, step)| step)
    })
}

/// The number of letters to insert, remove or change.
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().take(32).collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (i, letter) in one.chars().take(32).enumerate() {
        let mut above = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in two.iter().enumerate() {
            let changed = above + usize::from(letter != *other);
            above = row[j + 1];
            row[j + 1] = changed.min(above + 1).min(row[j] + 1);
        }
    }
    row[two.len()]
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn names_of_other_libraries_and_slips_are_known() {
        for (name, step) in [
            ("transpose", Some("permute")),
            ("T", Some("permute")),
            ("permut", Some("permute")),
            ("reshpae", Some("reshape")),
            ("split_a", Some("split_at")),
            ("flatten", Some("ravel")),
            ("bend", None),
            ("", None),
        ] {
            assert_eq!(suggest(name), step, "{name}");
        }
    }
}
