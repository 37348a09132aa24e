//! The way in: from any object that has one of the interfaces.
#![allow(unsafe_code)] // takes other libraries at their word, as their interfaces are made

use devarray::{Error, backend::ForeignStream};
use devarray_interop::{
    ArrayInterface, DataType, DoorError,
    device::DeviceId,
    dlpack::abi::{ManagedTensor, ManagedTensorVersioned},
};
use pyo3::{
    Borrowed, Bound, FromPyObject, IntoPyObject, Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyBufferError, PyTypeError},
    intern,
    sync::PyOnceLock,
    types::{PyAnyMethods, PyDict, PyDictMethods, PyTuple},
};

use crate::{
    DeviceArray, capsule, cupy,
    error::to_py,
    exchange::{self, awaited_later},
    interface::interface_of,
    kept::Kept,
    known,
    once::get_or_make,
    others::Others,
    serve::{AnyServer, server_at, server_of},
};

impl<'py> FromPyObject<'_, 'py> for DeviceArray {
    type Error = PyErr;

    /// The array of an object. The object is of this class, or has one of these interfaces, and the
    /// first that it has is used: DLPack's exchange table, a `__cuda_array_interface__` that names
    /// its stream, `__dlpack__`, any `__cuda_array_interface__`, `__arrow_c_device_array__` or
    /// `__array_interface__`. A CuPy array is read by the attributes that its dictionary is made
    /// of.
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(own) = object.cast_exact::<Self>() {
            return Ok(own.get().clone());
        }
        let known = known::of(&object)?;
        if let Some(table) = known.table {
            return exchange::take(&object, table);
        }
        if let Some((mut interface, device)) = known.is_cupy.then(|| cupy::interface_of(&object)).flatten() {
            return from_cuda(&object, &mut interface, Some(device));
        }
        let py = object.py();
        if known.is_host {
            // The last object of its class was on the CPU. If this one is not, the usual order
            // applies.
            if let Some(device) = device_of(&object)?.filter(|device| device.device_type == DeviceId::CPU) {
                return from_dlpack(&object, device);
            }
        }
        let interface = object.getattr_opt(intern!(py, "__cuda_array_interface__"))?;
        let mut interface = interface.map(|dict| interface_of(&dict)).transpose()?;
        // A dictionary that names its stream costs no event, and no Python code is called.
        let says_all = |interface: &&mut ArrayInterface| {
            interface.stream.is_some() && DataType::of_typestr(&interface.typestr).is_some()
        };
        if let Some(interface) = interface.as_mut().filter(says_all) {
            return from_cuda(&object, interface, None);
        }
        if let Some(device) = device_of(&object)? {
            known::note_host(&object, device.device_type == DeviceId::CPU);
            return from_dlpack(&object, device);
        }
        if let Some(interface) = &mut interface {
            return from_cuda(&object, interface, None);
        }
        if object.hasattr(intern!(py, "__arrow_c_device_array__"))? {
            return from_arrow(&object);
        }
        if let Some(dict) = object.getattr_opt(intern!(py, "__array_interface__"))? {
            return from_host(&object, &interface_of(&dict)?);
        }
        let kind = object.get_type().to_string();
        Err(PyTypeError::new_err(format!("{kind} has none of the interfaces of arrays")))
    }
}

fn unserved(device: DeviceId) -> PyErr {
    PyBufferError::new_err(format!("memory on {device} is not served here"))
}

/// The device that an object with DLPack names; none if the object has no DLPack.
fn device_of(object: &Bound<'_, PyAny>) -> PyResult<Option<DeviceId>> {
    let Some(method) = object.getattr_opt(intern!(object.py(), "__dlpack_device__"))? else {
        return Ok(None);
    };
    let device = method.call0()?;
    let (kind, number) = (device.get_item(0)?, device.get_item(1)?);
    // Some objects give an enumeration, which is no number but can be converted to one.
    let kind = kind.extract().or_else(|_| kind.call_method0(intern!(object.py(), "__int__"))?.extract())?;
    Ok(Some(DeviceId::new(kind, number.extract()?)))
}

fn from_dlpack(object: &Bound<'_, PyAny>, device: DeviceId) -> PyResult<DeviceArray> {
    let py = object.py();
    let server = server_of(device).ok_or_else(|| unserved(device))?;
    let capsule = call_dlpack(py, object, &*server)?;
    // SAFETY: a capsule of this name holds what DLPack says; the producer was given our stream.
    if let Some(owned) = unsafe { capsule::take::<ManagedTensorVersioned>(&capsule) }? {
        // SAFETY: as above.
        let array = unsafe { server.import_dlpack(owned, Others::lent_by(ForeignStream::LEGACY)) };
        return Ok(DeviceArray::of(array.map_err(to_py)?));
    }
    // SAFETY: as above.
    let owned = unsafe { capsule::take::<ManagedTensor>(&capsule) }?;
    let owned =
        owned.ok_or_else(|| PyBufferError::new_err("__dlpack__ answered no unused capsule of DLPack"))?;
    // SAFETY: as above.
    let array = unsafe { server.import_legacy(owned, Others::lent_by(ForeignStream::LEGACY)) };
    Ok(DeviceArray::of(array.map_err(to_py)?))
}

