//! An array that goes through a door.
#![allow(unsafe_code)] // takes a promise that memory may be written; performs no unsafe operation

use std::{any::Any, fmt, sync::Arc};

use devarray::{
    Array, ArrayView, ArrayViewMut, Context, ErasedArray, ErasedView, ErasedViewMut, Layout, NdLayout, Order,
    StreamHandle, backend::ForeignStream, layout::Injectivity,
};

mod lent;
mod memory;

pub(crate) use lent::Lent;
use memory::Memory;

use crate::{DataType, Door, DoorElement, DoorError, Result, data_type::data_type_of};

/// The way in which the other side of a door waits for work here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Consumer {
    /// Later work of this stream runs after all work here. The host does not wait. The stream must stay until
    /// the memory comes back; the memory is then freed after all work of the stream. A device of the host has
    /// no streams; for it this means [`Host`](Self::Host).
    Stream(ForeignStream),
    /// Like [`Stream`](Self::Stream), for a stream that may be gone when the memory comes back.
    /// Giving the memory back then blocks until the whole device is finished, since memory comes
    /// back without naming a stream. Default streams are never gone.
    StreamForNow(ForeignStream),
    /// The host: the call blocks until all work here is finished.
    Host,
    /// The other side does not wait, or waits by other means.
    Unordered,
}

/// Memory with the layout and type of its elements, and whether they may be written. It goes
/// through a door in either direction.
///
/// A tensor is cheap to clone. Clones share the memory, and nobody writes it while there are
/// several. An array or an import makes a tensor; an export gives other code a clone.
///
/// ```
/// use devarray::{Array, Context, NdLayout};
/// use devarray_interop::{Consumer, Tensor};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let array = Array::from_slice(&stream, &[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
///
/// // Out: the simulator's memory is CPU memory to others, so this waits until the elements are there …
/// let tensor = Tensor::from(array);
/// let turned = tensor.with_layout(tensor.transpose()?)?;
/// let exported = turned.to_dlpack(&stream, Consumer::Host)?;
/// assert_eq!(exported.tensor()?.shape(), [3, 2]);
/// // … and in: whoever has the structure takes it over, and calls its deleter once.
/// // SAFETY: it is as the export made it, and its memory is not written meanwhile.
/// let back = unsafe { Tensor::from_dlpack(&stream, exported) }?;
/// assert_eq!(back.view::<f32>()?.to_vec(&stream)?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tensor<D: Door> {
    memory: Arc<Memory<D>>,
    /// `None` means the array's own layout, which most tensors have. Kept behind a pointer: layouts are
    /// large, and tensors are often moved.
    layout: Option<Arc<Layout>>,
    data_type: DataType,
    /// The producer, or a caller here, forbids writing.
    read_only: bool,
    /// The layout reaches an element by several indices, or may do so: nobody writes under it.
    repeats: bool,
}

impl<D: Door> Tensor<D> {
    /// A tensor of an array whose element type is known only at run time.
    ///
    /// # Errors
    ///
    /// [`DoorError::DataType`]: the elements are of another size.
    #[track_caller]
    pub fn new(array: ErasedArray<D>, data_type: DataType) -> Result<Self> {
        if array.item_bytes() != data_type.item_bytes() {
            return Err(DoorError::DataType { data_type, reason: "are of another size than the array's" });
        }
        Ok(Self { memory: Memory::new(array), layout: None, data_type, read_only: false, repeats: false })
    }

    /// The tensor of an import. If `layout` is given, it was checked against the array, and repeats elements.
    #[inline]
    pub(crate) fn imported(
        array: ErasedArray<D>,
        layout: Option<Layout>,
        data_type: DataType,
        read_only: bool,
    ) -> Self {
        let repeats = layout.is_some();
        Self { memory: Memory::new(array), layout: layout.map(Arc::new), data_type, read_only, repeats }
    }

    /// Returns this tensor, read-only from now on.
    #[must_use]
    pub fn into_read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Returns this tensor, writable although its producer or its form makes it read-only: for example, an
    /// Arrow column whose other users are known to be gone.
    ///
    /// # Safety
    ///
    /// Nobody else reads or writes the memory while it is written here, and its producer lets it be
    /// written. No two elements share memory.
    #[must_use]
    pub unsafe fn assume_writable(self) -> Self {
        Self { read_only: false, repeats: false, ..self }
    }

