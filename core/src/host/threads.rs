//! Threads that copy borrowed host memory.

use crate::{Context, backend::Device};

/// Threads: a large copy of borrowed host memory passes through pinned memory, and one thread alone
/// cannot fill a link.
impl<D: Device> Context<D> {
    /// Most threads that help the calling thread to copy borrowed host memory.
    ///
    /// There are as many as processors for this process, but at most 10; none if there is one only.
    /// They start with the first copy that is large enough (2 MiB), sleep between copies, and
    /// end with the context.
    #[must_use]
    pub fn transfer_threads(&self) -> usize {
        self.0.staging.copy_pool.most()
    }

    /// Changes it, for copies that begin later; 0: the calling thread alone. Does not synchronize.
    ///
    /// It changes only the speed of such copies: the operations submitted to the device, and their
    /// order, do not depend on it.
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
