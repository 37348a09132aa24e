//! Events that other processes wait for.
#![allow(unsafe_code)] // waits for events as its caller vouches for them

use super::remote::{Origin, RemoteEvent};
use crate::{Result, StreamHandle, backend::Ipc, lock::lock};

/// An event that other processes may wait for, until this is dropped.
#[derive(Debug)]
pub struct ExportedEvent<D: Ipc> {
    remote: RemoteEvent,
    /// Kept, because other processes may still open it.
    _event: D::Event,
}

impl<D: Ipc> ExportedEvent<D> {
    /// The event's name, to be sent.
    #[must_use]
    pub fn event(&self) -> &RemoteEvent {
        &self.remote
    }
}

impl<D: Ipc> StreamHandle<D> {
    /// Captures everything submitted so far, for other processes. Does not synchronize.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`](crate::Error::Unsupported), naming
    /// [`Ipc`](crate::backend::Capability::Ipc): the device exports nothing. Any other device
    /// error; the stream is unchanged.
    pub fn record_exported(&self) -> Result<ExportedEvent<D>> {
        self.0.check_runs("record_exported")?;
        let core = &self.0.core;
        let submission = lock(&core.tracker);
        let (event, token) = core.device.record_exported(&self.0.raw)?;
        drop(submission);
        let remote = RemoteEvent { origin: Origin::of(&core.device), token };
        Ok(ExportedEvent { remote, _event: event })
    }

    /// Makes everything submitted later run after the work that an event of another process
    /// captured. Does not synchronize. The wait orders only this stream; its events can order other
    /// streams.
    ///
    /// # Errors
    ///
    /// - [`Error::Handle`](crate::Error::Handle): this process made the event itself, or it no
    ///   longer exists.
    /// - [`Error::DeviceMismatch`](crate::Error::DeviceMismatch): the event belongs to another
    ///   device, or to another backend.
    /// - Any other device error; the stream is unchanged.
    ///
    /// # Safety
    ///
    /// The name is of an event that the process which made it keeps ([`ExportedEvent`]) until this
    /// returns.
    pub unsafe fn wait_exported(&self, event: &RemoteEvent) -> Result<()> {
        self.0.check_runs("wait_exported")?;
        let core = &self.0.core;
        event.origin.check(&core.device, "wait_exported")?;
        let _submission = lock(&core.tracker);
        // SAFETY: passed on to the caller.
        unsafe { core.device.wait_exported(&self.0.raw, &event.token) }
    }
}