    /// Returns the same memory under another layout, made by a transform of this tensor's layout. Nobody
    /// writes it under a layout that reaches, or may reach, an element by several indices, as a broadcast and
    /// overlapping windows do.
    ///
    /// ```
    /// use devarray::{Array, Context, NdLayout};
    /// use devarray_interop::{Consumer, DoorError, Tensor};
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let tensor = Tensor::from(Array::<f32, _>::zeros(&stream, &[3])?);
    /// let rows = tensor.with_layout(tensor.broadcast_to(&[2, 3])?)?;
    /// assert!(rows.is_read_only() && !tensor.is_read_only());
    /// assert!(rows.to_dlpack(&stream, Consumer::Host)?.tensor()?.is_read_only());
    /// assert_eq!(rows.to_dlpack_legacy(&stream, Consumer::Host).unwrap_err(), DoorError::Repeats);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`ErasedArray::view_of`].
    #[track_caller]
    pub fn with_layout(&self, layout: Layout) -> Result<Self> {
        self.memory.view_of(&layout)?;
        let repeats = layout.injectivity() != Injectivity::Injective;
        Ok(Self { memory: Arc::clone(&self.memory), layout: Some(Arc::new(layout)), repeats, ..*self })
    }

    /// The object that a binding to another language keeps with the memory. `new` makes it for the first
    /// caller, and all tensors in the memory have it, under any layout. None if an object of another type is
    /// kept.
    ///
    /// No lock is held while `new` runs, so `new` may ask for the object itself. If several threads make one
    /// at the same time, the first that is finished is kept, and the others are dropped.
    ///
    /// ```
    /// use devarray::{Array, Context};
    /// use devarray_interop::Tensor;
    ///
    /// let stream = Context::new(devarray_mock::MockDevice::new())?.stream()?;
    /// let tensor = Tensor::from(Array::<f32, _>::zeros(&stream, &[3])?);
    /// assert_eq!(tensor.attached(|| 7_u8), Some(&7));
    /// assert_eq!(tensor.clone().into_read_only().attached(|| 8_u8), Some(&7));
    /// assert_eq!(tensor.attached(|| "a text"), None);
    /// assert_eq!(tensor.copied(&stream)?.attached(|| 9_u8), Some(&9));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn attached<T: Any + Send + Sync>(&self, new: impl FnOnce() -> T) -> Option<&T> {
        self.memory.attached(new)
    }

    /// The type of the elements.
    #[must_use]
    pub fn data_type(&self) -> DataType {
        self.data_type
    }

    /// Whether nobody may write the elements: their producer or a caller here forbids it, or the
    /// layout reaches an element by several indices.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only || self.repeats
    }

    /// The reason why nobody may write the elements, if there is one.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match (self.read_only, self.repeats) {
            (true, _) => Err(DoorError::ReadOnly),
            (false, true) => Err(DoorError::Repeats),
            (false, false) => Ok(()),
        }
    }

    /// The layout of the elements.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.layout.as_deref().unwrap_or_else(|| self.memory.layout())
    }

    /// The context that the memory belongs to.
    #[must_use]
    pub fn context(&self) -> Context<D> {
        self.memory.context()
    }

    /// The device that has the memory.
    #[must_use]
    pub fn device(&self) -> &D {
        self.memory.device()
    }

    /// The elements, to read.
    ///
    /// # Errors
    ///
    /// [`DoorError::OtherDataType`]: the elements are no `T`.
    #[track_caller]
    pub fn view<T: DoorElement>(&self) -> Result<ArrayView<'_, T, D>> {
        self.check_type::<T>()?;
        Ok(ArrayView::from_erased(self.erased()?)?)
    }

    /// The elements, to write.
    ///
    /// # Errors
    ///
    /// - [`DoorError::OtherDataType`]: the elements are no `T`.
    /// - [`DoorError::ReadOnly`], [`DoorError::Repeats`]: nobody may write them.
    /// - [`DoorError::Shared`]: another tensor, or other code that it was exported to, has the
    ///   memory.
    #[track_caller]
    pub fn view_mut<T: DoorElement>(&mut self) -> Result<ArrayViewMut<'_, T, D>> {
        self.check_type::<T>()?;
        Ok(ArrayViewMut::from_erased(self.erased_mut()?)?)
    }

    /// The elements without their type, to read.
    ///
    /// # Errors
    ///
    /// None: the layout was checked.
    #[track_caller]
    pub fn erased(&self) -> Result<ErasedView<'_, D>> {
        Ok(self.memory.view_of(self.layout())?)
    }

    /// The elements without their type, to write.
    ///
    /// # Errors
    ///
    /// The errors of [`view_mut`](Self::view_mut), except the one about the type.
    #[track_caller]
    pub fn erased_mut(&mut self) -> Result<ErasedViewMut<'_, D>> {
        self.check_writable()?;
        let array = &mut Arc::get_mut(&mut self.memory).ok_or(DoorError::Shared)?.array;
        match &self.layout {
            Some(layout) => Ok(array.view_mut_of(layout)?),
            None => Ok(array.view_mut()),
        }
    }

    /// A copy in its own memory: dense, with the axes in the order of this tensor's strides. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// Out of memory, and any other device error.
    #[track_caller]
    pub fn copied(&self, stream: &StreamHandle<D>) -> Result<Self> {
        Self::new(self.erased()?.to_contiguous(stream, Order::K)?, self.data_type)
    }

    /// The address of element `[0, …, 0]` for other code; 0 if there are no elements.
    ///
    /// # Errors
    ///
    /// Only on a device without addresses for other code.
    #[track_caller]
    pub fn address(&self) -> Result<u64> {
        if self.layout().is_empty() {
            return Ok(0);
        }
        // The element lies inside the allocation, so the product does not overflow.
        let offset_bytes = self.layout().offset() * self.data_type.item_bytes();
        let outside = self.memory.device().address_outside(self.memory.address() + offset_bytes as u64);
        outside.ok_or_else(|| crate::error::field("data", "the device has no address for other code"))
    }

    /// Orders `stream` after all work on the memory, and `consumer` after `stream`. Does not synchronize,
    /// except for a consumer on the host, and for a consumer's stream if the memory is the host's: then it
    /// blocks until the work is finished.
    ///
    /// # Errors
    ///
    /// Any device error; nothing is ordered then.
    #[track_caller]
    pub fn hand_over(&self, stream: &StreamHandle<D>, consumer: Consumer) -> Result<()> {
        if self.layout().is_empty() {
            return Ok(());
        }
        let device = self.memory.device();
        let is_host = device.is_host();
        match consumer {
            Consumer::Unordered => {}
            Consumer::Stream(other) | Consumer::StreamForNow(other) if !is_host => {
                stream.wait_for_uses(&self.memory)?;
                stream.foreign_waits(other)?;
            }
            Consumer::Stream(_) | Consumer::StreamForNow(_) | Consumer::Host => self.synchronize(stream)?,
        }
        if is_host {
            Door::lend_to_host(device, &self.erased()?, !self.is_read_only());
        }
        Ok(())
    }

    /// Orders all later work on the memory, including its free, after all work that other code gave its
    /// stream so far. This tensor may be a view without elements: the memory is meant, not the view. Does not
    /// synchronize.
    ///
    /// # Errors
    ///
    /// Any device error; nothing is ordered then.
    #[track_caller]
    pub fn take_back(&self, stream: &StreamHandle<D>, from: ForeignStream) -> Result<()> {
        if self.memory.layout().is_empty() || stream.device().is_host() {
            return Ok(());
        }
        stream.wait_for_foreign(from)?;
        Ok(stream.take_over(&self.memory)?)
    }

    /// Waits for all work here on the memory, on any stream. Blocks.
    ///
    /// # Errors
    ///
    /// The device's error of the work, or of the wait.
    #[track_caller]
    pub fn synchronize(&self, stream: &StreamHandle<D>) -> Result<()> {
        self.gather(stream)?;
        Ok(stream.record()?.synchronize()?)
    }

    /// Makes `stream` run after all work on the memory.
    #[track_caller]
    pub(crate) fn gather(&self, stream: &StreamHandle<D>) -> Result<()> {
        Ok(stream.wait_for_uses(&self.memory)?)
    }

    #[track_caller]
    fn check_type<T: DoorElement>(&self) -> Result<()> {
        let (found, expected) = (self.data_type, data_type_of::<T>());
        if found == expected { Ok(()) } else { Err(DoorError::OtherDataType { found, expected }) }
    }
}

impl<T: DoorElement, D: Door> From<Array<T, D>> for Tensor<D> {
    fn from(array: Array<T, D>) -> Self {
        let memory = Memory::new(array.into_erased());
        Self { memory, layout: None, data_type: data_type_of::<T>(), read_only: false, repeats: false }
    }
}

impl<D: Door> Clone for Tensor<D> {
    fn clone(&self) -> Self {
        Self { memory: Arc::clone(&self.memory), layout: self.layout.clone(), ..*self }
    }
}

impl<D: Door> NdLayout for Tensor<D> {
    fn shape(&self) -> &[usize] {
        self.layout().shape()
    }

    fn strides(&self) -> &[isize] {
        self.layout().strides()
    }

    fn offset(&self) -> usize {
        self.layout().offset()
    }
}

impl<D: Door> fmt::Debug for Tensor<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (data_type, layout) = (self.data_type, self.layout());
        let access = if self.is_read_only() { ", read-only" } else { "" };
        let info = self.memory.device().info().backend;
        write!(f, "Tensor({data_type} {:?} strides {:?} on {info}{access})", layout.shape(), layout.strides())
    }
}
