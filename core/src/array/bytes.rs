//! Device memory as bytes, for files, wire formats and buffers of other libraries.

use std::fmt;

use super::{ArrayView, ArrayViewMut, Element, ErasedView, ErasedViewMut};
use crate::{
    Result,
    backend::Device,
    layout::{Layout, LayoutError, Order},
    stream::StreamHandle,
};

/// Bytes of device memory without gaps, borrowed to read. Cheap to clone; slices of it share its
/// memory.
///
/// Every position is checked: a range that reaches outside is an error and copies nothing. Ranges
/// are never clamped.
///
/// ```
/// use devarray::{Array, Context};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let mut a = Array::from_slice(&stream, &[2, 2], &[1_u16, 2, 3, 4])?;
/// let bytes = a.view().bytes()?;
/// assert_eq!((bytes.len(), bytes.device_number()), (8, 0));
/// assert_eq!(bytes.slice(2, 4)?.to_vec(&stream)?, [2, 0, 3, 0]);
/// a.view_mut().bytes_mut()?.copy_from_host(&stream, 6, &[9])?;
/// assert_eq!(a.to_vec(&stream)?, [1, 2, 3, 9]);
/// # Ok::<(), devarray::Error>(())
/// ```
pub struct ByteView<'a, D: Device>(ErasedView<'a, D>);

/// Bytes of device memory without gaps, borrowed to write. Positions are checked as in
/// [`ByteView`].
pub struct ByteViewMut<'a, D: Device>(ErasedViewMut<'a, D>);

impl<'a, T: Element, D: Device> ArrayView<'a, T, D> {
    /// The memory of the elements as bytes. Does not copy.
    ///
    /// # Errors
    ///
    /// [`LayoutError::NeedsCopy`]: the elements are dense neither in C nor in F order.
    #[track_caller]
    pub fn bytes(&self) -> Result<ByteView<'a, D>> {
        let layout = byte_layout(self.layout(), T::BYTES)?;
        Ok(ByteView(self.as_erased().with_items(layout, 1)))
    }
}

impl<'a, T: Element, D: Device> ArrayViewMut<'a, T, D> {
    /// The memory of the elements as bytes, to write. Does not copy.
    ///
    /// # Errors
    ///
    /// [`LayoutError::NeedsCopy`]: the elements are dense neither in C nor in F order.
    #[track_caller]
    pub fn bytes_mut(self) -> Result<ByteViewMut<'a, D>> {
        let layout = byte_layout(self.layout(), T::BYTES)?;
        Ok(ByteViewMut(self.into_erased().part(layout, 1)))
    }
}

/// The bytes of a dense layout. It lies inside its allocation, so no product overflows.
fn byte_layout(layout: &Layout, item_bytes: usize) -> Result<Layout, LayoutError> {
    if !layout.is_contiguous(Order::C) && !layout.is_contiguous(Order::F) {
        return Err(LayoutError::NeedsCopy);
    }
    if layout.is_empty() {
        return Layout::contiguous(&[0], Order::C);
    }
    Layout::new(&[layout.len() * item_bytes], &[1], layout.span().start * item_bytes)
}

/// The bytes `position..position + len_bytes` of a layout of bytes.
fn part(bytes: &Layout, position: usize, len_bytes: usize) -> Result<Layout, LayoutError> {
    let len = bytes.len();
    match position.checked_add(len_bytes) {
        Some(end) if end <= len => bytes.slice_axis(0, position..end),
        end => Err(LayoutError::OutOfBounds { start: position, end: end.unwrap_or(usize::MAX), len }),
    }
}

impl<'a, D: Device> ByteView<'a, D> {
    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.layout().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The device address of the first byte; 0 if there are none. Not a host pointer.
    #[must_use]
    pub fn address(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.0.elements().allocation.address() + self.0.layout().offset() as u64
    }

    /// The number of the device among the devices of its backend.
    #[must_use]
    pub fn device_number(&self) -> usize {
        self.0.elements().allocation.core.device.info().ordinal
    }

    /// A part of the bytes. Does not copy.
    ///
    /// # Errors
    ///
    /// [`LayoutError::OutOfBounds`]: the range reaches outside.
    #[track_caller]
    pub fn slice(&self, position: usize, len_bytes: usize) -> Result<Self> {
        Ok(Self(self.0.with_items(part(self.0.layout(), position, len_bytes)?, 1)))
    }

    /// Copies all bytes to the host. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// The errors of [`ErasedView::to_bytes`].
    #[track_caller]
    pub fn to_vec(&self, stream: &StreamHandle<D>) -> Result<Vec<u8>> {
        self.0.to_bytes(stream)
    }

    /// Fills `dst` with the bytes from `position` on. Blocks until they are there.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::OutOfBounds`]: fewer bytes follow `position`.
    /// - The errors of [`ErasedView::copy_to_bytes`].
    #[track_caller]
    pub fn copy_to_host(&self, stream: &StreamHandle<D>, position: usize, dst: &mut [u8]) -> Result<()> {
        self.slice(position, dst.len())?.0.copy_to_bytes(stream, dst)
    }
}

impl<D: Device> Clone for ByteView<'_, D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, D: Device> ByteViewMut<'a, D> {
    /// Returns the same bytes, to read, for as long as this view is borrowed.
    #[must_use]
    pub fn as_view(&self) -> ByteView<'_, D> {
        ByteView(self.0.as_view())
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.layout().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A part of the bytes. Does not copy.
    ///
    /// # Errors
    ///
    /// [`LayoutError::OutOfBounds`]: the range reaches outside.
    #[track_caller]
    pub fn slice(self, position: usize, len_bytes: usize) -> Result<Self> {
        let layout = part(self.0.layout(), position, len_bytes)?;
        Ok(Self(self.0.with_layout(layout)))
    }

    /// Copies all of `src` here, from `position` on. Does not synchronize: the slice is free on
    /// return (see [staging](crate::manual::_3_host_memory) for when it may wait).
    ///
    /// # Errors
    ///
    /// - [`LayoutError::OutOfBounds`]: fewer bytes follow `position` than `src` has; nothing was
    ///   copied.
    /// - The errors of [`ErasedViewMut::copy_from_bytes`].
    #[track_caller]
    pub fn copy_from_host(&mut self, stream: &StreamHandle<D>, position: usize, src: &[u8]) -> Result<()> {
        self.reborrow().slice(position, src.len())?.0.copy_from_bytes(stream, src)
    }

    /// Copies all of `src` here, from `position` on. Does not synchronize.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::OutOfBounds`]: fewer bytes follow `position` than `src` has; nothing was
    ///   copied.
    /// - The errors of [`ErasedViewMut::copy_from`].
    #[track_caller]
    pub fn copy_from_device(
        &mut self,
        stream: &StreamHandle<D>,
        position: usize,
        src: &ByteView<'_, D>,
    ) -> Result<()> {
        self.reborrow().slice(position, src.len())?.0.copy_from(stream, &src.0)
    }

    /// Returns the same bytes, borrowed for less long.
    #[must_use]
    pub fn reborrow(&mut self) -> ByteViewMut<'_, D> {
        ByteViewMut(self.0.reborrow())
    }
}

impl<D: Device> fmt::Debug for ByteView<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = crate::debug_text::DeviceName(&self.0.elements().allocation.core.device);
        write!(f, "ByteView({} bytes on {device})", self.len())
    }
}

impl<D: Device> fmt::Debug for ByteViewMut<'_, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = crate::debug_text::DeviceName(&self.0.elements().allocation.core.device);
        write!(f, "ByteViewMut({} bytes on {device})", self.len())
    }
}
