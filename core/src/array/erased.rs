//! An array whose element size is known at run time only.

use std::{fmt, sync::Arc};

use super::shape_methods::shape_methods;
use super::{
    ErasedView, ErasedViewMut, Parts, Reshaped,
    checks::check_len,
    transforms::{answer_as_layout, array_transforms, view_broadcasts, view_splits, view_transforms},
};
use crate::{
    Context, Result,
    allocation::Allocation,
    backend::Device,
    layout::{AxisList, Extents, IndexItem, Integer, Layout, LayoutError, NdLayout, Order, Slice},
    operations::Elements,
    stream::StreamHandle,
};

/// An N-dimensional array in device memory whose element is a number of bytes: for files and
/// wherever else the element type is known at run time only. [`Array`](super::Array) is the typed
/// shell around it.
///
/// Dropping it frees the memory in stream order: work submitted before may still use it safely.
/// Drop does not block.
pub struct ErasedArray<D: Device> {
    allocation: Arc<Allocation<D>>,
    layout: Layout,
    item_bytes: usize,
}

impl<D: Device> ErasedArray<D> {
    /// Allocates an array of `shape` in C order with unspecified elements.
    ///
    /// Does not synchronize. An array of no elements allocates nothing.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ElementSize`]: an element of 0 bytes.
    /// - [`LayoutError::Overflow`]: the size in bytes exceeds `isize::MAX`.
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory) and any other device error.
    #[track_caller]
    pub fn uninit(stream: &StreamHandle<D>, shape: &[usize], item_bytes: usize) -> Result<Self> {
        Self::uninit_in(stream, shape, item_bytes, Order::C)
    }

    /// Like [`uninit`](Self::uninit), dense in `order`; `A` and `K` mean `C`.
    ///
    /// # Errors
    ///
    /// The errors of [`uninit`](Self::uninit).
    #[track_caller]
    pub fn uninit_in(
        stream: &StreamHandle<D>,
        shape: &[usize],
        item_bytes: usize,
        order: Order,
    ) -> Result<Self> {
        // Checked before it is unwrapped: moving a layout costs as much as taking a lock.
        let layout = Layout::contiguous(shape, order);
        let len_bytes = layout.as_ref().map_err(LayoutError::clone);
        let len_bytes = len_bytes.and_then(|layout| bytes_of(layout, item_bytes))?;
        let allocation = Allocation::new(&stream.0, len_bytes)?;
        Ok(Self { allocation, layout: layout?, item_bytes })
    }

    /// Makes an array on existing memory, which contains the layout.
    #[inline]
    pub(crate) fn of_allocation(allocation: Arc<Allocation<D>>, layout: Layout, item_bytes: usize) -> Self {
        Self { allocation, layout, item_bytes }
    }

    /// Takes the array apart.
    pub(crate) fn into_parts(self) -> (Arc<Allocation<D>>, Layout, usize) {
        (self.allocation, self.layout, self.item_bytes)
    }

    #[inline]
    pub(crate) fn elements(&self) -> Elements<'_, D> {
        Elements { allocation: &self.allocation, layout: &self.layout, item_bytes: self.item_bytes }
    }

    pub(crate) fn allocation(&self) -> &Arc<Allocation<D>> {
        &self.allocation
    }

    /// Allocates memory for a dense layout at offset 0.
    #[track_caller]
    pub(crate) fn of_layout(stream: &StreamHandle<D>, layout: Layout, item_bytes: usize) -> Result<Self> {
        let allocation = Allocation::new(&stream.0, bytes_of(&layout, item_bytes)?)?;
        Ok(Self { allocation, layout, item_bytes })
    }

    /// Allocates an array of `shape` in C order whose bytes are all 0.
    ///
    /// Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`uninit`](Self::uninit).
    #[track_caller]
    pub fn zeros(stream: &StreamHandle<D>, shape: &[usize], item_bytes: usize) -> Result<Self> {
        Self::zeros_of_layout(stream, Layout::contiguous(shape, Order::C)?, item_bytes)
    }

    /// Like [`of_layout`](Self::of_layout), with all bytes 0.
    #[track_caller]
    pub(super) fn zeros_of_layout(
        stream: &StreamHandle<D>,
        layout: Layout,
        item_bytes: usize,
    ) -> Result<Self> {
        let array = Self::of_layout(stream, layout, item_bytes)?;
        let bytes = Layout::contiguous(&[array.allocation.len_bytes()], Order::C)?;
        let all = Elements { allocation: &array.allocation, layout: &bytes, item_bytes: 1 };
        stream.0.fill(&all, &[0])?;
        Ok(array)
    }

    /// Allocates an array of `shape` in C order and copies `bytes` to it, elements in C order.
    ///
    /// Does not synchronize: `bytes` is free on return.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`]: `bytes` is not `shape`'s elements times `item_bytes`
    ///   long.
    /// - The errors of [`uninit`](Self::uninit).
    #[doc(alias = "frombuffer")]
    #[track_caller]
    pub fn from_bytes(
        stream: &StreamHandle<D>,
        shape: &[usize],
        item_bytes: usize,
        bytes: &[u8],
    ) -> Result<Self> {
        let layout = Layout::contiguous(shape, Order::C)?;
        check_len(layout.len(), item_bytes, bytes.len())?;
        Self::from_host(stream, bytes, &layout, item_bytes, Order::C)
    }

    /// Allocates an array dense in `order` and copies host elements to it. `host` is their layout
    /// in `bytes`.
    ///
    /// `host` resolves `A` and `K`. Does not synchronize: `bytes` is free on return.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::OutOfBounds`]: `host` reaches outside `bytes`.
    /// - The errors of [`uninit`](Self::uninit).
    #[track_caller]
    pub fn from_host(
        stream: &StreamHandle<D>,
        bytes: &[u8],
        host: &Layout,
        item_bytes: usize,
        order: Order,
    ) -> Result<Self> {
        let mut array = Self::of_layout(stream, host.dense_like(order)?, item_bytes)?;
        array.view_mut().copy_from_host(stream, bytes, host)?;
        Ok(array)
    }

    /// Borrows the whole array, to read.
    #[must_use]
    pub fn view(&self) -> ErasedView<'_, D> {
        ErasedView::new(&self.allocation, self.layout.clone(), self.item_bytes)
    }

    /// Borrows the whole array, to write.
    #[must_use]
    pub fn view_mut(&mut self) -> ErasedViewMut<'_, D> {
        ErasedViewMut::new(&self.allocation, self.layout.clone(), self.item_bytes)
    }

    /// The context its memory belongs to.
    #[must_use]
    pub fn context(&self) -> Context<D> {
        Context::of(&self.allocation.core)
    }

    /// The device of its memory. Borrows it instead of making another handle on the context.
    #[must_use]
    pub fn device(&self) -> &D {
        &self.allocation.core.device
    }

    /// The layout of the elements.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    shape_methods!();
    array_transforms!(ErasedView<'_, D>, Self);

    /// Bytes of one element.
    #[doc(alias = "itemsize")]
    #[must_use]
    pub fn item_bytes(&self) -> usize {
        self.item_bytes
    }

    /// Returns the same memory under another layout, which a transform made from this array's layout.
    pub(super) fn into_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// A view of the elements of a layout, which a transform made from this array's layout.
    pub(super) fn with_layout(&self, layout: Layout) -> ErasedView<'_, D> {
        ErasedView::new(&self.allocation, layout, self.item_bytes)
    }

    /// Makes a second owner of the same memory. Only for owners that never let anybody write.
    pub(crate) fn share(&self) -> Self {
        Self { allocation: Arc::clone(&self.allocation), layout: self.layout.clone(), ..*self }
    }

    /// The device address of the allocation; 0 if there are no elements. Not a host pointer.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.allocation.address()
    }
}

impl<D: Device> fmt::Debug for ErasedArray<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::operations::erased(f, "ErasedArray", &self.view().elements())
    }
}

answer_as_layout!([D: Device] ErasedArray<D>);

/// Bytes up to the end of a layout.
fn bytes_of(layout: &Layout, item_bytes: usize) -> Result<usize, LayoutError> {
    if item_bytes == 0 {
        return Err(LayoutError::ElementSize { item_bytes, reason: "at least one byte is needed" });
    }
    if layout.is_empty() {
        return Ok(0);
    }
    let len_bytes = layout.span().end.checked_mul(item_bytes);
    len_bytes.filter(|&n| isize::try_from(n).is_ok()).ok_or(LayoutError::Overflow)
}
