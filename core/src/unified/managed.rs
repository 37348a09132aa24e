//! Memory that moves between host and device automatically.

use std::{fmt, num::NonZeroUsize, panic::Location as Place, sync::Arc};

use super::{Start, Unified, unified_methods};
use crate::{
    Array, ArrayView, ArrayViewMut, Context, Result, StreamHandle,
    allocation::AllocationAccess,
    array::{
        Element, Parts, Reshaped, answer_as_layout, array_transforms, shape_methods, view_broadcasts,
        view_splits, view_transforms,
    },
    backend::{Advice, HostBuffer, Location, ManagedMemory},
    layout::{AxisList, Extents, IndexItem, Integer, Layout, LayoutError, NdLayout, Order, Slice},
    memory::{LedgerEntry, MemoryKind},
    pinned_pool::PinnedPool,
    statistics::Work,
};

/// An N-dimensional array in managed memory. The host sees a slice, and the device an array. The
/// memory moves to the side that uses it.
///
/// Dropping it does not block: the memory is freed when the device is finished with it.
///
/// ```
/// use devarray::{Context, ManagedArray, backend::Location};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let mut a = ManagedArray::zeros(&context, &[1000])?;
/// a.host_mut()?[7] = 1.5;
/// a.prefetch(&stream, Location::Device)?;
/// assert_eq!(a.view().slice_axis(0, 7..8)?.to_vec(&stream)?, [1.5]);
/// # Ok::<(), devarray::Error>(())
/// ```
pub struct ManagedArray<T: Element, D: ManagedMemory> {
    unified: Unified<T, D>,
}

/// Managed memory, in the ledger until it is freed.
struct Counted<D: ManagedMemory> {
    /// `None` only once `drop` took it.
    held: Option<(D::ManagedBuffer, LedgerEntry)>,
    /// Whether freeing it may be put off, which happens at most once.
    may_wait: bool,
    pool: Arc<PinnedPool<D>>,
}

impl<D: ManagedMemory> Drop for Counted<D> {
    fn drop(&mut self) {
        let Some((memory, entry)) = self.held.take() else { return };
        if self.may_wait && self.pool.puts_off(&entry) {
            let (len_bytes, pool) = (memory.len_bytes(), Arc::clone(&self.pool));
            let later = Self { held: Some((memory, entry)), may_wait: false, pool };
            return self.pool.put_off(Box::new(later), len_bytes);
        }
        drop(memory);
        self.pool.leave(entry);
    }
}

impl<T: Element, D: ManagedMemory> ManagedArray<T, D> {
    /// Allocates zeroed managed memory of `shape`, in C order. May block for as long as the driver
    /// takes.
    ///
    /// All live managed memory together never exceeds the free memory of the device.
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`](crate::Error::Unsupported): the device has no managed memory.
    /// - [`Error::OutOfMemory`](crate::Error::OutOfMemory): the device has less free memory.
    /// - [`LayoutError::Overflow`]: the size in bytes exceeds `isize::MAX`.
    /// - Any other device error.
    #[track_caller]
    #[doc(alias = "managed_array")]
    #[doc(alias = "managed_empty")]
    pub fn zeros(context: &Context<D>, shape: &[usize]) -> Result<Self> {
        const { assert!(align_of::<T>() <= 64, "managed memory is aligned to 64 bytes") };
        let layout = Layout::contiguous(shape, Order::C)?;
        let core = &context.0;
        let len_bytes = layout.len().checked_mul(T::BYTES).filter(|&n| isize::try_from(n).is_ok());
        let Some(len_bytes) = NonZeroUsize::new(len_bytes.ok_or(LayoutError::Overflow)?) else {
            return Ok(Self { unified: Unified::empty(core, layout) });
        };
        // Owners that only wait for the device may free the memory that is needed.
        core.collect();
        let memory = match core.device.alloc_managed(len_bytes) {
            Err(error) if core.makes_room_after(&error) => core.device.alloc_managed(len_bytes),
            first => first,
        };
        let live =
            || core.pinned.with_ledger(|ledger| ledger.live_by_tag(|kind| kind == MemoryKind::Managed));
        let memory = memory.map_err(|error| error.with_live(live))?;
        let device_side = core.device.managed_buffer(&memory)?;
        let start = Start(memory.as_ptr());
        let entry = core.pinned.enter(MemoryKind::Managed, memory.len_bytes(), Place::caller());
        let counted = Counted { held: Some((memory, entry)), may_wait: true, pool: Arc::clone(&core.pinned) };
        Ok(Self { unified: Unified::new(core, layout, device_side, start, Box::new(counted)) })
    }

    /// Moves the memory to where it is used next, in stream order. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Another context's stream, and any device error.
    #[doc(alias = "prefetch_async")]
    pub fn prefetch(&self, stream: &StreamHandle<D>, to: Location) -> Result<()> {
        let allocation = self.unified.allocation();
        stream.0.check_unrecorded("prefetch", [allocation])?;
        let len_bytes = self.unified.array.layout().len() * T::BYTES;
        if len_bytes == 0 {
            return Ok(());
        }
        // The prefetch is noted as a read, so that the memory is not freed meanwhile.
        let touch = [AllocationAccess::of_bytes(allocation, 0..len_bytes, false)];
        let at = stream.0.submit(Work::Other { name: "prefetch" }, &touch)?.begin();
        // SAFETY: the whole memory; the note keeps it until the operation is over.
        unsafe { stream.0.core.device.prefetch(at.raw(), allocation.buffer(), 0..len_bytes, to) }
    }

    /// Tells the device how the memory will be used. This is a hint. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Any device error.
    pub fn advise(&self, advice: Advice) -> Result<()> {
        let allocation = self.unified.allocation();
        let len_bytes = self.unified.array.layout().len() * T::BYTES;
        if len_bytes == 0 {
            return Ok(());
        }
        // SAFETY: the whole memory, which `self` keeps.
        unsafe { allocation.core.device.advise(allocation.buffer(), 0..len_bytes, advice) }
    }

    unified_methods!();
}

answer_as_layout!([T: Element, D: ManagedMemory] ManagedArray<T, D>);

impl<T: Element, D: ManagedMemory> fmt::Debug for ManagedArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::operations::typed::<T, D>(f, "ManagedArray", &self.view().elements())
    }
}
