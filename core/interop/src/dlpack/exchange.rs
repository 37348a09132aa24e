//! The table of functions that exchange tensors without calling Python (`DLPackExchangeAPI`,
//! dlpack.h 1.3).

use std::ffi::{c_char, c_int, c_void};

use static_assertions::const_assert_eq;

use super::abi::{ManagedTensorVersioned, TensorAbi, Version};

/// Reports an error: its context, its kind and its message, as C strings.
pub type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackExchangeAPIHeader`
#[derive(Debug)]
#[repr(C)]
pub struct ExchangeApiHeader {
    /// The version of the table.
    pub version: Version,
    /// A table of an earlier version; may be null.
    pub prev_api: *mut Self,
}

/// `DLPackExchangeAPI`. Each function returns 0, or -1 with a Python error set, and is called with
/// the interpreter's lock.
#[derive(Debug)]
#[repr(C)]
pub struct ExchangeApi {
    /// The part that is the same in every version.
    pub header: ExchangeApiHeader,
    /// Allocates a tensor like the prototype.
    pub managed_tensor_allocator: Option<
        unsafe extern "C" fn(
            *mut TensorAbi,
            *mut *mut ManagedTensorVersioned,
            *mut c_void,
            SetError,
        ) -> c_int,
    >,
    /// The tensor of a Python object. Makes no order between streams.
    pub managed_tensor_from_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut c_void, *mut *mut ManagedTensorVersioned) -> c_int>,
    /// The Python object of a tensor, which takes the tensor over.
    pub managed_tensor_to_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut ManagedTensorVersioned, *mut *mut c_void) -> c_int>,
    /// The memory of a Python object, valid until the caller returns.
    pub dltensor_from_py_object_no_sync: Option<unsafe extern "C" fn(*mut c_void, *mut TensorAbi) -> c_int>,
    /// The stream that the producer works on now: device type, device number, the stream.
    pub current_work_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

const_assert_eq!(size_of::<ExchangeApiHeader>(), 16);
const_assert_eq!(size_of::<ExchangeApi>(), 56);
const_assert_eq!(std::mem::offset_of!(ExchangeApi, managed_tensor_allocator), 16);
const_assert_eq!(std::mem::offset_of!(ExchangeApi, managed_tensor_from_py_object_no_sync), 24);
const_assert_eq!(std::mem::offset_of!(ExchangeApi, managed_tensor_to_py_object_no_sync), 32);
const_assert_eq!(std::mem::offset_of!(ExchangeApi, dltensor_from_py_object_no_sync), 40);
const_assert_eq!(std::mem::offset_of!(ExchangeApi, current_work_stream), 48);
