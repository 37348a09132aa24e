//! DLPack's exchange table: tensors between C functions and Python objects without a call of
//! Python, both ways.
#![allow(unsafe_code)] // is called by other code through a C table, and calls theirs

use std::{
    ffi::{CStr, CString, c_int, c_void},
    ptr::{self, NonNull},
    slice,
};

use devarray::backend::ForeignStream;
use devarray_interop::{
    DataType,
    device::DeviceId,
    dlpack::{
        ExchangeApi, ExchangeApiHeader, Owned, SetError,
        abi::{MAJOR, MINOR, ManagedTensorVersioned, TensorAbi, Version},
    },
};
use pyo3::{
    Borrowed, Bound, Py, PyAny, PyResult, Python,
    exceptions::PyBufferError,
    ffi, intern, pymethods,
    types::{PyAnyMethods, PyCapsule},
};

use crate::{
    DeviceArray,
    error::to_py,
    serve::{AnyServer, server_of},
};

/// The name of capsules around such a table.
const NAME: &CStr = c"dlpack_exchange_api";

/// A table that nobody writes.
struct Table(ExchangeApi);

// SAFETY: functions and null pointers.
unsafe impl Sync for Table {}

static TABLE: Table = Table(ExchangeApi {
    header: ExchangeApiHeader { version: Version { major: MAJOR, minor: MINOR }, prev_api: ptr::null_mut() },
    managed_tensor_allocator: Some(allocate),
    managed_tensor_from_py_object_no_sync: Some(from_object),
    managed_tensor_to_py_object_no_sync: Some(to_object),
    dltensor_from_py_object_no_sync: None,
    current_work_stream: Some(current_stream),
});

#[pymethods]
impl DeviceArray {
    /// The capsule of the table, at the class, where it is looked for.
    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Py<PyCapsule>> {
        let table = NonNull::from(&TABLE.0).cast();
        // SAFETY: the table stays for ever.
        Ok(unsafe { PyCapsule::new_with_pointer(py, table, NAME) }?.unbind())
    }
}

