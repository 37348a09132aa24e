//! Lends arrays to other code for a while.

use crate::{Device, ErasedArray, Result, StreamHandle, allocation::AllocationAccess, statistics::Work};

impl<D: Device> StreamHandle<D> {
    /// Makes everything submitted later run after all work on an array so far, on any stream. Does
    /// not synchronize: the device waits, and only if the work was on another stream.
    ///
    /// Call it before an array goes to other code, and [`foreign_waits`](Self::foreign_waits) after
    /// it.
    ///
    /// # Errors
    ///
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): the array is of another context.
    /// - [`Error::Hazard`](crate::Error::Hazard): the stream is strict, and some work is not
    ///   ordered before this.
    /// - The device could not order the stream.
    #[track_caller]
    pub fn wait_for_uses(&self, array: &ErasedArray<D>) -> Result<()> {
        const OPERATION: &str = "wait_for_uses";
        let Some(access) = self.whole(OPERATION, array)? else { return Ok(()) };
        // Later waits for this stream must include that work. Events recorded earlier do not cover
        // it.
        self.0.order(OPERATION, &[access])?.note_alone();
        Ok(())
    }

    /// Takes an array over: this stream runs after all work on it so far, on any stream, and later
    /// work on it runs after all work given to this stream by then. Does not synchronize: the
    /// device waits.
    ///
    /// Call it when an array comes back from other code, after
    /// [`wait_for_foreign`](Self::wait_for_foreign). Then all work here, including a free, runs
    /// after the other code's work.
    ///
    /// ```
    /// use devarray::{Array, Context, backend::ForeignStream};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// let (stream, other) = (context.stream()?, context.stream()?);
    /// let array = Array::<u8, _>::zeros(&other, &[100])?.into_erased();
    ///
    /// stream.wait_for_uses(&array)?; // the zeros of the other stream
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
    /// - [`Error::Hazard`](crate::Error::Hazard): the stream is strict, and some work is not
    ///   ordered before this.
    /// - The device could not order the stream.
    #[track_caller]
    pub fn take_over(&self, array: &ErasedArray<D>) -> Result<()> {
        const OPERATION: &str = "take_over";
        let Some(access) = self.whole(OPERATION, array)? else { return Ok(()) };
        self.0.submit(Work::Other { name: OPERATION }, &[access]).map(drop)
    }

    /// All elements of an array, to be written; `None` if it has no elements.
    fn whole<'a>(
        &self,
        operation: &'static str,
        array: &'a ErasedArray<D>,
    ) -> Result<Option<AllocationAccess<'a, D>>> {
        let allocation = array.allocation();
        self.0.check_unrecorded(operation, [allocation])?;
        let has_elements = !array.layout().is_empty();
        Ok(has_elements.then(|| AllocationAccess::whole(allocation, true)))
    }
}
