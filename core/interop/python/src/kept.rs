//! Objects that keep memory. They are released by the thread that notices that the memory is no
//! longer used.
#![allow(unsafe_code)] // asks the interpreter about the thread, and believes it

use pyo3::{Py, PyAny, PyResult, Python, ffi, sync::PyOnceLock, types::PyAnyMethods};

use crate::once::get_or_make;

/// An object that is released at once by an attached thread, and otherwise when an attached thread
/// comes by.
///
/// Without this, only calls of this module by Python would release objects at once. Other code that
/// calls the deleter of a DLPack structure is nearly always attached.
pub(crate) struct Kept {
    /// Some until it is dropped.
    object: Option<Py<PyAny>>,
    /// The address of its interpreter; 0 if the interpreter does not tell which threads are
    /// attached.
    interpreter: usize,
}

impl Kept {
    pub(crate) fn new(py: Python<'_>, object: Py<PyAny>) -> Self {
        static INTERPRETER: PyOnceLock<usize> = PyOnceLock::new();
        let tell = || Ok(if tells(py) { interpreter(py) } else { 0 });
        let interpreter = get_or_make(&INTERPRETER, py, tell).map_or(0, |&interpreter| interpreter);
        Self { object: Some(object), interpreter }
    }

    /// The attachment of this thread to the interpreter, if it is attached. The interpreter may be
    /// gone.
    fn is_attached(&self) -> Option<Python<'_>> {
        // SAFETY: may be called at any time; it returns null on a thread that is not attached.
        if self.interpreter == 0 || unsafe { ffi::PyThreadState_GetDict() }.is_null() {
            return None;
        }
        // SAFETY: the thread is attached, to this interpreter or to another one.
        let py = unsafe { Python::assume_attached() };
        (interpreter(py) == self.interpreter).then_some(py)
    }
}

/// The address of the interpreter that the thread is attached to.
fn interpreter(_: Python<'_>) -> usize {
    // SAFETY: the thread is attached.
    unsafe { ffi::PyInterpreterState_Get() }.addr()
}

/// Whether the interpreter can tell if this very thread is attached. Older versions of CPython tell
/// whether any thread is.
fn tells(py: Python<'_>) -> bool {
    let name =
        || -> PyResult<String> { py.import("sys")?.getattr("implementation")?.getattr("name")?.extract() };
    py.version_info() >= (3, 12) && name().is_ok_and(|name| name == "cpython")
}

impl Drop for Kept {
    fn drop(&mut self) {
        let object = self.object.take();
        if let (Some(py), Some(object)) = (self.is_attached(), object) {
            object.drop_ref(py);
        }
    }
}
