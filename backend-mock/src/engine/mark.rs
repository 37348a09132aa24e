//! Points in the work of streams.

/// A point in the work of a stream: the operation at `position` and everything before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Index of the lane in the engine.
    pub(crate) lane: usize,
    /// How many operations the lane had been given before this one.
    pub(crate) position: u64,
}
