//! Prints a program as a test, and the finding of a search as a text that begins with everything
//! that is needed to repeat it.

use std::fmt;

use super::{
    drawn::Drawn,
    op::{Op, Program},
    search::Found,
};
use crate::Violation;

/// Prints the program as a test; `device()` is the call that opens a device, as in the suite.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, ("check", ""))
    }
}

impl Program {
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, (check, extras): (&str, &str)) -> fmt::Result {
        writeln!(f, "#[test] fn smallest_program() {{ use devarray_conformance::{{Harness, programs::*}};")?;
        writeln!(f, "    Program::new(Item::{:?}, {}, &[", self.item, self.streams)?;
        for op in &self.ops {
            writeln!(f, "        Op::{},", qualified(op))?;
        }
        let threads = if self.threads > 1 { format!(".on_threads({})", self.threads) } else { String::new() };
        write!(f, "    ]){threads}.{check}(&Harness::new(|| device()){extras}).unwrap() }}")
    }
}

/// Prints like `Debug`, with the full names of enum variants.
fn qualified(op: &Op) -> String {
    let mut text = format!("{op:?}");
    for (of, names) in [
        (
            "Transform",
            &["Whole", "Swap(", "Permute(", "Flip(", "Cut {", "Index(", "NewAxis(", "Section("][..],
        ),
        ("Start", &["Zeros", "Full", "Uploaded,", "UploadedF", "Uninit"]),
        ("End", &["Waited", "Polled", "Dropped"]),
        ("Away", &["Here", "Deferred", "Elsewhere"]),
        ("Formula", &["Sum", "Product", "Maximum", "Fold"]),
        ("Ordered", &["Ascending", "Descending", "Positions", "Top", "Bottom"]),
        ("Combined", &["Added", "Least", "Most"]),
    ] {
        for name in names {
            text = text.replace(&format!(" {name}"), &format!(" {of}::{name}"));
            text = text.replace(&format!("[{name}"), &format!("[{of}::{name}"));
        }
    }
    text
}

impl<P: Drawn> fmt::Display for Found<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, seed, case, drawn_ops, failure, .. } = self;
        let len = self.program.len();
        writeln!(f, "{law}, seed {seed}, program {case}, {len} of {drawn_ops} operations: {failure}")?;
        writeln!(f, "again: {}", self.again)?;
        self.program.write(f, self.check)
    }
}

impl<P: Drawn> fmt::Debug for Found<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Found");
        shown.field("clause", &self.failure.clause).field("ops", &self.program.len());
        shown.field("seed", &self.seed).field("case", &self.case).finish_non_exhaustive()
    }
}

impl<P: Drawn> std::error::Error for Found<P> {}

impl<P: Drawn> From<Box<Found<P>>> for Violation {
    fn from(found: Box<Found<P>>) -> Self {
        Self::new(found.to_string())
    }
}
