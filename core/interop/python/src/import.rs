//! The way in: from any object that has one of the interfaces.
#![allow(unsafe_code)] // takes other libraries at their word, as their interfaces are made

use devarray::{Error, backend::ForeignStream};
use devarray_interop::{
    ArrayInterface, DataType, DoorError,
    device::DeviceId,
    dlpack::abi::{ManagedTensor, ManagedTensorVersioned},
};
use pyo3::{
    Borrowed, Bound, FromPyObject, PyAny, PyErr, PyResult, Python,
    exceptions::{PyAttributeError, PyBufferError, PyTypeError},
    intern,
    types::{PyAnyMethods, PyDict, PyDictMethods},
};

use crate::{
    DeviceArray, capsule,
    error::to_py,
    exchange,
    serve::{AnyServer, server_of, servers_of},
};

impl<'py> FromPyObject<'_, 'py> for DeviceArray {
    type Error = PyErr;

    /// The array of an object: of this class, or with DLPack's exchange table, a
    /// `__cuda_array_interface__` that names its stream, `__dlpack__`, any
    /// `__cuda_array_interface__`, `__arrow_c_device_array__` or `__array_interface__`, the first
    /// that it has.
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(own) = object.cast::<Self>() {
            let own = own.get().clone();
            own.array.settle().map_err(to_py)?;
            return Ok(own);
        }
        if let Some(array) = exchange::take(&object)? {
            return Ok(array);
        }
        let py = object.py();
        let has = |name| object.hasattr(name);
        let has_dlpack = has(intern!(py, "__dlpack_device__"))?;
        if let Some(dict) = object.getattr_opt(intern!(py, "__cuda_array_interface__"))? {
            let interface = interface_of(&dict)?;
            // A producer that names its stream makes no event, and no call of Python.
            let says_all = interface.stream.is_some() && DataType::of_typestr(&interface.typestr).is_some();
            if says_all || !has_dlpack {
                return from_cuda(&object, &interface);
            }
        }
        if has_dlpack {
            return from_dlpack(&object);
        }
        if has(intern!(py, "__arrow_c_device_array__"))? {
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

fn from_dlpack(object: &Bound<'_, PyAny>) -> PyResult<DeviceArray> {
    let py = object.py();
    let device = object.call_method0(intern!(py, "__dlpack_device__"))?;
    let (kind, number) =
        (device.get_item(0)?.call_method0("__int__")?.extract()?, device.get_item(1)?.extract()?);
    let device = DeviceId::new(kind, number);
    let server = server_of(device).ok_or_else(|| unserved(device))?;
    let capsule = call_dlpack(py, object, &*server)?;
    // SAFETY: a capsule of this name is what DLPack says; the producer was told our stream.
    if let Some(owned) = unsafe { capsule::take::<ManagedTensorVersioned>(&capsule) }? {
        // SAFETY: as above.
        let array = unsafe { server.import_dlpack(owned, ForeignStream::LEGACY) };
        return Ok(DeviceArray::of(array.map_err(to_py)?));
    }
    // SAFETY: as above.
    let owned = unsafe { capsule::take::<ManagedTensor>(&capsule) }?;
    let owned =
        owned.ok_or_else(|| PyBufferError::new_err("__dlpack__ answered no unused capsule of DLPack"))?;
    // SAFETY: as above.
    let array = unsafe { server.import_legacy(owned, ForeignStream::LEGACY) };
    Ok(DeviceArray::of(array.map_err(to_py)?))
}

/// Asks for a versioned capsule, and for any if that is not understood.
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
    keywords.set_item(intern!(py, "max_version"), (1, 3))?;
    match method.call((), Some(&keywords)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            keywords.del_item(intern!(py, "max_version"))?;
            method.call((), Some(&keywords))
        }
        answer => answer,
    }
}

/// What a dictionary of either array interface says.
fn interface_of(dict: &Bound<'_, PyAny>) -> PyResult<ArrayInterface> {
    let dict = dict.cast::<PyDict>()?;
    let needed = |key: &str| {
        let missing = || PyAttributeError::new_err(format!("an array interface without the entry {key}"));
        dict.get_item(key)?.ok_or_else(missing)
    };
    let optional = |key: &str| PyResult::Ok(dict.get_item(key)?.filter(|value| !value.is_none()));
    let (data, read_only): (u64, bool) = needed("data")?.extract()?;
    Ok(ArrayInterface {
        shape: needed("shape")?.extract()?,
        typestr: needed("typestr")?.extract()?,
        data,
        read_only,
        strides: optional("strides")?.map(|strides| strides.extract()).transpose()?,
        stream: optional("stream")?.map(|stream| stream.extract()).transpose()?,
        version: needed("version")?.extract()?,
        has_mask: optional("mask")?.is_some(),
    })
}

/// The dictionary does not name the device: the one that has the memory takes it.
fn from_cuda(object: &Bound<'_, PyAny>, interface: &ArrayInterface) -> PyResult<DeviceArray> {
    // SAFETY: the standard has it that the stream is there as long as the object.
    let named = interface.stream.and_then(|number| unsafe { ForeignStream::named(number) });
    let lender = named.unwrap_or(ForeignStream::LEGACY);
    let mut refused = unserved(DeviceId::new(DeviceId::CUDA, 0));
    for server in servers_of(DeviceId::CUDA) {
        // SAFETY: what the dictionary says holds as long as the object, which is kept.
        match unsafe { server.import_interface(interface, object.clone().unbind(), lender) } {
            Ok(array) => return Ok(DeviceArray::of(array)),
            Err(error @ DoorError::Array(Error::DeviceMismatch { .. })) => refused = to_py(error),
            Err(error) => return Err(to_py(error)),
        }
    }
    Err(refused)
}

fn from_host(object: &Bound<'_, PyAny>, interface: &ArrayInterface) -> PyResult<DeviceArray> {
    let device = DeviceId::new(DeviceId::CPU, 0);
    let server = server_of(device).ok_or_else(|| unserved(device))?;
    // SAFETY: what the dictionary says holds as long as the object, which is kept.
    let array = unsafe { server.import_interface(interface, object.clone().unbind(), ForeignStream::LEGACY) };
    Ok(DeviceArray::of(array.map_err(to_py)?))
}

fn from_arrow(object: &Bound<'_, PyAny>) -> PyResult<DeviceArray> {
    let py = object.py();
    let capsules = object.call_method0(intern!(py, "__arrow_c_device_array__"))?;
    let (schema, array) = (capsules.get_item(0)?, capsules.get_item(1)?);
    // SAFETY: capsules of these names hold what Arrow says.
    let (schema, array) = unsafe { capsule::take_arrow(&schema, &array) }?;
    let abi = array.as_abi();
    let number = i32::try_from(abi.device_id.max(0)).unwrap_or(i32::MAX);
    let device = DeviceId::new(abi.device_type, number);
    let server = server_of(device).ok_or_else(|| unserved(device))?;
    // SAFETY: Arrow's arrays do not change, and are there until they are released.
    let array = unsafe { server.import_arrow(&schema, array) };
    Ok(DeviceArray::of(array.map_err(to_py)?))
}
