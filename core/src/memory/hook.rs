//! Tells the program of its allocations.

use std::{
    cell::RefCell,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::AllocationRecord;
use crate::{Error, lock::lock};

/// Callbacks that tell a program of a context's memory.
///
/// Methods are called on the thread that allocates or gives back, with no lock of the library held: they may
/// use the context, its streams and arrays. A hook is not told of the allocations and frees of its own
/// methods. If a method drops the last context and stream of a device, [`closed`](Self::closed) is called
/// when the method has returned. A method that panics is stopped there, and [`Error::HookPanicked`] goes to
/// [`Context::take_errors`](crate::Context::take_errors): an allocation, or a drop, never unwinds for it. A
/// hook that panics when it is dropped is treated in the same way.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use devarray::{Array, Context, memory::{AllocationRecord, MemoryHook}};
///
/// #[derive(Default)]
/// struct Log(Mutex<Vec<String>>);
///
/// impl MemoryHook for Log {
///     fn allocated(&self, record: &AllocationRecord) {
///         self.0.lock().unwrap().push(format!("+{}", record.len_bytes));
///     }
///     fn freed(&self, record: &AllocationRecord) {
///         self.0.lock().unwrap().push(format!("-{}", record.len_bytes));
///     }
/// }
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let log = Arc::new(Log::default());
/// context.set_memory_hook(Some(log.clone()));
/// drop(Array::<u8, _>::zeros(&stream, &[100])?);
/// assert_eq!(*log.0.lock().unwrap(), ["+100", "-100"]);
/// # Ok::<(), devarray::Error>(())
/// ```
#[allow(unused_variables, reason = "the names of arguments are part of the documentation")]
pub trait MemoryHook: Send + Sync {
    /// An allocation was made. This is called before anybody has it, and so before
    /// [`freed`](Self::freed) of the same allocation.
    fn allocated(&self, record: &AllocationRecord) {}

    /// An allocation was given back: device memory in stream order, pinned memory to the driver or
    /// to its pool.
    fn freed(&self, record: &AllocationRecord) {}

    /// There is no room for an allocation, or a limit refuses it; `error` holds the size and the
    /// live memory by tag. This is the last chance to drop memory: when it returns, the allocation
    /// is tried once more.
    fn out_of_memory(&self, error: &Error) {}

    /// The last context and stream of the device are gone. The allocations in `live` are leaked, or
    /// held by arrays that can no longer be used. It is called again if a context is made from such
    /// an array and dropped, but not for a device that this method itself closes.
    fn closed(&self, live: &[AllocationRecord]) {}
}

/// The hook, and the errors that no call could return.
pub(crate) struct Watch {
    backend: &'static str,
    is_hooked: AtomicBool,
    hook: Mutex<Option<Arc<dyn MemoryHook>>>,
    errors: Mutex<Vec<Error>>,
}

/// A running method of a hook: which hook, and whether the method is `closed`.
type Running = (*const (), bool);

/// A call of a hook, kept until no method runs any more.
type Later = Box<dyn FnOnce()>;

// These are gone when the thread ends: memory dropped even later is outside every method.
thread_local! {
    /// Methods that run on this thread. Each is called inside the one before it.
    static RUNNING: RefCell<Vec<Running>> = const { RefCell::new(Vec::new()) };
    /// Calls for contexts that were closed while a method ran.
    static LATER: RefCell<VecDeque<Later>> = const { RefCell::new(VecDeque::new()) };
}

impl Watch {
    pub(crate) fn new(backend: &'static str) -> Self {
        Self { backend, is_hooked: AtomicBool::new(false), hook: Mutex::default(), errors: Mutex::default() }
    }

    /// Sets the hook, or none. The previous hook is dropped.
    pub(super) fn set(&self, hook: Option<Arc<dyn MemoryHook>>) {
        let mut current = lock(&self.hook);
        self.is_hooked.store(hook.is_some(), Ordering::Relaxed);
        let before = std::mem::replace(&mut *current, hook);
        drop(current);
        self.drop_hook(before);
    }

    /// Keeps an error that no call can return now.
    pub(crate) fn report(&self, error: Error) {
        lock(&self.errors).push(error);
    }

    pub(crate) fn take_errors(&self) -> Vec<Error> {
        std::mem::take(&mut *lock(&self.errors))
    }

    /// Drops a hook, if this was its last owner. No lock may be held.
    fn drop_hook(&self, hook: Option<Arc<dyn MemoryHook>>) {
        if let Err(message) = stopping_panics(|| drop(hook)) {
            self.report(Error::HookPanicked { backend: self.backend, operation: "drop", message });
        }
    }

    /// Tells of an allocation. No lock may be held.
    pub(crate) fn allocated(&self, record: &AllocationRecord) {
        if self.is_hooked() {
            self.tell("allocated", |hook| hook.allocated(record));
        }
    }

    /// Tells of memory that was given back. No lock may be held.
    pub(crate) fn freed(&self, record: &AllocationRecord) {
        if self.is_hooked() {
            self.tell("freed", |hook| hook.freed(record));
        }
    }

    /// Tells that memory is short. No lock may be held.
    pub(crate) fn out_of_memory(&self, error: &Error) {
        if self.is_hooked() {
            self.tell("out_of_memory", |hook| hook.out_of_memory(error));
        }
    }

    /// Tells of the memory still alive at the end. If the hook itself closed the device, it is told
    /// after its method has returned. No lock may be held.
    pub(crate) fn closed(self: &Arc<Self>, live: impl FnOnce() -> Vec<AllocationRecord>) {
        if !self.is_hooked() {
            return;
        }
        let Some(hook) = self.hook() else { return };
        let (is_running, closes) = running(&hook);
        if closes {
            return;
        }
        let (watch, live) = (Arc::clone(self), live());
        let tell = move || watch.call("closed", hook, |hook| hook.closed(&live));
        if is_running {
            let _ = LATER.try_with(|later| later.borrow_mut().push_back(Box::new(tell)));
        } else {
            tell();
        }
    }

    #[inline]
    pub(crate) fn is_hooked(&self) -> bool {
        self.is_hooked.load(Ordering::Relaxed)
    }

    #[cold]
    fn tell(&self, operation: &'static str, call: impl FnOnce(&dyn MemoryHook)) {
        let Some(hook) = self.hook() else { return };
        if !running(&hook).0 {
            self.call(operation, hook, call);
        }
    }

    fn hook(&self) -> Option<Arc<dyn MemoryHook>> {
        lock(&self.hook).clone()
    }

    /// Calls a method. If it was the outermost, then also tells of devices that were closed
    /// meanwhile.
    fn call(&self, operation: &'static str, hook: Arc<dyn MemoryHook>, call: impl FnOnce(&dyn MemoryHook)) {
        // This closure may hold the hook's last owner, so dropping it may run the program's code
        // too.
        let told = stopping_panics(move || {
            let _running = Runs::begin((address(&hook), operation == "closed"));
            call(&*hook);
        });
        if let Err(message) = told {
            self.report(Error::HookPanicked { backend: self.backend, operation, message });
        }
        while RUNNING.try_with(|all| all.borrow().is_empty()) == Ok(true)
            && let Ok(Some(tell)) = LATER.try_with(|later| later.borrow_mut().pop_front())
        {
            tell();
        }
    }
}

impl Drop for Watch {
    /// Nobody is left who could get a panic.
    fn drop(&mut self) {
        let hook = self.hook.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.drop_hook(hook);
    }
}

/// The address that tells hooks apart.
fn address(hook: &Arc<dyn MemoryHook>) -> *const () {
    Arc::as_ptr(hook).cast()
}

/// Whether a method of a hook runs on this thread, and whether one is `closed`.
fn running(hook: &Arc<dyn MemoryHook>) -> (bool, bool) {
    let asked = RUNNING.try_with(|all| {
        let all = all.borrow();
        let mut own = all.iter().filter(|(running, _)| *running == address(hook)).peekable();
        (own.peek().is_some(), own.any(|(_, closes)| *closes))
    });
    asked.unwrap_or_default()
}

/// Runs the program's code and lets no panic pass.
pub(crate) fn stopping_panics(call: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let message = payload.downcast_ref::<&str>().map(|&text| text.to_owned());
        let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
        // The payload may panic again when it is dropped; then it is forgotten.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(again);
        }
        message.unwrap_or_else(|| "something that is no text".to_owned())
    })
}

/// Marks a method as running until it is dropped.
struct Runs;

impl Runs {
    fn begin(running: Running) -> Self {
        let _ = RUNNING.try_with(|all| all.borrow_mut().push(running));
        Self
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let _ = RUNNING.try_with(|all| all.borrow_mut().pop());
    }
}
