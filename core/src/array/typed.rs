//! An array of a Rust type.

use std::{fmt, marker::PhantomData};

use super::shape_methods::shape_methods;
use super::{
    ArrayView, ArrayViewMut, AsArrayView, Element, ErasedArray, Parts, Reshaped, ViewRef,
    checks::{check_count, check_item},
    transforms::{answer_as_layout, array_transforms, view_broadcasts, view_splits, view_transforms},
};
use crate::{
    Context, HostArray, Result,
    backend::Device,
    layout::{AxisList, Extents, IndexItem, Integer, Layout, NdLayout, Order, Slice},
    stream::StreamHandle,
};

/// An N-dimensional array of `T` in device memory, owned.
///
/// Dropping it frees the memory in stream order: work submitted before may still use it safely.
/// Drop does not block.
///
/// Transforms give [views](ArrayView) to read. Views to write come from
/// [`view_mut`](Self::view_mut).
///
/// ```
/// use devarray::{Array, Context};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let a = Array::from_slice(&stream, &[2, 3], &[1, 2, 3, 4, 5, 6])?;
/// let t = a.transpose();
/// assert_eq!(t.shape(), [3, 2]);
/// assert_eq!(t.to_vec(&stream)?, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), devarray::Error>(())
/// ```
#[must_use = "the result is a new array; the original is unchanged"]
pub struct Array<T: Element, D: Device> {
    erased: ErasedArray<D>,
    of: PhantomData<T>,
}

