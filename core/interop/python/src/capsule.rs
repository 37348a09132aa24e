//! Capsules: structures in the hands of Python.
#![allow(unsafe_code)] // takes structures out of capsules, and puts them in

use std::{
    ffi::{CStr, c_void},
    ptr::{self, NonNull},
};

use devarray_interop::{
    arrow::{
        OwnedArray, OwnedSchema,
        abi::{ArrowDeviceArray, ArrowSchema},
    },
    dlpack::{Managed, Owned},
};
use pyo3::{
    Bound, PyAny, PyErr, PyResult, Python,
    exceptions::PyBufferError,
    ffi,
    sync::critical_section::{with_critical_section, with_critical_section2},
    types::PyCapsule,
};

/// Puts a DLPack structure into a capsule, which gives it back unless somebody takes it.
pub(crate) fn wrap<'py, M: Managed>(py: Python<'py>, owned: Owned<M>) -> PyResult<Bound<'py, PyCapsule>> {
    let structure = owned.into_raw();
    // SAFETY: the structure is there until its deleter is called, which is the destructor's
    // business.
    let capsule = unsafe {
        PyCapsule::new_with_pointer_and_destructor(py, structure.cast(), M::CAPSULE, Some(unwrapped::<M>))
    };
    if capsule.is_err() {
        // SAFETY: as it was given away above.
        drop(unsafe { Owned::from_raw(structure) });
    }
    capsule
}

/// Gives a structure back that nobody took.
///
/// # Safety
///
/// A destructor of capsules that [`wrap`] makes.
unsafe extern "C" fn unwrapped<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this with a capsule.
    let is_unused = unsafe { ffi::PyCapsule_IsValid(capsule, M::CAPSULE.as_ptr()) } == 1;
    if !is_unused {
        return;
    }
    // SAFETY: valid, and so with a pointer.
    let structure = unsafe { ffi::PyCapsule_GetPointer(capsule, M::CAPSULE.as_ptr()) };
    if let Some(structure) = NonNull::new(structure) {
        // SAFETY: the structure that `wrap` put in, and nobody took.
        drop(unsafe { Owned::<M>::from_raw(structure.cast()) });
    }
}

/// Takes a DLPack structure out of a capsule, if it is one of this kind, unused.
///
/// # Safety
///
/// A capsule of this name holds such a structure, as [`Owned::from_raw`] wants it.
pub(crate) unsafe fn take<M: Managed>(capsule: &Bound<'_, PyAny>) -> PyResult<Option<Owned<M>>> {
    // Where threads run Python at once, one of them takes it.
    let taken = with_critical_section(capsule, || {
        let raw = capsule.as_ptr();
        // SAFETY: any object may be asked.
        let is_unused = unsafe { ffi::PyCapsule_IsValid(raw, M::CAPSULE.as_ptr()) } == 1;
        if !is_unused {
            return Ok(None);
        }
        // SAFETY: valid, and so with a pointer.
        let structure = unsafe { ffi::PyCapsule_GetPointer(raw, M::CAPSULE.as_ptr()) };
        // SAFETY: a capsule; the name is static.
        if unsafe { ffi::PyCapsule_SetName(raw, M::USED_CAPSULE.as_ptr()) } != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        Ok(Some(structure))
    })?;
    let Some(structure) = taken else { return Ok(None) };
    let structure =
        NonNull::new(structure.cast()).ok_or_else(|| PyBufferError::new_err("an empty capsule"))?;
    // SAFETY: as the caller vouches; the capsule counts as used.
    Ok(Some(unsafe { Owned::from_raw(structure) }))
}

const SCHEMA: &CStr = c"arrow_schema";
const ARRAY: &CStr = c"arrow_device_array";

/// The structures in Arrow's capsules, and how they are given back.
trait Released: Sized {
    const NAME: &'static CStr;
    fn release(&mut self);
}

impl Released for ArrowSchema {
    const NAME: &'static CStr = SCHEMA;

    fn release(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: ours to release, unless somebody took it, who left none behind.
            unsafe { release(self) }
        }
    }
}

impl Released for ArrowDeviceArray {
    const NAME: &'static CStr = ARRAY;

    fn release(&mut self) {
        if let Some(release) = self.array.release {
            // SAFETY: as of schemas.
            unsafe { release(&raw mut self.array) }
        }
    }
}

fn wrap_released<T: Released>(py: Python<'_>, value: T) -> PyResult<Bound<'_, PyCapsule>> {
    let place = NonNull::from(Box::leak(Box::new(value)));
    // SAFETY: the box is the capsule's until its destructor.
    let capsule =
        unsafe { PyCapsule::new_with_pointer_and_destructor(py, place.cast(), T::NAME, Some(released::<T>)) };
    if capsule.is_err() {
        // SAFETY: the box from above, which nobody has.
        unsafe { Box::from_raw(place.as_ptr()) }.release();
    }
    capsule
}

/// Gives a structure back unless somebody took it.
///
/// # Safety
///
/// A destructor of capsules that [`wrap_released`] makes.
unsafe extern "C" fn released<T: Released>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this with such a capsule.
    let place = unsafe { ffi::PyCapsule_GetPointer(capsule, T::NAME.as_ptr()) };
    if !place.is_null() {
        // SAFETY: the box that was put in, which comes back once.
        unsafe { Box::from_raw(place.cast::<T>()) }.release();
    }
}

/// Two capsules, as `__arrow_c_device_array__` answers them.
pub(crate) fn wrap_arrow<'py>(
    py: Python<'py>,
    schema: OwnedSchema,
    array: OwnedArray,
) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
    Ok((wrap_released(py, schema.into_raw())?, wrap_released(py, array.into_raw())?))
}

/// Takes schema and array out of such capsules.
///
/// # Safety
///
/// Capsules of these names hold such structures, as [`OwnedArray::from_raw`] wants them.
pub(crate) unsafe fn take_arrow(
    schema: &Bound<'_, PyAny>,
    array: &Bound<'_, PyAny>,
) -> PyResult<(OwnedSchema, OwnedArray)> {
    let place = |capsule: &Bound<'_, PyAny>, name: &CStr| -> PyResult<*mut c_void> {
        // SAFETY: any object may be asked; what is no such capsule is an error.
        let place = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) };
        if place.is_null() { Err(PyErr::fetch(capsule.py())) } else { Ok(place) }
    };
    // Where threads run Python at once, one of them moves both.
    with_critical_section2(schema, array, || {
        let schema = place(schema, SCHEMA)?.cast::<ArrowSchema>();
        let array = place(array, ARRAY)?.cast::<ArrowDeviceArray>();
        // SAFETY: the structure is there, and moved by the standard's own rule: its bits are
        // copied, its old place is released.
        let moved = unsafe { ptr::read(schema) };
        // SAFETY: as above.
        unsafe { (*schema).release = None };
        // SAFETY: as above; nobody else has it now.
        let schema = unsafe { OwnedSchema::from_raw(moved) };
        // SAFETY: as of the schema.
        let moved = unsafe { ptr::read(array) };
        // SAFETY: as of the schema.
        unsafe { (*array).array.release = None };
        // SAFETY: as of the schema.
        Ok((schema, unsafe { OwnedArray::from_raw(moved) }))
    })
}
