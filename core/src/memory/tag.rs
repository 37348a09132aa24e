//! Names for what is allocated.

use std::cell::Cell;

thread_local! {
    static TAG: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Runs `f`; what this thread allocates meanwhile, in any context, is entered in the
/// [ledger](super) under `tag`.
///
/// Also what libraries allocate inside, which need not know of tags. Of nested tags the innermost
/// counts, and the outer one again when it ends, by unwinding too. Other threads are not concerned.
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
    // In a frame of the library's own: nobody can forget it, and unwinding drops it.
    let _outer = Outer(TAG.replace(Some(tag)));
    f()
}

/// The tag in force.
#[inline]
pub(super) fn current() -> Option<&'static str> {
    TAG.get()
}

/// The tag around, put back when this is dropped.
struct Outer(Option<&'static str>);

impl Drop for Outer {
    fn drop(&mut self) {
        TAG.set(self.0);
    }
}
