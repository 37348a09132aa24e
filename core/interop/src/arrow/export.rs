//! Columns out.
#![allow(unsafe_code)] // builds structures that own themselves, and takes them down

use std::{
    ffi::{CString, c_char, c_void},
    ptr,
};

use devarray::{NdLayout, StreamHandle, backend::Stream};

use super::{
    OwnedArray, OwnedSchema,
    abi::{ArrowArray, ArrowDeviceArray, ArrowSchema},
};
use crate::{Consumer, Door, DoorError, Result, Tensor, device::DeviceId, for_c::drop_for_c, tensor::Lent};

/// The data behind an exported array.
struct Exported<D: Door> {
    buffers: [*const c_void; 2],
    /// The handle of the event. The structure points to this field.
    handle: *mut c_void,
    _event: Option<D::Event>,
    _lent: Lent<D>,
}

impl<D: Door> Tensor<D> {
    /// The tensor as a C device array, and its schema. Does not copy. Does not synchronize, except
    /// on a device of the host.
    ///
    /// # Errors
    ///
    /// - [`DoorError::DataType`]: Arrow has no such primitive type.
    /// - [`DoorError::Layout`]: there is not one axis, or there are gaps.
    /// - Any device error.
    #[track_caller]
    pub fn to_arrow(&self, stream: &StreamHandle<D>) -> Result<(OwnedSchema, OwnedArray)> {
        let data_type = self.data_type();
        let unnamed = DoorError::DataType { data_type, reason: "are no primitive type of Arrow" };
        let format = data_type.arrow_format().ok_or(unnamed)?;
        let &[len] = self.shape() else {
            return Err(DoorError::Layout { reason: "a column has one axis" });
        };
        if !self.is_c_contiguous() {
            return Err(DoorError::Layout { reason: "a column has no gaps" });
        }
        let id = stream.device().id();
        let address = usize::try_from(self.address()?).unwrap_or_default();
        let is_host = stream.device().is_host();
        // The event makes the order; the host waits only if there is none.
        let lent = Lent::new(self, stream, if is_host { Consumer::Host } else { Consumer::Unordered })?;
        let event = match is_host || self.layout().is_empty() {
            true => None,
            false => {
                self.gather(stream)?;
                Some(stream.raw().record()?)
            }
        };
        let handle = event.as_ref().and_then(D::event_handle);
        let exported = Box::into_raw(Box::new(Exported::<D> {
            buffers: [ptr::null(), ptr::with_exposed_provenance(address)],
            handle: handle.unwrap_or_default(),
            _event: event,
            _lent: lent,
        }));
        // SAFETY: just made, and nobody else has it.
        let buffers = unsafe { &raw mut (*exported).buffers };
        // SAFETY: as above.
        let event = unsafe { &raw mut (*exported).handle };
        let array = ArrowArray {
            // No extent exceeds what `isize` holds, as layouts promise.
            length: len.cast_signed() as i64,
            n_buffers: 2,
            buffers: buffers.cast(),
            release: Some(release::<D>),
            private_data: exported.cast(),
            ..ArrowArray::released()
        };
        let device_array = ArrowDeviceArray {
            array,
            device_id: if id.device_type == DeviceId::CPU { -1 } else { i64::from(id.device_id) },
            device_type: id.device_type,
            sync_event: if handle.is_some() { event.cast() } else { ptr::null_mut() },
            reserved: [0; 3],
        };
        // SAFETY: made above, and given away.
        Ok((schema(format), unsafe { OwnedArray::from_raw(device_array) }))
    }
}

/// A schema without a name.
fn schema(format: &str) -> OwnedSchema {
    let format = CString::new(format).unwrap_or_default().into_raw();
    let schema = ArrowSchema {
        format,
        name: c"".as_ptr(),
        metadata: ptr::null(),
        flags: 0,
        n_children: 0,
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: format.cast(),
    };
    // SAFETY: made above, and given away.
    unsafe { OwnedSchema::from_raw(schema) }
}

/// Gives the memory back.
///
/// # Safety
///
/// The array was made by [`Tensor::to_arrow`], and may have been moved since; this is called once.
unsafe extern "C" fn release<D: Door>(array: *mut ArrowArray) {
    // SAFETY: the structure is there while it is released, and nobody else uses it.
    let array = unsafe { &mut *array };
    array.release = None;
    // SAFETY: the box that the export gave up; it comes back once.
    drop_for_c(unsafe { Box::from_raw(array.private_data.cast::<Exported<D>>()) });
}

/// Gives the format back.
///
/// # Safety
///
/// The schema was made by [`schema`], and may have been moved since; this is called once.
unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: the structure is there while it is released, and nobody else uses it.
    let schema = unsafe { &mut *schema };
    schema.release = None;
    // SAFETY: the text that the export gave up; it comes back once.
    drop(unsafe { CString::from_raw(schema.private_data.cast::<c_char>()) });
}
