//! Copies from one part of an array to another, where the two may overlap.

use super::{Array, ArrayViewMut, Element, ErasedArray};
use crate::{
    Result,
    backend::Device,
    copy::Plan,
    layout::{IndexItem, Layout, Order, Overlap},
    operations::Elements,
    stream::StreamHandle,
};

impl<T: Element, D: Device> ArrayViewMut<'_, T, D> {
    /// Copies the elements that one index selects in this view to the elements that another
    /// selects, as if all were read before any is written: `memmove`, for any layout. Does not
    /// synchronize.
    ///
    /// Takes one copy if the two share no element. If they do, or if deciding that would cost too
    /// much, the elements pass through scratch memory on the device.
    ///
    /// ```
    /// use devarray::{Array, Context, ix};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let mut a = Array::arange(&stream, 0, 6, 1)?;
    /// a.view_mut().copy_within(&stream, &ix![1..], &ix![..-1])?; // a[1:] = a[:-1]
    /// assert_eq!(a.to_vec(&stream)?, [0, 0, 1, 2, 3, 4]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - The errors of [`Layout::index`].
    /// - [`LayoutError::RankMismatch`](crate::LayoutError::RankMismatch),
    ///   [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): the selections differ
    ///   in shape.
    /// - Out of memory for scratch, another context's stream, and any other device error;
    ///   nothing was written then.
    #[doc(alias = "memmove")]
    #[track_caller]
    pub fn copy_within(
        &mut self,
        stream: &StreamHandle<D>,
        dst: &[IndexItem],
        src: &[IndexItem],
    ) -> Result<()> {
        let (dst, src) = (self.layout().index(dst)?, self.layout().index(src)?);
        copy_within(stream, &self.elements(), &dst, &src)
    }
}

impl<T: Element, D: Device> Array<T, D> {
    /// Copies the elements that one layout reaches in this array's memory to the elements that
    /// another reaches, as if all were read before any is written. Does not synchronize.
    ///
    /// [`ArrayViewMut::copy_within`](super::ArrayViewMut::copy_within) for layouts that no index
    /// can describe, for example layouts of an array transposed in place. They count the elements
    /// of the allocation, as layouts made from [`layout`](Self::layout) do.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let mut a = Array::from_slice(&stream, &[2, 2], &[1, 2, 3, 4])?;
    /// let (dst, src) = (a.layout().clone(), a.layout().transpose());
    /// a.copy_layout_within(&stream, &dst, &src)?; // a[:] = a.T
    /// assert_eq!(a.to_vec(&stream)?, [1, 3, 2, 4]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds): a layout reaches outside
    ///   the allocation.
    /// - [`LayoutError::NotLent`](crate::LayoutError::NotLent): the array was
    ///   [adopted](Array::adopt) or [opened](Array::open), and a layout reaches, or may reach,
    ///   memory outside its elements.
    /// - [`LayoutError::RankMismatch`](crate::LayoutError::RankMismatch),
    ///   [`LayoutError::ShapeMismatch`](crate::LayoutError::ShapeMismatch): the two differ in
    ///   shape.
    /// - [`LayoutError::AliasedDestination`](crate::LayoutError::AliasedDestination): `dst` reaches
    ///   an element twice.
    /// - Out of memory for scratch, another context's stream, and any other device error;
    ///   nothing was written then.
    #[track_caller]
    pub fn copy_layout_within(&mut self, stream: &StreamHandle<D>, dst: &Layout, src: &Layout) -> Result<()> {
        let view = self.view_mut();
        let elements = view.elements();
        for layout in [dst, src] {
            elements.allocation.check_reach(layout, T::BYTES)?;
        }
        copy_within(stream, &elements, dst, src)
    }
}

/// Copies between two layouts that lie in the memory of `whole`, as if all were read before any is
/// written.
#[track_caller]
fn copy_within<D: Device>(
    stream: &StreamHandle<D>,
    whole: &Elements<'_, D>,
    dst: &Layout,
    src: &Layout,
) -> Result<()> {
    // All checks come before the first of two copies is enqueued.
    Plan::new(dst, src, whole.item_bytes, &stream.0.core.device.info().capabilities)?;
    stream.0.check_context("copy", [whole.allocation])?;
    let (dst, src) = (Elements { layout: dst, ..*whole }, Elements { layout: src, ..*whole });
    if dst.layout.offset() == src.layout.offset() && dst.layout.steps_like(src.layout) {
        return Ok(());
    }
    match dst.layout.overlap(src.layout) {
        Overlap::Disjoint => stream.0.copy(&dst, &src),
        Overlap::Overlapping | Overlap::Unknown => {
            let scratch = ErasedArray::of_layout(stream, src.layout.dense_like(Order::K)?, src.item_bytes)?;
            stream.0.copy(&scratch.view().elements(), &src)?;
            stream.0.copy(&dst, &scratch.view().elements())
        }
    }
}
