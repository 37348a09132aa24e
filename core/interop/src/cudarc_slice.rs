//! Slices and streams of [`cudarc`], both ways, without a copy: for programs that call CUDA through
//! it. Needs the feature `cudarc`.
//!
//! Both libraries use the primary context of a device, so addresses and streams of one are valid in
//! the other. Events order the work on the streams that are given.
//!
//! ```no_run
//! use cudarc::driver::CudaContext;
//! use devarray::Context;
//! use devarray_cuda::CudaDevice;
//! use devarray_interop::cudarc_slice::{adopt_slice, into_slice};
//!
//! let theirs = CudaContext::new(0)?.new_stream()?;
//! let stream = Context::new(CudaDevice::open(0)?)?.stream()?;
//!
//! let slice = theirs.clone_htod(&[1.0_f32, 2.0, 3.0])?;
//! // SAFETY: no stream but its own has work on the slice.
//! let array = unsafe { adopt_slice(&stream, slice) }?;
//! let doubled = array.map(&stream, |x| 2.0 * x)?;
//! let slice = into_slice(doubled, &stream, &theirs)?;
//! assert_eq!(theirs.clone_dtoh(&slice)?, [2.0, 4.0, 6.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![allow(unsafe_code)] // gives memory from one library to the other

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DevicePtrMut};
use devarray::{Array, Layout, Order, StreamHandle, backend::ForeignStream};
use devarray_cuda::CudaDevice;

use crate::{Door, DoorElement, DoorError, Result, device::DeviceId};

/// An array of one axis in the memory of a slice. The slice is dropped when the array and all work
/// on it are gone, at the latest with the context. Does not copy. Does not synchronize: `stream`
/// waits for the slice's stream.
///
/// # Errors
///
/// - [`DoorError::Device`]: the slice is of another device.
/// - The errors of [`Array::adopt`], in [`DoorError::Array`].
///
/// # Safety
///
/// If another stream than the slice's own was given work on the slice, the slice's own stream waits
/// for that work: cudarc keeps the event of the last reader only.
#[track_caller]
pub unsafe fn adopt_slice<T: DoorElement>(
    stream: &StreamHandle<CudaDevice>,
    mut slice: CudaSlice<T>,
) -> Result<Array<T, CudaDevice>> {
    let theirs = Arc::clone(slice.stream());
    check_device(stream, &theirs)?;
    let layout = Layout::contiguous(&[slice.len()], Order::C)?;
    let (address, recorded) = slice.device_ptr_mut(&theirs);
    drop(recorded);
    wait_for(stream, &theirs)?;
    // SAFETY: the slice owns the memory, which is this device's, and stays its owner; the rest is
    // passed on to the caller.
    Ok(unsafe { Array::adopt_unchecked(stream, address, &layout, slice) }?)
}

/// The slice of an array. From now on the slice frees the memory, in the order of `to`. Does not
/// copy. Does not synchronize: `to` waits for `stream`, and `stream` for all work on the array.
///
/// # Errors
///
/// The array is dropped:
/// - [`DoorError::Device`]: the stream is of another device.
/// - [`DoorError::Layout`]: the elements are not all of the memory, in C order; or there are none.
/// - The errors of [`Array::release`], in [`DoorError::Array`].
#[track_caller]
pub fn into_slice<T: DoorElement>(
    array: Array<T, CudaDevice>,
    stream: &StreamHandle<CudaDevice>,
    to: &Arc<CudaStream>,
) -> Result<CudaSlice<T>> {
    check_device(stream, to)?;
    let layout = array.layout();
    if layout.is_empty() || layout.offset() != 0 || !layout.is_c_contiguous() {
        return Err(DoorError::Layout { reason: "a slice is all of its memory, in C order, and not empty" });
    }
    let len = layout.len();
    let released = array.release(stream).map_err(devarray::Error::from)?;
    if let Err(error) = let_wait(stream, to) {
        // SAFETY: just released, and nobody else has it.
        drop(unsafe { Array::<T, _>::reclaim(stream, released) });
        return Err(error);
    }
    // SAFETY: the memory was given up, is of the context and the pool of the device, and holds the
    // elements.
    Ok(unsafe { to.upgrade_device_ptr(released.address(), len) })
}

/// Makes later work of `stream` run after all work given to a stream of cudarc so far. Does not
/// synchronize.
///
/// # Errors
///
/// The errors of [`StreamHandle::wait_for_foreign`].
#[track_caller]
pub fn wait_for(stream: &StreamHandle<CudaDevice>, other: &CudaStream) -> Result<()> {
    Ok(stream.wait_for_foreign(named(other))?)
}

/// Makes later work of a stream of cudarc run after all work given to `stream` so far. Does not
/// synchronize.
///
/// # Errors
///
/// The errors of [`StreamHandle::foreign_waits`].
#[track_caller]
pub fn let_wait(stream: &StreamHandle<CudaDevice>, other: &CudaStream) -> Result<()> {
    Ok(stream.foreign_waits(named(other))?)
}

/// The name of a stream while it is borrowed. Null is the legacy default stream.
fn named(stream: &CudaStream) -> ForeignStream {
    // SAFETY: a stream of cudarc's, which is there while it is borrowed; the name is not used
    // longer.
    let named = unsafe { ForeignStream::named(stream.cu_stream().expose_provenance() as u64) };
    named.unwrap_or(ForeignStream::LEGACY)
}

#[track_caller]
fn check_device(stream: &StreamHandle<CudaDevice>, other: &CudaStream) -> Result<()> {
    let own = stream.context().device().id();
    let found = DeviceId::new(DeviceId::CUDA, i32::try_from(other.context().ordinal()).unwrap_or(i32::MAX));
    if found == own { Ok(()) } else { Err(DoorError::Device { found, own }) }
}
