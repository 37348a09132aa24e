//! Order against streams of other code.

use crate::{
    Result, StreamHandle,
    backend::{ForeignMemory, ForeignStream},
    lock::lock,
};

impl<D: ForeignMemory> StreamHandle<D> {
    /// Makes everything submitted later run after all work that other code gave its stream so far.
    /// Does not synchronize.
    ///
    /// If an interface names the producer's stream, pass it as `other`: memory that is
    /// [adopted](crate::Array::adopt) on this stream afterwards is used after its producer's work.
    /// The legacy default stream covers the work of other blocking streams too, but never the work of
    /// this library's streams, which are non-blocking.
    ///
    /// ```
    /// use devarray::{Array, Context, Layout, Order, backend::ForeignStream};
    /// use devarray_mock::MockDevice;
    ///
    /// let context = Context::new(MockDevice::new())?;
    /// let stream = context.stream()?;
    /// # let released = Array::<f32, _>::zeros(&stream, &[2, 3])?.release(&stream)?;
    /// # let (data, owner) = (released.address(), ());
    ///
    /// // What a `__cuda_array_interface__` says: data at an address, produced on the legacy default stream.
    /// let (layout, producer) = (Layout::contiguous(&[2, 3], Order::C)?, ForeignStream::LEGACY);
    /// stream.wait_for_foreign(producer)?;
    /// // SAFETY: 24 bytes are allocated at the address for as long as the owner lives, and nobody writes them meanwhile.
    /// let array = unsafe { Array::<f32, _>::adopt(&stream, data, &layout, owner) }?;
    ///
    /// // What a `__dlpack__(stream=1)` promises to its consumer.
    /// stream.foreign_waits(ForeignStream::LEGACY)?;
    /// # drop(array);
    /// # stream.synchronize()?;
    /// # // SAFETY: as it was released.
    /// # unsafe { Array::<f32, _>::reclaim(&stream, released) }?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Unsupported`](crate::Error::Unsupported): the device does not adopt memory of
    ///   other code.
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): the name is
    ///   [owned](ForeignStream::owner) by another device.
    /// - The device could not enqueue the wait; the stream is unchanged.
    #[doc(alias = "cudaStreamLegacy")]
    #[doc(alias = "cudaStreamPerThread")]
    #[track_caller]
    pub fn wait_for_foreign(&self, other: ForeignStream) -> Result<()> {
        self.0.check_runs("wait_for_foreign")?;
        let mut tracker = lock(&self.0.core.tracker);
        self.0.core.device.wait_for_foreign(&self.0.raw, other)?;
        // Later waits for this stream must include that work. Events recorded earlier do not cover
        // it.
        tracker.note_alone(self.0.lane.index);
        Ok(())
    }

    /// Makes all later work that other code gives its stream run after everything submitted here so
    /// far. Does not synchronize.
    ///
    /// # Errors
    ///
    /// The errors of [`wait_for_foreign`](Self::wait_for_foreign).
    #[track_caller]
    pub fn foreign_waits(&self, other: ForeignStream) -> Result<()> {
        self.0.check_runs("foreign_waits")?;
        let _submitted = lock(&self.0.core.tracker);
        self.0.core.device.foreign_waits(other, &self.0.raw)
    }
}
