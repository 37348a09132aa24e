//! Capsules: the Python objects that carry the structures.
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
    // SAFETY: the structure is there until its deleter is called, which only the capsule's
    // destructor does.
    let capsule = unsafe {
        PyCapsule::new_with_pointer_and_destructor(py, structure.cast(), M::CAPSULE, Some(unwrapped::<M>))
    };
    if capsule.is_err() {
        // SAFETY: it was given away above.
        drop(unsafe { Owned::from_raw(structure) });
    }
    capsule
}

/// Gives a structure back that nobody took.
///
/// # Safety
///
/// Called only as the destructor of a capsule that [`wrap`] makes.
unsafe extern "C" fn unwrapped<M: Managed>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this with a capsule.
    let is_unused = unsafe { ffi::PyCapsule_IsValid(capsule, M::CAPSULE.as_ptr()) } == 1;
    if !is_unused {
        return;
    }
    // SAFETY: the capsule is valid, so it has a pointer.
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
/// A capsule of this name holds such a structure, as [`Owned::from_raw`] requires.
pub(crate) unsafe fn take<M: Managed>(capsule: &Bound<'_, PyAny>) -> PyResult<Option<Owned<M>>> {
    // If threads run Python at the same time, only one of them takes it.
    let taken = with_critical_section(capsule, || {
        let raw = capsule.as_ptr();
        // SAFETY: this may be called with any object.
        let is_unused = unsafe { ffi::PyCapsule_IsValid(raw, M::CAPSULE.as_ptr()) } == 1;
        if !is_unused {
            return Ok(None);
        }
        // SAFETY: the capsule is valid, so it has a pointer.
        let structure = unsafe { ffi::PyCapsule_GetPointer(raw, M::CAPSULE.as_ptr()) };
        // SAFETY: it is a capsule, and the name is static.
        if unsafe { ffi::PyCapsule_SetName(raw, M::USED_CAPSULE.as_ptr()) } != 0 {
            return Err(PyErr::fetch(capsule.py()));
        }
        Ok(Some(structure))
    })?;
    let Some(structure) = taken else { return Ok(None) };
    let structure =
        NonNull::new(structure.cast()).ok_or_else(|| PyBufferError::new_err("an empty capsule"))?;
    // SAFETY: the caller vouches for it; the capsule counts as used.
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
            // SAFETY: the structure is ours to release; whoever took it left a released one behind.
            unsafe { release(self) }
        }
    }
}

impl Released for ArrowDeviceArray {
    const NAME: &'static CStr = ARRAY;

    fn release(&mut self) {
        if let Some(release) = self.array.release {
            // SAFETY: as for schemas.
            unsafe { release(&raw mut self.array) }
        }
    }
}

fn wrap_released<T: Released>(py: Python<'_>, value: T) -> PyResult<Bound<'_, PyCapsule>> {
    let place = NonNull::from(Box::leak(Box::new(value)));
    // SAFETY: the box belongs to the capsule until its destructor runs.
    let capsule =
        unsafe { PyCapsule::new_with_pointer_and_destructor(py, place.cast(), T::NAME, Some(released::<T>)) };
    if capsule.is_err() {
        // SAFETY: the box from above, which nobody else has.
        unsafe { Box::from_raw(place.as_ptr()) }.release();
    }
    capsule
}

/// Gives a structure back unless somebody took it.
///
/// # Safety
///
/// Called only as the destructor of a capsule that [`wrap_released`] makes.
unsafe extern "C" fn released<T: Released>(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this with such a capsule.
    let place = unsafe { ffi::PyCapsule_GetPointer(capsule, T::NAME.as_ptr()) };
    if !place.is_null() {
        // SAFETY: the box that was put in; it comes back once.
        unsafe { Box::from_raw(place.cast::<T>()) }.release();
    }
}

/// The two capsules that `__arrow_c_device_array__` returns.
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
/// Capsules of these names hold such structures, as [`OwnedArray::from_raw`] requires.
pub(crate) unsafe fn take_arrow(
    schema: &Bound<'_, PyAny>,
    array: &Bound<'_, PyAny>,
) -> PyResult<(OwnedSchema, OwnedArray)> {
    let place = |capsule: &Bound<'_, PyAny>, name: &CStr| -> PyResult<*mut c_void> {
        // SAFETY: this may be called with any object; any other object gives an error.
        let place = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) };
        if place.is_null() { Err(PyErr::fetch(capsule.py())) } else { Ok(place) }
    };
    // If threads run Python at the same time, only one of them moves both.
    with_critical_section2(schema, array, || {
        let schema = place(schema, SCHEMA)?.cast::<ArrowSchema>();
        let array = place(array, ARRAY)?.cast::<ArrowDeviceArray>();
        // SAFETY: the structure is there, and is moved as the standard says: its bits are copied,
        // and its old place is marked as released.
        let moved = unsafe { ptr::read(schema) };
        // SAFETY: as above.
        unsafe { (*schema).release = None };
        // SAFETY: as above; nobody else has it now.
        let schema = unsafe { OwnedSchema::from_raw(moved) };
        // SAFETY: as for the schema.
        let moved = unsafe { ptr::read(array) };
        // SAFETY: as for the schema.
        unsafe { (*array).array.release = None };
        // SAFETY: as for the schema.
        Ok((schema, unsafe { OwnedArray::from_raw(moved) }))
    })
}
