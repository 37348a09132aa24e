//! Memory of other code as an array.
#![allow(unsafe_code)] // adopts memory as its caller vouches for it

use std::{ops::Range, sync::Arc};

use super::{place::Place, usable_part::UsablePart};
use crate::{
    Array, Device, ErasedArray, LayoutError, Result, StreamHandle,
    allocation::Allocation,
    backend::{Buffer, ForeignMemory},
    deferred_drop::Owner,
    hazards::AccessLog,
    layout::{Element, Injectivity, Layout},
    lock::lock,
    stream::StreamCore,
};

impl<T: Element, D: ForeignMemory> Array<T, D> {
    /// Makes an array in device memory that other code allocated. Does not copy. Does not
    /// synchronize.
    ///
    /// `address` is the device address of position 0 of `layout`, which need not hold an element of
    /// the array. Where an interface names the address of element `[0, …, 0]` and strides are
    /// negative, subtract the layout's offset in bytes. Hazard tracking sees the memory as written
    /// by `stream`: work that other code enqueued there before runs before all uses, on every
    /// stream.
    ///
    /// `owner` is dropped when the array, its views and all work on them are gone. It is dropped at
    /// once if there was no work, else on whichever thread notices, at the latest with the context.
    /// So it must not hold the context, nor a stream or array of it. If its drop panics, the panic
    /// goes no further: [`take_errors`](crate::Context::take_errors) returns it
    /// ([`OwnerPanicked`](crate::Error::OwnerPanicked)). Without elements the address may be
    /// anything and nothing is adopted. Then, and on an error, the owner is dropped at once.
    ///
    /// [The page of this module](crate::foreign) has an example.
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`](crate::Error::Unsupported): the device does not adopt memory of
    ///   other code.
    /// - [`LayoutError::ElementSize`]: the address is not aligned to the power of two in the
    ///   element size (to 256 if that is more).
    /// - [`LayoutError::AliasedDestination`]: the layout reaches an element twice, so that it could
    ///   not be written; see [`broadcast_to`](crate::ArrayView::broadcast_to).
    /// - [`LayoutError::Overflow`]: it reaches beyond the largest address.
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): the memory belongs to another
    ///   device.
    /// - [`Error::Driver`](crate::Error::Driver): the device does not know the memory, or another
    ///   driver error.
    ///
    /// # Safety
    ///
    /// - The bytes of every element are allocated and can be reached by the device, and stay so
    ///   until `owner` is dropped. If host code reads them (the device is the CPU, or the memory is
    ///   the host's), they are initialized.
    /// - Until then other code neither writes them nor, if the array is written, reads them, unless
    ///   events or waits order it against the work here. A second array over the same bytes is
    ///   other code in this sense. One operation on both is refused ([`LayoutError::SharedMemory`])
    ///   if it reads bytes that it writes. A [`copy_across`](crate::ErasedViewMut::copy_across)
    ///   between two contexts is not refused, because their addresses need not be comparable.
    #[doc(alias = "foreign_buffer")]
    #[doc(alias = "UnownedMemory")]
    #[doc(alias = "from_cuda_array_interface")]
    #[track_caller]
    pub unsafe fn adopt(
        stream: &StreamHandle<D>,
        address: u64,
        layout: &Layout,
        owner: impl Send + Sync + 'static,
    ) -> Result<Self> {
        // SAFETY: passed on to the caller.
        let erased = unsafe { ErasedArray::adopt(stream, address, layout, T::BYTES, owner) };
        Ok(Self::of_erased(erased?))
    }

    /// Like [`adopt`](Self::adopt), for memory that its lender says is on this device, as DLPack
    /// does. The device need not ask the driver which device has the memory; with CUDA this question
    /// takes as long as all the rest.
    ///
    /// # Errors
    ///
    /// The errors of [`adopt`](Self::adopt); that the memory is of another device, or of none, need not be
    /// noticed.
    ///
    /// # Safety
    ///
    /// The conditions of [`adopt`](Self::adopt). Nothing checks the address.
    #[track_caller]
    pub unsafe fn adopt_unchecked(
        stream: &StreamHandle<D>,
        address: u64,
        layout: &Layout,
        owner: impl Send + Sync + 'static,
    ) -> Result<Self> {
        // SAFETY: passed on to the caller.
        let erased = unsafe { ErasedArray::adopt_unchecked(stream, address, layout, T::BYTES, owner) };
        Ok(Self::of_erased(erased?))
    }
}

impl<D: ForeignMemory> ErasedArray<D> {
    /// Like [`Array::adopt`], with elements of `item_bytes` bytes.
    ///
    /// # Errors
    ///
    /// The errors of [`Array::adopt`], and [`LayoutError::ElementSize`]: an element of 0 bytes.
    ///
    /// # Safety
    ///
    /// Like [`Array::adopt`].
    #[track_caller]
    pub unsafe fn adopt(
        stream: &StreamHandle<D>,
        address: u64,
        layout: &Layout,
        item_bytes: usize,
        owner: impl Send + Sync + 'static,
    ) -> Result<Self> {
        // SAFETY: passed on to the caller.
        let adopt = |device: &D, start, bytes| unsafe { device.adopt(start, bytes) };
        Self::adopt_by(adopt, stream, address, layout, item_bytes, owner)
    }

    /// Like [`Array::adopt_unchecked`], with elements of `item_bytes` bytes.
    ///
    /// # Errors
    ///
    /// The errors of [`Array::adopt_unchecked`], and [`LayoutError::ElementSize`]: an element of 0 bytes.
    ///
    /// # Safety
    ///
    /// Like [`Array::adopt_unchecked`].
    #[track_caller]
    pub unsafe fn adopt_unchecked(
        stream: &StreamHandle<D>,
        address: u64,
        layout: &Layout,
        item_bytes: usize,
        owner: impl Send + Sync + 'static,
    ) -> Result<Self> {
        // SAFETY: passed on to the caller.
        let adopt = |device: &D, start, bytes| unsafe { device.adopt_unchecked(start, bytes) };
        Self::adopt_by(adopt, stream, address, layout, item_bytes, owner)
    }

    /// Makes the array in the buffer that `adopt` returns for a start and bytes.
    #[track_caller]
    #[inline]
    fn adopt_by(
        adopt: impl FnOnce(&D, u64, Range<usize>) -> Result<(D::Buffer, D::Adopted)>,
        stream: &StreamHandle<D>,
        address: u64,
        layout: &Layout,
        item_bytes: usize,
        owner: impl Send + Sync + 'static,
    ) -> Result<Self> {
        if item_bytes == 0 {
            return Err(LayoutError::ElementSize { item_bytes, reason: "at least one byte is needed" }.into());
        }
        if layout.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination.into());
        }
        if layout.is_empty() {
            let allocation = Arc::new(Allocation::empty(&stream.0.core));
            return Ok(Self::of_allocation(allocation, layout.clone(), item_bytes));
        }
        let mut layout = layout.clone();
        let Place { start, bytes } = Place::of(address, &mut layout, item_bytes)?;
        let (buffer, adopted) = adopt(&stream.0.core.device, start, bytes)?;
        let usable = UsablePart::elements(&layout, item_bytes);
        // The owner is dropped after the device's own record of the adoption.
        let owner = Box::new((adopted, owner));
        let allocation = lent_to(&stream.0, buffer, owner, usable, AccessLog::of_adoption);
        Ok(Self::of_allocation(allocation, layout, item_bytes))
    }
}

/// Makes an allocation of an owner's memory. Its usable part is used after all work given to
/// `stream` so far. `first` makes the access that stands for the memory's arrival.
#[inline]
pub(crate) fn lent_to<D: Device>(
    stream: &StreamCore<D>,
    buffer: D::Buffer,
    owner: Owner,
    usable: UsablePart,
    first: fn(usize, u64, usize) -> AccessLog,
) -> Arc<Allocation<D>> {
    let sequence = lock(&stream.core.tracker).note_alone(stream.lane.index);
    let uses = first(stream.lane.index, sequence, buffer.len_bytes());
    // Put behind an `Arc` here: moving an allocation costs as much as taking a lock.
    Arc::new(Allocation::lent_in_part(&stream.core, buffer, owner, Some(usable), uses))
}
