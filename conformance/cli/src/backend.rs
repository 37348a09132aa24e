//! The backend on which a command runs.

use anyhow::{Context as _, Error, Result};
use clap::ValueEnum;
use devarray_any::{AnyDevice, ChooseError};
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

impl Backend {
    /// Opens a device of this backend.
    ///
    /// # Errors
    ///
    /// The device does not exist, or cannot be used.
    pub fn open(self) -> Result<AnyDevice> {
        let device = match self {
            Self::Mock => MockDevice::new().into(),
            Self::Host => HostDevice::new().into(),
            Self::Cuda => CudaDevice::open(0).context("no CUDA device can be used")?.into(),
            Self::Auto => AnyDevice::best().map_err(|error| match error {
                ChooseError::Open { error, .. } => {
                    Error::new(*error).context("the CUDA device cannot be used")
                }
                error => error.into(),
            })?,
        };
        Ok(device)
    }

    /// Opens a device of this backend; the host and the simulator have `memory_bytes` of memory.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
    pub fn open_within(self, memory_bytes: usize) -> Result<AnyDevice> {
        let device = self.open()?;
        if device.as_mock().is_some() {
            return Ok(MockDevice::builder().memory_limit_bytes(memory_bytes).build().into());
        }
        if device.as_host().is_some() {
            return Ok(HostDevice::builder().capacity_bytes(memory_bytes).build().into());
        }
        Ok(device)
    }
}

/// Fewer devices than ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{ranks} ranks need as many CUDA devices, and there are {devices}")]
#[non_exhaustive]
pub struct TooFewDevices {
    /// The ranks asked for.
    pub ranks: usize,
    /// The devices that there are.
    pub devices: usize,
}

/// Refuses more ranks than there are devices.
///
/// # Errors
///
/// There are fewer.
pub fn enough_devices(ranks: usize, devices: usize) -> Result<(), TooFewDevices> {
    if devices < ranks { Err(TooFewDevices { ranks, devices }) } else { Ok(()) }
}
