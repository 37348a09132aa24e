//! The conflict that a strict stream reports.

use std::fmt;

/// An access that is not ordered before the operation that conflicts with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}conflicts with an earlier {} of bytes {start_byte}..{end_byte} on stream {stream}: wait for an event of that stream first",
    Named(*.argument),
    if *.write { "write" } else { "read" }
)]
#[non_exhaustive]
pub struct Hazard {
    /// Number of the stream that made the earlier access, given by
    /// [`StreamHandle::number`](crate::StreamHandle::number); 0 is the internal stream that frees.
    pub stream: usize,
    /// Whether the earlier access wrote.
    pub write: bool,
    /// The first byte of the earlier access, from the start of the allocation.
    pub start_byte: usize,
    /// One past its last byte.
    pub end_byte: usize,
    /// The argument that conflicts, if the operation is a [kernel](crate::kernel!).
    pub argument: Option<&'static str>,
}

struct Named(Option<&'static str>);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |argument| write!(f, "argument `{argument}` "))
    }
}
