//! Locks of core.

use std::sync::{Mutex, MutexGuard};

use crate::kernel::Running;

/// Locks, also after a panic elsewhere: all state behind these locks is valid between any two
/// statements.
///
/// # Panics
///
/// If called in the host function of a kernel, which may run while these locks are held.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    Running::lock(mutex)
}