/// The newest version understood here, which producers are given.
static MAX_VERSION: PyOnceLock<Py<PyTuple>> = PyOnceLock::new();

/// Asks for a versioned capsule, and for a capsule of any kind if the keyword is not understood.
fn call_dlpack<'py>(
    py: Python<'py>,
    object: &Bound<'py, PyAny>,
    server: &dyn AnyServer,
) -> PyResult<Bound<'py, PyAny>> {
    let method = object.getattr(intern!(py, "__dlpack__"))?;
    let keywords = PyDict::new(py);
    if let Some(stream) = server.stream_number() {
        keywords.set_item(intern!(py, "stream"), stream)?;
    }
    let version = get_or_make(&MAX_VERSION, py, || (1, 3).into_pyobject(py).map(Bound::unbind))?;
    keywords.set_item(intern!(py, "max_version"), version)?;
    match method.call((), Some(&keywords)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            keywords.del_item(intern!(py, "max_version"))?;
            method.call((), Some(&keywords))
        }
        answer => answer,
    }
}

/// The named device takes the memory. If none is named, as in a dictionary, or the named one is not
/// served, the device that has the memory takes it.
fn from_cuda(
    object: &Bound<'_, PyAny>,
    interface: &mut ArrayInterface,
    device: Option<DeviceId>,
) -> PyResult<DeviceArray> {
    // SAFETY: the standard says that the stream lives as long as the object, which is kept.
    let lender = interface.stream.and_then(|number| unsafe { ForeignStream::named(number) });
    if lender.is_some() {
        // Our stream waits for it when the memory is first used, and not when it comes in.
        interface.stream = None;
    }
    let taken_by = |server: &dyn AnyServer, device| {
        let others = match lender {
            Some(lender) => awaited_later(server, lender)?,
            None => Others::lent_by(ForeignStream::LEGACY),
        };
        let owner = Kept::new(object.py(), object.clone().unbind());
        // SAFETY: the dictionary tells the truth as long as the object lives, which is kept.
        Ok::<_, PyErr>(unsafe { server.import_interface(interface, device, owner, others) })
    };
    if let Some(server) = device.and_then(server_of) {
        return Ok(DeviceArray::of(taken_by(&*server, device)?.map_err(to_py)?));
    }
    let mut refused = None;
    for number in 0.. {
        let Some(server) = server_at(DeviceId::CUDA, number) else { break };
        match taken_by(&*server, None)? {
            Ok(array) => return Ok(DeviceArray::of(array)),
            Err(error @ DoorError::Array(Error::DeviceMismatch { .. })) => refused = Some(error),
            Err(error) => return Err(to_py(error)),
        }
    }
    Err(refused.map_or_else(|| unserved(DeviceId::new(DeviceId::CUDA, 0)), to_py))
}

fn from_host(object: &Bound<'_, PyAny>, interface: &ArrayInterface) -> PyResult<DeviceArray> {
    let device = DeviceId::new(DeviceId::CPU, 0);
    let server = server_of(device).ok_or_else(|| unserved(device))?;
    let lender = Others::lent_by(ForeignStream::LEGACY);
    // SAFETY: the dictionary tells the truth as long as the object lives, which is kept.
    let array = unsafe {
        server.import_interface(interface, None, Kept::new(object.py(), object.clone().unbind()), lender)
    };
    Ok(DeviceArray::of(array.map_err(to_py)?))
}

fn from_arrow(object: &Bound<'_, PyAny>) -> PyResult<DeviceArray> {
    let py = object.py();
    let capsules = object.call_method0(intern!(py, "__arrow_c_device_array__"))?;
    let (schema, array) = (capsules.get_item(0)?, capsules.get_item(1)?);
    // SAFETY: capsules of these names hold the structures that Arrow describes.
    let (schema, array) = unsafe { capsule::take_arrow(&schema, &array) }?;
    let abi = array.as_abi();
    let number = i32::try_from(abi.device_id.max(0)).unwrap_or(i32::MAX);
    let device = DeviceId::new(abi.device_type, number);
    let server = server_of(device).ok_or_else(|| unserved(device))?;
    // SAFETY: Arrow's arrays do not change, and stay until they are released.
    let array = unsafe { server.import_arrow(&schema, array) };
    Ok(DeviceArray::of(array.map_err(to_py)?))
}
