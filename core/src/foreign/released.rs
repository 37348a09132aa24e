//! Memory given up to other code, and taken back.
#![allow(unsafe_code)] // takes memory back as its caller vouches for it

use std::{fmt, sync::Arc};

use crate::{
    Array, ErasedArray, Error, Result, StreamHandle,
    allocation::{Allocation, AllocationAccess},
    backend::{Buffer, Capability, Device},
    layout::{Element, Layout, LayoutError},
};

/// Memory that [`Array::release`] gave up: its holder frees it, or [takes it back](Array::reclaim).
/// Dropping it leaks the memory.
#[derive(Debug)]
pub struct Released<D: Device> {
    buffer: Option<D::Buffer>,
    layout: Layout,
    item_bytes: usize,
}

impl<D: Device> Released<D> {
    /// The device address of the buffer; 0 if it has no bytes. Not a host pointer.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.buffer.as_ref().map_or(0, Buffer::address)
    }

    /// Bytes of the buffer.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.buffer.as_ref().map_or(0, Buffer::len_bytes)
    }

    /// The layout of the elements in the buffer.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Bytes of one element.
    #[must_use]
    pub fn item_bytes(&self) -> usize {
        self.item_bytes
    }

    /// The backend's buffer; `None` if it has no bytes.
    #[must_use]
    pub fn buffer(&self) -> Option<&D::Buffer> {
        self.buffer.as_ref()
    }

    /// The backend's buffer, to be freed on one of its streams; `None` if it has no bytes.
    #[must_use]
    pub fn into_buffer(self) -> Option<D::Buffer> {
        self.buffer
    }
}

/// Why memory could not be given up. The array is unchanged.
pub struct ReleaseError<T: Element, D: Device>(Box<(Error, Array<T, D>)>);

impl<T: Element, D: Device> ReleaseError<T, D> {
    /// The reason.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.0.0
    }

    /// The array.
    pub fn into_array(self) -> Array<T, D> {
        self.0.1
    }
}

impl<T: Element, D: Device> From<ReleaseError<T, D>> for Error {
    fn from(refused: ReleaseError<T, D>) -> Self {
        refused.0.0
    }
}

impl<T: Element, D: Device> fmt::Display for ReleaseError<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl<T: Element, D: Device> fmt::Debug for ReleaseError<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseError").field("error", self.error()).finish_non_exhaustive()
    }
}

impl<T: Element, D: Device> std::error::Error for ReleaseError<T, D> {}

impl<T: Element, D: Device> Array<T, D> {
    /// Gives the memory up: this library no longer frees it. Does not copy. Does not synchronize.
    ///
    /// `stream` is ordered after all work on the array, so all later work of other code on its raw
    /// handle, including a free, runs after that work.
    ///
    /// [The page of this module](crate::foreign) has an example.
    ///
    /// # Errors
    ///
    /// The error returns the array unchanged:
    /// - [`Error::DeviceMismatch`]: the stream is of another context.
    /// - [`Error::Unsupported`], naming [`ForeignMemory`](Capability::ForeignMemory): the array
    ///   cannot give the memory up, since it was adopted or something else holds it too.
    /// - [`Error::Hazard`]: the stream is strict, and some work is not ordered before this. Any
    ///   device error.
    pub fn release(self, stream: &StreamHandle<D>) -> Result<Released<D>, ReleaseError<T, D>> {
        let (mut allocation, layout, item_bytes) = self.into_erased().into_parts();
        // No other handle can appear meanwhile: there is none that somebody could clone.
        let prepared = match Arc::get_mut(&mut allocation) {
            Some(_) => prepare(stream, &allocation),
            None => Err(not_ours(stream)),
        };
        let Err(error) = prepared else {
            let buffer = Arc::into_inner(allocation).and_then(Allocation::release);
            return Ok(Released { buffer, layout, item_bytes });
        };
        let array = Self::of_erased(ErasedArray::of_allocation(allocation, layout, item_bytes));
        Err(ReleaseError(Box::new((error, array))))
    }

    /// Takes memory back that was released: it is freed with the array, as if it had been allocated
    /// on `stream`. Work that other code enqueued there before runs before all uses. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// [`LayoutError::ElementSize`]: its elements are not as large as a `T`. The memory is leaked.
    ///
    /// # Safety
    ///
    /// The memory was released by this device and not freed, and nobody else uses it any more.
    #[track_caller]
    pub unsafe fn reclaim(stream: &StreamHandle<D>, released: Released<D>) -> Result<Self> {
        let Released { buffer, layout, item_bytes } = released;
        let allocation = match buffer {
            _ if item_bytes != T::BYTES => {
                return Err(LayoutError::ElementSize {
                    item_bytes,
                    reason: "the element type is of another size",
                }
                .into());
            }
            None => Allocation::empty(&stream.0.core),
            Some(buffer) => Allocation::reclaimed(&stream.0, buffer),
        };
        Ok(Self::of_erased(ErasedArray::of_allocation(Arc::new(allocation), layout, item_bytes)))
    }
}

const OPERATION: &str = "release";

/// Orders a stream after all uses of an allocation that can be given up.
fn prepare<D: Device>(stream: &StreamHandle<D>, allocation: &Arc<Allocation<D>>) -> Result<()> {
    stream.0.check_unrecorded(OPERATION, [allocation])?;
    if !allocation.is_ours() {
        return Err(not_ours(stream));
    }
    let touch = [AllocationAccess::whole(allocation, true)];
    stream.0.order(OPERATION, &touch).map(drop)
}

fn not_ours<D: Device>(stream: &StreamHandle<D>) -> Error {
    let (backend, capability) = (stream.0.core.backend(), Capability::ForeignMemory);
    Error::Unsupported { backend, operation: OPERATION, capability }
}
