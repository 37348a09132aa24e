//! The interface that a search needs of programs.

use std::fmt;

/// Streams of a drawn program at most.
pub(super) const MOST_STREAMS: usize = 4;

/// A kind of program, as a search makes it small and prints it.
pub trait Drawn: Clone + Sealed {
    /// The number of its operations.
    fn len(&self) -> usize;

    /// Whether it has no operation.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Programs with one thing less.
    fn simpler(&self) -> Vec<Self>;

    /// Prints it as a test that makes this call, given up to its first argument and from there on.
    #[doc(hidden)]
    fn write(&self, f: &mut fmt::Formatter<'_>, check: (&str, &str)) -> fmt::Result;
}

/// Implemented by the programs here alone.
#[expect(unnameable_types, reason = "this seals the trait")]
pub trait Sealed {}
