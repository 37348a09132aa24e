//! How far operations reach.

use std::ops::Range;

use crate::{allocation::BufferId, finding::Access};

/// Device memory that an operation touches, and as far as which bytes.
#[derive(Debug)]
pub(super) struct Reach {
    pub(super) buffer: BufferId,
    /// From the first byte to one past the last; what lies between need not all be touched.
    pub(super) span_bytes: Range<usize>,
    pub(super) access: Access,
}