impl<T: Element, D: Device> Array<T, D> {
    /// Allocates an array of `shape` in C order with unspecified elements.
    ///
    /// Reading them is safe, because all bytes are valid for an [`Element`], but the values are
    /// arbitrary. Does not synchronize. An array of no elements allocates nothing.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::Overflow`](crate::LayoutError::Overflow): the size in bytes exceeds `isize::MAX`.
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory) and any other device error.
    #[track_caller]
    #[doc(alias = "empty")]
    #[doc(alias = "device_array")]
    pub fn uninit(stream: &StreamHandle<D>, shape: &[usize]) -> Result<Self> {
        Self::uninit_in(stream, shape, Order::C)
    }

    /// Like [`uninit`](Self::uninit), dense in `order`; `A` and `K` mean `C`.
    ///
    /// # Errors
    ///
    /// The errors of [`uninit`](Self::uninit).
    #[track_caller]
    pub fn uninit_in(stream: &StreamHandle<D>, shape: &[usize], order: Order) -> Result<Self> {
        Ok(Self::of_erased(ErasedArray::uninit_in(stream, shape, T::BYTES, order)?))
    }

    /// Allocates an array of `shape` in C order whose bytes are all 0. Does not synchronize.
    ///
    /// For other orders start from a layout:
    /// `Array::zeros_like(stream, &Layout::contiguous(shape, Order::F)?, Order::K)`.
    ///
    /// # Errors
    ///
    /// The errors of [`uninit`](Self::uninit).
    #[track_caller]
    pub fn zeros(stream: &StreamHandle<D>, shape: &[usize]) -> Result<Self> {
        Ok(Self::of_erased(ErasedArray::zeros(stream, shape, T::BYTES)?))
    }

    /// Allocates an array of `shape` in C order and sets every element to `value`. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`uninit`](Self::uninit).
    #[doc(alias = "from_elem", alias = "fill")]
    #[track_caller]
    pub fn full(stream: &StreamHandle<D>, shape: &[usize], value: T) -> Result<Self> {
        let mut array = Self::uninit(stream, shape)?;
        array.view_mut().fill(stream, value)?;
        Ok(array)
    }

    /// Allocates an array of `shape` in C order and copies a slice to it, elements in C order.
    ///
    /// Does not synchronize: the slice is free on return (see
    /// [staging](crate::manual::_3_host_memory) for when it may wait).
    ///
    /// # Errors
    ///
    /// - [`LayoutError::LengthMismatch`](crate::LayoutError::LengthMismatch): the slice does not hold as many elements as the shape.
    /// - The errors of [`uninit`](Self::uninit).
    #[track_caller]
    #[doc(alias = "to_device")]
    #[doc(alias = "to_gpu")]
    #[doc(alias = "asarray")]
    pub fn from_slice(stream: &StreamHandle<D>, shape: &[usize], data: &[T]) -> Result<Self> {
        let host = Layout::contiguous(shape, Order::C)?;
        check_count(host.len(), data)?;
        Self::from_host(stream, data, &host, Order::C)
    }

    /// Allocates an array dense in `order` and copies host elements to it. `host` is their layout
    /// in the slice.
    ///
    /// `host` resolves `A` and `K`. Does not synchronize: the slice is free on return (see
    /// [staging](crate::manual::_3_host_memory) for when it may wait).
    ///
    /// # Errors
    ///
    /// - [`LayoutError::OutOfBounds`](crate::LayoutError::OutOfBounds): `host` reaches outside the slice.
    /// - The errors of [`uninit`](Self::uninit).
    #[track_caller]
    pub fn from_host(stream: &StreamHandle<D>, data: &[T], host: &Layout, order: Order) -> Result<Self> {
        let bytes = bytemuck::cast_slice(data);
        Ok(Self::of_erased(ErasedArray::from_host(stream, bytes, host, T::BYTES, order)?))
    }

    /// Allocates an array in C order with the shape and the elements of a host array.
    ///
    /// Does not synchronize: the host array is free on return (see
    /// [staging](crate::manual::_3_host_memory) for when it may wait). To copy into an existing
    /// array, use [`copy_from_host_array`](ArrayViewMut::copy_from_host_array).
    ///
    /// # Errors
    ///
    /// The errors of [`uninit`](Self::uninit).
    #[doc(alias = "to_device")]
    #[doc(alias = "to_gpu")]
    #[doc(alias = "asarray")]
    #[track_caller]
    pub fn from_host_array(stream: &StreamHandle<D>, host: &HostArray<T>) -> Result<Self> {
        Self::from_slice(stream, host.shape(), host.as_slice())
    }

    /// Gives an erased array its element type.
    ///
    /// # Errors
    ///
    /// [`LayoutError::ElementSize`](crate::LayoutError::ElementSize): its elements are not as large as
    /// a `T`. The array is dropped.
    #[track_caller]
    pub fn from_erased(erased: ErasedArray<D>) -> Result<Self> {
        check_item(erased.item_bytes(), T::BYTES)?;
        Ok(Self::of_erased(erased))
    }

    /// Borrows the array without its element type, to read.
    #[must_use]
    pub fn as_erased(&self) -> &ErasedArray<D> {
        &self.erased
    }

    /// The array without its element type.
    #[must_use]
    pub fn into_erased(self) -> ErasedArray<D> {
        self.erased
    }

    /// Borrows the whole array, to read.
    #[must_use]
    pub fn view(&self) -> ArrayView<'_, T, D> {
        ArrayView::new(self.erased.view())
    }

    /// Borrows the whole array, to write.
    #[must_use]
    pub fn view_mut(&mut self) -> ArrayViewMut<'_, T, D> {
        ArrayViewMut::new(self.erased.view_mut())
    }

    /// Copies the elements to the host, in C order. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::to_vec`].
    #[doc(alias = "copy_to_host")]
    #[doc(alias = "get")]
    #[doc(alias = "asnumpy")]
    #[track_caller]
    pub fn to_vec(&self, stream: &StreamHandle<D>) -> Result<Vec<T>> {
        self.view().to_vec(stream)
    }

    /// Copies the only element to the host. Blocks until it is there.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::item`].
    #[doc(alias = "tolist")]
    #[track_caller]
    pub fn item(&self, stream: &StreamHandle<D>) -> Result<T> {
        self.view().item(stream)
    }

    /// The context its memory belongs to.
    #[must_use]
    pub fn context(&self) -> Context<D> {
        self.erased.context()
    }

    /// Copies the elements to the host, with their shape. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// The errors of [`ArrayView::to_vec`].
    #[doc(alias = "copy_to_host")]
    #[doc(alias = "get")]
    #[doc(alias = "asnumpy")]
    #[track_caller]
    pub fn to_host(&self, stream: &StreamHandle<D>) -> Result<HostArray<T>> {
        self.view().to_host(stream)
    }

    /// The layout of the elements.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.erased.layout()
    }

    shape_methods!();
    array_transforms!(ArrayView<'_, T, D>, Self);

    pub(crate) fn with_layout(&self, layout: Layout) -> ArrayView<'_, T, D> {
        ArrayView::new(self.erased.with_layout(layout))
    }

    /// Returns the same memory under another layout, which a transform made from this array's layout.
    pub(super) fn into_layout(self, layout: Layout) -> Self {
        Self::of_erased(self.erased.into_layout(layout))
    }

    pub(crate) fn of_erased(erased: ErasedArray<D>) -> Self {
        Self { erased, of: PhantomData }
    }
}

impl<T: Element, D: Device> fmt::Debug for Array<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::operations::typed::<T, D>(f, "Array", &self.view().elements())
    }
}

impl<T: Element, D: Device> AsArrayView<T, D> for Array<T, D> {
    #[inline]
    fn as_array_view(&self) -> ViewRef<'_, '_, T, D> {
        self.view().into()
    }
}

answer_as_layout!([T: Element, D: Device] Array<T, D>);
