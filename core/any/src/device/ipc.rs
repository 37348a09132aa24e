//! Memory and events of other processes.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding

use std::{num::NonZeroUsize, ops::Range};

use devarray::{
    Result,
    backend::{Ipc, IpcMemory, IpcToken},
};

use super::AnyDevice;
use crate::{AnyBuffer, AnyEvent, AnyStream, buffer::BufferRef, stream::mixed};

each_backend!(one_of_each! {
    /// Exportable memory of an [`AnyDevice`].
    AnyExportable: [devarray_cuda::CudaExportable, devarray_host::HostExportable, devarray_mock::MockExportable]
});

each_backend!(one_of_each! {
    /// Memory of another process that an [`AnyDevice`] opened.
    AnyOpened: [devarray_cuda::CudaOpened, devarray_host::HostOpened, devarray_mock::MockOpened]
});

// SAFETY: forwards to a device whose implementor vouches for it, or does nothing.
unsafe impl Ipc for AnyDevice {
    type Exportable = AnyExportable;
    type Opened = AnyOpened;

    #[inline]
    fn process(&self) -> u64 {
        on_each!((Self, self, device) => device.process())
    }

    #[inline]
    #[track_caller]
    fn alloc_exportable(&self, len_bytes: NonZeroUsize) -> Result<(AnyBuffer, AnyExportable)> {
        on_each!((Self, self, device) => {
            let (buffer, memory) = device.alloc_exportable(len_bytes)?;
            Ok((buffer.into(), memory.into()))
        })
    }

    #[inline]
    #[track_caller]
    fn export_memory(&self, buffer: &AnyBuffer, bytes: Range<usize>) -> Result<IpcMemory> {
        on_each!((Self, self, device), (BufferRef, buffer.one(), buffer) => device.export_memory(buffer, bytes),
            else Err(mixed(self.backend(), "export_memory")))
    }

    #[inline]
    #[track_caller]
    unsafe fn open_memory(&self, memory: &IpcMemory) -> Result<(AnyBuffer, AnyOpened)> {
        on_each!((Self, self, device) => {
            // SAFETY: what the caller promises is what the device asks.
            let (buffer, opened) = unsafe { device.open_memory(memory) }?;
            Ok((buffer.into(), opened.into()))
        })
    }

    #[inline]
    #[track_caller]
    fn record_exported(&self, stream: &AnyStream) -> Result<(AnyEvent, IpcToken)> {
        on_each!((Self, self, device), (AnyStream, stream, stream) => {
            device.record_exported(stream).map(|(event, token)| (AnyEvent::from(event), token))
        }, else Err(mixed(stream.backend(), "record_exported")))
    }

    #[inline]
    #[track_caller]
    unsafe fn wait_exported(&self, stream: &AnyStream, event: &IpcToken) -> Result<()> {
        on_each!((Self, self, device), (AnyStream, stream, stream) => {
            // SAFETY: what the caller promises is what the device asks.
            unsafe { device.wait_exported(stream, event) }
        }, else Err(mixed(stream.backend(), "wait_exported")))
    }
}
