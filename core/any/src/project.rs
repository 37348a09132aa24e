//! Turns operations on buffers of any backend into operations on the backend's buffers.
#![allow(unsafe_code)] // sees operations as those of a backend

use devarray::backend::{BufferOf, Projects, Stream, project, project_all};

use crate::AnyBuffer;

/// Turns an operation that was given to a stream into one on the buffers of its backend. Costs
/// nothing.
///
/// # Safety
///
/// The operation was given to this stream, with a promise about its buffers: safe code cannot make it.
#[inline]
pub(crate) unsafe fn given<'o, O: Projects<Buffer = AnyBuffer>, S: Stream>(
    _to: &S,
    operation: &'o O,
) -> &'o O::On<BufferOf<S>> {
    // SAFETY: the buffers of an operation belong to the device that it is given to, or to a device
    // that this one reaches, which has the same backend. A device only makes buffers of its
    // backend, and an `AnyBuffer` begins with such a buffer.
    unsafe { project(operation) }
}

/// Like [`given`], for several operations.
///
/// # Safety
///
/// The conditions of [`given`].
#[inline]
pub(crate) unsafe fn all_given<'o, O: Projects<Buffer = AnyBuffer>, S: Stream>(
    _to: &S,
    operations: &'o [O],
) -> &'o [O::On<BufferOf<S>>] {
    // SAFETY: as for `given`.
    unsafe { project_all(operations) }
}
