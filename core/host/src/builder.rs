//! Options for making a device.

use crate::machine;

/// Options of a [`HostDevice`](crate::HostDevice); from
/// [`HostDevice::builder`](crate::HostDevice::builder).
///
/// ```
/// use devarray::Device;
/// use devarray_host::HostDevice;
///
/// let device = HostDevice::builder().capacity_bytes(64 << 20).threads(2).build();
/// assert_eq!(device.memory()?.total_bytes, 64 << 20);
/// # Ok::<(), devarray::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "a builder makes nothing before `build`"]
pub struct Builder {
    pub(crate) capacity_bytes: usize,
    pub(crate) kept_bytes: Option<usize>,
    pub(crate) threads: usize,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self { capacity_bytes: machine::capacity_bytes(), kept_bytes: None, threads: machine::threads() }
    }

    /// Lets the device hand out at most `len_bytes` bytes of device memory and pinned memory together; beyond
    /// that, [`Error::OutOfMemory`](devarray::Error::OutOfMemory). By default, seven eighths of the machine's
    /// memory. The system commits pages when they are first touched.
    pub fn capacity_bytes(self, len_bytes: usize) -> Self {
        Self { capacity_bytes: len_bytes, ..self }
    }

    /// Lets the device keep at most `len_bytes` bytes of freed memory for later. By default, a quarter of the
    /// capacity. [`Context::trim_pool`](devarray::Context::trim_pool) gives it back.
    pub fn kept_bytes(self, len_bytes: usize) -> Self {
        Self { kept_bytes: Some(len_bytes), ..self }
    }

    /// Lets `count` threads compute, including the calling thread; 1 starts none. By default, the value of
    /// the variable `DEVARRAY_THREADS`, or else the machine's number of threads. Results do not depend on it.
    pub fn threads(self, count: usize) -> Self {
        Self { threads: machine::limited(count), ..self }
    }
}
