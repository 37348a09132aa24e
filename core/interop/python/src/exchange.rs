//! DLPack's exchange table: converts tensors between C structures and Python objects, both ways,
//! without calling Python.
#![allow(unsafe_code)] // is called by other code through a C table, and calls theirs

use std::{
    ffi::{CStr, CString, c_int, c_void},
    ptr::{self, NonNull},
    slice,
};

use devarray::backend::ForeignStream;
use devarray_interop::{
    DataType, catch_for_c,
    device::DeviceId,
    dlpack::{
        ExchangeApi, ExchangeApiHeader, Owned, SetError,
        abi::{MAJOR, MINOR, ManagedTensorVersioned, TensorAbi, Version},
    },
};
use pyo3::{
    Borrowed, Bound, Py, PyAny, PyErr, PyResult, Python,
    exceptions::PyBufferError,
    ffi, intern, pymethods,
    types::{PyAnyMethods, PyCapsule, PyType},
};

use crate::{
    DeviceArray,
    error::{caught, to_py},
    others::Others,
    serve::{AnyServer, server_of},
};

/// The name of capsules around such a table.
const NAME: &CStr = c"dlpack_exchange_api";

/// The most tables that are looked at: a chain of earlier versions could lead back to its start.
const MOST_TABLES: usize = 8;

/// Our own table, which nobody writes.
struct Own(ExchangeApi);

// SAFETY: functions and null pointers.
unsafe impl Sync for Own {}

static TABLE: Own = Own(ExchangeApi {
    header: ExchangeApiHeader { version: Version { major: MAJOR, minor: MINOR }, prev_api: ptr::null_mut() },
    managed_tensor_allocator: Some(allocate),
    managed_tensor_from_py_object_no_sync: Some(from_object),
    managed_tensor_to_py_object_no_sync: Some(to_object),
    dltensor_from_py_object_no_sync: None,
    current_work_stream: Some(current_stream),
});

#[pymethods]
impl DeviceArray {
    /// The capsule of the table, an attribute of the class, where other code looks for it.
    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Py<PyCapsule>> {
        let table = NonNull::from(&TABLE.0).cast();
        // SAFETY: the table stays for ever.
        Ok(unsafe { PyCapsule::new_with_pointer(py, table, NAME) }?.unbind())
    }
}

/// Runs a function of the table. Returns 0, or -1 with the error set, also for a panic.
fn answer(run: impl FnOnce(Python<'_>) -> PyResult<()>) -> c_int {
    // SAFETY: the standard says that functions of the table are called with the interpreter's lock.
    let py = unsafe { Python::assume_attached() };
    match caught(|| run(py)) {
        Ok(()) => 0,
        Err(error) => {
            error.restore(py);
            -1
        }
    }
}

/// # Safety
///
/// The standard's terms hold: the object is alive, and `out` may be written.
unsafe extern "C" fn from_object(object: *mut c_void, out: *mut *mut ManagedTensorVersioned) -> c_int {
    answer(|py| {
        // SAFETY: alive, as the caller vouches.
        let object = unsafe { Borrowed::from_ptr_or_err(py, object.cast::<ffi::PyObject>()) }?;
        let own = object.cast::<DeviceArray>()?;
        let owned = own.get().array.to_dlpack_here().map_err(to_py)?;
        // SAFETY: `out` may be written, as the caller vouches.
        unsafe { out.write(owned.into_raw().as_ptr()) };
        Ok(())
    })
}

/// # Safety
///
/// The standard's terms hold: the tensor is given away, `out` may be written, and work on the
/// tensor was given to our stream.
unsafe extern "C" fn to_object(tensor: *mut ManagedTensorVersioned, out: *mut *mut c_void) -> c_int {
    answer(|py| {
        let structure = NonNull::new(tensor).ok_or_else(|| PyBufferError::new_err("no tensor"))?;
        // SAFETY: given away, as the caller vouches.
        let owned = unsafe { Owned::from_raw(structure) };
        let device = owned.tensor().map_err(to_py)?.abi().device;
        let server = server_of(device).ok_or_else(|| unserved(device))?;
        // SAFETY: the structure tells the truth, as the caller vouches.
        let array = unsafe { server.import_dlpack(owned, Others::lent_by(ForeignStream::LEGACY)) };
        let array = array.map_err(to_py)?;
        let object = Py::new(py, DeviceArray::of(array))?;
        // SAFETY: `out` may be written, as the caller vouches.
        unsafe { out.write(object.into_ptr().cast()) };
        Ok(())
    })
}

/// # Safety
///
/// The standard's terms hold: the prototype is a tensor, and `out` may be written.
unsafe extern "C" fn allocate(
    prototype: *mut TensorAbi,
    out: *mut *mut ManagedTensorVersioned,
    context: *mut c_void,
    set_error: SetError,
) -> c_int {
    // SAFETY: passed on to the caller.
    let structure = catch_for_c(|| unsafe { allocated(prototype) });
    match structure.unwrap_or_else(Err) {
        Ok(structure) => {
            // SAFETY: `out` may be written, as the caller vouches.
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
    if rank > 0 && prototype.shape.is_null() {
        return Err("axes without a shape".to_owned());
    }
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
/// The standard's terms hold: `out` may be written.
unsafe extern "C" fn current_stream(kind: i32, number: i32, out: *mut *mut c_void) -> c_int {
    answer(|_| {
        let device = DeviceId::new(kind, number);
        let stream = server_of(device).ok_or_else(|| unserved(device))?.stream_number().unwrap_or_default();
        let stream = ptr::with_exposed_provenance_mut(usize::try_from(stream).unwrap_or_default());
        // SAFETY: `out` may be written, as the caller vouches.
        unsafe { out.write(stream) };
        Ok(())
    })
}

fn unserved(device: DeviceId) -> PyErr {
    PyBufferError::new_err(format!("memory on {device} is not served here"))
}

/// The exchange table of another library's class.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    export: unsafe extern "C" fn(*mut c_void, *mut *mut ManagedTensorVersioned) -> c_int,
    stream: unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int,
}

impl Table {
    /// The table of a class; `None` if its version is another, or if it lacks one of the two
    /// functions used here.
    pub(crate) fn of(class: &Bound<'_, PyType>) -> PyResult<Option<Self>> {
        let Some(capsule) = class.getattr_opt(intern!(class.py(), "__dlpack_c_exchange_api__"))? else {
            return Ok(None);
        };
        // SAFETY: this may be called with any object.
        if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), NAME.as_ptr()) } != 1 {
            return Ok(None);
        }
        // SAFETY: the capsule is valid, so it has a pointer.
        let table = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()) };
        // SAFETY: a table of the standard, which stays for ever.
        Ok(unsafe { supported(table.cast::<ExchangeApiHeader>()) }.and_then(|table| {
            let export = table.managed_tensor_from_py_object_no_sync?;
            Some(Self { export, stream: table.current_work_stream? })
        }))
    }
}

