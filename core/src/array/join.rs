//! Joins arrays along an axis. Each part takes one copy; all copies are submitted together.

use smallvec::SmallVec;

use super::{
    Array, ArrayView, ArrayViewMut, Element, ErasedArray, ErasedView, ErasedViewMut,
    axis_copies::check_items, records::check_shape,
};
use crate::{
    Result,
    backend::Device,
    layout::{Axes, Integer, Layout, LayoutError, axis_index},
    operations::{Elements, MAX_TOGETHER},
    stream::StreamHandle,
};

impl<T: Element, D: Device> Array<T, D> {
    /// Joins `parts` one after the other along an axis, in a new array in C order. Does not
    /// synchronize.
    ///
    /// The parts agree in all other axes. Each part with elements takes one copy; all copies are
    /// submitted together, so that a device may run them at once.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let a = Array::from_slice(&stream, &[2, 2], &[1, 2, 3, 4])?;
    /// let b = Array::from_slice(&stream, &[2, 1], &[5, 6])?;
    /// let joined = Array::concatenate(&stream, &[a.view(), b.view()], 1)?;
    /// assert_eq!(joined.shape(), [2, 3]);
    /// assert_eq!(joined.to_vec(&stream)?, [1, 2, 5, 3, 4, 6]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::NothingToJoin`]: there is no part.
    /// - [`LayoutError::AxisOutOfRange`]: for example, parts of rank 0 have no axis.
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: a part does not fit the
    ///   first one.
    /// - [`LayoutError::Overflow`]: the result is too large.
    /// - Out of memory, another context's stream or part, and any other device error.
    #[doc(alias = "dstack", alias = "column_stack", alias = "row_stack")]
    #[doc(alias = "concat", alias = "cat")]
    #[doc(alias = "append")]
    #[doc(alias = "vstack")]
    #[doc(alias = "hstack")]
    #[track_caller]
    pub fn concatenate(
        stream: &StreamHandle<D>,
        parts: &[ArrayView<'_, T, D>],
        axis: impl Integer,
    ) -> Result<Self> {
        let parts: Vec<_> = parts.iter().map(ArrayView::elements).collect();
        Join::along(&parts, axis)?.make(stream).map(Self::of_erased)
    }

    /// Joins `parts`, all of one shape, along a new axis, in a new array in C order. Does not
    /// synchronize.
    ///
    /// [`unstack`](ArrayView::unstack) undoes it. Each part takes one copy; all are submitted
    /// together.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let (a, b) = (Array::full(&stream, &[3], 1)?, Array::full(&stream, &[3], 2)?);
    /// let pairs = Array::stack(&stream, &[a.view(), b.view()], -1)?;
    /// assert_eq!(pairs.shape(), [3, 2]);
    /// assert_eq!(pairs.to_vec(&stream)?, [1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::NothingToJoin`]: there is no part.
    /// - [`LayoutError::AxisOutOfRange`]: the axis is outside `-(rank + 1)..=rank`.
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: a part is not of the first
    ///   one's shape.
    /// - Out of memory, another context's stream or part, and any other device error.
    #[track_caller]
    pub fn stack(
        stream: &StreamHandle<D>,
        parts: &[ArrayView<'_, T, D>],
        axis: impl Integer,
    ) -> Result<Self> {
        let parts: Vec<_> = parts.iter().map(ArrayView::elements).collect();
        let layouts = expanded(&parts, axis)?;
        Join::along(&with_layouts(&parts, &layouts), axis)?.make(stream).map(Self::of_erased)
    }
}

impl<T: Element, D: Device> ArrayViewMut<'_, T, D> {
    /// [`Array::concatenate`] into this view, which is of the result's shape. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: this view is of another
    ///   shape.
    /// - The errors of [`Array::concatenate`]. The view may be partly written if the device fails.
    #[track_caller]
    pub fn concatenate_from(
        &mut self,
        stream: &StreamHandle<D>,
        parts: &[ArrayView<'_, T, D>],
        axis: impl Integer,
    ) -> Result<()> {
        let parts: Vec<_> = parts.iter().map(ArrayView::elements).collect();
        Join::along(&parts, axis)?.write(stream, &self.elements())
    }

    /// [`Array::stack`] into this view, which is of the result's shape. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: this view is of another
    ///   shape.
    /// - The errors of [`Array::stack`]. The view may be partly written if the device fails.
    #[track_caller]
    pub fn stack_from(
        &mut self,
        stream: &StreamHandle<D>,
        parts: &[ArrayView<'_, T, D>],
        axis: impl Integer,
    ) -> Result<()> {
        let parts: Vec<_> = parts.iter().map(ArrayView::elements).collect();
        let layouts = expanded(&parts, axis)?;
        Join::along(&with_layouts(&parts, &layouts), axis)?.write(stream, &self.elements())
    }
}

impl<D: Device> ErasedArray<D> {
    /// Like [`Array::concatenate`].
    ///
    /// # Errors
    ///
    /// See there, and [`LayoutError::ElementSize`]: the elements of the parts differ in size.
    #[doc(alias = "concat", alias = "cat")]
    #[track_caller]
    pub fn concatenate(
        stream: &StreamHandle<D>,
        parts: &[ErasedView<'_, D>],
        axis: impl Integer,
    ) -> Result<Self> {
        let parts: Vec<_> = parts.iter().map(ErasedView::elements).collect();
        Join::along(&parts, axis)?.make(stream)
    }

    /// Like [`Array::stack`].
    ///
    /// # Errors
    ///
    /// See there, and [`LayoutError::ElementSize`]: the elements of the parts differ in size.
    #[track_caller]
    pub fn stack(stream: &StreamHandle<D>, parts: &[ErasedView<'_, D>], axis: impl Integer) -> Result<Self> {
        let parts: Vec<_> = parts.iter().map(ErasedView::elements).collect();
        let layouts = expanded(&parts, axis)?;
        Join::along(&with_layouts(&parts, &layouts), axis)?.make(stream)
    }
}

impl<D: Device> ErasedViewMut<'_, D> {
    /// Like [`ArrayViewMut::concatenate_from`].
    ///
    /// # Errors
    ///
    /// See there, and [`LayoutError::ElementSize`]: the elements differ in size.
    #[track_caller]
    pub fn concatenate_from(
        &mut self,
        stream: &StreamHandle<D>,
        parts: &[ErasedView<'_, D>],
        axis: impl Integer,
    ) -> Result<()> {
        let parts: Vec<_> = parts.iter().map(ErasedView::elements).collect();
        Join::along(&parts, axis)?.write(stream, &self.elements())
    }

    /// Like [`ArrayViewMut::stack_from`].
    ///
    /// # Errors
    ///
    /// See there, and [`LayoutError::ElementSize`]: the elements differ in size.
    #[track_caller]
    pub fn stack_from(
        &mut self,
        stream: &StreamHandle<D>,
        parts: &[ErasedView<'_, D>],
        axis: impl Integer,
    ) -> Result<()> {
        let parts: Vec<_> = parts.iter().map(ErasedView::elements).collect();
        let layouts = expanded(&parts, axis)?;
        Join::along(&with_layouts(&parts, &layouts), axis)?.write(stream, &self.elements())
    }
}

/// The layouts of the parts, which have one shape, each with a new axis.
fn expanded<D: Device>(parts: &[Elements<'_, D>], axis: impl Integer) -> Result<Vec<Layout>, LayoutError> {
    let expanded = parts.iter().map(|part| {
        check_shape(parts[0].layout.shape(), part.layout.shape())?;
        part.layout.expand_dims(axis)
    });
    expanded.collect()
}

fn with_layouts<'a, D: Device>(parts: &[Elements<'a, D>], layouts: &'a [Layout]) -> Vec<Elements<'a, D>> {
    parts.iter().zip(layouts).map(|(part, layout)| Elements { layout, ..*part }).collect()
}

/// Parts that fit each other.
struct Join<'p, 'a, D: Device> {
    parts: &'p [Elements<'a, D>],
    axis: usize,
    shape: Axes<usize>,
    item_bytes: usize,
}

impl<'p, 'a, D: Device> Join<'p, 'a, D> {
    fn along(parts: &'p [Elements<'a, D>], axis: impl Integer) -> Result<Self, LayoutError> {
        let first = parts.first().ok_or(LayoutError::NothingToJoin)?;
        let axis = axis_index(axis, first.layout.rank())?;
        let mut shape: Axes<usize> = Axes::from_slice(first.layout.shape());
        let mut total = 0_usize;
        for part in parts {
            let found = part.layout.shape();
            // Along the axis, parts may have different extents.
            if let Some(&extent) = found.get(axis) {
                shape[axis] = extent;
                total = total.checked_add(extent).ok_or(LayoutError::Overflow)?;
            }
            check_shape(&shape, found)?;
            check_items(part, first.item_bytes)?;
        }
        shape[axis] = total;
        Ok(Self { parts, axis, shape, item_bytes: first.item_bytes })
    }

    #[track_caller]
    fn make(&self, stream: &StreamHandle<D>) -> Result<ErasedArray<D>> {
        let mut made = ErasedArray::uninit(stream, &self.shape, self.item_bytes)?;
        self.write(stream, &made.view_mut().elements())?;
        Ok(made)
    }

    #[track_caller]
    fn write(&self, stream: &StreamHandle<D>, dst: &Elements<'_, D>) -> Result<()> {
        check_shape(dst.layout.shape(), &self.shape)?;
        check_items(dst, self.item_bytes)?;
        for part in self.parts {
            stream.0.check_context("copy", [dst.allocation, part.allocation])?;
            stream.0.check_disjoint(part, part.layout, dst, false)?;
        }
        let mut start = 0;
        for parts in self.parts.chunks(MAX_TOGETHER) {
            let mut layouts: SmallVec<[Layout; 4]> = SmallVec::new();
            for part in parts {
                let end = start + part.layout.shape()[self.axis];
                layouts.push(dst.layout.slice_axis(self.axis.cast_signed(), start..end)?);
                start = end;
            }
            let pair =
                |(layout, part): (_, &Elements<'a, D>)| [Elements { layout, ..*dst }, Elements { ..*part }];
            let pairs: SmallVec<[_; 4]> = layouts.iter().zip(parts).map(pair).collect();
            stream.0.copy_all(&pairs)?;
        }
        Ok(())
    }
}
