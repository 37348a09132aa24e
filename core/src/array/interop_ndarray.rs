//! Arrays of the `ndarray` crate: to the device and back, in any layout.

use ndarray::{ArrayD, ArrayRef, Dimension, IxDyn, ShapeBuilder};

use super::{Array, ArrayView, ArrayViewMut, Element, download::zeroed, records::check_shape};
use crate::{
    HostArray, Result,
    backend::Device,
    layout::{Layout, LayoutError, NdLayout, Order},
    stream::StreamHandle,
};

impl<T: Element, D: Device> Array<T, D> {
    /// Allocates an array dense in `order` and copies an `ndarray` array to it: owned or a view, in
    /// any layout. Needs the feature `ndarray`.
    ///
    /// The source resolves `A` and `K`. Does not synchronize: the source is free on return. A
    /// source without gaps is read in place, in any order and direction of its axes; any other is
    /// first gathered on the host.
    ///
    /// ```
    /// use devarray::{Array, Context, Order};
    /// use ndarray::{array, s};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let stream = context.stream()?;
    /// let host = array![[1, 2, 3], [4, 5, 6]];
    /// let turned = Array::from_ndarray(&stream, &host.slice(s![.., ..;-1]).reversed_axes(), Order::C)?;
    /// assert_eq!(turned.to_vec(&stream)?, [3, 6, 2, 5, 1, 4]);
    /// assert_eq!(turned.view().to_ndarray(&stream, Order::C)?, array![[3, 6], [2, 5], [1, 4]].into_dyn());
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`uninit`](Self::uninit).
    #[track_caller]
    pub fn from_ndarray<N: Dimension>(
        stream: &StreamHandle<D>,
        host: &ArrayRef<T, N>,
        order: Order,
    ) -> Result<Self> {
        let mut array = Self::uninit_like(stream, &layout_of(host)?, order)?;
        array.view_mut().copy_from_ndarray(stream, host)?;
        Ok(array)
    }
}

impl<T: Element, D: Device> ArrayViewMut<'_, T, D> {
    /// Copies an array of `ndarray`, of the same shape and in any layout, here. Does not
    /// synchronize: the source is free on return. Needs the feature `ndarray`.
    ///
    /// # Errors
    ///
    /// The errors of [`copy_from_host`](Self::copy_from_host).
    #[track_caller]
    pub fn copy_from_ndarray<N: Dimension>(
        &mut self,
        stream: &StreamHandle<D>,
        host: &ArrayRef<T, N>,
    ) -> Result<()> {
        check_shape(self.shape(), host.shape())?;
        match host.as_slice_memory_order() {
            Some(data) if !data.is_empty() => self.copy_from_host(stream, data, &layout_of(host)?),
            // Another owner may write the gaps between the elements, so they are not read.
            _ => self.copy_from_slice(stream, &host.iter().copied().collect::<Vec<T>>()),
        }
    }
}

impl<T: Element, D: Device> ArrayView<'_, T, D> {
    /// Copies the elements to a new array of `ndarray`, dense in `order`. Blocks until they are
    /// there. Needs the feature `ndarray`.
    ///
    /// `into_dimensionality` gives it a fixed rank.
    ///
    /// # Errors
    ///
    /// The errors of [`to_vec`](Self::to_vec).
    #[track_caller]
    pub fn to_ndarray(&self, stream: &StreamHandle<D>, order: Order) -> Result<ArrayD<T>> {
        let layout = self.layout().dense_like(order)?;
        let mut data = zeroed(stream, layout.len())?;
        self.copy_to_host(stream, &mut data, &layout)?;
        if layout.is_empty() {
            return Ok(HostArray::new(layout.shape(), data)?.into());
        }
        // Dense layouts have no negative strides.
        let strides: Vec<usize> = layout.strides().iter().map(|stride| stride.cast_unsigned()).collect();
        let shape = IxDyn(layout.shape()).strides(IxDyn(&strides));
        Ok(ArrayD::from_shape_vec(shape, data).map_err(|_| LayoutError::Overflow)?)
    }

    /// Copies the elements to an array of `ndarray`, of the same shape and in any layout; bytes
    /// between its elements are not touched. Blocks until they are there. Needs the feature
    /// `ndarray`.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the two differ in shape.
    /// - The errors of [`to_vec`](Self::to_vec). The array may then be partly written.
    #[track_caller]
    pub fn copy_to_ndarray<N: Dimension>(
        &self,
        stream: &StreamHandle<D>,
        host: &mut ArrayRef<T, N>,
    ) -> Result<()> {
        check_shape(host.shape(), self.shape())?;
        let layout = layout_of(host)?;
        if let Some(data) = host.as_slice_memory_order_mut().filter(|data| !data.is_empty()) {
            return self.copy_to_host(stream, data, &layout);
        }
        let elements = self.to_vec(stream)?;
        host.iter_mut().zip(elements).for_each(|(place, element)| *place = element);
        Ok(())
    }
}

/// The layout of an `ndarray` array. Offset 0 is its lowest element.
fn layout_of<T, N: Dimension>(array: &ArrayRef<T, N>) -> Result<Layout, LayoutError> {
    let axes = array.strides().iter().zip(array.shape());
    let below = |(&stride, &extent): (&isize, &usize)| {
        if stride < 0 { stride.unsigned_abs() * extent.saturating_sub(1) } else { 0 }
    };
    // `ndarray` counts its elements too, so the sum fits. Without elements the offset is 0.
    let offset = if array.is_empty() { 0 } else { axes.map(below).sum() };
    Layout::new(array.shape(), array.strides(), offset)
}

impl<T> From<HostArray<T>> for ArrayD<T> {
    /// Does not copy. Needs the feature `ndarray`.
    fn from(array: HostArray<T>) -> Self {
        let shape = IxDyn(array.shape());
        Self::from_shape_vec(shape, array.into_vec()).expect("a host array fills its shape")
    }
}

impl<T: Clone> HostArray<T> {
    /// Copies an array of `ndarray`, owned or a view, in any layout. Needs the feature `ndarray`.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Overflow`]: its elements cannot be counted.
    #[track_caller]
    pub fn from_ndarray<N: Dimension>(array: &ArrayRef<T, N>) -> Result<Self> {
        Self::new(array.shape(), array.iter().cloned().collect())
    }
}
