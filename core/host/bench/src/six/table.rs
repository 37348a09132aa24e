//! Prints the table of all programs.

use std::{env, fs};

/// The measurements of one program.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The way in which the results agree.
    pub(crate) agreement: &'static str,
    /// The times of devarray and of ndarray.
    pub(crate) seconds: [f64; 2],
    /// The text of the file that has both sides.
    pub(crate) source: &'static str,
    /// The markers at which the sides begin.
    pub(crate) markers: [&'static str; 2],
}

/// The markers of a file with one program.
pub(crate) const MARKERS: [&str; 2] = ["// devarray", "// ndarray"];

pub(crate) fn print(rows: &[Row], threads: usize) {
    println!("{}, {threads} thread{}\n", cpu(), if threads == 1 { "" } else { "s" });
    println!("| program | results | devarray s | ndarray s | ratio | devarray lines | ndarray lines |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for Row { name, agreement, seconds: [ours, theirs], source, markers } in rows {
        let ratio = theirs / ours;
        let [our_lines, their_lines] = markers.map(|marker| lines_of_code(source, marker));
        println!(
            "| {name} | {agreement} | {ours:.4} | {theirs:.4} | {ratio:.2} | {our_lines} | {their_lines} |"
        );
    }
    let product: f64 = rows.iter().map(|Row { seconds: [ours, theirs], .. }| theirs / ours).product();
    println!("| geometric mean | | | | {:.2} | | |", product.powf(1.0 / rows.len() as f64));
}

/// Counts the lines from a marker to the next one, without blank lines and comments.
fn lines_of_code(source: &str, marker: &str) -> usize {
    let is_marker =
        |line: &str| line.starts_with("// devarray") || line.starts_with("// ndarray") || line == "// end";
    let side = source.lines().skip_while(|&line| line != marker).skip(1).take_while(|&line| !is_marker(line));
    side.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

fn cpu() -> String {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = about.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    name.unwrap_or(env::consts::ARCH).to_owned()
}
