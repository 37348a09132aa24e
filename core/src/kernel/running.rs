//! Whether code of a kernel's declaration runs on this thread: its host function, or its block `launch`.
//!
//! The device or the recording that runs it waits for it, with locks held. A call from inside into a device
//! would wait for ever, so it panics instead.
#![allow(unsafe_code)] // declares an unsafe constructor, and calls it

use std::{
    cell::Cell,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
    thread,
};

thread_local! {
    static RUNNING: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// While this lives, the host function of a kernel runs on this thread.
#[must_use]
pub struct Running {
    before: Option<&'static str>,
}

impl Running {
    /// Notes that a kernel of this name runs.
    ///
    /// # Safety
    ///
    /// The value is dropped on this thread before anything but the host function runs. Until then,
    /// an object of a device that is dropped panics where it has to lock the device, and may leave
    /// memory in use.
    pub unsafe fn new(kernel: &'static str) -> Self {
        Self { before: RUNNING.replace(Some(kernel)) }
    }

    /// Runs the block `launch` of a kernel of this name: a call of a device in it panics.
    pub(crate) fn during<R>(kernel: &'static str, block: impl FnOnce() -> R) -> R {
        // SAFETY: the value is dropped here, before anything but the block has run.
        let _running = unsafe { Self::new(kernel) };
        block()
    }

    /// Locks an object of a device, also after a panic elsewhere.
    ///
    /// # Panics
    ///
    /// If called in a host function, which must not call a device. While that panic unwinds,
    /// dropped objects may still lock: a second panic would end the program.
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
    /// Checks like [`lock`](Self::lock), for an object of a device that needs no lock.
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
        "the host function of `{kernel}` called a device, which waits for it: it may use its arguments alone; \
         so may the block `launch`"
    )
}
