//! The forms of totals and scans.

/// The form of the result of a combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "complete by nature")]
pub enum ReduceForm {
    /// One element for all of them.
    Total,
    /// One result for each element: its combination with all elements before it.
    Inclusive,
    /// One result for each element: the combination of all elements before it.
    Exclusive,
}
