//! The structures, as arrow/c/abi.h has them on 64-bit machines.

use std::{
    ffi::{c_char, c_void},
    ptr,
};

use static_assertions::const_assert_eq;

/// `ArrowSchema`
#[derive(Debug)]
#[repr(C)]
pub struct ArrowSchema {
    /// The type, as a C string.
    pub format: *const c_char,
    /// The name of the field, as a C string; may be null.
    pub name: *const c_char,
    /// May be null.
    pub metadata: *const c_char,
    /// 2 if there may be nulls.
    pub flags: i64,
    /// Used by nested types.
    pub n_children: i64,
    /// Used by nested types.
    pub children: *mut *mut Self,
    /// Used by dictionaries.
    pub dictionary: *mut Self,
    /// Gives the structure back; none if it was given back already.
    pub release: Option<unsafe extern "C" fn(*mut Self)>,
    /// Belongs to the producer.
    pub private_data: *mut c_void,
}

/// `ArrowArray`
#[derive(Debug)]
#[repr(C)]
pub struct ArrowArray {
    /// The number of elements.
    pub length: i64,
    /// The number of nulls among them; -1 if nobody counted.
    pub null_count: i64,
    /// The number of elements to leave out at the start.
    pub offset: i64,
    /// The number of buffers; a primitive type has two: the bits that mark nulls, and the elements.
    pub n_buffers: i64,
    /// Used by nested types.
    pub n_children: i64,
    /// The buffers' addresses, in host memory; the buffers are in memory of the device.
    pub buffers: *mut *const c_void,
    /// Used by nested types.
    pub children: *mut *mut Self,
    /// Used by dictionaries.
    pub dictionary: *mut Self,
    /// Gives the structure back; none if it was given back already.
    pub release: Option<unsafe extern "C" fn(*mut Self)>,
    /// Belongs to the producer.
    pub private_data: *mut c_void,
}

/// `ArrowDeviceArray`
#[derive(Debug)]
#[repr(C)]
pub struct ArrowDeviceArray {
    /// The array.
    pub array: ArrowArray,
    /// The number of the device; -1 if such devices have no numbers.
    pub device_id: i64,
    /// The kind of memory, as DLPack numbers it.
    pub device_type: i32,
    /// Points to an event to wait for, of the kind that the device has; null if there is nothing to
    /// wait for.
    pub sync_event: *mut c_void,
    /// Zero.
    pub reserved: [i64; 3],
}

impl ArrowArray {
    /// An array that was given back.
    pub(crate) const fn released() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

// Sizes and offsets of arrow/c/abi.h, compiled for x86-64 and AArch64.
const_assert_eq!(size_of::<ArrowSchema>(), 72);
const_assert_eq!(std::mem::offset_of!(ArrowSchema, flags), 24);
const_assert_eq!(std::mem::offset_of!(ArrowSchema, release), 56);
const_assert_eq!(size_of::<ArrowArray>(), 80);
const_assert_eq!(std::mem::offset_of!(ArrowArray, n_buffers), 24);
const_assert_eq!(std::mem::offset_of!(ArrowArray, buffers), 40);
const_assert_eq!(std::mem::offset_of!(ArrowArray, release), 64);
const_assert_eq!(size_of::<ArrowDeviceArray>(), 128);
const_assert_eq!(std::mem::offset_of!(ArrowDeviceArray, device_id), 80);
const_assert_eq!(std::mem::offset_of!(ArrowDeviceArray, device_type), 88);
const_assert_eq!(std::mem::offset_of!(ArrowDeviceArray, sync_event), 96);
const_assert_eq!(std::mem::offset_of!(ArrowDeviceArray, reserved), 104);
