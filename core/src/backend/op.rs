//! Operations that carry their own proof.
//!
//! Fields are private. Only core constructs operations, under the submission lock of the device,
//! after it has checked bounds, shapes and aliasing and enqueued the needed waits. A backend reads
//! them and validates nothing. They are generic over the buffer type alone, so a wrapping backend
//! with the same buffers forwards them unchanged, and one with buffers of its own
//! [projects](super::project()) them. Their buffers are memory of the device that they are given to,
//! or, where a copy comes from a peer, of one that it reaches.
//!
//! The `unsafe` constructors are the raw door below hazard tracking: replaying recorded programs
//! and testing a backend by itself go through it.
#![allow(unsafe_code)] // declares unsafe constructors; performs no unsafe operation

use std::{fmt, ops::Range};

use super::{GatherOp, MapOp, OrderOp, ProductOp, ReduceOp};
use crate::copy::Plan;

/// A copy from device memory to device memory of one device.
#[repr(C)]
pub struct CopyOp<'a, B> {
    pub(crate) dst: &'a B,
    pub(crate) src: &'a B,
    pub(crate) plan: &'a Plan,
    pub(crate) checked: bool,
}

/// Both buffers and the plan, without names: short.
impl<B: fmt::Debug> fmt::Debug for CopyOp<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CopyOp").field(self.dst).field(self.src).field(self.plan).finish()
    }
}

impl<'a, B> CopyOp<'a, B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// The plan is not empty and its two sides lie inside the buffers; if both are one buffer, the
    /// sides are disjoint. Nothing that conflicts with it is in flight, or an event or the
    /// stream orders it after that.
    #[must_use]
    pub unsafe fn new_unchecked(dst: &'a B, src: &'a B, plan: &'a Plan) -> Self {
        Self { dst, src, plan, checked: false }
    }

    /// The buffer written.
    #[must_use]
    pub fn dst(&self) -> &'a B {
        self.dst
    }

    /// The buffer read. It may be the one written: the byte sets are then disjoint.
    #[must_use]
    pub fn src(&self) -> &'a B {
        self.src
    }

    /// The runs that are copied, in bytes from the start of each buffer. Never empty.
    #[must_use]
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }
}

/// A pattern repeated over device memory.
#[derive(Debug)]
#[repr(C)]
pub struct FillOp<'a, B> {
    pub(crate) dst: &'a B,
    pub(crate) plan: &'a Plan,
    pub(crate) pattern: &'a [u8],
    pub(crate) checked: bool,
}

impl<'a, B> FillOp<'a, B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// The plan is not empty, copies a layout inside the buffer to itself, and was made for
    /// elements of `pattern.len()` bytes, which is 1, 2, 4, 8 or 16.
    /// Nothing that conflicts with it is in flight, or an event or the stream orders it after that.
    #[must_use]
    pub unsafe fn new_unchecked(dst: &'a B, plan: &'a Plan, pattern: &'a [u8]) -> Self {
        Self { dst, plan, pattern, checked: false }
    }

    /// The buffer written.
    #[must_use]
    pub fn dst(&self) -> &'a B {
        self.dst
    }

    /// The places of the elements of the destination: the plan of a copy of the destination to
    /// itself, so each run of [`Plan::runs`] holds a whole number of elements. Ignore the source
    /// side. Never empty.
    #[must_use]
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// One element: 1, 2, 4, 8 or 16 bytes. (The plan's own width may be larger: it is widened
    /// where alignment allows.)
    #[must_use]
    pub fn pattern(&self) -> &'a [u8] {
        self.pattern
    }
}

/// A copy of contiguous host memory to contiguous device memory.
#[derive(Debug)]
#[repr(C)]
pub struct UploadOp<'a, B> {
    pub(crate) dst: &'a B,
    pub(crate) dst_offset_bytes: usize,
    pub(crate) src: *const u8,
    pub(crate) len_bytes: usize,
    pub(crate) checked: bool,
}

impl<'a, B> UploadOp<'a, B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// `len_bytes` is not 0; the bytes lie inside the buffer; the host memory is as
    /// [`src`](Self::src) says. Nothing that conflicts with it is in flight, or an event or the
    /// stream orders it after that.
    #[must_use]
    pub unsafe fn new_unchecked(
        dst: &'a B,
        dst_offset_bytes: usize,
        src: *const u8,
        len_bytes: usize,
    ) -> Self {
        Self { dst, dst_offset_bytes, src, len_bytes, checked: false }
    }

    /// The buffer written.
    #[must_use]
    pub fn dst(&self) -> &'a B {
        self.dst
    }

    /// The bytes of it that are written; never empty.
    #[must_use]
    pub fn dst_range_bytes(&self) -> Range<usize> {
        self.dst_offset_bytes..self.dst_offset_bytes + self.len_bytes
    }

    /// The host memory read: `len_bytes` from here on are valid, initialized and unchanged until a
    /// wait that covers this operation ended. May or may not be pinned.
    #[must_use]
    pub fn src(&self) -> *const u8 {
        self.src
    }

    /// Bytes to copy; never 0.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }
}

/// A copy of contiguous device memory to contiguous host memory.
#[derive(Debug)]
#[repr(C)]
pub struct DownloadOp<'a, B> {
    pub(crate) src: &'a B,
    pub(crate) src_offset_bytes: usize,
    pub(crate) dst: *mut u8,
    pub(crate) len_bytes: usize,
    pub(crate) checked: bool,
}

impl<'a, B> DownloadOp<'a, B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// `len_bytes` is not 0; the bytes lie inside the buffer; the host memory is as
    /// [`dst`](Self::dst) says. Nothing that conflicts with it is in flight, or an event or the
    /// stream orders it after that.
    #[must_use]
    pub unsafe fn new_unchecked(src: &'a B, src_offset_bytes: usize, dst: *mut u8, len_bytes: usize) -> Self {
        Self { src, src_offset_bytes, dst, len_bytes, checked: false }
    }

    /// The buffer read.
    #[must_use]
    pub fn src(&self) -> &'a B {
        self.src
    }

    /// The bytes of it that are read; never empty.
    #[must_use]
    pub fn src_range_bytes(&self) -> Range<usize> {
        self.src_offset_bytes..self.src_offset_bytes + self.len_bytes
    }

    /// The host memory written: `len_bytes` from here on are valid and nobody else's until a wait
    /// that covers this operation ended. May or may not be pinned.
    #[must_use]
    pub fn dst(&self) -> *mut u8 {
        self.dst
    }

    /// Bytes to copy; never 0.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }
}

/// The end of a buffer.
#[derive(Debug)]
pub struct FreeOp<B> {
    pub(crate) buffer: B,
}

impl<B> FreeOp<B> {
    /// The operation, unchecked.
    ///
    /// # Safety
    ///
    /// The buffer came from `alloc` of the same device, and everything that uses it is ordered
    /// before this operation.
    #[must_use]
    pub unsafe fn new_unchecked(buffer: B) -> Self {
        Self { buffer }
    }

    /// The buffer to free, in stream order.
    #[must_use]
    pub fn into_buffer(self) -> B {
        self.buffer
    }
}

macro_rules! checked {
    ($($op:ident),+) => {
        $(impl<B> $op<'_, B> {
            /// Whether it was made and checked by core, not through the raw door.
            #[must_use]
            pub fn is_checked(&self) -> bool {
                self.checked
            }
        })+
    };
}

checked!(CopyOp, FillOp, UploadOp, DownloadOp, MapOp, ReduceOp, GatherOp, OrderOp, ProductOp);