/// The first table of the known major version, among a table and the tables it leads to.
///
/// # Safety
///
/// A table of the standard. The tables that it leads to are such tables too, and all stay for ever.
unsafe fn supported(mut header: *const ExchangeApiHeader) -> Option<&'static ExchangeApi> {
    for _ in 0..MOST_TABLES {
        // SAFETY: null, or a table, whose header is the same in all versions.
        let known = unsafe { header.as_ref() }?;
        if known.version.major == MAJOR {
            // SAFETY: it is of the known version, and stays for ever.
            return Some(unsafe { &*header.cast::<ExchangeApi>() });
        }
        header = known.prev_api.cast_const();
    }
    None
}

/// The tensor of an object, by its class's table.
pub(crate) fn take(object: &Bound<'_, PyAny>, table: Table) -> PyResult<DeviceArray> {
    let py = object.py();
    let mut structure = ptr::null_mut();
    // SAFETY: a function of the standard, called with the lock; the object is of its class.
    if unsafe { (table.export)(object.as_ptr().cast(), &raw mut structure) } != 0 {
        return Err(failed(py));
    }
    let structure = NonNull::new(structure).ok_or_else(|| PyBufferError::new_err("no tensor"))?;
    // SAFETY: it is given to us, as the standard says.
    let owned = unsafe { Owned::from_raw(structure) };
    let device = owned.tensor().map_err(to_py)?.abi().device;
    let server = server_of(device).ok_or_else(|| unserved(device))?;
    let others = producer(py, &*server, device, table)?;
    // SAFETY: the structure tells the truth; our stream waits for its producer's before the memory
    // is used.
    let array = unsafe { server.import_dlpack(owned, others) };
    Ok(DeviceArray::of(array.map_err(to_py)?))
}

/// The exception that a function of a table has set, if it has.
fn failed(py: Python<'_>) -> PyErr {
    PyErr::take(py).unwrap_or_else(|| PyBufferError::new_err("the exchange table failed without a word"))
}

/// The stream that a producer works on. Ours waits for it before the memory is used.
fn producer(py: Python<'_>, server: &dyn AnyServer, device: DeviceId, table: Table) -> PyResult<Others> {
    if server.stream_number().is_none() {
        return Ok(Others::lent_by(ForeignStream::LEGACY));
    }
    let mut current = ptr::null_mut();
    // SAFETY: a function of the standard, called with the lock.
    if unsafe { (table.stream)(device.device_type, device.device_id, &raw mut current) } != 0 {
        return Err(failed(py));
    }
    // SAFETY: the producer's own stream, which is there. Null is its default stream.
    let named = unsafe { ForeignStream::named(current.expose_provenance() as u64) };
    awaited_later(server, named.unwrap_or(ForeignStream::LEGACY))
}

/// Memory lent by a stream with a known name. Our stream waits for it when the memory is first
/// used.
pub(crate) fn awaited_later(server: &dyn AnyServer, lender: ForeignStream) -> PyResult<Others> {
    if lender != ForeignStream::PER_THREAD {
        return Ok(Others::to_await(lender));
    }
    // On another thread the name means another stream, so our stream waits for it now.
    server.wait_for(lender).map_err(to_py)?;
    Ok(Others::lent_by(lender))
}
