//! Elements in memory of the host, to read.
#![allow(unsafe_code)] // reaches elements through a pointer, inside the layout that came with it

use std::{fmt, marker::PhantomData, ops::Index};

use crate::layout::{Axes, Element, Layout};

/// Elements that a kernel's host function may read, of any strides.
///
/// It is indexed by one position per axis: `view[[i, j]]`.
#[derive(Clone, Copy)]
pub struct HostView<'h, T> {
    start: *const T,
    layout: &'h Layout,
    of: PhantomData<&'h [T]>,
}

impl<'h, T: Element> HostView<'h, T> {
    /// # Safety
    ///
    /// The elements of the layout are in memory; `start` is the one at index (0, 0, …). They are
    /// initialized and aligned, and nobody writes them for `'h`.
    pub(super) unsafe fn new(start: *const T, layout: &'h Layout) -> Self {
        Self { start, layout, of: PhantomData }
    }

    /// The layout of the elements. The one at index (0, 0, …) is at [`as_ptr`](Self::as_ptr).
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
    pub fn get(&self, index: &[usize]) -> Option<&'h T> {
        let at = position(self.layout, index)?;
        // SAFETY: the index is inside the layout, whose elements may be read.
        let element = unsafe { self.start.offset(at) };
        // SAFETY: as above; the element is initialized and aligned.
        Some(unsafe { &*element })
    }

    /// Iterates over the elements in C order.
    pub fn iter(&self) -> impl Iterator<Item = &'h T> + use<'h, T> {
        let view = *self;
        // SAFETY: the walk gives positions of the layout, as in `get`.
        Walk::new(self.layout).map(move |at| unsafe { &*view.start.wrapping_offset(at) })
    }

    /// Copies the elements in C order.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.iter().copied().collect()
    }

    /// A pointer to the element at index (0, 0, …), for code that computes with strides itself, as
    /// the device's code does.
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        self.start
    }
}

/// # Panics
///
/// Panics like indexing a slice, if the index does not have one position per axis, or one is out of
/// range.
impl<T: Element, I: AsRef<[usize]>> Index<I> for HostView<'_, T> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        let index = index.as_ref();
        self.get(index).unwrap_or_else(|| refuse(index, self.shape()))
    }
}

impl<T> fmt::Debug for HostView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "HostView<{}>{:?}",
            crate::debug_text::type_name::<T>(),
            crate::layout::List(self.layout.shape())
        )
    }
}

#[cold]
pub(super) fn refuse(index: &[usize], shape: &[usize]) -> ! {
    panic!("index {index:?} is out of range for shape {shape:?}")
}

/// The position of an index, in elements from the element at index (0, 0, …).
pub(super) fn position(layout: &Layout, index: &[usize]) -> Option<isize> {
    if index.len() != layout.rank() {
        return None;
    }
    let axes = index.iter().zip(layout.shape()).zip(layout.strides());
    axes.into_iter().try_fold(0_isize, |before, ((&at, &extent), &stride)| {
        // The position is inside the layout, so it does not overflow.
        (at < extent).then(|| before.wrapping_add(at.cast_signed().wrapping_mul(stride)))
    })
}

/// Walks the positions of a layout in C order, from the element at index (0, 0, …).
pub(super) struct Walk<'h> {
    layout: &'h Layout,
    index: Axes<usize>,
    at: isize,
    left: usize,
}

impl<'h> Walk<'h> {
    pub(super) fn new(layout: &'h Layout) -> Self {
        Self { layout, index: Axes::from_elem(0, layout.rank()), at: 0, left: layout.len() }
    }
}

impl Iterator for Walk<'_> {
    type Item = isize;

    fn next(&mut self) -> Option<isize> {
        self.left = self.left.checked_sub(1)?;
        let found = self.at;
        for axis in (0..self.index.len()).rev() {
            let (extent, stride) = (self.layout.shape()[axis], self.layout.strides()[axis]);
            self.index[axis] += 1;
            self.at = self.at.wrapping_add(stride);
            if self.index[axis] < extent {
                break;
            }
            self.at = self.at.wrapping_sub(stride.wrapping_mul(extent.cast_signed()));
            self.index[axis] = 0;
        }
        Some(found)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}
