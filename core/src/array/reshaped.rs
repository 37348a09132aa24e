//! The result of a call that may copy.

use super::{Array, ArrayView, Element, ErasedArray, ErasedView};
use crate::backend::Device;

/// The result of a reshape that may copy: a view of the same memory, or a new array.
#[derive(Debug)]
#[must_use]
#[expect(clippy::exhaustive_enums, reason = "complete by nature: it was copied or it was not")]
pub enum Reshaped<V, A> {
    /// A view of the same elements.
    View(V),
    /// A new array with copies of them.
    Copied(A),
}

impl<V, A> Reshaped<V, A> {
    /// Whether the elements were copied.
    pub fn is_copied(&self) -> bool {
        matches!(self, Self::Copied(_))
    }
}

impl<'a, D: Device> Reshaped<ErasedView<'a, D>, ErasedArray<D>> {
    /// The elements, wherever they are.
    #[must_use]
    pub fn view(&self) -> ErasedView<'_, D> {
        match self {
            Self::View(view) => view.clone(),
            Self::Copied(array) => array.view(),
        }
    }
}

impl<'a, T: Element, D: Device> Reshaped<ArrayView<'a, T, D>, Array<T, D>> {
    /// The elements, wherever they are.
    #[must_use]
    pub fn view(&self) -> ArrayView<'_, T, D> {
        match self {
            Self::View(view) => view.clone(),
            Self::Copied(array) => array.view(),
        }
    }
}
