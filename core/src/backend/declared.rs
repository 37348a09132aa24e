//! Declared accesses of other code.

use crate::layout::Layout;

/// Elements of a buffer that work of other code reads, or reads and writes; from
/// [`StreamHandle::foreign_work`](crate::StreamHandle::foreign_work).
#[derive(Debug)]
#[non_exhaustive]
pub struct DeclaredAccess<'a, B> {
    /// The buffer.
    pub buffer: &'a B,
    /// The elements, counted from its start. There are some, and they lie inside it.
    pub layout: &'a Layout,
    /// Bytes of one.
    pub item_bytes: usize,
    /// Whether the work writes them, too.
    pub write: bool,
}

impl<'a, B> DeclaredAccess<'a, B> {
    /// An access of other code. The elements lie inside the buffer.
    #[must_use]
    pub const fn new(buffer: &'a B, layout: &'a Layout, item_bytes: usize, write: bool) -> Self {
        Self { buffer, layout, item_bytes, write }
    }
}
