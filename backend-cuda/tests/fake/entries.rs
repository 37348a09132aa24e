//! Modules of several functions on the fake, which knows texts of one.

use std::fmt::Write as _;

use super::strata_of::module::{CONSTANTS, ENTRY, SHARED, joined};

/// The texts of a module, by the names of its entries.
pub(crate) fn entries(module: &str) -> Vec<(String, String)> {
    if module.contains(".entry map_") { parted(module) } else { vec![("map".to_owned(), module.to_owned())] }
}

/// The texts that a module was joined from, by the names of their entries.
fn parted(module: &str) -> Vec<(String, String)> {
    let at = [".const", ".extern", ".visible"].iter().filter_map(|begin| module.find(begin)).min();
    let (head, _) = module.split_at(at.unwrap_or(0));
    let mut all = Vec::new();
    for part in module.split(".visible .entry ").skip(1) {
        let (own, rest) = part.split_once('(').expect("an entry has a parameter");
        let number = own.strip_prefix("map_").expect("entries are numbered");
        // Behind the body stand the constants of the next one.
        let body = &rest[..rest.find("\n}\n").expect("a body ends") + 3];
        let mut text = head.to_owned();
        if let Some((_, list)) = module.split_once(&format!(".const .align 8 .f64 constants_{number}[")) {
            let line = list.lines().next().unwrap_or_default();
            let _ = writeln!(text, "{CONSTANTS}{line}");
        }
        if body.contains(", kept;") {
            text.push_str(SHARED);
        }
        text.push_str(ENTRY);
        text.push_str(&body.replace(&format!("[constants_{number}+"), "[constants+"));
        all.push((own.to_owned(), text));
    }
    all
}

/// Modules of many entries hold each text as it was.
pub(crate) fn assert_parted(texts: &[String]) {
    let module = joined(texts.iter().enumerate().map(|(at, text)| (at, text.as_str())));
    let again = entries(&module);
    assert_eq!(again.len(), texts.len());
    for ((name, again), (at, text)) in again.iter().zip(texts.iter().enumerate()) {
        assert_eq!((name.as_str(), again.as_str()), (format!("map_{at}").as_str(), text.as_str()));
    }
}
