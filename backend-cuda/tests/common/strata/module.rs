//! Texts of functions as one module of many entries, and mistakes planted in a text.

use std::fmt::Write as _;

pub(crate) const ENTRY: &str = ".visible .entry map(";
pub(crate) const CONSTANTS: &str = ".const .align 8 .f64 constants[";
pub(crate) const SHARED: &str = ".extern .shared .align 16 .b8 kept[];\n";

/// The name of an entry in a module.
pub(crate) fn name(number: usize) -> String {
    format!("map_{number}")
}

/// Whether a text is of a function.
pub(crate) fn is_function(text: &str) -> bool {
    text.contains(ENTRY)
}

/// Bytes of a function's parameter.
pub(crate) fn parameter_bytes(text: &str) -> Option<usize> {
    text.split_once(".b8 p[")?.1.split_once(']')?.0.parse().ok()
}

/// One text with an entry for each of these, which are numbered.
pub(crate) fn joined<'t>(texts: impl Iterator<Item = (usize, &'t str)>) -> String {
    let (mut head, mut shared, mut rest) = (String::new(), "", String::new());
    for (number, text) in texts {
        let at = text.find(ENTRY).expect("the text of a function");
        let (declared, entry) = text.split_at(at);
        let mut own_head = String::new();
        for line in declared.lines() {
            if let Some(constants) = line.strip_prefix(CONSTANTS) {
                let _ = writeln!(rest, ".const .align 8 .f64 constants_{number}[{constants}");
            } else if SHARED.trim_end() == line {
                shared = SHARED;
            } else {
                own_head.push_str(line);
                own_head.push('\n');
            }
        }
        assert!(head.is_empty() || head == own_head, "texts of one module begin alike: {own_head}");
        head = own_head;
        let entry = entry.replacen(ENTRY, &format!(".visible .entry {}(", name(number)), 1);
        rest.push_str(&entry.replace("[constants+", &format!("[constants_{number}+")));
    }
    format!("{head}{shared}{rest}")
}

/// Returns the same text with one operation on truth values replaced by another, the last that does not
/// decide which addresses are touched; `None` if there is none.
pub(crate) fn with_mistake(text: &str) -> Option<String> {
    const OPERATIONS: [(&str, &str); 6] = [
        ("or.pred ", "and.pred "),
        ("and.pred ", "or.pred "),
        ("or.b32 ", "and.b32 "),
        ("xor.pred ", "or.pred "),
        ("xor.b32 ", "or.b32 "),
        ("selp.b32 ", "selp.b32 "),
    ];
    let lines: Vec<&str> = text.lines().collect();
    let decides = |at: usize| lines.get(at + 1).is_none_or(|next| next.trim_start().starts_with('@'));
    let found = (0..lines.len()).rev().filter(|&at| !decides(at)).find_map(|at| {
        let operation = OPERATIONS.iter().find(|(right, _)| lines[at].trim_start().starts_with(right))?;
        Some((at, operation))
    });
    let (at, &(right, wrong)) = found?;
    let line =
        if right == wrong { lines[at].replace("1, 0", "0, 1") } else { lines[at].replacen(right, wrong, 1) };
    let mut all: Vec<&str> = lines.clone();
    all[at] = &line;
    let changed = all.join("\n") + "\n";
    (changed != text).then_some(changed)
}
