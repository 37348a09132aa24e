//! Columns in.
#![allow(unsafe_code)] // reads structures of other code, and gives them back

use std::{ffi::CStr, fmt, mem, slice};

use devarray::StreamHandle;
use smallvec::smallvec;

use super::abi::{ArrowArray, ArrowDeviceArray, ArrowSchema};
use crate::{
    DataType, Door, Result, Tensor,
    device::DeviceId,
    error::field,
    incoming::{Incoming, is_own},
};

/// An array from other code, or for other code. Dropping it releases it.
pub struct OwnedArray(ArrowDeviceArray);

/// A schema from other code, or for other code. Dropping it releases it.
pub struct OwnedSchema(ArrowSchema);

// SAFETY: the standard lets `release` be called from any thread, and nobody else reads the
// structure.
unsafe impl Send for OwnedArray {}
// SAFETY: a shared reference reads the structure, which nobody writes.
unsafe impl Sync for OwnedArray {}
// SAFETY: as for `OwnedArray`.
unsafe impl Send for OwnedSchema {}
// SAFETY: as for `OwnedArray`.
unsafe impl Sync for OwnedSchema {}

impl OwnedArray {
    /// Takes an array over: its old place counts as released.
    ///
    /// # Safety
    ///
    /// It is an array as the standard describes it. Its pointers are null or lead to what their
    /// names say: `buffers` to `n_buffers` pointers if that is 2, `sync_event` to an event of the
    /// device. The caller may give it away, and `release` may be called from any thread.
    #[must_use]
    pub unsafe fn from_raw(array: ArrowDeviceArray) -> Self {
        Self(array)
    }

    /// Gives the array away: its holder releases it.
    #[must_use]
    pub fn into_raw(mut self) -> ArrowDeviceArray {
        let ArrowDeviceArray { device_id, device_type, sync_event, reserved, .. } = self.0;
        let array = mem::replace(&mut self.0.array, ArrowArray::released());
        ArrowDeviceArray { array, device_id, device_type, sync_event, reserved }
    }

    /// The structure.
    #[must_use]
    pub fn as_abi(&self) -> &ArrowDeviceArray {
        &self.0
    }
}

impl OwnedSchema {
    /// Takes a schema over: its old place counts as released.
    ///
    /// # Safety
    ///
    /// It is a schema as the standard describes it; `format` is null or a C string. The caller may
    /// give it away, and `release` may be called from any thread.
    #[must_use]
    pub unsafe fn from_raw(schema: ArrowSchema) -> Self {
        Self(schema)
    }

    /// Gives the schema away: its holder releases it.
    #[must_use]
    pub fn into_raw(mut self) -> ArrowSchema {
        let release = self.0.release.take();
        let ArrowSchema {
            format, name, metadata, flags, n_children, children, dictionary, private_data, ..
        } = self.0;
        ArrowSchema { format, name, metadata, flags, n_children, children, dictionary, release, private_data }
    }

    /// The type, as Arrow writes it; none if it is missing or not UTF-8.
    #[must_use]
    pub fn format(&self) -> Option<&str> {
        if self.0.release.is_none() || self.0.format.is_null() {
            return None;
        }
        // SAFETY: a C string, as `from_raw` was promised, until the schema is released.
        unsafe { CStr::from_ptr(self.0.format) }.to_str().ok()
    }
}

impl Drop for OwnedArray {
    fn drop(&mut self) {
        if let Some(release) = self.0.array.release {
            // SAFETY: it is ours to release, which happens here alone.
            unsafe { release(&raw mut self.0.array) }
        }
    }
}

impl Drop for OwnedSchema {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: it is ours to release, which happens here alone.
            unsafe { release(&raw mut self.0) }
        }
    }
}

impl fmt::Debug for OwnedArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedArray").field(&self.0).finish()
    }
}

impl fmt::Debug for OwnedSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnedSchema").field(&self.format()).finish()
    }
}

