//! Elements in memory of the host, to write.
#![allow(unsafe_code)] // reaches elements through a pointer, inside the layout that came with it

use std::{
    fmt,
    marker::PhantomData,
    ops::{Index, IndexMut},
};

use super::host_view::{HostView, Walk, position, refuse};
use crate::layout::{Element, Layout};

/// Elements that a kernel's host function may write, of any strides.
///
/// It is indexed by one position per axis: `view[[i, j]] = 7.0`.
pub struct HostViewMut<'h, T> {
    start: *mut T,
    layout: &'h Layout,
    of: PhantomData<&'h mut [T]>,
}

impl<'h, T: Element> HostViewMut<'h, T> {
    /// # Safety
    ///
    /// The elements of the layout are in memory; `start` is the one at index (0, 0, …). They are
    /// initialized and aligned, no two indices reach one, and nobody else uses them for `'h`.
    pub(super) unsafe fn new(start: *mut T, layout: &'h Layout) -> Self {
        Self { start, layout, of: PhantomData }
    }

    /// Returns this view, to read.
    #[must_use]
    pub fn as_view(&self) -> HostView<'_, T> {
        // SAFETY: the promise of `new`; while the view lives nobody writes, since `self` is
        // borrowed.
        unsafe { HostView::new(self.start, self.layout) }
    }

    /// The layout of the elements. The one at index (0, 0, …) is at
    /// [`as_mut_ptr`](Self::as_mut_ptr).
    #[must_use]
    pub fn layout(&self) -> &'h Layout {
        self.layout
    }

    /// Extents, outermost axis first.
    #[must_use]
    pub fn shape(&self) -> &'h [usize] {
        self.layout.shape()
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// The element at an index; `None` if the index does not have one position per axis, or one is
    /// out of range.
    #[must_use]
    pub fn get(&self, index: &[usize]) -> Option<&T> {
        self.as_view().get(index)
    }

    /// Like [`get`](Self::get), to write.
    #[must_use]
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T> {
        let at = position(self.layout, index)?;
        // SAFETY: the index is inside the layout, whose elements may be written.
        let element = unsafe { self.start.offset(at) };
        // SAFETY: as above; the element is initialized and aligned, and `self` is borrowed
        // exclusively.
        Some(unsafe { &mut *element })
    }

    /// Iterates over the elements in C order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.as_view().iter()
    }

    /// The elements in C order, to write.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let start = self.start;
        // SAFETY: the walk gives each position of the layout once, and no two positions are one
        // element; `self` is borrowed exclusively.
        Walk::new(self.layout).map(move |at| unsafe { &mut *start.wrapping_offset(at) })
    }

    /// Sets every element to `value`.
    pub fn fill(&mut self, value: T) {
        self.iter_mut().for_each(|element| *element = value);
    }

    /// A pointer to the element at index (0, 0, …), for code that computes with strides itself, as
    /// the device's code does.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.start
    }
}

/// # Panics
///
/// Panics like indexing a slice, if the index does not have one position per axis, or one is out of
/// range.
impl<T: Element, I: AsRef<[usize]>> Index<I> for HostViewMut<'_, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        let index = index.as_ref();
        self.get(index).unwrap_or_else(|| refuse(index, self.layout.shape()))
    }
}

impl<T: Element, I: AsRef<[usize]>> IndexMut<I> for HostViewMut<'_, T> {
    fn index_mut(&mut self, index: I) -> &mut T {
        let (index, shape) = (index.as_ref(), self.layout.shape());
        self.get_mut(index).unwrap_or_else(|| refuse(index, shape))
    }
}

impl<T> fmt::Debug for HostViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = crate::layout::List(self.layout.shape());
        write!(f, "HostViewMut<{}>{shape:?}", crate::debug_text::type_name::<T>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reversed rows of every second column of a 3 × 8 block, compared with a walk by index.
    #[test]
    fn strided_views_reach_their_elements_and_no_others() {
        let mut memory = [7_u16; 24];
        let layout = Layout::new(&[3, 4], &[-8, 2], 16).unwrap();
        let start = memory.as_mut_ptr().wrapping_add(16);
        // SAFETY: the layout reaches elements 0..23 of the memory, which is borrowed alone.
        let mut view = unsafe { HostViewMut::new(start, &layout) };
        for (value, element) in (0..).zip(view.iter_mut()) {
            *element = value;
        }
        assert_eq!((view[[0, 0]], view[[2, 3]], view.get(&[3, 0]), view.get(&[0])), (0, 11, None, None));
        assert_eq!(view.as_view().to_vec(), (0..12).collect::<Vec<u16>>());
        view[[1, 1]] = 100;
        let rows = [[8, 9, 10, 11], [4, 100, 6, 7], [0, 1, 2, 3]];
        let due: Vec<u16> = rows.iter().flatten().flat_map(|&value| [value, 7]).collect();
        assert_eq!(memory[..], due);
    }

    #[test]
    fn no_axes_are_one_element_and_an_extent_of_0_is_none() {
        let mut one = 5_u8;
        let scalar = Layout::new(&[], &[], 0).unwrap();
        // SAFETY: one element, borrowed alone.
        let mut view = unsafe { HostViewMut::new(&raw mut one, &scalar) };
        view[[]] += 1;
        assert_eq!((view.len(), view.iter().count(), view[[]]), (1, 1, 6));
        let nothing = Layout::new(&[2, 0], &[0, 1], 0).unwrap();
        // SAFETY: no element.
        let view = unsafe { HostViewMut::new(std::ptr::dangling_mut::<u8>(), &nothing) };
        assert_eq!((view.len(), view.iter().count(), view.get(&[0, 0])), (0, 0, None));
    }
}
