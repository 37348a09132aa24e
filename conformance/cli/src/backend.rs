//! Which backend runs a command.

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use devarray::{Error, backend::Compute};
use devarray_cuda::CudaDevice;
use devarray_host::HostDevice;
use devarray_mock::MockDevice;

/// A backend as it is named on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[non_exhaustive]
pub enum Backend {
    /// CUDA if a device is there, else the host.
    #[default]
    Auto,
    /// The first CUDA device.
    Cuda,
    /// The CPU, with `DEVARRAY_THREADS` threads, or as many as the machine has.
    Host,
    /// The simulator in host memory.
    Mock,
}

/// Work that can be done on any device. A closure cannot be generic; this can.
pub trait Job {
    /// What it gives.
    type Output;

    /// Does it.
    ///
    /// # Errors
    ///
    /// Whatever it fails with.
    fn run<D: Compute>(self, device: D) -> Result<Self::Output>;
}

impl Backend {
    /// Opens a device of this backend and does `job` on it.
    ///
    /// # Errors
    ///
    /// The device is not there, or the error of the job.
    pub fn run<J: Job>(self, job: J) -> Result<J::Output> {
        self.run_on(job, HostDevice::new, MockDevice::new)
    }

    /// As [`run`](Self::run); the host and the simulator have `memory_bytes` of memory.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_within<J: Job>(self, memory_bytes: usize, job: J) -> Result<J::Output> {
        let host = || HostDevice::builder().capacity_bytes(memory_bytes).build();
        self.run_on(job, host, || MockDevice::builder().memory_limit_bytes(memory_bytes).build())
    }

    fn run_on<J: Job>(
        self,
        job: J,
        host: impl FnOnce() -> HostDevice,
        mock: impl FnOnce() -> MockDevice,
    ) -> Result<J::Output> {
        match self {
            Self::Mock => job.run(mock()),
            Self::Host => job.run(host()),
            Self::Cuda => job.run(open_cuda().context("no CUDA device can be used")?),
            Self::Auto => match open_cuda() {
                Ok(device) => job.run(device),
                Err(Error::Unavailable { .. }) => job.run(host()),
                Err(error) => Err(error).context("the CUDA device cannot be used"),
            },
        }
    }
}

fn open_cuda() -> devarray::Result<CudaDevice> {
    CudaDevice::open(0)
}
