//! From a kernel's own function to the device.
#![allow(unsafe_code)] // declares what a caller promises of arguments; performs no unsafe operation

use std::fmt;

use super::{Bound, Grid, Kernel, Refusal};
use crate::{
    Result, StreamHandle,
    backend::{Device, Launch},
    operations::Elements,
};

/// An argument of a launch without its type.
pub struct Passing<'a, D: Device>(pub(crate) PassedAs<'a, D>);

/// What is passed.
pub(crate) enum PassedAs<'a, D: Device> {
    Elements(&'a Elements<'a, D>),
    Value(&'a [u8]),
}

impl<'a, D: Device> Passing<'a, D> {
    pub(crate) fn elements<K>(bound: &'a Bound<'_, K, D>) -> Self {
        Self(PassedAs::Elements(&bound.elements))
    }

    pub(crate) fn value(bytes: &'a [u8]) -> Self {
        Self(PassedAs::Value(bytes))
    }
}

impl<D: Device> fmt::Debug for Passing<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            PassedAs::Elements(elements) => crate::brief::erased(f, "Passing", elements),
            PassedAs::Value(bytes) => write!(f, "Passing({} bytes)", bytes.len()),
        }
    }
}

/// Enqueues a kernel. Does not synchronize.
///
/// # Errors
///
/// As the `launch` of [`kernel!`](crate::kernel!).
///
/// # Safety
///
/// There is one argument for each that is declared, of its kind and in its order; `grid` is the
/// kernel's own answer to them.
#[track_caller]
pub unsafe fn submit<K: Kernel, D: Launch>(
    stream: &StreamHandle<D>,
    grid: impl FnOnce() -> Result<Grid, Refusal>,
    arguments: &[Passing<'_, D>],
) -> Result<()> {
    stream.0.launch(K::declaration(), grid, arguments)
}
