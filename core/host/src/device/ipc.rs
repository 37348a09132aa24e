//! Sharing with other processes, which the device does not do: every call says so.
#![allow(unsafe_code)] // implements an unsafe trait by refusing; performs no unsafe operation

use std::{convert::Infallible, num::NonZeroUsize, ops::Range, process};

use devarray::{
    Error, Result,
    backend::{Capability, Ipc, IpcMemory, IpcToken},
};

use super::HostDevice;
use crate::{HostEvent, HostStream, backend::BACKEND, memory::DeviceMemory};

/// What the device shares with other processes: nothing, so there is no value of it.
pub type HostNothing = Infallible;

fn refused<T>(operation: &'static str) -> Result<T> {
    Err(Error::Unsupported { backend: BACKEND, operation, capability: Capability::Ipc })
}

// SAFETY: nothing is shared.
unsafe impl Ipc for HostDevice {
    type Exportable = HostNothing;
    type Opened = HostNothing;

    fn process(&self) -> u64 {
        process::id().into()
    }

    fn alloc_exportable(&self, _: NonZeroUsize) -> Result<(DeviceMemory, HostNothing)> {
        refused("alloc_exportable")
    }

    fn export_memory(&self, _: &DeviceMemory, _: Range<usize>) -> Result<IpcMemory> {
        refused("export_memory")
    }

    unsafe fn open_memory(&self, _: &IpcMemory) -> Result<(DeviceMemory, HostNothing)> {
        refused("open_memory")
    }

    fn record_exported(&self, _: &HostStream) -> Result<(HostEvent, IpcToken)> {
        refused("record_exported")
    }

    unsafe fn wait_exported(&self, _: &HostStream, _: &IpcToken) -> Result<()> {
        refused("wait_exported")
    }
}
