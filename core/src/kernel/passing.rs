//! Values that a launch passes.

use std::fmt;

use super::{ArgumentKind, Bound};
use crate::{backend::Device, layout::Element, operations::Elements};

/// An argument of a launch without its type.
pub struct Passing<'a, D: Device> {
    /// The kind of its type. The macro names the type of an argument in several places, and an
    /// author can make the name mean something else in each. So the given kind is compared with the
    /// declared one.
    pub(crate) kind: ArgumentKind,
    pub(crate) passed: PassedAs<'a, D>,
}

/// The value that is passed.
pub(crate) enum PassedAs<'a, D: Device> {
    Elements(&'a Elements<'a, D>),
    Value(&'a [u8]),
}

impl<'a, D: Device> Passing<'a, D> {
    pub(crate) fn elements<K>(kind: ArgumentKind, bound: &'a Bound<'_, K, D>) -> Self {
        Self { kind, passed: PassedAs::Elements(&bound.elements) }
    }

    pub(crate) fn value<S: Element>(kind: ArgumentKind, value: &'a S) -> Self {
        Self { kind, passed: PassedAs::Value(bytemuck::bytes_of(value)) }
    }
}

impl<D: Device> fmt::Debug for Passing<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.passed {
            PassedAs::Elements(elements) => crate::operations::erased(f, "Passing", elements),
            PassedAs::Value(bytes) => write!(f, "Passing({} bytes)", bytes.len()),
        }
    }
}
