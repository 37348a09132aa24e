//! What deleters of exported structures end in.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Drops what other code gives back. The destructor of something attached to the memory may panic,
/// and no panic may reach code in C: the panic hook told of it, so it ends here.
pub(crate) fn drop_for_c<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // Its drop could panic again.
        mem::forget(payload);
    }
}
