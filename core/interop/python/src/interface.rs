//! Reads the dictionaries of the array interfaces.
#![allow(unsafe_code)] // walks dictionaries of other code, and reads numbers of Python

use std::{borrow::Cow, ptr};

use devarray::Axes;
use devarray_interop::{ArrayInterface, DataType};
use pyo3::{
    Borrowed, Bound, Py, PyAny, PyResult, Python,
    exceptions::PyAttributeError,
    ffi,
    sync::{PyOnceLock, critical_section::with_critical_section},
    types::{
        PyAnyMethods, PyBool, PyBoolMethods, PyDict, PyDictMethods, PyInt, PyString, PyStringMethods,
        PyTuple, PyTupleMethods,
    },
};

/// The entries that are used here, and one that is not, in the order of [`keys`].
#[derive(Clone, Copy)]
enum Entry {
    Shape,
    Typestr,
    Data,
    Strides,
    Stream,
    Version,
    Mask,
    Descr,
}

const NAMES: [&str; 8] = ["shape", "typestr", "data", "strides", "stream", "version", "mask", "descr"];

/// The keys of the entries.
fn keys(py: Python<'_>) -> &[Py<PyString>; 8] {
    static KEYS: PyOnceLock<[Py<PyString>; 8]> = PyOnceLock::new();
    KEYS.get_or_init(py, || NAMES.map(|name| PyString::intern(py, name).unbind()))
}

/// Reads a dictionary of either array interface.
pub(crate) fn interface_of(dict: &Bound<'_, PyAny>) -> PyResult<ArrayInterface> {
    let dict = dict.cast::<PyDict>()?;
    plain(dict).map_or_else(|| any(dict), Ok)
}

/// Reads a dictionary whose entries are of Python's own classes, as nearly all are, in one walk that runs no
/// Python code. `None` for any other dictionary, and if entries are missing.
fn plain(dict: &Bound<'_, PyDict>) -> Option<ArrayInterface> {
    let py = dict.py();
    // Keys are nearly always interned, so their addresses tell them apart.
    let keys = keys(py).each_ref().map(Py::as_ptr);
    let (mut found, mut is_plain, mut at) = (Found::default(), true, 0);
    let (mut key, mut value) = (ptr::null_mut(), ptr::null_mut());
    with_critical_section(dict, || {
        let mut next = || {
            // SAFETY: a dictionary that nobody changes during the walk: no Python code runs, and if threads
            // run at the same time, the section holds its lock.
            let found = unsafe { ffi::PyDict_Next(dict.as_ptr(), &raw mut at, &raw mut key, &raw mut value) };
            (found != 0).then_some((key, value))
        };
        while let Some((key, value)) = next().filter(|_| is_plain) {
            // SAFETY: an object that the dictionary keeps during the walk.
            let value = unsafe { Borrowed::from_ptr(py, value) };
            is_plain = found.note(&keys, key, value).is_some();
        }
    });
    if !is_plain {
        return None;
    }
    Some(ArrayInterface {
        shape: found.shape?,
        typestr: Cow::Borrowed(found.typestr?),
        data: found.data?.0,
        read_only: found.data?.1,
        strides: found.strides,
        stream: found.stream,
        version: found.version?,
        has_mask: found.has_mask,
    })
}

/// The entries found on the walk.
#[derive(Default)]
struct Found {
    shape: Option<Axes<i64>>,
    typestr: Option<&'static str>,
    data: Option<(u64, bool)>,
    strides: Option<Axes<i64>>,
    stream: Option<u64>,
    version: Option<i64>,
    has_mask: bool,
}

