//! A copy without hazard tracking.
#![allow(unsafe_code)] // opens an unchecked stream, and vouches for the order on it

use anyhow::Result;
use devarray::{Device, ErasedArray, StreamHandle};

/// A contiguous copy between two arrays of its own, on its own stream without hazard tracking.
#[derive(Debug)]
pub struct UntrackedCopy<D: Device> {
    stream: StreamHandle<D>,
    dst: ErasedArray<D>,
    src: ErasedArray<D>,
}

impl<D: Device> UntrackedCopy<D> {
    /// Makes a copy of `len_bytes`, with arrays allocated on `stream`. Blocks.
    ///
    /// # Errors
    ///
    /// Out of memory, and other errors of the device.
    pub fn new(stream: &StreamHandle<D>, len_bytes: usize) -> Result<Self> {
        let array = || ErasedArray::zeros(stream, &[len_bytes], 1);
        let (dst, src) = (array()?, array()?);
        stream.synchronize()?;
        // SAFETY: nobody else has the arrays, all work on them so far is finished, and all later
        // work is on this stream; the arrays' own free is tracked.
        let stream = unsafe { stream.context().unchecked_stream() }?;
        Ok(Self { stream, dst, src })
    }

    /// Enqueues the copy.
    ///
    /// # Errors
    ///
    /// The errors of the device.
    pub fn enqueue(&mut self) -> Result<()> {
        Ok(self.dst.view_mut().copy_from(&self.stream, &self.src.view())?)
    }

    /// Blocks until all that was enqueued is finished.
    ///
    /// # Errors
    ///
    /// The errors of the device.
    pub fn synchronize(&self) -> Result<()> {
        Ok(self.stream.synchronize()?)
    }
}
