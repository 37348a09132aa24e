//! The exports: methods of the class that other libraries call.
#![allow(unsafe_code)] // takes the number of a stream at its caller's word

use devarray::backend::ForeignStream;
use devarray_interop::{Consumer, device::DeviceId};
use pyo3::{
    Bound, IntoPyObject, IntoPyObjectExt, Py, PyAny, PyResult, Python,
    exceptions::{PyAttributeError, PyBufferError, PyNotImplementedError, PyValueError},
    intern, pymethods,
    sync::PyOnceLock,
    types::{PyAnyMethods, PyCapsule, PyDict, PyDictMethods, PyListMethods, PyTuple},
};

use crate::{DeviceArray, any::AnyArray, capsule, error::to_py, once::get_or_make};

impl DeviceArray {
    /// The consumer that DLPack's keyword `stream` names.
    fn consumer(&self, stream: Option<i64>) -> PyResult<Consumer> {
        if self.array.is_host() {
            return match stream {
                // -1 comes from consumers that did not ask for the device. Only the host can wait
                // for such memory.
                None | Some(-1) => Ok(Consumer::Host),
                Some(_) => Err(PyBufferError::new_err("memory of the CPU has no stream")),
            };
        }
        match stream {
            None => Ok(Consumer::Stream(ForeignStream::LEGACY)),
            Some(-1) => Ok(Consumer::Unordered),
            Some(number) => {
                let number = u64::try_from(number).unwrap_or_default();
                // SAFETY: the standard says that the consumer names a stream of its own, which is
                // there.
                let stream = unsafe { ForeignStream::named(number) };
                let stream =
                    stream.ok_or_else(|| PyValueError::new_err("stream 0 is ambiguous, 1 and 2 are not"))?;
                Ok(Consumer::StreamForNow(stream))
            }
        }
    }

    /// A capsule of DLPack: versioned if `max_version` allows it. Waits only for memory of the CPU.
    pub(crate) fn to_capsule<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let id = self.array.device();
        if dl_device.is_some_and(|device| device != (id.device_type, id.device_id)) {
            return Err(PyBufferError::new_err(format!("the array is on {id} and does not go elsewhere")));
        }
        let (consumer, copy) = (self.consumer(stream)?, copy == Some(true));
        if max_version.is_some_and(|(major, _)| major >= 1) {
            let owned = self.outside(py, |array| array.to_dlpack(consumer, copy)).map_err(to_py)?;
            capsule::wrap(py, owned)
        } else {
            let owned = self.outside(py, |array| array.to_dlpack_legacy(consumer, copy)).map_err(to_py)?;
            capsule::wrap(py, owned)
        }
    }

    /// Runs a function that may wait for the device, without holding the interpreter.
    fn outside<R: Send>(&self, py: Python<'_>, run: impl FnOnce(&dyn AnyArray) -> R + Send) -> R {
        if self.array.is_host() { py.detach(|| run(&*self.array)) } else { run(&*self.array) }
    }

    /// The dictionary of either array interface.
    fn interface<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = self.outside(py, |array| array.to_array_interface()).map_err(to_py)?;
        let dict = PyDict::new(py);
        dict.set_item(intern!(py, "shape"), PyTuple::new(py, &interface.shape[..])?)?;
        dict.set_item(intern!(py, "typestr"), &*interface.typestr)?;
        dict.set_item(intern!(py, "data"), (interface.data, interface.read_only))?;
        let strides = interface.strides.map(|strides| PyTuple::new(py, strides)).transpose()?;
        dict.set_item(intern!(py, "strides"), strides)?;
        dict.set_item(intern!(py, "version"), interface.version)?;
        if let Some(stream) = interface.stream {
            dict.set_item(intern!(py, "stream"), stream)?;
        }
        Ok(dict)
    }
}

#[pymethods]
impl DeviceArray {
    fn __dlpack_device__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        // The first device that is asked for is usually the only one.
        static FIRST: PyOnceLock<(DeviceId, Py<PyTuple>)> = PyOnceLock::new();
        let id = self.array.device();
        let tuple = || (id.device_type, id.device_id).into_pyobject(py);
        let (known, first) = get_or_make(&FIRST, py, || Ok((id, tuple()?.unbind())))?;
        if *known == id { Ok(first.bind(py).clone()) } else { tuple() }
    }

    /// The dictionary of version 3. Only memory of a CUDA device has it.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if self.array.is_host() {
            return Err(PyAttributeError::new_err("__cuda_array_interface__: memory of the CPU"));
        }
        self.interface(py)
    }

    /// The dictionary of version 3. Only memory that the CPU reaches has it; waits until the
    /// elements are there.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if !self.array.is_host() {
            return Err(PyAttributeError::new_err("__array_interface__: no memory of the CPU"));
        }
        self.interface(py)
    }

    /// Capsules of schema and array. Only a column without gaps has them.
    #[pyo3(signature = (requested_schema=None, **kwargs))]
    fn __arrow_c_device_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A requested schema is best effort, as the standard says: the elements keep their type.
        let _ = requested_schema;
        if kwargs.is_some_and(|kwargs| kwargs.values().iter().any(|value| !value.is_none())) {
            return Err(PyNotImplementedError::new_err("a keyword that is not known here"));
        }
        let (schema, array) = self.outside(py, |array| array.to_arrow()).map_err(to_py)?;
        capsule::wrap_arrow(py, schema, array)
    }

    /// The version of the protocol, and the stream that work on the array goes to.
    fn __cuda_stream__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let none = || PyBufferError::new_err("memory of the CPU has no stream");
        (0, self.array.stream_number().ok_or_else(none)?).into_py_any(py)
    }
}
