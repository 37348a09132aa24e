//! The way that a copy took from one device to another.

/// The way that elements took from one device to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "there are these two ways")]
pub enum Crossing {
    /// The copy went from memory to memory. The host did not wait.
    InPlace,
    /// The copy went through host memory. The host waited until the source was read.
    Staged,
}
