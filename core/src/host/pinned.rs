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
    backend::{AllocHost, Device, HostBuffer, HostFlags},
    context::ContextCore,
    layout::{Element, LayoutError},
    pinned_pool::{Pooled, Source},
};

/// A slice of `T` in page-locked host memory, which the device itself reads and writes, at the
/// speed of the link.
///
/// It is an ordinary slice exactly while it is yours: an operation that uses it in the background
/// takes it by value and gives it back from [`Transfer::wait`](super::Transfer::wait).
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
    memory: Option<Pooled<D>>,
    len: usize,
    // Keeps the device alive, which must outlive its allocations.
    core: Arc<ContextCore<D>>,
    of: PhantomData<T>,
}

/// Pinned memory, which every device has.
struct Plain<'a, D>(&'a D);

/// Pinned memory with flags, which some devices have.
struct Flagged<'a, D>(&'a D, HostFlags);

impl<D: Device> Source<D> for Plain<'_, D> {
    #[track_caller]
    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<D::HostBuffer> {
        self.0.alloc_host(len_bytes)
    }
}

impl<D: AllocHost> Source<D> for Flagged<'_, D> {
    #[track_caller]
    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<D::HostBuffer> {
        self.0.alloc_host_as(len_bytes, self.1)
    }
}

impl<D: Device> Context<D> {
    /// Allocates `len` zeroed elements of pinned host memory. May block for as long as the driver
    /// takes.
    ///
    /// No elements allocate nothing.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::Overflow`]: the size in bytes exceeds `isize::MAX`.
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory), also because of a
    ///   [limit](Self::set_pinned_limits), and any other device error.
    #[track_caller]
    pub fn pinned<T: Element>(&self, len: usize) -> Result<PinnedBuffer<T, D>> {
        self.allocate(len, HostFlags::new(), &Plain(&self.0.device))
    }

    /// Like [`pinned`](Self::pinned), with the elements of a slice.
    ///
    /// # Errors
    ///
    /// The errors of [`pinned`](Self::pinned).
    #[track_caller]
    pub fn pinned_from<T: Element>(&self, data: &[T]) -> Result<PinnedBuffer<T, D>> {
        let mut buffer = self.pinned(data.len())?;
        buffer.copy_from_slice(data);
        Ok(buffer)
    }

    #[track_caller]
    fn allocate<T: Element>(
        &self,
        len: usize,
        flags: HostFlags,
        source: &impl Source<D>,
    ) -> Result<PinnedBuffer<T, D>> {
        const { assert!(align_of::<T>() <= 64, "pinned memory is aligned to 64 bytes") };
        let core = Arc::clone(&self.0);
        let len_bytes = len.checked_mul(T::BYTES).filter(|&n| isize::try_from(n).is_ok());
        let Some(len_bytes) = NonZeroUsize::new(len_bytes.ok_or(LayoutError::Overflow)?) else {
            return Ok(PinnedBuffer { memory: None, len, core, of: PhantomData });
        };
        // Memory that only waits for the device may be what the limit lacks.
        core.collect();
        let acquired = match core.pinned.acquire(core.backend(), len_bytes, flags, source) {
            Err(error) if core.makes_room_after(&error) => {
                core.pinned.acquire(core.backend(), len_bytes, flags, source)
            }
            first => first,
        };
        let (memory, used) = acquired?;
        let mut buffer = PinnedBuffer { memory: Some(memory), len, core, of: PhantomData };
        if used {
            buffer.fill(T::zeroed());
        }
        Ok(buffer)
    }
}

impl<D: AllocHost> Context<D> {
    /// Like [`pinned`](Self::pinned), with `flags`. Each flag is honoured, or the call is refused.
    ///
    /// Transfers of every context of the backend take a portable buffer; only transfers of this
    /// context take any other buffer. A mapped one can become a
    /// [`MappedArray`](crate::MappedArray). Reading a write-combined one is slow: write it.
    ///
    /// ```
    /// use devarray::{Context, backend::HostFlags};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let buffer = context.pinned_with::<f32>(100, HostFlags::new().portable())?;
    /// assert!(buffer.flags().portable && buffer.iter().all(|&x| x == 0.0));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`](crate::Error::Unsupported): the device does not have such memory.
    /// - The errors of [`pinned`](Self::pinned).
    #[track_caller]
    #[doc(alias = "pagelocked_empty")]
    pub fn pinned_with<T: Element>(&self, len: usize, flags: HostFlags) -> Result<PinnedBuffer<T, D>> {
        let mut buffer = self.allocate(len, flags, &Flagged(&self.0.device, flags))?;
        if let (Some(memory), true) = (&mut buffer.memory, flags.write_combined) {
            memory.slow_read = Some(D::note_slow_read);
        }
        Ok(buffer)
    }
}

impl<T: Element, D: Device> PinnedBuffer<T, D> {
    /// A pointer to the first byte, for an operation. It is dangling and aligned if there are no
    /// elements.
    pub(super) fn as_byte_ptr(&self) -> *mut u8 {
        self.memory.as_ref().map_or(std::ptr::dangling_mut::<T>().cast(), |memory| memory.memory().as_ptr())
    }

    /// Takes the memory out, to keep it where no destructor runs.
    pub(super) fn into_memory(self) -> Option<ManuallyDrop<Pooled<D>>> {
        self.memory.map(ManuallyDrop::new)
    }

    pub(super) fn of_memory(
        memory: Option<ManuallyDrop<Pooled<D>>>,
        len: usize,
        core: Arc<ContextCore<D>>,
    ) -> Self {
        Self { memory: memory.map(ManuallyDrop::into_inner), len, core, of: PhantomData }
    }

    /// The memory, for a mapped array; `None` for no bytes.
    pub(crate) fn into_pooled(self) -> Option<Pooled<D>> {
        self.memory
    }

    /// The number of elements. Reads no element.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The flags of its allocation.
    #[must_use]
    pub fn flags(&self) -> HostFlags {
        self.memory.as_ref().map_or(HostFlags::new(), |memory| memory.flags)
    }

    /// Whether operations of a context may use it.
    pub(super) fn serves(&self, core: &Arc<ContextCore<D>>) -> bool {
        self.flags().portable || Arc::ptr_eq(&self.core, core)
    }

    /// The context it was allocated in.
    #[must_use]
    pub fn context(&self) -> Context<D> {
        Context::of(&self.core)
    }
}

impl<T: Element, D: Device> Deref for PinnedBuffer<T, D> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if let Some((memory, note)) = self.memory.as_ref().and_then(|m| Some((m.memory(), m.slow_read?))) {
            note(memory);
        }
        // SAFETY: `HostBuffer` vouches for initialized memory of that size, aligned to 64 bytes;
        // every value of an `Element` is valid; no operation uses the memory, because operations
        // take the buffer by value.
        unsafe { slice::from_raw_parts(self.as_byte_ptr().cast(), self.len) }
    }
}

impl<T: Element, D: Device> DerefMut for PinnedBuffer<T, D> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `&mut self` is exclusive.
        unsafe { slice::from_raw_parts_mut(self.as_byte_ptr().cast(), self.len) }
    }
}

impl<T: Element, D: Device> fmt::Debug for PinnedBuffer<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = crate::debug_text::type_name::<T>();
        write!(
            f,
            "PinnedBuffer<{name}>({} on {})",
            self.len,
            crate::debug_text::DeviceName(&self.core.device)
        )
    }
}
