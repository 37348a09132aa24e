//! Tests that the pages list every option of the device, and every code.
#![allow(clippy::unwrap_used)] // helpers of tests

const BUILDER: &str = include_str!("../../src/device/builder.rs");
const CODES: &str = include_str!("../../src/finding/code.rs");
const README: &str = include_str!("../../README.md");
const SIMULATOR: &str = include_str!("../../SIMULATOR.md");

/// Lists the public methods of the builder that take and return it, except hidden ones.
fn options(source: &str) -> Vec<&str> {
    let mut options = Vec::new();
    let mut is_hidden = false;
    for line in source.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("pub fn ") {
            let (name, rest) = rest.split_once('(').unwrap();
            if rest.starts_with("mut self") && !is_hidden {
                options.push(name);
            }
        }
        is_hidden =
            line == "#[doc(hidden)]" || (is_hidden && (line.starts_with("///") || line.starts_with('#')));
    }
    options.sort_unstable();
    options
}

/// Lists the options in the first column of the table under "Options".
fn listed(page: &str) -> Vec<&str> {
    let rows = page.split("\n## Options\n\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut listed: Vec<&str> = rows
        .lines()
        .filter_map(|row| {
            let (name, link) = row.strip_prefix("| [`")?.split_once("`](Builder::")?;
            assert!(link.starts_with(&format!("{name}) | ")), "{row}");
            Some(name)
        })
        .collect();
    listed.sort_unstable();
    listed
}

#[test]
fn the_table_of_options_lists_each_option_of_the_builder() {
    let options = options(BUILDER);
    assert!(options.contains(&"judge") && options.len() > 12, "{options:?}");
    assert!(!options.contains(&"forgets_waits"), "it is hidden");
    assert_eq!(listed(README), options);
}

/// The twin: a new option and a missing row are both noticed.
#[test]
fn an_option_that_is_not_listed_is_seen() {
    let more = format!("{BUILDER}\nimpl Builder {{\n    pub fn novel(mut self, novel: bool) -> Self {{\n");
    assert_eq!(options(&more).len(), options(BUILDER).len() + 1);
    let without: Vec<&str> = README.lines().filter(|line| !line.starts_with("| [`seed`]")).collect();
    assert_eq!(listed(&without.join("\n")).len(), listed(README).len() - 1);
}

#[test]
fn the_table_of_findings_lists_each_code() {
    let numbers = CODES.lines().filter_map(|line| {
        let (_, number) = line.trim().strip_prefix("Self::")?.split_once(" => ")?;
        number.strip_suffix(',')?.parse::<u8>().ok()
    });
    let mut numbers: Vec<u8> = numbers.collect();
    numbers.sort_unstable();
    assert!(numbers.len() > 20, "{numbers:?}");
    let row = |line: &str| line.strip_prefix("| DA")?.split_once(" | ")?.0.parse::<u8>().ok();
    assert_eq!(SIMULATOR.lines().filter_map(row).collect::<Vec<_>>(), numbers);
}
