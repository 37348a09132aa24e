//! Names for allocations.

use std::cell::Cell;

thread_local! {
    static TAG: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Runs `f`. Allocations of this thread meanwhile, in any context, are entered in the
/// [ledger](super) under `tag`.
///
/// This includes allocations of libraries that do not know tags. The innermost of nested tags
/// counts; when it ends, also by unwinding, the outer one counts again. Other threads are not
/// affected.
///
/// ```
/// use devarray::{Array, Context, memory::tagged};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let array = tagged("activations", || Array::<f32, _>::zeros(&stream, &[10]))?;
/// assert_eq!(context.live_allocations()[0].tag, Some("activations"));
/// # Ok::<(), devarray::Error>(())
/// ```
pub fn tagged<R>(tag: &'static str, f: impl FnOnce() -> R) -> R {
    // It lives in a frame of the library's own: nobody can forget it, and unwinding drops it.
    let _outer = Outer(TAG.replace(Some(tag)));
    f()
}

/// The current tag.
#[inline]
pub(super) fn current() -> Option<&'static str> {
    TAG.get()
}

/// The outer tag. Dropping this puts it back.
struct Outer(Option<&'static str>);

impl Drop for Outer {
    fn drop(&mut self) {
        TAG.set(self.0);
    }
}