impl Found {
    /// Notes an entry; none if it is not of the plain kind.
    fn note(
        &mut self,
        keys: &[*mut ffi::PyObject; 8],
        key: *mut ffi::PyObject,
        value: Borrowed<'_, '_, PyAny>,
    ) -> Option<()> {
        let is = |entry: Entry| keys[entry as usize] == key;
        if is(Entry::Shape) {
            self.shape = Some(plain_numbers(value)?);
        } else if is(Entry::Typestr) {
            let typestr = value.cast_exact::<PyString>().ok()?;
            self.typestr = Some(DataType::of_typestr(typestr.to_str().ok()?)?.typestr()?);
        } else if is(Entry::Data) {
            let data = value.cast_exact::<PyTuple>().ok()?;
            if data.len() != 2 {
                return None;
            }
            let (address, read_only) = (data.get_borrowed_item(0).ok()?, data.get_borrowed_item(1).ok()?);
            let read_only = read_only.cast_exact::<PyBool>().ok()?.is_true();
            self.data = Some((plain_number(address)?.try_into().ok()?, read_only));
        } else if is(Entry::Version) {
            self.version = Some(plain_number(value)?);
        } else if is(Entry::Strides) && !value.is_none() {
            self.strides = Some(plain_numbers(value)?);
        } else if is(Entry::Stream) && !value.is_none() {
            self.stream = Some(plain_number(value)?.try_into().ok()?);
        } else if is(Entry::Mask) {
            self.has_mask = !value.is_none();
        } else if !(is(Entry::Descr) || is(Entry::Strides) || is(Entry::Stream)) {
            // An unknown entry, or a key that is equal but another object.
            return None;
        }
        Some(())
    }
}

/// The numbers of a tuple.
pub(crate) fn plain_numbers(tuple: Borrowed<'_, '_, PyAny>) -> Option<Axes<i64>> {
    let tuple = tuple.cast_exact::<PyTuple>().ok()?;
    let mut numbers = Axes::new();
    for number in tuple.iter_borrowed() {
        numbers.push(plain_number(number)?);
    }
    Some(numbers)
}

/// A number that is exactly of Python's class `int`, and fits 64 bits.
pub(crate) fn plain_number(number: Borrowed<'_, '_, PyAny>) -> Option<i64> {
    let number = number.cast_exact::<PyInt>().ok()?;
    let mut overflow = 0;
    // SAFETY: a number of Python, which is read without an error.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(number.as_ptr(), &raw mut overflow) };
    (overflow == 0).then_some(value)
}

/// Reads any dictionary: looks up each entry and converts it.
#[cold]
fn any(dict: &Bound<'_, PyDict>) -> PyResult<ArrayInterface> {
    let py = dict.py();
    let entry = |entry: Entry| dict.get_item(&keys(py)[entry as usize]);
    let needed = |key: Entry| {
        let missing = || {
            let name = NAMES[key as usize];
            PyAttributeError::new_err(format!("an array interface without the entry {name}"))
        };
        entry(key)?.ok_or_else(missing)
    };
    let optional = |key: Entry| PyResult::Ok(entry(key)?.filter(|value| !value.is_none()));
    let (data, read_only): (u64, bool) = needed(Entry::Data)?.extract()?;
    let typestr = needed(Entry::Typestr)?;
    let typestr = typestr.cast::<PyString>()?.to_str()?;
    let known = DataType::of_typestr(typestr).and_then(DataType::typestr);
    Ok(ArrayInterface {
        shape: numbers(&needed(Entry::Shape)?)?,
        typestr: known.map_or_else(|| Cow::Owned(typestr.to_owned()), Cow::Borrowed),
        data,
        read_only,
        strides: optional(Entry::Strides)?.map(|strides| numbers(&strides)).transpose()?,
        stream: optional(Entry::Stream)?.map(|stream| stream.extract()).transpose()?,
        version: needed(Entry::Version)?.extract()?,
        has_mask: optional(Entry::Mask)?.is_some(),
    })
}

/// The numbers of a tuple, or of any other sequence.
fn numbers(sequence: &Bound<'_, PyAny>) -> PyResult<Axes<i64>> {
    match sequence.cast_exact::<PyTuple>() {
        Ok(tuple) => tuple.iter_borrowed().map(|number| number.extract()).collect(),
        Err(_) => sequence.extract::<Vec<i64>>().map(Axes::from),
    }
}
