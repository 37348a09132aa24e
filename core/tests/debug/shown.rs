//! `{:?}` of a value of every public type of a package: short.

use std::{collections::BTreeSet, fmt::Debug, fs, path::Path};

/// The most characters for an ordinary value.
const MOST: usize = 200;

/// The types whose values were shown.
#[derive(Default)]
pub(crate) struct Shown(BTreeSet<String>);

impl Shown {
    /// Shows a value of the type with this name.
    pub(crate) fn add(&mut self, name: &str, value: &dyn Debug) {
        let text = format!("{value:?}");
        let length = text.chars().count();
        assert!(length <= MOST, "{name}: {length} characters: {text}");
        assert!(!text.is_empty(), "{name}");
        self.0.insert(name.to_owned());
    }

    /// Notes types whose values cannot be made here.
    #[allow(dead_code, reason = "not every package has such")]
    pub(crate) fn is_shown_elsewhere<const N: usize>(&mut self, names: [&str; N]) {
        self.0.extend(names.map(str::to_owned));
    }

    /// Checks that no public type in the source folders was left out.
    pub(crate) fn are_all_of<const N: usize>(self, sources: [&str; N]) {
        let mut declared = BTreeSet::new();
        for source in sources {
            collect(source.as_ref(), &mut declared);
        }
        let missing: Vec<_> = declared.difference(&self.0).collect();
        assert!(missing.is_empty(), "public types of which no value is shown here: {missing:?}");
        let unknown: Vec<_> = self.0.difference(&declared).collect();
        assert!(unknown.is_empty(), "shown, and no public type: {unknown:?}");
    }
}

/// The names that are declared `pub` in a folder.
fn collect(folder: &Path, declared: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("a file of it").path();
        if path.is_dir() {
            collect(&path, declared);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("a source");
            let mut hidden = false;
            for line in text.lines().map(str::trim_start) {
                declared.extend(name(line).filter(|_| !hidden).map(str::to_owned));
                hidden = line == "#[doc(hidden)]" || hidden && line.starts_with(['#', '/']);
            }
        }
    }
}

fn name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ")?;
    let rest = ["struct ", "enum ", "union "].iter().find_map(|kind| line.strip_prefix(kind))?;
    rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}
