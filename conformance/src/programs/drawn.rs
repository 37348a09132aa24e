//! The interface of programs that a search needs.

use std::fmt;

/// The most streams of a drawn program.
pub(super) const MOST_STREAMS: usize = 4;

/// A kind of program that a search can reduce and print.
pub trait Drawn: Clone + Sealed {
    /// The number of its operations.
    fn len(&self) -> usize;

    /// Whether it has no operation.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Programs that have one thing less.
    fn simpler(&self) -> Vec<Self>;

    /// Prints it as a test that makes this call, which is given as the part up to its first
    /// argument and the rest.
    #[doc(hidden)]
    fn write(&self, f: &mut fmt::Formatter<'_>, check: (&str, &str)) -> fmt::Result;
}

/// Implemented only by the programs here.
#[expect(unnameable_types, reason = "this seals the trait")]
pub trait Sealed {}
