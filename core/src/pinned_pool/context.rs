//! Questions and settings about the pinned memory of a program in its context.

use super::{HostMemoryStatistics, PinnedLimits};
use crate::{Context, backend::Device, lock::lock};

impl<D: Device> Context<D> {
    /// Pinned, registered and managed memory that the program holds in this context. Does not synchronize.
    #[must_use]
    pub fn host_memory_statistics(&self) -> HostMemoryStatistics {
        self.0.collect();
        lock(&self.0.pinned.state).statistics()
    }

    /// Limits the program's pinned memory, and the returned memory that is kept for reuse. Kept memory that
    /// exceeds the new limits is given back, which may block for as long as the driver takes; memory in use
    /// stays.
    ///
    /// ```
    /// use devarray::{Context, PinnedLimits};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// context.set_pinned_limits(PinnedLimits::new(1 << 20, 1 << 16));
    /// drop(context.pinned::<u8>(1000)?);
    /// let again = context.pinned::<u8>(1000)?; // the same memory, zeroed again
    /// assert_eq!(context.host_memory_statistics().reuses, 1);
    /// assert!(context.pinned::<u8>(2 << 20).is_err());
    /// # Ok::<(), devarray::Error>(())
    /// ```
    pub fn set_pinned_limits(&self, limits: PinnedLimits) {
        let mut state = lock(&self.0.pinned.state);
        state.limits = limits;
        let surplus = state.shrink(limits.idle_bytes, 0);
        drop(state);
        drop(surplus);
    }
}
