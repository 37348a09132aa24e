//! The manual's statements about this suite are true: every law that it names exists, every clause
//! of the contract names one, and the backend that it explains is the one that keeps the laws.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use devarray_conformance::all;
use devarray_mock::MockDevice;

const CONTRACT: &str = "backend/stream.rs";
const ORDER: &str = "manual/streams_and_order.md";

/// The codes of laws, by full name.
fn registry() -> BTreeMap<String, &'static str> {
    all::<MockDevice>().iter().map(|law| (law.full_name(), law.code)).collect()
}

fn core(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src").join(path)
}

fn text(path: &str) -> String {
    prose(&fs::read_to_string(core(path)).expect("the sources of core lie beside this package"))
}

/// The text without the marks of doc comments, and without fenced code.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().map(|line| line.trim_start_matches("///").trim_start_matches("//!"));
    let kept = lines.filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    kept.map(|line| format!("{line}\n")).collect()
}

/// The laws that a text names, each with the code that follows in parentheses.
fn cited(text: &str, registry: &BTreeMap<String, &str>) -> Vec<(String, Option<String>)> {
    let groups: BTreeSet<_> = registry.keys().filter_map(|name| name.split("::").next()).collect();
    let pieces: Vec<_> = text.split('`').collect();
    let spans = pieces.iter().enumerate().skip(1).step_by(2);
    let laws = spans.filter(|(_, span)| {
        span.split_once("::").is_some_and(|(group, name)| {
            groups.contains(group) && name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
        })
    });
    laws.map(|(at, name)| {
        let behind = pieces.get(at + 1).and_then(|rest| rest.strip_prefix(" (")?.split_once(')'));
        ((*name).to_owned(), behind.map(|(code, _)| code.to_owned()))
    })
    .collect()
}

/// The mistakes about laws in a text.
fn complaints(text: &str, registry: &BTreeMap<String, &str>) -> Vec<String> {
    let wrong = |(name, code): (String, Option<String>)| match registry.get(&name) {
        None => Some(format!("no law is called {name}")),
        Some(due) if code.as_deref() != Some(*due) => {
            Some(format!("{name} is {due}, and not {}", code.unwrap_or_default()))
        }
        Some(_) => None,
    };
    cited(text, registry).into_iter().filter_map(wrong).collect()
}

/// The laws for each clause of a text: for each item that begins with a bold letter and number.
fn clauses(text: &str, registry: &BTreeMap<String, &str>) -> BTreeMap<(char, usize), BTreeSet<String>> {
    let items = text.split("\n\n").flat_map(|paragraph| paragraph.split("- **").skip(1));
    let numbered = items.filter_map(|item| {
        let (label, rest) = item.split_once("**")?;
        let letter = label.chars().next()?;
        let number = label[1..].parse().ok()?;
        Some(((letter, number), cited(rest, registry).into_iter().map(|(name, _)| name).collect()))
    });
    numbered.collect()
}

#[test]
fn every_law_that_is_named_exists() {
    let registry = registry();
    let mut files: Vec<_> =
        ["backend", "manual"].iter().flat_map(|folder| fs::read_dir(core(folder)).unwrap()).collect();
    files.extend(fs::read_dir(core("..")).unwrap());
    let mut named = 0;
    for file in files.into_iter().map(|file| file.unwrap().path()).filter(|path| path.is_file()) {
        let text = prose(&fs::read_to_string(&file).unwrap());
        named += cited(&text, &registry).len();
        assert_eq!(complaints(&text, &registry), [""; 0], "{}", file.display());
    }
    assert!(named > 40, "{named} laws are named: the contract is not read");
}

#[test]
fn every_clause_names_a_law_and_both_places_name_the_same() {
    let registry = registry();
    let (contract, manual) = (clauses(&text(CONTRACT), &registry), clauses(&text(ORDER), &registry));
    assert_eq!(contract.keys().copied().collect::<Vec<_>>(), (1..=8).map(|n| ('S', n)).collect::<Vec<_>>());
    for (clause, laws) in &contract {
        assert_eq!(manual.get(clause), Some(laws), "the laws of clause {clause:?}");
    }
    let own = manual.keys().filter(|(letter, _)| *letter == 'O').map(|(_, number)| *number);
    let own: Vec<_> = own.collect();
    assert_eq!(own, (1..=own.len()).collect::<Vec<_>>());
    let without: Vec<_> = manual.iter().filter(|(_, laws)| laws.is_empty()).collect();
    assert!(without.is_empty() && own.len() > 8, "clauses without a law: {without:?}; own: {own:?}");
}

#[test]
fn a_law_that_does_not_exist_is_noticed() {
    let registry = registry();
    let text = "- **S1** holds. `streams::fifo` (S01)\n- **S2** does not: `streams::lifo` (S02), `events::idle` (E99)";
    assert_eq!(
        complaints(text, &registry),
        ["no law is called streams::lifo", "events::idle is E01, and not E99"]
    );
    assert_eq!(clauses(text, &registry).len(), 2);
    assert_eq!(complaints("[`copies::Plan`], `streams` and `streams::fifo` (S01)", &registry), [""; 0]);
}

#[test]
fn the_backend_that_is_explained_is_the_one_that_keeps_the_laws() {
    let page = fs::read_to_string(core("manual/write_a_backend.md")).unwrap();
    // Without the lines that break it; from the line that runs the suite, only the part that the
    // page shows.
    let backend = include_str!("../template/src/host.rs");
    let is_right = |line: &&str| !line.contains("cfg!(feature = \"broken-");
    let backend: String = backend.split_inclusive('\n').filter(is_right).collect();
    let backend = backend + include_str!("../template/tests/suite.rs");
    let quoted: Vec<_> =
        page.split("```rust,ignore\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(quoted.len() > 4, "the page quotes {} pieces", quoted.len());
    for piece in quoted {
        assert!(backend.contains(piece), "not in the backend:\n{piece}");
    }
}
