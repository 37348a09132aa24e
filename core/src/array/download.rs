//! Host memory for downloads.

use crate::{Error, LayoutError, Result, backend::Device, layout::Element, stream::StreamHandle};

/// Allocates `len` zeroed elements. Out of memory is an error, not an abort.
#[track_caller]
pub(super) fn zeroed<T: Element, D: Device>(stream: &StreamHandle<D>, len: usize) -> Result<Vec<T>> {
    let requested_bytes = len.checked_mul(T::BYTES).filter(|&bytes| isize::try_from(bytes).is_ok());
    let requested_bytes = requested_bytes.ok_or(LayoutError::Overflow)?;
    bytemuck::allocation::try_zeroed_vec(len)
        .map_err(|()| Error::out_of_memory(stream.0.core.backend(), "download", requested_bytes, None))
}
