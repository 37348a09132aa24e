//! CuPy's arrays, read by the attributes that their dictionary is made of.
//!
//! `__cuda_array_interface__` says the same, except for the device. But CuPy makes a new dictionary
//! each time it is asked. That was 40 % of an import. The dictionary is still read for an unusual
//! array: without elements, with another type of elements than those listed here, or with an
//! attribute that is missing or of another type than expected.
#![allow(unsafe_code)] // asks descriptors of other code for attributes

use std::{borrow::Cow, ffi::c_void, mem};

use devarray_interop::{ArrayInterface, DataType, device::DeviceId};
use pyo3::{
    Bound, Py, PyAny, PyErr, PyResult, Python,
    exceptions::PyTypeError,
    ffi, intern,
    sync::PyOnceLock,
    types::{PyAnyMethods, PyBool, PyBoolMethods, PyType},
};

use crate::{
    interface::{plain_number, plain_numbers},
    once::get_or_make,
};

/// The stream that CuPy calls 0, by its number in the dictionary.
const LEGACY_STREAM: u64 = 1;

/// An attribute's descriptor, looked up once: the look-up by name costs more than reading the
/// attribute.
struct Attribute {
    descriptor: Py<PyAny>,
    get: ffi::descrgetfunc,
}

impl Attribute {
    fn of(class: &Bound<'_, PyType>, name: &str) -> PyResult<Self> {
        let descriptor = class.getattr(name)?;
        // SAFETY: it is the type of an object, and every type has this slot.
        let slot = unsafe { ffi::PyType_GetSlot(descriptor.get_type_ptr(), ffi::Py_tp_descr_get) };
        if slot.is_null() {
            // The error is set if the interpreter cannot tell, but not if the type has no such
            // function.
            drop(PyErr::take(class.py()));
            return Err(PyTypeError::new_err("no descriptor"));
        }
        // SAFETY: the interpreter keeps such a function in this slot.
        let get = unsafe { mem::transmute::<*mut c_void, ffi::descrgetfunc>(slot) };
        Ok(Self { descriptor: descriptor.unbind(), get })
    }

    /// The attribute of an object of the class; `None` if it has none.
    fn get<'py>(&self, object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        let (py, class) = (object.py(), object.get_type_ptr().cast());
        // SAFETY: the descriptor's own function, which checks that the object is of its class.
        let value = unsafe { (self.get)(self.descriptor.as_ptr(), object.as_ptr(), class) };
        // SAFETY: an object that is ours, or null with the error set.
        unsafe { Bound::from_owned_ptr_or_err(py, value) }.ok()
    }
}

/// Objects that are looked up once.
struct Cupy {
    class: Py<PyType>,
    shape: Attribute,
    strides: Attribute,
    c_contiguous: Attribute,
    data_type: Attribute,
    data: Attribute,
    pointer_class: Py<PyType>,
    pointer: Attribute,
    device: Attribute,
    current_stream: Py<PyAny>,
    /// NumPy's element types (each is a single object), and their names.
    typestrs: Vec<(Py<PyAny>, &'static str)>,
}

/// The element types that are read here, as NumPy's `dtype` takes them.
const DATA_TYPES: [&str; 14] =
    ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"];

static CUPY: PyOnceLock<Option<Cupy>> = PyOnceLock::new();

impl Cupy {
    fn load(py: Python<'_>) -> PyResult<Self> {
        let (cupy, numpy) = (py.import("cupy")?, py.import("numpy")?);
        let class = cupy.getattr("ndarray")?.cast_into::<PyType>()?;
        let cuda = cupy.getattr("cuda")?;
        let pointer_class = cuda.getattr("MemoryPointer")?.cast_into::<PyType>()?;
        let mut typestrs = Vec::new();
        for name in DATA_TYPES {
            let data_type = numpy.getattr("dtype")?.call1((name,))?;
            let typestr = data_type.getattr("str")?.extract::<String>()?;
            let typestr = DataType::of_typestr(&typestr).and_then(DataType::typestr);
            typestrs.extend(typestr.map(|typestr| (data_type.unbind(), typestr)));
        }
        Ok(Self {
            shape: Attribute::of(&class, "shape")?,
            strides: Attribute::of(&class, "strides")?,
            c_contiguous: Attribute::of(&class, "_c_contiguous")?,
            data_type: Attribute::of(&class, "dtype")?,
            data: Attribute::of(&class, "data")?,
            class: class.unbind(),
            pointer: Attribute::of(&pointer_class, "ptr")?,
            device: Attribute::of(&pointer_class, "device_id")?,
            pointer_class: pointer_class.unbind(),
            current_stream: cuda.getattr("get_current_stream")?.unbind(),
            typestrs,
        })
    }
}

/// Whether this is CuPy's own class of arrays, and not a derived class.
pub(crate) fn is_array_class(class: &Bound<'_, PyType>) -> bool {
    let py = class.py();
    // Loads CuPy only for a class that says it is CuPy's: CuPy is then loaded already.
    let module = class.getattr(intern!(py, "__module__"));
    if !module.and_then(|module| module.eq("cupy")).unwrap_or(false) {
        return false;
    }
    let cupy = get_or_make(&CUPY, py, || Ok(Cupy::load(py).ok()));
    cupy.is_ok_and(|cupy| cupy.as_ref().is_some_and(|cupy| cupy.class.is(class)))
}

/// Whether the object is an array of CuPy's own class. False until that class has been looked up.
pub(crate) fn is_array(object: &Bound<'_, PyAny>) -> bool {
    let cupy = CUPY.get(object.py()).and_then(Option::as_ref);
    cupy.is_some_and(|cupy| object.get_type_ptr() == cupy.class.as_ptr().cast())
}

/// The entries of an array's dictionary, and its device, which the dictionary does not tell; `None`
/// if the dictionary itself must be read.
pub(crate) fn interface_of(array: &Bound<'_, PyAny>) -> Option<(ArrayInterface, DeviceId)> {
    let py = array.py();
    let cupy = CUPY.get(py)?.as_ref()?;
    let shape = plain_numbers(cupy.shape.get(array)?.as_borrowed())?;
    if shape.contains(&0) {
        return None;
    }
    let strides = match cupy.c_contiguous.get(array)?.cast_exact::<PyBool>().ok()?.is_true() {
        true => None,
        false => Some(plain_numbers(cupy.strides.get(array)?.as_borrowed())?),
    };
    let data_type = cupy.data_type.get(array)?;
    let (_, typestr) = cupy.typestrs.iter().find(|(known, _)| known.is(&data_type))?;
    let address = |number: Bound<'_, PyAny>| plain_number(number.as_borrowed())?.try_into().ok();
    let data = cupy.data.get(array).filter(|data| data.get_type().is(&cupy.pointer_class))?;
    let device = plain_number(cupy.device.get(&data)?.as_borrowed())?.try_into().ok()?;
    let data: u64 = address(cupy.pointer.get(&data)?)?;
    // Each device has a current stream of its own.
    let stream = cupy.current_stream.bind(py).call1((device,)).ok()?;
    let stream: u64 = address(stream.getattr(intern!(py, "ptr")).ok()?)?;
    let interface = ArrayInterface {
        shape,
        typestr: Cow::Borrowed(typestr),
        data,
        strides,
        read_only: false,
        stream: Some(if stream == 0 { LEGACY_STREAM } else { stream }),
        version: 3,
        has_mask: false,
    };
    Some((interface, DeviceId::new(DeviceId::CUDA, device)))
}
