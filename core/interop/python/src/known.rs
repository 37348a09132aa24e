//! What is known of classes whose objects came in: looked up once, for a look-up that finds nothing
//! costs an exception.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::{Bound, Py, PyAny, PyResult, types::PyAnyMethods, types::PyType};

use crate::exchange::Table;

/// Classes that are remembered. Each is kept alive, so there are not many.
const MOST: usize = 16;

/// What is known of a class.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// Its exchange table.
    pub(crate) table: Option<Table>,
    /// The last of its objects was memory of the CPU, which has no other interface than DLPack's to
    /// be asked for first.
    pub(crate) is_host: bool,
}

/// Classes, the oldest first.
static CLASSES: Mutex<Vec<(Py<PyType>, Known)>> = Mutex::new(Vec::new());

fn classes() -> MutexGuard<'static, Vec<(Py<PyType>, Known)>> {
    CLASSES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of an object's class, looked up by `look` the first time.
pub(crate) fn of(
    object: &Bound<'_, PyAny>,
    look: impl FnOnce(&Bound<'_, PyType>) -> PyResult<Option<Table>>,
) -> PyResult<Known> {
    let class = object.get_type_ptr();
    let found = classes().iter().find(|(known, _)| known.as_ptr().cast() == class).map(|&(_, known)| known);
    if let Some(known) = found {
        return Ok(known);
    }
    let class = object.get_type();
    let known = Known { table: look(&class)?, is_host: false };
    let mut classes = classes();
    // Dropped outside the lock: the last reference of a class runs code of anybody.
    let oldest = (classes.len() == MOST).then(|| classes.remove(0));
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
    }
}
