//! Buffers of arrow-rs in host memory, in and out, for programs that have columns there.
//!
//! | from | to | copies |
//! |---|---|---|
//! | [`HostArray`] | [`Buffer`] | no: [`buffer_of`] |
//! | [`PinnedBuffer`], where a download ends | [`Buffer`] | no: [`buffer_of_pinned`] |
//! | [`Buffer`] | [`HostArray`] | only if it is shared, or was no vector of such elements: [`host_array_of`] |
//! | [`Buffer`] | [`Tensor`] on a device of the host | no: [`adopt_buffer`] |
//! | [`Tensor`] on a device of the host | [`Buffer`] | no: [`lend_buffer`] |
//!
//! Elements reach a device that has memory of its own by an upload from [`Buffer::typed_data`], as from any
//! slice.
#![allow(unsafe_code)] // takes memory that a buffer keeps, and lends memory to buffers

use std::{panic::AssertUnwindSafe, ptr, ptr::NonNull, sync::Arc};

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use devarray::{Device, HostArray, LayoutError, PinnedBuffer, StreamHandle, array::Element};
use smallvec::smallvec;

use crate::{
    Consumer, Door, DoorElement, DoorError, Result, Tensor,
    data_type::data_type_of,
    device::DeviceId,
    incoming::{Incoming, is_own},
    tensor::Lent,
};

/// Memory of the CPU.
const HOST: DeviceId = DeviceId::new(DeviceId::CPU, 0);

/// The elements of a host array, in C order. Does not copy.
#[must_use]
pub fn buffer_of<T: ArrowNativeType>(array: HostArray<T>) -> Buffer {
    Buffer::from_vec(array.into_vec())
}

/// The elements of pinned memory. Does not copy: dropping the last buffer gives the memory back to its
/// source.
#[must_use]
pub fn buffer_of_pinned<T: Element + ArrowNativeType, D: Device>(pinned: PinnedBuffer<T, D>) -> Buffer {
    let bytes: &[T] = &pinned;
    let (start, len_bytes) = (NonNull::from(bytes).cast::<u8>(), size_of_val(bytes));
    if len_bytes == 0 {
        return Buffer::default();
    }
    // SAFETY: the memory is there and initialized as long as the owner, and nobody writes it: nobody can
    // reach the owner.
    unsafe { Buffer::from_custom_allocation(start, len_bytes, Arc::new(AssertUnwindSafe(pinned))) }
}

/// The elements of a buffer, in C order. Does not copy if the buffer is not shared and was made
/// from a vector of such elements; else copies.
///
/// ```
/// use devarray_interop::arrow_rs::{buffer_of, host_array_of};
///
/// let array = devarray::HostArray::new(&[2, 2], vec![1, 2, 3, 4])?;
/// let there = array.as_slice().as_ptr();
/// let back = host_array_of::<i32>(buffer_of(array), &[4])?;
/// assert_eq!((back.as_slice().as_ptr(), back.as_slice()), (there, &[1, 2, 3, 4][..]));
/// # Ok::<(), devarray_interop::DoorError>(())
/// ```
///
/// # Errors
///
/// [`LayoutError::LengthMismatch`], [`LayoutError::Overflow`]: the shape has another number of
/// elements.
#[track_caller]
pub fn host_array_of<T: ArrowNativeType>(buffer: Buffer, shape: &[usize]) -> Result<HostArray<T>> {
    if !buffer.len().is_multiple_of(size_of::<T>()) {
        let expected = shape.iter().fold(1, |len: usize, &extent| len.saturating_mul(extent));
        let found = buffer.len() / size_of::<T>();
        return Err(LayoutError::LengthMismatch { expected, found }.into());
    }
    let elements = buffer.into_vec::<T>().unwrap_or_else(|shared| {
        let is_aligned = shared.as_ptr().addr().is_multiple_of(align_of::<T>());
        // A part of other bytes may begin at any address; a buffer that arrow-rs makes anew is aligned.
        let aligned = if is_aligned { shared } else { Buffer::from_slice_ref(shared.as_slice()) };
        ScalarBuffer::<T>::from(aligned).to_vec()
    });
    Ok(HostArray::new(shape, elements)?)
}

