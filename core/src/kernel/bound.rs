//! Elements in a call of a launch.

use std::{fmt, marker::PhantomData};

use crate::{backend::Device, operations::Elements};

/// Elements that a call passes for an argument of kind `K`.
///
/// The kind is part of the type. So no implementor of [`PassesAs`](super::PassesAs) passes elements
/// to read for elements to write, or elements of one type for elements of another.
pub struct Bound<'a, K, D: Device> {
    pub(super) elements: Elements<'a, D>,
    of: PhantomData<fn() -> K>,
}

impl<'a, K, D: Device> Bound<'a, K, D> {
    pub(super) fn new(elements: Elements<'a, D>) -> Self {
        Self { elements, of: PhantomData }
    }
}

impl<K, D: Device> fmt::Debug for Bound<'_, K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::operations::erased(f, "Bound", &self.elements)
    }
}
