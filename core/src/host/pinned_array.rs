//! An N-dimensional array in page-locked host memory.

use std::{
    fmt,
    ops::{Index, IndexMut},
};

use super::{PinnedBuffer, Transfer, TransferError};
use crate::{
    Context, HostArray, Result,
    array::{AsArrayView, AsArrayViewMut, Element},
    backend::{AllocHost, Device, HostFlags},
    layout::{Layout, LayoutError, NdLayout, Order},
    stream::StreamHandle,
};

/// A [`PinnedBuffer`] with a shape. Elements are in C order, and indexed as in a [`HostArray`].
///
/// ```
/// use devarray::{Array, Context, PinnedArray};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let mut host = PinnedArray::zeros(&context, &[2, 3])?;
/// host[[1, 2]] = 7;
/// let mut a = Array::zeros(&stream, &[2, 3])?;
/// let upload = a.view_mut().upload(&stream, host.into_buffer())?;
/// let host = PinnedArray::new(&[2, 3], upload.wait()?)?;
/// assert_eq!(a.to_vec(&stream)?, host.as_slice());
/// # Ok::<(), devarray::Error>(())
/// ```
pub struct PinnedArray<T: Element, D: Device> {
    buffer: PinnedBuffer<T, D>,
    /// Dense in C order.
    layout: Layout,
}

impl<T: Element, D: Device> PinnedArray<T, D> {
    /// Gives a buffer a shape. Does not copy.
    ///
    /// # Errors
    ///
    /// [`LayoutError::LengthMismatch`], [`LayoutError::Overflow`]: the shape has another number of
    /// elements. The buffer is dropped.
    #[track_caller]
    pub fn new(shape: &[usize], buffer: PinnedBuffer<T, D>) -> Result<Self> {
        let layout = Layout::contiguous(shape, Order::C)?;
        if layout.len() != buffer.len() {
            return Err(LayoutError::LengthMismatch { expected: layout.len(), found: buffer.len() }.into());
        }
        Ok(Self { buffer, layout })
    }

    /// Allocates zeroed pinned memory of a shape. May block for as long as the driver takes.
    ///
    /// # Errors
    ///
    /// The errors of [`Context::pinned`].
    #[track_caller]
    #[doc(alias = "pinned_array")]
    #[doc(alias = "pagelocked_zeros")]
    pub fn zeros(context: &Context<D>, shape: &[usize]) -> Result<Self> {
        Self::new(shape, context.pinned(Layout::contiguous(shape, Order::C)?.len())?)
    }

    /// Like [`zeros`](Self::zeros), with flags for the memory.
    ///
    /// # Errors
    ///
    /// The errors of [`Context::pinned_with`].
    #[track_caller]
    pub fn zeros_with(context: &Context<D>, shape: &[usize], flags: HostFlags) -> Result<Self>
    where
        D: AllocHost,
    {
        Self::new(shape, context.pinned_with(Layout::contiguous(shape, Order::C)?.len(), flags)?)
    }

    /// Like [`zeros`](Self::zeros), with the shape and the elements of a host array.
    ///
    /// # Errors
    ///
    /// The errors of [`Context::pinned`].
    #[track_caller]
    #[doc(alias = "pinned_array_like")]
    pub fn from_host_array(context: &Context<D>, host: &HostArray<T>) -> Result<Self> {
        Self::new(host.shape(), context.pinned_from(host.as_slice())?)
    }

    /// All elements in C order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.buffer
    }

    /// All elements in C order, to write.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.buffer
    }

    /// The memory, for a transfer. Does not copy.
    #[must_use]
    pub fn into_buffer(self) -> PinnedBuffer<T, D> {
        self.buffer
    }

    /// Copies it to an array of the same shape, in the background. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::ShapeMismatch`]: the shapes differ.
    /// - The errors of [`ArrayViewMut::upload`](crate::ArrayViewMut::upload). The buffer comes back in the error.
    #[track_caller]
    pub fn upload_to(
        self,
        stream: &StreamHandle<D>,
        dst: &mut impl AsArrayViewMut<T, D>,
    ) -> Result<Transfer<T, D>, TransferError<T, D>> {
        let mut dst = dst.as_array_view_mut();
        match same_shape(self.shape(), dst.shape()) {
            Ok(()) => dst.upload(stream, self.buffer),
            Err(error) => Err(TransferError::new(error.into(), Some(self.buffer))),
        }
    }

    /// Copies an array of the same shape here, in the background. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`upload_to`](Self::upload_to).
    #[track_caller]
    pub fn download_from(
        self,
        stream: &StreamHandle<D>,
        src: &impl AsArrayView<T, D>,
    ) -> Result<Transfer<T, D>, TransferError<T, D>> {
        let src = src.as_array_view();
        match same_shape(src.shape(), self.shape()) {
            Ok(()) => src.download(stream, self.buffer),
            Err(error) => Err(TransferError::new(error.into(), Some(self.buffer))),
        }
    }

    fn position(&self, index: &[usize]) -> usize {
        let shape = self.layout.shape();
        let inside = index.len() == shape.len() && index.iter().zip(shape).all(|(at, extent)| at < extent);
        assert!(inside, "index {index:?} is out of range for shape {shape:?}");
        index.iter().zip(shape).fold(0, |before, (at, extent)| before * extent + at)
    }
}

fn same_shape(src: &[usize], dst: &[usize]) -> Result<(), LayoutError> {
    if src == dst {
        return Ok(());
    }
    // The planner makes the error, so that its wording is the same everywhere.
    let (src, dst) = (Layout::contiguous(src, Order::C)?, Layout::contiguous(dst, Order::C)?);
    crate::copy::Plan::new(&dst, &src, 1, &crate::backend::Capabilities::default()).map(drop)
}

impl<T: Element, D: Device> NdLayout for PinnedArray<T, D> {
    fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    fn offset(&self) -> usize {
        self.layout.offset()
    }
}

/// The element at a position per axis.
///
/// # Panics
///
/// Panics like indexing a slice, if the index does not have one position per axis, or one is out of
/// range.
impl<T: Element, D: Device, I: AsRef<[usize]>> Index<I> for PinnedArray<T, D> {
    type Output = T;

    fn index(&self, index: I) -> &T {
        &self.buffer[self.position(index.as_ref())]
    }
}

impl<T: Element, D: Device, I: AsRef<[usize]>> IndexMut<I> for PinnedArray<T, D> {
    fn index_mut(&mut self, index: I) -> &mut T {
        let position = self.position(index.as_ref());
        &mut self.buffer[position]
    }
}

impl<T: Element, D: Device> fmt::Debug for PinnedArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let context = self.buffer.context();
        let (name, shape) = (crate::debug_text::type_name::<T>(), crate::layout::List(self.layout.shape()));
        write!(f, "PinnedArray<{name}>{shape:?} on {}", crate::debug_text::DeviceName(context.device()))
    }
}
