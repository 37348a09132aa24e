//! Facts about the classes of imported objects, looked up once, because a look-up that finds
//! nothing costs an exception.

use std::{
    ptr,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{
            AtomicPtr,
            Ordering::{Acquire, Release},
        },
    },
};

use pyo3::{Bound, Py, PyAny, PyResult, ffi::PyTypeObject, types::PyAnyMethods, types::PyType};

use crate::{cupy, exchange::Table};

/// The most classes that are remembered. Each is kept alive, so the number is small.
const MOST: usize = 16;

/// Facts about a class.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// Its exchange table.
    pub(crate) table: Option<Table>,
    /// The last object of the class was CPU memory, so the only interface to ask for first is
    /// DLPack's.
    pub(crate) is_host: bool,
    /// Whether it is CuPy's class of arrays.
    pub(crate) is_cupy: bool,
}

impl Known {
    /// A class without an exchange table, not CuPy's, and not known to hold CPU memory.
    const PLAIN: Self = Self { table: None, is_host: false, is_cupy: false };
    /// CuPy's class of arrays.
    const CUPY: Self = Self { table: None, is_host: false, is_cupy: true };

    fn of_class(class: &Bound<'_, PyType>) -> PyResult<Self> {
        let table = Table::of(class)?;
        Ok(Self { table, is_host: false, is_cupy: table.is_none() && cupy::is_array_class(class) })
    }

    fn is_plain(&self) -> bool {
        self.table.is_none() && !self.is_host && !self.is_cupy
    }
}

/// The last plain class, found without the lock. It is null or one of [`CLASSES`], and is written
/// under their lock, so no other class can have its address.
static PLAIN: AtomicPtr<PyTypeObject> = AtomicPtr::new(ptr::null_mut());

/// Classes, the oldest first.
static CLASSES: Mutex<Vec<(Py<PyType>, Known)>> = Mutex::new(Vec::new());

fn classes() -> MutexGuard<'static, Vec<(Py<PyType>, Known)>> {
    CLASSES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Facts about an object's class, looked up the first time.
pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Known> {
    let class = object.get_type_ptr();
    if PLAIN.load(Acquire) == class {
        return Ok(Known::PLAIN);
    }
    if cupy::is_array(object) {
        return Ok(Known::CUPY);
    }
    let classes_now = classes();
    let found = classes_now.iter().find(|(known, _)| known.as_ptr().cast() == class);
    if let Some(&(_, known)) = found {
        if known.is_plain() {
            PLAIN.store(class, Release);
        }
        return Ok(known);
    }
    drop(classes_now);
    let class = object.get_type();
    let known = Known::of_class(&class)?;
    let mut classes = classes();
    // Dropped outside the lock: dropping the last reference to a class runs foreign code.
    let oldest = (classes.len() == MOST).then(|| classes.remove(0));
    if oldest.is_some() {
        PLAIN.store(ptr::null_mut(), Release);
    }
    classes.push((class.unbind(), known));
    drop(classes);
    drop(oldest);
    Ok(known)
}

/// Remembers whether the last object of its class was memory of the CPU.
pub(crate) fn note_host(object: &Bound<'_, PyAny>, is_host: bool) {
    let class = object.get_type_ptr();
    if let Some((_, known)) = classes().iter_mut().find(|(known, _)| known.as_ptr().cast() == class) {
        known.is_host = is_host;
        if is_host {
            PLAIN.store(ptr::null_mut(), Release);
        }
    }
}
