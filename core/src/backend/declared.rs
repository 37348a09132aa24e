//! Declared accesses of other code.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use crate::layout::Layout;

/// A stream that may check the accesses of other code.
///
/// # Safety
///
/// Work that is enqueued on the handle is enqueued on the stream.
pub unsafe trait ChecksForeign<B>: Sized {
    /// A handle on this stream for one piece of work of other code, with its declared accesses; none
    /// if they are not checked. Dropping the handle does nothing.
    fn for_foreign_work(&self, declared: &[DeclaredAccess<'_, B>]) -> Option<Self>;
}

/// Elements of a buffer that work of other code reads, or reads and writes, from
/// [`StreamHandle::foreign_work`](crate::StreamHandle::foreign_work); or that the host reads in place,
/// or may write.
#[derive(Debug)]
#[non_exhaustive]
#[repr(C)]
pub struct DeclaredAccess<'a, B> {
    /// The buffer.
    pub buffer: &'a B,
    /// The elements, counted from its start. There are some, and they lie inside it.
    pub layout: &'a Layout,
    /// Bytes of one element.
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
