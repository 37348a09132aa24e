//! From a kernel's own function to the device.
#![allow(unsafe_code)] // declares what a caller promises of arguments; performs no unsafe operation

use std::fmt;

use super::{Argument, ArgumentKind, Bound, Grid, HostArgument, Kernel, Refusal};
use crate::{
    Element, Result, StreamHandle,
    backend::{Device, Launch},
    operations::Elements,
};

/// An argument of a launch without its type.
pub struct Passing<'a, D: Device> {
    /// What its type was. The macro names the type of an argument in several places, and an author
    /// can make it mean something else in each: so what was given is compared with what is
    /// declared.
    pub(crate) kind: ArgumentKind,
    pub(crate) passed: PassedAs<'a, D>,
}

/// What is passed.
pub(crate) enum PassedAs<'a, D: Device> {
    Elements(&'a Elements<'a, D>),
    Value(&'a [u8]),
}

impl<'a, D: Device> Passing<'a, D> {
    pub(crate) fn elements<K: Argument>(bound: &'a Bound<'_, K, D>) -> Self {
        Self { kind: K::KIND, passed: PassedAs::Elements(&bound.elements) }
    }

    pub(crate) fn value<S: Element>(value: &'a S) -> Self {
        Self { kind: S::KIND, passed: PassedAs::Value(bytemuck::bytes_of(value)) }
    }
}

impl<D: Device> fmt::Debug for Passing<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.passed {
            PassedAs::Elements(elements) => crate::brief::erased(f, "Passing", elements),
            PassedAs::Value(bytes) => write!(f, "Passing({} bytes)", bytes.len()),
        }
    }
}

/// What the host function gets for an argument that is declared to be of a kind.
///
/// # Panics
///
/// If `K` is another kind: the macro read the argument's type in two ways.
///
/// # Safety
///
/// The argument is of the kind that is declared, and as [`HostFunction`](super::HostFunction) asks.
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
    // SAFETY: passed on to the caller, as the kinds are the same.
    unsafe { K::host(argument) }
}

/// Enqueues a kernel. Does not synchronize.
///
/// # Errors
///
/// As the `launch` of [`kernel!`](crate::kernel!).
///
/// # Safety
///
/// There is one argument for each that is declared, in its order; `grid` is the kernel's own answer
/// to them.
#[track_caller]
pub unsafe fn submit<K: Kernel, D: Launch>(
    stream: &StreamHandle<D>,
    grid: impl FnOnce() -> Result<Grid, Refusal>,
    arguments: &[Passing<'_, D>],
) -> Result<()> {
    stream.0.launch(K::declaration(), grid, arguments)
}
