//! Points in the work of streams.

/// A point in the work of a stream: the operation at `position` and everything before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The index of the lane in the engine.
    pub(crate) lane: usize,
    /// The number of operations that the lane was given before this one.
    pub(crate) position: u64,
}
