//! The reach of operations in memory.

use std::ops::Range;

use crate::{allocation::BufferId, finding::Access};

/// Device memory that an operation touches, and the range of its touched bytes.
#[derive(Debug)]
pub(super) struct Reach {
    pub(super) buffer: BufferId,
    /// From the first touched byte to the end of the last one; bytes in between may be untouched.
    pub(super) span_bytes: Range<usize>,
    pub(super) access: Access,
}
