//! Whether the host function of a kernel runs on this thread.
//!
//! The device that runs it waits for it, with its locks held. A call from there into a device would
//! wait for ever; it panics instead.
#![allow(unsafe_code)] // declares an unsafe constructor; performs no unsafe operation

use std::{
    cell::Cell,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
    thread,
};

thread_local! {
    static RUNNING: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// The host function of a kernel runs on this thread until this is dropped.
#[must_use]
pub struct Running {
    before: Option<&'static str>,
}

impl Running {
    /// Marks that a kernel of this name runs.
    ///
    /// # Safety
    ///
    /// It is dropped on this thread, before anything but the host function runs: what is dropped
    /// meanwhile panics where it has to lock a device, and may then leave memory in use of that
    /// device.
    pub unsafe fn new(kernel: &'static str) -> Self {
        Self { before: RUNNING.replace(Some(kernel)) }
    }

    /// Locks an object of a device, also after a panic elsewhere.
    ///
    /// # Panics
    ///
    /// In a host function: it must not call a device. An object dropped while that panics
    /// may still be locked, as two panics would end the program.
    pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
        if let Some(kernel) = RUNNING.get()
            && (!thread::panicking() || matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)))
        {
            refuse(kernel);
        }
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// [`lock`](Self::lock) of a lock that nobody has, without one: for an object of a
    /// device and needs none.
    ///
    /// # Panics
    ///
    /// The panics of [`lock`](Self::lock).
    pub(crate) fn check() {
        if let Some(kernel) = RUNNING.get()
            && !thread::panicking()
        {
            refuse(kernel);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.set(self.before);
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Running")
    }
}

#[cold]
fn refuse(kernel: &'static str) -> ! {
    panic!(
        "the host function of `{kernel}` called a device, which waits for it: it may use its arguments alone"
    )
}
