//! The result of a call that may copy.

/// The result of a reshape that may copy: a view of the same memory, or a new array.
#[derive(Debug)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "complete by nature: it was copied or it was not")]
pub enum Reshaped<V, A> {
    /// A view of the same elements.
    View(V),
    /// A new array with copies of them.
    Copied(A),
}

impl<V, A> Reshaped<V, A> {
    /// Whether the elements were copied.
    pub fn is_copied(&self) -> bool {
        matches!(self, Self::Copied(_))
    }
}
