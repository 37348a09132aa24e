//! Errors, as Python has them.

use devarray::Error;
use devarray_interop::{DoorError, catch_for_c};
use pyo3::{
    PyErr, PyResult,
    exceptions::{PyBufferError, PyMemoryError, PyRuntimeError, PyValueError},
    panic::PanicException,
};

/// Runs a function that the interpreter or other code calls through C, and turns a panic into an
/// exception: Python's own code cannot be unwound.
pub(crate) fn caught<R>(run: impl FnOnce() -> PyResult<R>) -> PyResult<R> {
    catch_for_c(run).unwrap_or_else(|message| Err(PanicException::new_err(message)))
}

/// The exception for an error: `ValueError` for shapes and layouts, `BufferError` for refusals of a
/// door, `MemoryError` if memory runs out, and `RuntimeError` otherwise.
pub fn to_py(error: impl Into<DoorError>) -> PyErr {
    let error = match error.into() {
        // A line of Rust says nothing to a program in Python.
        DoorError::Array(error) => DoorError::Array(error.without_location()),
        error => error,
    };
    let text = error.to_string();
    match error {
        DoorError::Array(Error::Layout(..) | Error::Function(_)) => PyValueError::new_err(text),
        DoorError::Array(Error::OutOfMemory { .. }) => PyMemoryError::new_err(text),
        DoorError::Array(_) => PyRuntimeError::new_err(text),
        _ => PyBufferError::new_err(text),
    }
}
