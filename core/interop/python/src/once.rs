//! Values made at first use, with no lock held while they are made.

use pyo3::{PyResult, Python, sync::PyOnceLock};

/// The value of a cell; made by `make` if it is empty.
///
/// `make` may run code of Python, which may come here again, on this thread or on another one that
/// holds the interpreter: a cell that waits for the first would hang. So each makes one, and the
/// first that is done is kept.
pub(crate) fn get_or_make<'a, T: Send + Sync>(
    cell: &'a PyOnceLock<T>,
    py: Python<'_>,
    make: impl FnOnce() -> PyResult<T>,
) -> PyResult<&'a T> {
    if let Some(known) = cell.get(py) {
        return Ok(known);
    }
    drop(cell.set(py, make()?));
    Ok(cell.get(py).expect("it was set, here or by another"))
}
