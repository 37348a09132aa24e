//! What the driver takes and its bindings describe differently from version to version.

use std::ffi::{c_int, c_uint};

use super::sys::CUdevice;

/// Who may do what with memory: `CUmemAccessDesc` of `cuda.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
#[non_exhaustive]
pub struct MemAccess {
    /// What kind of place uses it: 1 is a device (`CU_MEM_LOCATION_TYPE_DEVICE`).
    pub location_type: c_int,
    /// Which device.
    pub location: c_int,
    /// 3 is reading and writing (`CU_MEM_ACCESS_FLAGS_PROT_READWRITE`).
    pub flags: c_uint,
}

impl MemAccess {
    pub(crate) const fn read_write(device: CUdevice) -> Self {
        Self { location_type: 1, location: device, flags: 3 }
    }
}