impl<D: Door> Tensor<D> {
    /// A column in memory of other code, read-only. Does not copy. Does not synchronize: `stream`
    /// waits for the event on the device.
    ///
    /// The array is released when the tensor, its clones and all work on them are gone, at the
    /// latest with the context; at once if there are no elements, or on an error.
    ///
    /// # Errors
    ///
    /// - [`DoorError::Device`](crate::DoorError::Device): the device does not reach the memory.
    /// - [`DoorError::Field`](crate::DoorError::Field): the array was released, has nulls or no
    ///   primitive type, or a field is impossible.
    /// - The errors of [`Array::adopt`](devarray::Array::adopt), in
    ///   [`DoorError::Array`](crate::DoorError::Array).
    ///
    /// # Safety
    ///
    /// The bytes of every element are allocated, initialized and reached by the device, and stay
    /// so, unchanged, until the array is released. The work that wrote them comes before the event,
    /// or before work that `stream` is given from now on.
    #[track_caller]
    pub unsafe fn from_arrow(
        stream: &StreamHandle<D>,
        schema: &OwnedSchema,
        array: OwnedArray,
    ) -> Result<Self> {
        let incoming = read(stream, schema, &array)?;
        let event = array.0.sync_event;
        // Memory of the CPU has no events, whatever this field holds (Arrow C device data
        // interface).
        if !event.is_null() && array.0.device_type != DeviceId::CPU {
            if stream.device().is_host() {
                return Err(field("sync_event", "an event of another device, which is not waited for here"));
            }
            // SAFETY: it leads to an event of the device, as `from_raw` was promised.
            let handle = unsafe { *event.cast::<*mut std::ffi::c_void>() };
            stream.foreign_work().enqueue(|raw| {
                // SAFETY: the event is there until the array is released.
                unsafe { D::wait_for_event(raw, handle) }
            })?;
        }
        // SAFETY: passed on to the caller.
        unsafe { incoming.adopt(stream, array) }
    }
}

#[track_caller]
fn read<D: Door>(stream: &StreamHandle<D>, schema: &OwnedSchema, owned: &OwnedArray) -> Result<Incoming> {
    let array = &owned.0.array;
    if array.release.is_none() {
        return Err(field("release", "the array was released"));
    }
    let device_id = i32::try_from(owned.0.device_id.max(0)).map_err(|_| field("device_id", "too large"))?;
    let is_own = is_own(stream, DeviceId::new(owned.0.device_type, device_id))?;
    let data_type = schema.format().and_then(DataType::of_arrow);
    let data_type = data_type.ok_or(field("format", "no primitive type that is known here"))?;
    if array.n_children != 0 || !array.dictionary.is_null() {
        return Err(field("n_children", "no primitive type has children or a dictionary"));
    }
    if array.n_buffers != 2 || array.buffers.is_null() {
        return Err(field("n_buffers", "a primitive type has two buffers"));
    }
    // SAFETY: it leads to two pointers, as `from_raw` was promised.
    let buffers = unsafe { slice::from_raw_parts(array.buffers, 2) };
    if array.null_count > 0 || (array.null_count != 0 && !buffers[0].is_null()) {
        return Err(field("null_count", "there are, or may be, nulls"));
    }
    let len = usize::try_from(array.length).map_err(|_| field("length", "negative"))?;
    let offset = u64::try_from(array.offset).map_err(|_| field("offset", "negative"))?;
    let data = buffers[1].expose_provenance() as u64;
    let skipped = offset.checked_mul(data_type.item_bytes() as u64);
    let address = if data == 0 { Some(0) } else { skipped.and_then(|skipped| data.checked_add(skipped)) };
    let address = address.ok_or(field("offset", "beyond the addresses"))?;
    let (shape, strides) = (smallvec![len], smallvec![1]);
    Ok(Incoming { data_type, shape, strides, address, read_only: true, is_own })
}
