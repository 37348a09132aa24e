//! `__dlpack__`, called by Python without a layer in between: matching four keywords by their text takes
//! longer than the export.
#![allow(unsafe_code)] // is called by Python with an array of arguments

use std::{ffi::CStr, ptr, slice};

use pyo3::{
    Borrowed, Bound, FromPyObject, Py, PyAny, PyErr, PyResult, PyTypeInfo, Python,
    exceptions::PyTypeError,
    ffi, intern, pymethods,
    sync::PyOnceLock,
    types::{PyAnyMethods, PyCapsule, PyString, PyStringMethods, PyTuple, PyTupleMethods},
};

use crate::{DeviceArray, error::caught};

/// The keywords, in the order of the arguments.
const NAMES: [&str; 4] = ["stream", "max_version", "dl_device", "copy"];

const DOC: &CStr = c"__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)
--

A capsule of DLPack: versioned if `max_version` allows it. Waits only for memory of the CPU.";

/// The method, as the interpreter describes it. Nobody writes it.
struct Method(ffi::PyMethodDef);

// SAFETY: it holds a function and texts, which are static.
unsafe impl Sync for Method {}

static METHOD: Method = Method(ffi::PyMethodDef {
    ml_name: c"__dlpack__".as_ptr(),
    ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: called },
    ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
    ml_doc: DOC.as_ptr(),
});

#[pymethods]
impl DeviceArray {
    #[classattr]
    fn __dlpack__(py: Python<'_>) -> PyResult<Py<PyAny>> {
        let class = Self::type_object_raw(py);
        // SAFETY: the class is there, and the description stays for ever.
        let method = unsafe { ffi::PyDescr_NewMethod(class, ptr::from_ref(&METHOD.0).cast_mut()) };
        // SAFETY: a new reference, or null with the error set.
        Ok(unsafe { Bound::from_owned_ptr_or_err(py, method) }?.unbind())
    }
}

/// # Safety
///
/// The caller keeps Python's convention: `own` is alive, and `arguments` holds `count` objects and one more
/// for each of `names`, which may be null.
unsafe extern "C" fn called(
    own: *mut ffi::PyObject,
    arguments: *const *mut ffi::PyObject,
    count: ffi::Py_ssize_t,
    names: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: called by Python.
    let py = unsafe { Python::assume_attached() };
    let run = || {
        // SAFETY: alive during the call.
        let own = unsafe { Borrowed::from_ptr(py, own) };
        if count != 0 {
            return Err(positional(count));
        }
        // SAFETY: null, or alive during the call.
        let names = unsafe { Borrowed::from_ptr_or_opt(py, names) };
        let names = names.map(|names| names.cast::<PyTuple>()).transpose()?;
        let len = names.map_or(0, |names| names.len());
        let values = match len {
            0 => &[],
            // SAFETY: there are as many objects as names, and they are alive during the call.
            _ => unsafe { slice::from_raw_parts(arguments, len) },
        };
        // SAFETY: as above.
        let values = values.iter().map(|&value| unsafe { Borrowed::from_ptr(py, value) });
        let given = sorted(py, names.iter().flat_map(|names| names.iter_borrowed()).zip(values))?;
        let (stream, max_version) = (argument(&given, 0)?, argument(&given, 1)?);
        let (dl_device, copy) = (argument(&given, 2)?, argument(&given, 3)?);
        own.cast::<DeviceArray>()?.get().to_capsule(py, stream, max_version, dl_device, copy)
    };
    caught(run).map_or_else(
        |error| {
            error.restore(py);
            ptr::null_mut()
        },
        |capsule: Bound<'_, PyCapsule>| capsule.into_ptr(),
    )
}

type Given<'a, 'py> = [Option<Borrowed<'a, 'py, PyAny>>; 4];

/// The arguments in the order of [`NAMES`].
fn sorted<'a, 'py>(
    py: Python<'py>,
    given: impl Iterator<Item = (Borrowed<'a, 'py, PyAny>, Borrowed<'a, 'py, PyAny>)>,
) -> PyResult<Given<'a, 'py>> {
    static KEYS: PyOnceLock<[Py<PyString>; 4]> = PyOnceLock::new();
    let keys = KEYS.get_or_init(py, || NAMES.map(|name| PyString::intern(py, name).unbind()));
    let mut values: Given<'_, '_> = [None; 4];
    for (name, value) in given {
        // Names are nearly always interned, so their addresses tell them apart.
        let same = keys.iter().position(|key| key.as_ptr() == name.as_ptr());
        let is = |text: &str| NAMES.iter().position(|&name| name == text);
        let place = same.or_else(|| is(name.cast::<PyString>().ok()?.to_str().ok()?));
        let slot = &mut values[place.ok_or_else(|| unexpected(name))?];
        if slot.is_some() {
            return Err(repeated(name));
        }
        *slot = Some(value);
    }
    Ok(values)
}

/// The argument at this position, converted to its type.
fn argument<'a, 'py, T: FromPyObject<'a, 'py, Error = PyErr>>(
    given: &Given<'a, 'py>,
    number: usize,
) -> PyResult<Option<T>> {
    let Some(value) = given[number].filter(|value| !value.is_none()) else { return Ok(None) };
    value.extract().map(Some).inspect_err(|error: &PyErr| {
        let (py, note) = (value.py(), format!("while processing '{}'", NAMES[number]));
        // Versions of Python without notes do without.
        let _ = error.value(py).call_method1(intern!(py, "add_note"), (note,));
    })
}

#[cold]
fn positional(count: ffi::Py_ssize_t) -> PyErr {
    let was = if count == 1 { "was" } else { "were" };
    let text = format!("DeviceArray.__dlpack__() takes 0 positional arguments but {count} {was} given");
    PyTypeError::new_err(text)
}

#[cold]
fn unexpected(name: Borrowed<'_, '_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("DeviceArray.__dlpack__() got an unexpected keyword argument '{}'", &*name))
}

#[cold]
fn repeated(name: Borrowed<'_, '_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!("DeviceArray.__dlpack__() got multiple values for argument '{}'", &*name))
}
