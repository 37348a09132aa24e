//! Who touched which bytes: hazard tracking.

/// An access that is not ordered before the operation that conflicts with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("conflicts with an earlier {} of bytes {start_byte}..{end_byte} on stream {stream}", if *.write { "write" } else { "read" })]
#[non_exhaustive]
pub struct Hazard {
    /// Number of the stream that made the earlier access.
    pub stream: usize,
    /// Whether the earlier access wrote.
    pub write: bool,
    /// First byte of it, from the start of the allocation.
    pub start_byte: usize,
    /// One past its last byte.
    pub end_byte: usize,
}
