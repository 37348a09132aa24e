//! Totals and scans.

/// The form of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "complete by nature")]
pub enum ReduceForm {
    /// One element for all of them.
    Total,
    /// One for each element: the combination of it and all before it.
    Inclusive,
    /// One for each element: the combination of all before it.
    Exclusive,
}
