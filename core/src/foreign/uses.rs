//! Arrays that other code has for a while.

use crate::{
    Device, ErasedArray, Result, StreamHandle,
    context::lock,
    hazards::{AllocationAccess, Footprint},
};

impl<D: Device> StreamHandle<D> {
    /// Takes an array over: this stream runs after all work on it so far, on whichever stream, and all later work on it runs after
    /// what this stream is given until then. Does not synchronize: the waits are the device's.
    ///
    /// Before an array goes to other code, with [`foreign_waits`](Self::foreign_waits) behind it; and when it comes back, with
    /// [`wait_for_foreign`](Self::wait_for_foreign) in front, so that nothing here, a free among it, comes before what other code did.
    ///
    /// ```
    /// use devarray::{Array, Context, backend::ForeignStream};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let (stream, other) = (context.stream()?, context.stream()?);
    /// let array = Array::<u8, _>::zeros(&other, &[100])?.into_erased();
    ///
    /// stream.take_over(&array)?; // after the zeros of the other stream
    /// stream.foreign_waits(ForeignStream::LEGACY)?;
    /// // … other code reads and writes the array on the legacy default stream …
    /// stream.wait_for_foreign(ForeignStream::LEGACY)?;
    /// stream.take_over(&array)?;
    /// assert_eq!(array.view().to_bytes(&other)?, [0; 100]); // after that
    /// # Ok::<(), devarray::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): the array is of another context.
    /// - [`Error::Hazard`](crate::Error::Hazard): the stream is strict, and some work is not ordered before.
    /// - The device could not order the stream.
    #[track_caller]
    pub fn take_over(&self, array: &ErasedArray<D>) -> Result<()> {
        const OPERATION: &str = "take_over";
        let allocation = array.allocation();
        self.0.check_context(OPERATION, [&allocation.core])?;
        if array.layout().is_empty() {
            return Ok(());
        }
        let footprint = Footprint::solid(0, allocation.len_bytes());
        let access = [AllocationAccess { allocation, footprint, write: true }];
        lock(&self.0.core.tracker).admit(self.0.lane.index, self.0.mode, OPERATION, &access)
    }
}
