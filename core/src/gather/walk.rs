//! Walks through a gather in runs of elements that one index picks.

use devarray_order::IndexFault;

use super::{Gathering, IndexError, IndexType};
use crate::layout::{Axes, Layout};

/// Elements along the last axis that one index picks or puts, or a single element. Places count
/// elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatherRun {
    /// Where the first one lies on the side of the elements.
    pub element: usize,
    /// The distance from one element to the next on that side.
    pub element_stride: isize,
    /// Where the first one lies in the indexed array; `None` if the index is out of range.
    pub indexed: Option<usize>,
    /// The distance from one element to the next on that side.
    pub indexed_stride: isize,
    /// The number of elements.
    pub len: usize,
}

impl Gathering<'_> {
    /// Visits all positions in row-major order of the shape. Returns the first index out of range,
    /// if that is an error.
    ///
    /// `read_index` and `is_chosen` get positions in the layouts of the indices and of the mask,
    /// and are called once for each index. For [`IndexType::Counted`] the walk numbers the
    /// elements, and the caller writes how many were chosen.
    pub fn visit(
        &self,
        mut read_index: impl FnMut(usize) -> i64,
        mut is_chosen: impl FnMut(usize) -> bool,
        mut each: impl FnMut(GatherRun),
    ) -> Option<IndexError> {
        let (last, outer) = self.split();
        let mut first: Option<IndexError> = None;
        let mut selected = 0;
        let mut at: Axes<usize> = Axes::from_elem(0, outer);
        loop {
            if self.mask.is_none_or(|mask| is_chosen(place(mask, &at))) {
                let value = match self.index_type {
                    IndexType::Counted => selected,
                    _ => read_index(place(self.indices, &at)),
                };
                selected += 1;
                let index = self.resolve(value);
                if index.is_none() {
                    let position: usize = at.iter().zip(self.positions).map(|(at, step)| at * step).sum();
                    let found = IndexError {
                        operation: self.operation,
                        fault: IndexFault::Outside,
                        axis: self.axis,
                        position: position as u64,
                        value,
                        bound: self.bound() as u64,
                    };
                    first = Some(first.filter(|first| first.position <= found.position).unwrap_or(found));
                }
                let of_zero = place(self.indexed, &at);
                each(GatherRun {
                    element: place(self.elements, &at),
                    element_stride: last.map_or(0, |axis| self.elements.strides()[axis]),
                    indexed: index.map(|index| of_zero.wrapping_add_signed(self.distance(index))),
                    indexed_stride: last.map_or(0, |axis| self.indexed.strides()[axis]),
                    len: last.map_or(1, |axis| self.shape[axis]),
                });
            }
            let Some(axis) = (0..outer).rev().find(|&axis| at[axis] + 1 < self.shape[axis]) else {
                return first;
            };
            at[axis] += 1;
            at[axis + 1..].fill(0);
        }
    }

    /// The last axis, if neither indices nor mask change along it, and the number of axes before
    /// it.
    pub(super) fn split(&self) -> (Option<usize>, usize) {
        let rank = self.shape.len();
        let is_fixed = |layout: &Layout, axis: usize| layout.strides()[axis] == 0;
        let last = rank.checked_sub(1).filter(|&last| {
            is_fixed(self.indices, last)
                && self.positions[last] == 0
                && self.mask.is_none_or(|mask| is_fixed(mask, last))
        });
        (last, last.unwrap_or(rank))
    }
}

/// The position of an element in a layout, by its index tuple. The tuple may lack the last axes.
fn place(layout: &Layout, at: &[usize]) -> usize {
    let steps = at.iter().zip(layout.strides());
    steps.fold(layout.offset(), |place, (&at, &stride)| {
        place.wrapping_add_signed(at.cast_signed().wrapping_mul(stride))
    })
}
