//! Page-locked host memory that a program owns.
#![allow(unsafe_code)] // reads and writes pinned memory that no operation uses

use std::{
    fmt,
    marker::PhantomData,
    mem::ManuallyDrop,
    num::NonZeroUsize,
    ops::{Deref, DerefMut},
    slice,
    sync::Arc,
};

use crate::{
    Context, Result,
    array::Element,
    backend::{Device, HostBuffer},
    context::ContextCore,
    layout::LayoutError,
};

/// A slice of `T` in page-locked host memory, which the device reads and writes by itself, at the speed of the link.
///
/// It is an ordinary slice exactly while it is yours: an operation that uses it in the background takes it by value and
/// gives it back from [`Transfer::wait`](super::Transfer::wait).
///
/// ```
/// use devarray::{Array, Context};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let mut host = context.pinned(3)?;
/// host.copy_from_slice(&[1.0, 2.0, 3.0]);
/// let mut a = Array::uninit(&stream, &[3])?;
/// let upload = a.view_mut().upload(&stream, host)?;
/// // … other work …
/// let host = upload.wait()?;
/// assert_eq!(a.to_vec(&stream)?, host[..]);
/// # Ok::<(), devarray::Error>(())
/// ```
pub struct PinnedBuffer<T: Element, D: Device> {
    /// `None` for no bytes.
    memory: Option<D::HostBuffer>,
    len: usize,
    // The device outlives what was allocated from it.
    core: Arc<ContextCore<D>>,
    of: PhantomData<T>,
}

impl<D: Device> Context<D> {
    /// Allocates `len` zeroed elements of pinned host memory. May block for as long as the driver takes.
    ///
    /// No elements allocate nothing.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::Overflow`]: the size in bytes exceeds `isize::MAX`.
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory) and what else the device says.
    #[track_caller]
    pub fn pinned<T: Element>(&self, len: usize) -> Result<PinnedBuffer<T, D>> {
        const { assert!(align_of::<T>() <= 64, "pinned memory is aligned to 64 bytes") };
        let len_bytes = len.checked_mul(T::BYTES).filter(|&n| isize::try_from(n).is_ok());
        let len_bytes = NonZeroUsize::new(len_bytes.ok_or(LayoutError::Overflow)?);
        let memory = match len_bytes {
            Some(len_bytes) => Some(self.0.device.alloc_host(len_bytes)?),
            None => None,
        };
        Ok(PinnedBuffer { memory, len, core: Arc::clone(&self.0), of: PhantomData })
    }
}

impl<T: Element, D: Device> PinnedBuffer<T, D> {
    /// The first byte, for an operation; dangling and aligned if there are none.
    pub(super) fn as_byte_ptr(&self) -> *mut u8 {
        self.memory.as_ref().map_or(std::ptr::dangling_mut::<T>().cast(), HostBuffer::as_ptr)
    }

    /// Takes the memory out, for keeping it where no destructor runs.
    pub(super) fn into_memory(self) -> Option<ManuallyDrop<D::HostBuffer>> {
        self.memory.map(ManuallyDrop::new)
    }

    pub(super) fn of_memory(
        memory: Option<ManuallyDrop<D::HostBuffer>>,
        len: usize,
        core: Arc<ContextCore<D>>,
    ) -> Self {
        Self { memory: memory.map(ManuallyDrop::into_inner), len, core, of: PhantomData }
    }

    /// The context whose device can reach it.
    #[must_use]
    pub fn context(&self) -> Context<D> {
        Context(Arc::clone(&self.core))
    }
}

impl<T: Element, D: Device> Deref for PinnedBuffer<T, D> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `HostBuffer` vouches for initialized memory of that size, aligned to 64 bytes; every value of an
        // `Element` is valid; no operation uses the memory, since those take the buffer by value.
        unsafe { slice::from_raw_parts(self.as_byte_ptr().cast(), self.len) }
    }
}

impl<T: Element, D: Device> DerefMut for PinnedBuffer<T, D> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `&mut self` is exclusive.
        unsafe { slice::from_raw_parts_mut(self.as_byte_ptr().cast(), self.len) }
    }
}

impl<T: Element + fmt::Debug, D: Device> fmt::Debug for PinnedBuffer<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
