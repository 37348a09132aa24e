//! A failure of a program, and the clause that it breaks.

use std::fmt;

pub(super) const ORDER: &str =
    "S1 to S8: a read gives what the calls before it wrote, in the order of the calls";
pub(super) const SUCCEEDS: &str = "a legal call succeeds";
pub(super) const REFUSED: &str = "only a strict stream refuses a call";
pub(super) const BACKGROUND: &str = "nothing fails in the background";
pub(super) const ALIVE: &str = "nothing stays alive that was dropped";
const PANICS: &str = "no call panics";
pub(super) const ZEROED: &str = "pinned memory is zeroed";

/// The failure that a program showed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The clause that does not hold.
    pub clause: &'static str,
    /// The operation that showed it, counted from 0; the number of operations if it showed at the
    /// end.
    pub operation: usize,
    /// The expected value.
    pub expected: String,
    /// The value found instead.
    pub found: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clause, operation, expected, found } = self;
        write!(f, "{clause}\nexpected: {expected}\nfound:    {found}, at operation {operation}")
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// A call panicked.
    pub(super) fn panic(operation: usize, text: &str) -> Self {
        Self { clause: PANICS, operation, expected: "a result".into(), found: text.to_owned() }
    }

    pub(super) fn unexpected(
        clause: &'static str,
        operation: usize,
        expected: &str,
        found: impl fmt::Display,
    ) -> Self {
        Self { clause, operation, expected: expected.to_owned(), found: found.to_string() }
    }
}
