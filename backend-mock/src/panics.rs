//! Catches panics of the program, reads their messages, and keeps them from being printed.

use std::{
    any::Any,
    cell::Cell,
    mem,
    panic::{self, AssertUnwindSafe, catch_unwind},
    sync::Once,
};

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` without printing panics of this thread: panics of an explored program are printed once
/// at the end, and not in each run. Other threads print their panics as before.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> R {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    let outer = QUIET.replace(true);
    let result = f();
    QUIET.set(outer);
    result
}

/// Whether panics of this thread are not printed.
pub(crate) fn is_quiet() -> bool {
    QUIET.get()
}

/// The message of a panic. The payload is dropped here; if that panics again, the new payload is
/// forgotten.
pub(crate) fn message(panic: Box<dyn Any + Send>) -> String {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a message").to_owned();
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        mem::forget(again);
    }
    text
}