/// A column in the memory of a buffer, read-only, on a device of the host. Does not copy. Does not
/// synchronize.
///
/// The buffer is kept until the tensor, its clones and all work on them are gone, at the latest
/// with the context.
///
/// ```
/// use arrow_buffer::Buffer;
/// use devarray::Context;
/// use devarray_interop::arrow_rs::adopt_buffer;
/// use devarray_mock::MockDevice;
///
/// let context = Context::new(MockDevice::builder().adopts_host_memory(true).build())?;
/// let stream = context.stream()?;
/// let buffer = Buffer::from_vec(vec![1.5_f64, 2.5]);
/// let column = adopt_buffer::<f64, _>(&stream, &buffer)?;
/// assert_eq!(column.address()?, buffer.as_ptr().addr() as u64);
/// assert_eq!(column.view::<f64>()?.to_vec(&stream)?, [1.5, 2.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// - [`DoorError::Device`]: the device does not reach memory of the host.
/// - [`DoorError::Layout`]: the buffer is no whole number of elements.
/// - The errors of [`Array::adopt`](devarray::Array::adopt), in [`DoorError::Array`]: the buffer is not
///   aligned to its elements, among others.
#[track_caller]
pub fn adopt_buffer<T: DoorElement, D: Door>(stream: &StreamHandle<D>, buffer: &Buffer) -> Result<Tensor<D>> {
    let is_own = is_own(stream, HOST)?;
    if !buffer.len().is_multiple_of(size_of::<T>()) {
        return Err(DoorError::Layout { reason: "the buffer is no whole number of elements" });
    }
    let incoming = Incoming {
        data_type: data_type_of::<T>(),
        shape: smallvec![buffer.len() / size_of::<T>()],
        strides: smallvec![1],
        address: buffer.as_ptr().expose_provenance() as u64,
        read_only: true,
        is_own,
    };
    // SAFETY: the buffer keeps its bytes, which are initialized, and nobody writes them; the device reaches
    // memory of the host.
    unsafe { incoming.adopt(stream, buffer.clone()) }
}

/// The elements of a tensor on a device of the host, in C order. Does not copy. Blocks until all
/// work on them is finished.
///
/// While such buffers exist, nobody here writes the memory.
///
/// # Errors
///
/// - [`DoorError::Device`]: the memory is not the host's.
/// - [`DoorError::Layout`]: there are gaps, or another order.
/// - Any device error.
#[track_caller]
pub fn lend_buffer<D: Door>(tensor: &Tensor<D>, stream: &StreamHandle<D>) -> Result<Buffer> {
    let device = tensor.device();
    if !device.is_host() {
        return Err(DoorError::Device { found: device.id(), own: HOST });
    }
    if !tensor.layout().is_c_contiguous() {
        return Err(DoorError::Layout { reason: "a buffer has no gaps" });
    }
    if tensor.layout().is_empty() {
        return Ok(Buffer::default());
    }
    let lent = Lent::new(tensor, stream, Consumer::Host)?;
    let address = usize::try_from(tensor.address()?).unwrap_or_default();
    let start = NonNull::new(ptr::with_exposed_provenance_mut::<u8>(address));
    let start =
        start.ok_or_else(|| crate::error::field("data", "the device has no address for other code"))?;
    let len_bytes = tensor.layout().len() * tensor.data_type().item_bytes();
    // SAFETY: the elements are there, and all work on them is finished; `lent` keeps them, and lets nobody
    // write them.
    Ok(unsafe { Buffer::from_custom_allocation(start, len_bytes, Arc::new(AssertUnwindSafe(lent))) })
}
