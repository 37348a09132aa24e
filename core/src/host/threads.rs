//! Threads that copy borrowed host memory.

use crate::{Context, backend::Device};

/// The program's choice of threads. A large copy of borrowed host memory passes through pinned
/// memory, and one thread alone cannot fill a link.
impl<D: Device> Context<D> {
    /// The most threads that help the calling thread to copy borrowed host memory.
    ///
    /// The default is the number of processors of this process, but at most 10, and 0 if there is
    /// only one processor. They start with the first copy that is large enough (2 MiB), sleep
    /// between copies, and end with the context.
    #[must_use]
    pub fn transfer_threads(&self) -> usize {
        self.0.staging.copy_pool.most()
    }

    /// Changes the number of threads, for copies that begin later. With 0, the calling thread
    /// copies alone. Does not synchronize.
    ///
    /// The number changes only the speed of such copies. The operations submitted to the device,
    /// and their order, do not depend on it.
    ///
    /// ```
    /// use devarray::{Array, Context};
    ///
    /// let context = Context::new(devarray_mock::MockDevice::new())?;
    /// context.set_transfer_threads(0); // this program has better use for its other processors
    /// let stream = context.stream()?;
    /// let a = Array::from_slice(&stream, &[1 << 20], &vec![1_u8; 1 << 20])?;
    /// assert_eq!(a.to_vec(&stream)?, [1; 1 << 20]);
    /// # Ok::<(), devarray::Error>(())
    /// ```
    pub fn set_transfer_threads(&self, threads: usize) {
        self.0.staging.copy_pool.set_most(threads);
    }
}
