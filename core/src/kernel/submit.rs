//! Leads from a kernel's `launch` to the device.
#![allow(unsafe_code)] // declares what a caller promises of arguments; performs no unsafe operation

use super::{Argument, ArgumentKind, Grid, HostArgument, Kernel, Passing, Refusal};
use crate::{Result, StreamHandle, backend::Launch};

/// Makes the host function's argument for an argument declared as kind `K`.
///
/// # Panics
///
/// If `K` is another kind: the macro then read the argument's type in two ways.
///
/// # Safety
///
/// The argument has the declared kind, and meets the conditions of
/// [`HostFunction`](super::HostFunction).
#[must_use]
pub unsafe fn host_argument<'h, K: Argument>(
    argument: &HostArgument<'h>,
    declared: ArgumentKind,
) -> K::Host<'h> {
    assert!(
        K::KIND == declared,
        "the type of an argument is declared as {declared:?} and read as {:?}",
        K::KIND
    );
    // SAFETY: passed on to the caller, because the kinds are the same.
    unsafe { K::host(argument) }
}

/// The kernel's own answer to its arguments: what is launched, or why nothing is. A launch of recorded work
/// asks again, since arguments may begin elsewhere each time.
pub type GridOf<D> = for<'p, 'a> fn(&'p [Passing<'a, D>]) -> Result<Grid, Refusal>;

/// Enqueues a kernel; on the stream of a recording, records it. Does not synchronize.
///
/// # Errors
///
/// The errors of the `launch` of [`kernel!`](crate::kernel!).
///
/// # Safety
///
/// There is one argument for each declared one, in order; `grid` is the kernel's own answer to
/// arguments of these kinds.
#[track_caller]
pub unsafe fn submit<K: Kernel, D: Launch>(
    stream: &StreamHandle<D>,
    grid: GridOf<D>,
    arguments: &[Passing<'_, D>],
) -> Result<()> {
    stream.0.launch(K::declaration(), grid, arguments)
}
