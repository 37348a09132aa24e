//! Views of each position along an axis, of chunks of it, and under other strides.

use std::iter::FusedIterator;

use super::{
    Array, ArrayView, ArrayViewMut, Element, ErasedArray, ErasedView, ErasedViewMut,
    split::{Narrow, Parts},
};
use crate::{Error, Result, backend::Device, layout, layout::Integer};

/// The views at the positions of an axis, each without that axis; they share no element.
/// [`axis_iter`](ArrayView::axis_iter) and its like return them.
#[derive(Debug)]
pub struct AxisViews<V> {
    layouts: layout::AxisIter,
    whole: V,
}

impl<V: Narrow> Iterator for AxisViews<V> {
    type Item = V;

    fn next(&mut self) -> Option<V> {
        Some(self.whole.narrow(self.layouts.next()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.layouts.size_hint()
    }
}

impl<V: Narrow> DoubleEndedIterator for AxisViews<V> {
    fn next_back(&mut self) -> Option<V> {
        Some(self.whole.narrow(self.layouts.next_back()?))
    }
}

impl<V: Narrow> ExactSizeIterator for AxisViews<V> {}

impl<V: Narrow> FusedIterator for AxisViews<V> {}

/// Emits the iterators along an axis. `$receiver` is how a method takes its view: `&self` if views
/// can be copied, `self` if they are exclusive.
macro_rules! view_positions {
    ([$($receiver:tt)+] $this:ident) => {
        /// The view at each position of an axis, with one axis less. The views share no element.
        ///
        /// ```
        /// use devarray::{Array, Context};
        ///
        /// let context = Context::new(devarray_mock::MockDevice::new())?;
        /// let stream = context.stream()?;
        /// let mut a = Array::zeros(&stream, &[3, 2])?;
        /// for (value, mut row) in (1..).zip(a.view_mut().axis_iter(0)?) {
        ///     row.fill(&stream, value)?;
        /// }
        /// assert_eq!(a.to_vec(&stream)?, [1, 1, 2, 2, 3, 3]);
        /// let columns = a.view().axis_iter(1)?.map(|column| column.to_vec(&stream));
        /// assert_eq!(columns.collect::<Result<Vec<_>, _>>()?, [[1, 2, 3], [1, 2, 3]]);
        /// # Ok::<(), devarray::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// The axis is out of range.
        #[doc(alias = "iter")]
        #[track_caller]
        pub fn axis_iter($($receiver)+, axis: impl Integer) -> Result<AxisViews<Self>> {
            let layouts = $this.layout().axis_iter(axis)?;
            Ok(AxisViews { layouts, whole: $this.narrow($this.layout().clone()) })
        }

        /// Cuts an axis into chunks of `len` positions, the last one perhaps shorter. They share no
        /// element.
        ///
        /// ```
        /// use devarray::{Array, Context};
        ///
        /// let context = Context::new(devarray_mock::MockDevice::new())?;
        /// let stream = context.stream()?;
        /// let a = Array::arange(&stream, 0, 5, 1)?;
        /// let chunks = a.view().axis_chunks(0, 2)?.map(|chunk| chunk.to_vec(&stream));
        /// assert_eq!(chunks.collect::<Result<Vec<_>, _>>()?, [vec![0, 1], vec![2, 3], vec![4]]);
        /// assert_eq!(a.view().axis_chunks_exact(0, 2)?.count(), 2);
        /// # Ok::<(), devarray::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// The axis is out of range, or `len` is 0.
        #[doc(alias = "split")]
        #[track_caller]
        pub fn axis_chunks($($receiver)+, axis: impl Integer, len: usize) -> Result<Parts<Self>> {
            let parts = $this.layout().axis_chunks(axis, len)?;
            Ok(Parts::new(parts, $this.narrow($this.layout().clone())))
        }

        /// Like [`axis_chunks`](Self::axis_chunks), but drops the last chunk if it is shorter, so
        /// that all have one shape.
        ///
        /// # Errors
        ///
        /// The errors of [`axis_chunks`](Self::axis_chunks).
        #[track_caller]
        pub fn axis_chunks_exact($($receiver)+, axis: impl Integer, len: usize) -> Result<Parts<Self>> {
            let parts = $this.layout().axis_chunks_exact(axis, len)?;
            Ok(Parts::new(parts, $this.narrow($this.layout().clone())))
        }

        /// The views of [`axis_iter`](Self::axis_iter) in a list. It undoes [`stack`](Array::stack)
        /// without a copy.
        ///
        /// # Errors
        ///
        /// - The axis is out of range.
        /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory): the host has no memory for the
        ///   list. Only an axis that repeats elements is that long.
        #[doc(alias = "unbind")]
        #[track_caller]
        pub fn unstack($($receiver)+, axis: impl Integer) -> Result<Vec<Self>> {
            let backend = $this.elements().allocation.core.backend();
            let (views, mut list) = ($this.axis_iter(axis)?, Vec::new());
            let requested_bytes = views.len().saturating_mul(size_of::<Self>());
            list.try_reserve_exact(views.len())
                .map_err(|_| Error::out_of_memory(backend, "unstack", requested_bytes, None))?;
            list.extend(views);
            Ok(list)
        }

        /// The elements where the index of axis `b` exceeds the index of axis `a` by `offset`: a last
        /// axis, which walks the diagonal, replaces the two.
        ///
        /// # Errors
        ///
        /// An axis is out of range, or the two are one.
        #[doc(alias = "diag")]
        #[track_caller]
        pub fn diagonal($($receiver)+, offset: isize, a: impl Integer, b: impl Integer) -> Result<Self> {
            let layout = $this.layout().diagonal(offset, a, b)?;
            Ok($this.narrow(layout))
        }
    };
}

/// Emits views to read in which elements may be reached several times.
macro_rules! view_windows {
    () => {
        /// Views elements of this view under other strides: NumPy's `as_strided`, checked. Strides
        /// and offset count elements of the memory, as in [`layout`](Self::layout). Several indices
        /// may reach one element.
        ///
        /// ```
        /// use devarray::{Array, Context};
        ///
        /// let context = Context::new(devarray_mock::MockDevice::new())?;
        /// let stream = context.stream()?;
        /// let a = Array::arange(&stream, 0, 8, 1)?;
        /// let every_other = a.view().restride(&[2, 3], &[3, 2], 0)?;
        /// assert_eq!(every_other.to_vec(&stream)?, [0, 2, 4, 3, 5, 7]);
        /// # Ok::<(), devarray::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// The errors of [`Layout::restride`](crate::Layout::restride): above all,
        /// [`LayoutError::OutsideView`](crate::LayoutError::OutsideView).
        #[doc(alias = "as_strided")]
        #[track_caller]
        pub fn restride(&self, shape: &[usize], strides: &[isize], offset: usize) -> Result<Self> {
            let layout = self.layout().restride(shape, strides, offset)?;
            Ok(self.narrow(layout))
        }

        /// Every run of `len` neighbours along an axis: the axis counts where they start, and a new
        /// last axis walks them.
        ///
        /// ```
        /// use devarray::{Array, Context};
        ///
        /// let context = Context::new(devarray_mock::MockDevice::new())?;
        /// let stream = context.stream()?;
        /// let a = Array::arange(&stream, 0, 5, 1)?;
        /// let windows = a.view().sliding_windows(0, 3)?;
        /// assert_eq!(windows.to_vec(&stream)?, [0, 1, 2, 1, 2, 3, 2, 3, 4]);
        /// # Ok::<(), devarray::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// The axis is out of range, or shorter than `len`.
        #[doc(alias = "sliding_window_view")]
        #[track_caller]
        pub fn sliding_windows(&self, axis: impl Integer, len: usize) -> Result<Self> {
            let layout = self.layout().sliding_windows(axis, len)?;
            Ok(self.narrow(layout))
        }
    };
}

/// Emits other strides for a view to write.
macro_rules! view_mut_restride {
    () => {
        /// Views elements of this view under other strides. At most one index reaches each element.
        /// Strides and offset count elements of the memory, as in [`layout`](Self::layout).
        ///
        /// ```
        /// use devarray::{Array, Context};
        ///
        /// let context = Context::new(devarray_mock::MockDevice::new())?;
        /// let stream = context.stream()?;
        /// let mut a = Array::zeros(&stream, &[3, 3])?;
        /// a.view_mut().restride(&[3], &[2], 2)?.fill(&stream, 1)?; // the other diagonal
        /// assert_eq!(a.to_vec(&stream)?, [0, 0, 1, 0, 1, 0, 1, 0, 0]);
        /// # Ok::<(), devarray::Error>(())
        /// ```
        ///
        /// # Errors
        ///
        /// - The errors of [`Layout::restride`](crate::Layout::restride).
        /// - [`LayoutError::AliasedDestination`](crate::LayoutError::AliasedDestination): two
        ///   indices reach one element, or may do so.
        #[doc(alias = "as_strided")]
        #[track_caller]
        pub fn restride(self, shape: &[usize], strides: &[isize], offset: usize) -> Result<Self> {
            let layout = self.layout().restride(shape, strides, offset)?;
            if layout.injectivity() != layout::Injectivity::Injective {
                return Err(layout::LayoutError::AliasedDestination.into());
            }
            Ok(self.narrow(layout))
        }
    };
}

impl<T: Element, D: Device> ArrayView<'_, T, D> {
    view_positions!([&self] self);
    view_windows!();
}

