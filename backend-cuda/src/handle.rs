//! Driver handles, and the one lock helper.
#![allow(unsafe_code)] // says that driver handles may cross threads

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The driver's name for an object of its own: a context, stream, event, module, function or pool.
///
/// A plain value. Nothing is dereferenced on this side of the driver.
pub(crate) struct Handle<T>(*mut T);

// SAFETY: the value is opaque to us, and the driver API may be called for one object from any
// thread (CUDA C++ Programming Guide, "Driver API": contexts are current to any number of threads
// at a time).
unsafe impl<T> Send for Handle<T> {}
// SAFETY: as above; a shared handle only gives out copies of the same value.
unsafe impl<T> Sync for Handle<T> {}

impl<T> Handle<T> {
    pub(crate) const fn new(raw: *mut T) -> Self {
        Self(raw)
    }

    pub(crate) const fn raw(self) -> *mut T {
        self.0
    }
}

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:p}", self.0)
    }
}

/// Locks, whether or not a panic happened under the lock: nothing here leaves its data half
/// changed.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
