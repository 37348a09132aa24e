//! The way in: from any object that has one of the interfaces.
#![allow(unsafe_code)] // takes other libraries at their word, as their interfaces are made

use std::sync::Arc;

use devarray::backend::ForeignStream;
use devarray_interop::{
    ArrayInterface,
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
    serve::{AnyServer, server_of, server_with_streams},
};

impl<'py> FromPyObject<'_, 'py> for DeviceArray {
    type Error = PyErr;

    /// The array of an object: of this class, or with `__dlpack__`, `__cuda_array_interface__`, `__arrow_c_device_array__` or
    /// `__array_interface__`, the first that it has.
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
        if has(intern!(py, "__dlpack_device__"))? {
            return from_dlpack(&object);
        }
        if has(intern!(py, "__cuda_array_interface__"))? {
            return from_interface(&object, true);
        }
        if has(intern!(py, "__arrow_c_device_array__"))? {
            return from_arrow(&object);
        }
        if has(intern!(py, "__array_interface__"))? {
            return from_interface(&object, false);
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

fn from_interface(object: &Bound<'_, PyAny>, cuda: bool) -> PyResult<DeviceArray> {
    let name = if cuda { "__cuda_array_interface__" } else { "__array_interface__" };
    let dict = object.getattr(name)?.cast_into::<PyDict>()?;
    let needed = |key: &str| {
        dict.get_item(key)?.ok_or_else(|| PyAttributeError::new_err(format!("{name} has no entry {key}")))
    };
    let optional = |key: &str| PyResult::Ok(dict.get_item(key)?.filter(|value| !value.is_none()));
    let (data, read_only): (u64, bool) = needed("data")?.extract()?;
    let interface = ArrayInterface {
        shape: needed("shape")?.extract()?,
        typestr: needed("typestr")?.extract()?,
        data,
        read_only,
        strides: optional("strides")?.map(|strides| strides.extract()).transpose()?,
        stream: optional("stream")?.map(|stream| stream.extract()).transpose()?,
        version: needed("version")?.extract()?,
        has_mask: optional("mask")?.is_some(),
    };
    let server = if cuda { server_with_streams(0) } else { server_of(DeviceId::new(DeviceId::CPU, 0)) };
    let server: Arc<dyn AnyServer> = server
        .ok_or_else(|| unserved(DeviceId::new(if cuda { DeviceId::CUDA } else { DeviceId::CPU }, 0)))?;
    // SAFETY: the standard has it that the stream is there as long as the object.
    let named = interface.stream.and_then(|number| unsafe { ForeignStream::named(number) });
    let lender = named.unwrap_or(ForeignStream::LEGACY);
    // SAFETY: what the dictionary says holds as long as the object, which is kept.
    let array = unsafe { server.import_interface(&interface, object.clone().unbind(), lender) };
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