impl<D: Device> ErasedView<'_, D> {
    view_positions!([&self] self);
    view_windows!();
}

impl<T: Element, D: Device> ArrayViewMut<'_, T, D> {
    view_positions!([self] self);
    view_mut_restride!();
}

impl<D: Device> ErasedViewMut<'_, D> {
    view_positions!([self] self);
    view_mut_restride!();
}

/// Emits these methods for types that own their memory.
macro_rules! array_positions {
    ($view:ty, $view_mut:ty) => {
        /// The view at each position of an axis, to read: `self.view().axis_iter(axis)`.
        ///
        /// # Errors
        ///
        /// The axis is out of range.
        #[doc(alias = "iter")]
        #[track_caller]
        pub fn axis_iter(&self, axis: impl Integer) -> Result<AxisViews<$view>> {
            self.view().axis_iter(axis)
        }

        /// The view at each position of an axis, to write: `self.view_mut().axis_iter(axis)`.
        ///
        /// # Errors
        ///
        /// The axis is out of range.
        #[track_caller]
        pub fn axis_iter_mut(&mut self, axis: impl Integer) -> Result<AxisViews<$view_mut>> {
            self.view_mut().axis_iter(axis)
        }

        /// Chunks of `len` positions of an axis, to read: `self.view().axis_chunks(axis, len)`.
        ///
        /// # Errors
        ///
        /// The axis is out of range, or `len` is 0.
        #[doc(alias = "split")]
        #[track_caller]
        pub fn axis_chunks(&self, axis: impl Integer, len: usize) -> Result<Parts<$view>> {
            self.view().axis_chunks(axis, len)
        }

        /// Chunks of `len` positions of an axis, to write:
        /// `self.view_mut().axis_chunks(axis, len)`.
        ///
        /// # Errors
        ///
        /// The axis is out of range, or `len` is 0.
        #[track_caller]
        pub fn axis_chunks_mut(&mut self, axis: impl Integer, len: usize) -> Result<Parts<$view_mut>> {
            self.view_mut().axis_chunks(axis, len)
        }

        /// The views of [`axis_iter`](Self::axis_iter) in a list.
        ///
        /// # Errors
        ///
        /// The errors of [`ArrayView::unstack`].
        #[doc(alias = "unbind")]
        #[track_caller]
        pub fn unstack(&self, axis: impl Integer) -> Result<Vec<$view>> {
            self.view().unstack(axis)
        }

        /// A diagonal, to read: `self.view().diagonal(offset, a, b)`.
        ///
        /// # Errors
        ///
        /// An axis is out of range, or the two are one.
        #[doc(alias = "diag")]
        #[track_caller]
        pub fn diagonal(&self, offset: isize, a: impl Integer, b: impl Integer) -> Result<$view> {
            self.view().diagonal(offset, a, b)
        }

        /// Other strides over the elements, to read:
        /// `self.view().restride(shape, strides, offset)`.
        ///
        /// # Errors
        ///
        /// The errors of [`Layout::restride`](crate::Layout::restride).
        #[doc(alias = "as_strided")]
        #[track_caller]
        pub fn restride(&self, shape: &[usize], strides: &[isize], offset: usize) -> Result<$view> {
            self.view().restride(shape, strides, offset)
        }

        /// Every run of `len` neighbours along an axis, to read:
        /// `self.view().sliding_windows(axis, len)`.
        ///
        /// # Errors
        ///
        /// The axis is out of range, or shorter than `len`.
        #[doc(alias = "sliding_window_view")]
        #[track_caller]
        pub fn sliding_windows(&self, axis: impl Integer, len: usize) -> Result<$view> {
            self.view().sliding_windows(axis, len)
        }
    };
}

impl<T: Element, D: Device> Array<T, D> {
    array_positions!(ArrayView<'_, T, D>, ArrayViewMut<'_, T, D>);
}

impl<D: Device> ErasedArray<D> {
    array_positions!(ErasedView<'_, D>, ErasedViewMut<'_, D>);
}
