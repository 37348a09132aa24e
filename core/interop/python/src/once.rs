//! Values made at first use, with no lock held while they are made.

use pyo3::{PyResult, Python, sync::PyOnceLock};

/// The value of a cell; `make` makes it if the cell is empty.
///
/// `make` may run Python code, which may come here again, on this thread or on another one that
/// holds the interpreter: a cell that waited for the first `make` would hang. So each caller makes
/// a value, and the first that is finished is kept.
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
