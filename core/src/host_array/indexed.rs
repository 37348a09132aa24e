//! Elements with their indices.

use std::{fmt, iter::FusedIterator, slice};

use crate::layout::Axes;

/// Iterates over the elements of a [`HostArray`](super::HostArray) in C order. Each comes with its
/// index, one position per axis.
#[derive(Clone)]
pub struct IndexedIter<'a, T> {
    elements: slice::Iter<'a, T>,
    shape: &'a [usize],
    next: Axes<usize>,
}

impl<'a, T> IndexedIter<'a, T> {
    pub(super) fn new(data: &'a [T], shape: &'a [usize]) -> Self {
        Self { elements: data.iter(), shape, next: Axes::from_elem(0, shape.len()) }
    }
}

impl<'a, T> Iterator for IndexedIter<'a, T> {
    type Item = (Axes<usize>, &'a T);

    fn next(&mut self) -> Option<Self::Item> {
        let element = self.elements.next()?;
        let index = self.next.clone();
        for (at, &extent) in self.next.iter_mut().zip(self.shape).rev() {
            *at += 1;
            if *at < extent {
                break;
            }
            *at = 0;
        }
        Some((index, element))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.elements.size_hint()
    }
}

impl<T> ExactSizeIterator for IndexedIter<'_, T> {}

impl<T> FusedIterator for IndexedIter<'_, T> {}

impl<T> fmt::Debug for IndexedIter<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "IndexedIter(at {:?} of {:?})",
            crate::layout::List(&self.next),
            crate::layout::List(self.shape)
        )
    }
}
