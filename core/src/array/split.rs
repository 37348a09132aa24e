//! The parts of a split view.

use std::{fmt, iter::FusedIterator};

use crate::layout::{Layout, Split};

/// The parts of a view cut along one axis, in order; they share no element.
/// [`split`](super::ArrayView::split) and its like return them.
pub struct Parts<V> {
    layouts: Split,
    whole: V,
}

/// A view that can be narrowed to a part of itself.
#[expect(unnameable_types, reason = "sealed: a second handle on an exclusive view is core's to make")]
pub trait Narrow {
    /// Makes a handle on the elements of `layout`, one of disjoint parts of this view.
    #[doc(hidden)]
    #[must_use]
    fn narrow(&self, layout: Layout) -> Self;
}

impl<V> Parts<V> {
    pub(crate) fn new(layouts: Split, whole: V) -> Self {
        Self { layouts, whole }
    }
}

impl<V: Narrow> Iterator for Parts<V> {
    type Item = V;

    fn next(&mut self) -> Option<V> {
        Some(self.whole.narrow(self.layouts.next()?))
    }

    fn nth(&mut self, count: usize) -> Option<V> {
        Some(self.whole.narrow(self.layouts.nth(count)?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.layouts.size_hint()
    }
}

impl<V: Narrow> ExactSizeIterator for Parts<V> {}

impl<V: Narrow> FusedIterator for Parts<V> {}

impl<V: fmt::Debug> fmt::Debug for Parts<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parts({} of {:?})", self.layouts.len(), self.whole)
    }
}
