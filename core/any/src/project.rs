//! Operations on buffers of any backend, as the backend sees them.
#![allow(unsafe_code)] // sees operations as those of a backend

use devarray::backend::{BufferOf, Projects, Stream, project, project_all};

use crate::AnyBuffer;

/// An operation that was given to a stream, on the buffers of its backend. Costs nothing.
///
/// # Safety
///
/// It was given to this stream.
#[inline]
pub(crate) unsafe fn given<'o, O: Projects<Buffer = AnyBuffer>, S: Stream>(
    _to: &S,
    operation: &'o O,
) -> &'o O::On<BufferOf<S>> {
    // SAFETY: buffers of an operation are of the device that it is given to, or of one that this
    // reaches, which is of the same backend. A device answers buffers of its backend only, and with
    // these an `AnyBuffer` begins.
    unsafe { project(operation) }
}

/// Like [`given`], of several.
///
/// # Safety
///
/// Like [`given`].
#[inline]
pub(crate) unsafe fn all_given<'o, O: Projects<Buffer = AnyBuffer>, S: Stream>(
    _to: &S,
    operations: &'o [O],
) -> &'o [O::On<BufferOf<S>>] {
    // SAFETY: as for `given`.
    unsafe { project_all(operations) }
}