/// Runs a function of the table: 0, or -1 with the error set.
fn answer(run: impl FnOnce(Python<'_>) -> PyResult<()>) -> c_int {
    // SAFETY: functions of the table are called with the interpreter's lock, as the standard has it.
    let py = unsafe { Python::assume_attached() };
    match run(py) {
        Ok(()) => 0,
        Err(error) => {
            error.restore(py);
            -1
        }
    }
}

/// # Safety
///
/// As the standard has it: the object is alive, and `out` is to be written.
unsafe extern "C" fn from_object(object: *mut c_void, out: *mut *mut ManagedTensorVersioned) -> c_int {
    answer(|py| {
        // SAFETY: alive, as the caller vouches.
        let object = unsafe { Borrowed::from_ptr_or_err(py, object.cast::<ffi::PyObject>()) }?;
        let own = object.cast::<DeviceArray>()?;
        let owned = own.get().array.to_dlpack_here().map_err(to_py)?;
        // SAFETY: to be written, as the caller vouches.
        unsafe { out.write(owned.into_raw().as_ptr()) };
        Ok(())
    })
}

/// # Safety
///
/// As the standard has it: the tensor is given away, `out` is to be written, and work on it was
/// given to our stream.
unsafe extern "C" fn to_object(tensor: *mut ManagedTensorVersioned, out: *mut *mut c_void) -> c_int {
    answer(|py| {
        let structure = NonNull::new(tensor).ok_or_else(|| PyBufferError::new_err("no tensor"))?;
        // SAFETY: given away, as the caller vouches.
        let owned = unsafe { Owned::from_raw(structure) };
        let device = owned.tensor().map_err(to_py)?.abi().device;
        let server = server_of(device).ok_or_else(|| unserved(device))?;
        // SAFETY: what the structure says holds, as the caller vouches.
        let array = unsafe { server.import_dlpack(owned, ForeignStream::LEGACY) }.map_err(to_py)?;
        let object = Py::new(py, DeviceArray::of(array))?;
        // SAFETY: to be written, as the caller vouches.
        unsafe { out.write(object.into_ptr().cast()) };
        Ok(())
    })
}

/// # Safety
///
/// As the standard has it: the prototype is a tensor, and `out` is to be written.
unsafe extern "C" fn allocate(
    prototype: *mut TensorAbi,
    out: *mut *mut ManagedTensorVersioned,
    context: *mut c_void,
    set_error: SetError,
) -> c_int {
    // SAFETY: passed on to the caller.
    match unsafe { allocated(prototype) } {
        Ok(structure) => {
            // SAFETY: to be written, as the caller vouches.
            unsafe { out.write(structure.as_ptr()) };
            0
        }
        Err(message) => {
            let message = CString::new(message).unwrap_or_default();
            // SAFETY: the caller's function, its context, and two texts.
            unsafe { set_error(context, c"BufferError".as_ptr(), message.as_ptr()) };
            -1
        }
    }
}

/// # Safety
///
/// The prototype is a tensor.
unsafe fn allocated(prototype: *mut TensorAbi) -> Result<NonNull<ManagedTensorVersioned>, String> {
    // SAFETY: a tensor, as the caller vouches.
    let prototype = unsafe { prototype.as_ref() }.ok_or("no prototype")?;
    let rank = usize::try_from(prototype.ndim).map_err(|_| "a negative number of axes")?;
    let shape = if rank == 0 {
        Vec::new()
    } else {
        // SAFETY: as many extents as axes, as the caller vouches.
        let shape = unsafe { slice::from_raw_parts(prototype.shape.cast_const(), rank) };
        shape
            .iter()
            .map(|&n| usize::try_from(n))
            .collect::<Result<_, _>>()
            .map_err(|_| "a negative extent")?
    };
    let data_type = DataType::of_dlpack(prototype.dtype.code, prototype.dtype.bits);
    let data_type = data_type.filter(|_| prototype.dtype.lanes == 1).ok_or("an unknown type")?;
    let server = server_of(prototype.device).ok_or("a device that is not served")?;
    let array = server.allocate(&shape, data_type).map_err(|error| error.to_string())?;
    Ok(array.to_dlpack_here().map_err(|error| error.to_string())?.into_raw())
}

/// # Safety
///
/// As the standard has it: `out` is to be written.
unsafe extern "C" fn current_stream(kind: i32, number: i32, out: *mut *mut c_void) -> c_int {
    answer(|_| {
        let device = DeviceId::new(kind, number);
        let stream = server_of(device).ok_or_else(|| unserved(device))?.stream_number().unwrap_or_default();
        let stream = ptr::with_exposed_provenance_mut(usize::try_from(stream).unwrap_or_default());
        // SAFETY: to be written, as the caller vouches.
        unsafe { out.write(stream) };
        Ok(())
    })
}

fn unserved(device: DeviceId) -> pyo3::PyErr {
    PyBufferError::new_err(format!("memory on {device} is not served here"))
}

/// The tensor of an object whose class has a table, and the stream that its producer works on; none
/// without a table.
pub(crate) fn take(object: &Bound<'_, PyAny>) -> PyResult<Option<DeviceArray>> {
    let py = object.py();
    let Some(capsule) = object.get_type().getattr_opt(intern!(py, "__dlpack_c_exchange_api__"))? else {
        return Ok(None);
    };
    // SAFETY: any object may be asked.
    if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME.as_ptr()) } != 1 {
        return Ok(None);
    }
    // SAFETY: valid, and so with a pointer.
    let table = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()) }.cast::<ExchangeApi>();
    // SAFETY: a table of the standard, which stays for ever; its header is the same in all versions.
    let header = unsafe { &(*table).header };
    if header.version.major != MAJOR {
        return Ok(None);
    }
    // SAFETY: of the version that is known.
    let table = unsafe { &*table };
    let (Some(export), Some(stream)) =
        (table.managed_tensor_from_py_object_no_sync, table.current_work_stream)
    else {
        return Ok(None);
    };
    let mut structure = ptr::null_mut();
    // SAFETY: a function of the standard, called with the lock; the object is of its class.
    if unsafe { export(object.as_ptr().cast(), &raw mut structure) } != 0 {
        return Err(pyo3::PyErr::fetch(py));
    }
    let structure = NonNull::new(structure).ok_or_else(|| PyBufferError::new_err("no tensor"))?;
    // SAFETY: given to us, as the standard has it.
    let owned = unsafe { Owned::from_raw(structure) };
    let device = owned.tensor().map_err(to_py)?.abi().device;
    let server = server_of(device).ok_or_else(|| unserved(device))?;
    let lender = producer(py, &*server, device, stream)?;
    // SAFETY: what the structure says holds; our stream waits for its producer's.
    let array = unsafe { server.import_dlpack(owned, lender) };
    Ok(Some(DeviceArray::of(array.map_err(to_py)?)))
}

/// The stream that a producer works on, for which ours waits from now on.
fn producer(
    py: Python<'_>,
    server: &dyn AnyServer,
    device: DeviceId,
    stream: unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int,
) -> PyResult<ForeignStream> {
    if server.stream_number().is_none() {
        return Ok(ForeignStream::LEGACY);
    }
    let mut current = ptr::null_mut();
    // SAFETY: a function of the standard, called with the lock.
    if unsafe { stream(device.device_type, device.device_id, &raw mut current) } != 0 {
        return Err(pyo3::PyErr::fetch(py));
    }
    // SAFETY: the producer's own stream, which is there. Null is its default stream.
    let named = unsafe { ForeignStream::named(current.expose_provenance() as u64) };
    let lender = named.unwrap_or(ForeignStream::LEGACY);
    server.wait_for(lender).map_err(to_py)?;
    Ok(lender)
}
