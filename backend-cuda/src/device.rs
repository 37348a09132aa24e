//! The device handle.
#![allow(unsafe_code)] // vouches for the contract of the traits

mod collect;
mod compute;
#[cfg(feature = "cudarc")]
mod cudarc_function;
mod declared_kernels;
mod foreign;
mod host_kinds;
mod ipc;
mod open;
mod peer;
mod pool;
mod stream;
mod symbols;
mod timing;

use std::{fmt, num::NonZeroUsize, sync::Arc};

use devarray::{
    Error, Result,
    backend::{Capability, Device, DeviceInfo, HostFlags, MemoryInfo},
};

pub use collect::CudaCommunicator;
pub use foreign::CudaAdopted;
pub use host_kinds::{CudaManagedBuffer, CudaRegistration};
pub use ipc::{CudaExportable, CudaOpened};
pub use stream::CudaStream;
pub use symbols::CudaModule;

use crate::{
    context::Context,
    driver::{BACKEND, Driver},
    event::CudaEvent,
    memory::{CudaBuffer, CudaHostBuffer},
};
use open::OpenDevice;

/// An NVIDIA device.
///
/// A handle: cheap to clone. All handles of one device in a process share one context, the device's
/// primary one, which other libraries of the process share too. When the last object that was made
/// from a device is dropped, it waits for the device's work and releases the context.
///
/// ```no_run
/// use devarray::backend::Device;
/// use devarray_cuda::CudaDevice;
///
/// let device = CudaDevice::open(0)?;
/// println!("{} with {} bytes", device.info().name, device.memory()?.total_bytes);
/// # Ok::<(), devarray::Error>(())
/// ```
#[derive(Clone)]
pub struct CudaDevice {
    context: Arc<Context>,
    open: Arc<OpenDevice>,
}

impl CudaDevice {
    /// Opens device `ordinal`, counted from 0 among the [`devices`](crate::devices).
    ///
    /// The first time in a process this makes the device's context, which takes a fraction of a
    /// second.
    ///
    /// # Errors
    ///
    /// - [`Error::Unavailable`]: there is no driver, the driver is too old, the device does not
    ///   exist, or this backend cannot use it.
    /// - [`Error::OutOfMemory`]: there is no room for a context.
    /// - [`Error::DeviceLost`], [`Error::Driver`]: the driver reported an error.
    pub fn open(ordinal: usize) -> Result<Self> {
        Self::open_with(&Driver::load()?, ordinal)
    }

    /// Opens device `ordinal` of another driver; for tests.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
    pub fn open_with(driver: &Arc<Driver>, ordinal: usize) -> Result<Self> {
        let (context, open) = Context::open(driver, ordinal, OpenDevice::new)?;
        Ok(Self { context, open })
    }

    /// The driver through which it was opened.
    #[must_use]
    pub fn driver(&self) -> &Arc<Driver> {
        self.context.driver()
    }

    fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Returns an error if the device lacks a capability.
    pub(crate) fn check(&self, operation: &'static str, capability: Capability) -> Result<()> {
        if self.info().capabilities.extras.has(capability) {
            return Ok(());
        }
        Err(Error::Unsupported { backend: BACKEND, operation, capability })
    }
    /// Takes the errors that no call could return, from all devices of the driver, like
    /// [`Driver::take_errors`].
    #[must_use]
    pub fn take_errors(&self) -> Vec<Error> {
        self.driver().take_errors()
    }
}

// SAFETY: the four promises, one by one.
// - Order: all work goes to streams of the driver, which run theirs in order (CUDA C++ Programming
//   Guide, "Streams").
// - Confinement: core's plans are lowered to the same bytes; tests compare each class with
//   `Plan::runs`.
// - Quiescence: only the driver's success gives `Done` and `true`; any failed wait is `Unknown`.
// - Progress: the driver runs what was enqueued, or fails a wait for it.
unsafe impl Device for CudaDevice {
    type Buffer = CudaBuffer;
    type HostBuffer = CudaHostBuffer;
    type Event = CudaEvent;
    type Stream = CudaStream;

    fn info(&self) -> &DeviceInfo {
        self.context.info()
    }

    fn memory(&self) -> Result<MemoryInfo> {
        self.open.streams.memory(&self.context, "memory")
    }

    fn open_stream(&self) -> Result<CudaStream> {
        CudaStream::open(self)
    }

    fn alloc_host(&self, len_bytes: NonZeroUsize) -> Result<CudaHostBuffer> {
        CudaHostBuffer::alloc(&self.context, len_bytes, HostFlags::new().portable())
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaDevice({:?})", self.context)
    }
}
