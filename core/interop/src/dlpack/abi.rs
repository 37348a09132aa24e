//! The structures, as dlpack.h of DLPack 1.3 has them on 64-bit machines.

use std::ffi::c_void;

use static_assertions::const_assert_eq;

use crate::device::DeviceId;

/// The major version that is understood. Its minor versions only add values.
pub const MAJOR: u32 = 1;
/// The minor version that is written.
pub const MINOR: u32 = 3;
/// A flag: the memory is read-only (`DLPACK_FLAG_BITMASK_READ_ONLY`).
pub const READ_ONLY: u64 = 1;
/// A flag: the memory was copied, and nobody else has it (`DLPACK_FLAG_BITMASK_IS_COPIED`).
pub const IS_COPIED: u64 = 2;

/// `DLPackVersion`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Version {
    /// Structures of another major version have another layout.
    pub major: u32,
    /// A new minor version adds values to enumerations.
    pub minor: u32,
}

/// `DLDataType`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct DataTypeAbi {
    /// A [`Kind`](crate::Kind).
    pub code: u8,
    /// Bits of one lane.
    pub bits: u8,
    /// Lanes of one element.
    pub lanes: u16,
}

/// `DLTensor`
#[derive(Debug)]
#[repr(C)]
pub struct TensorAbi {
    /// The memory.
    pub data: *mut c_void,
    /// The device of the memory.
    pub device: DeviceId,
    /// The number of axes.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DataTypeAbi,
    /// Extents, `ndim` of them; may be null if that is 0.
    pub shape: *mut i64,
    /// Strides in elements, `ndim` of them; null is C order without gaps.
    pub strides: *mut i64,
    /// Bytes from `data` to element `[0, …, 0]`.
    pub byte_offset: u64,
}

/// `DLManagedTensor`
#[derive(Debug)]
#[repr(C)]
pub struct ManagedTensor {
    /// The memory.
    pub dl_tensor: TensorAbi,
    /// Belongs to the producer.
    pub manager_ctx: *mut c_void,
    /// Gives the memory back; called once, from any thread. None if nothing is to be given back.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
}

/// `DLManagedTensorVersioned`
#[derive(Debug)]
#[repr(C)]
pub struct ManagedTensorVersioned {
    /// To be read first: in another major version, only the fields before `flags` mean what they
    /// mean here.
    pub version: Version,
    /// Belongs to the producer.
    pub manager_ctx: *mut c_void,
    /// Gives the memory back; called once, from any thread. None if nothing is to be given back.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    /// [`READ_ONLY`] and others.
    pub flags: u64,
    /// The memory.
    pub dl_tensor: TensorAbi,
}

// Sizes and offsets of dlpack.h 1.3, compiled for x86-64 and AArch64.
const_assert_eq!(size_of::<Version>(), 8);
const_assert_eq!(size_of::<DeviceId>(), 8);
const_assert_eq!(size_of::<DataTypeAbi>(), 4);
const_assert_eq!(size_of::<TensorAbi>(), 48);
const_assert_eq!(std::mem::offset_of!(TensorAbi, data), 0);
const_assert_eq!(std::mem::offset_of!(TensorAbi, device), 8);
const_assert_eq!(std::mem::offset_of!(TensorAbi, ndim), 16);
const_assert_eq!(std::mem::offset_of!(TensorAbi, dtype), 20);
const_assert_eq!(std::mem::offset_of!(TensorAbi, shape), 24);
const_assert_eq!(std::mem::offset_of!(TensorAbi, strides), 32);
const_assert_eq!(std::mem::offset_of!(TensorAbi, byte_offset), 40);
const_assert_eq!(size_of::<ManagedTensor>(), 64);
const_assert_eq!(std::mem::offset_of!(ManagedTensor, manager_ctx), 48);
const_assert_eq!(std::mem::offset_of!(ManagedTensor, deleter), 56);
const_assert_eq!(size_of::<ManagedTensorVersioned>(), 80);
const_assert_eq!(std::mem::offset_of!(ManagedTensorVersioned, manager_ctx), 8);
const_assert_eq!(std::mem::offset_of!(ManagedTensorVersioned, deleter), 16);
const_assert_eq!(std::mem::offset_of!(ManagedTensorVersioned, flags), 24);
const_assert_eq!(std::mem::offset_of!(ManagedTensorVersioned, dl_tensor), 32);
