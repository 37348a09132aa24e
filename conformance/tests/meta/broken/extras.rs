//! The extras of a broken device: wrong in their effects, or in whether they are declared.
#![allow(unsafe_code)] // implements unsafe traits, wrongly on purpose, over a backend whose memory is its own

use std::{mem::ManuallyDrop, num::NonZeroUsize, ops::Range, sync::PoisonError, time::Duration};

use devarray::{
    Error, Result,
    backend::{
        Advice, AllocHost, Capability, CopyOp, Device, ForeignMemory, ForeignStream, HostBuffer, HostFlags,
        Ipc, IpcMemory, IpcToken, Location, ManagedMemory, MapHost, PeerAccess, PoolControl, PoolStatistics,
        RegisterHost, Timing,
    },
};

use super::{Broken, BrokenEvent, BrokenStream, Bug, Kept, Placed, driver};

/// A registered range, with the inner device's registration.
#[derive(Debug)]
pub(crate) struct Registered<R>(R, Range<usize>);

impl<D: Device> Broken<D> {
    /// Refuses a declared operation, if that is the bug.
    pub(super) fn lie(&self, operation: &'static str, capability: Capability) -> Result<()> {
        if self.bug == Bug::ExtrasDeclaredButRefused {
            return Err(Error::Unsupported { backend: "broken", operation, capability });
        }
        Ok(())
    }
}

// SAFETY: no promise is kept; only used over a simulator, which checks every access to device
// memory.
unsafe impl<D: Timing> Timing for Broken<D> {
    fn record_timed(&self, stream: &BrokenStream<D>) -> Result<BrokenEvent<D>> {
        self.lie("record_timed", Capability::EventTiming)?;
        let on = stream.unless(self.bug == Bug::TimedRecordCapturesNothing);
        Ok(stream.event(self.inner.record_timed(on)?))
    }

    fn elapsed(&self, from: &BrokenEvent<D>, to: &BrokenEvent<D>) -> Result<Option<Duration>> {
        let elapsed = self.inner.elapsed(&from.inner, &to.inner)?;
        Ok(if self.bug == Bug::TimeStandsStill { elapsed.map(|_| Duration::ZERO) } else { elapsed })
    }
}

// SAFETY: the wrapped memory keeps the promises, and is never freed.
unsafe impl<D: AllocHost> AllocHost for Broken<D> {
    fn alloc_host_as(&self, len_bytes: NonZeroUsize, flags: HostFlags) -> Result<Kept<D>> {
        if flags.mapped {
            self.lie("alloc_host", Capability::MappedMemory)?;
        }
        self.inner.alloc_host_as(len_bytes, flags).map(Kept::new)
    }
}

// SAFETY: as for the device.
unsafe impl<D: MapHost> MapHost for Broken<D> {
    fn map_host(&self, memory: &Kept<D>) -> Result<Placed<D::Buffer>> {
        if self.bug != Bug::MappedIsACopy {
            return self.inner.map_host(&memory.0).map(|buffer| Placed::new(buffer, self.bug));
        }
        let len_bytes = NonZeroUsize::new(memory.len_bytes()).expect("mapped memory is not empty");
        let other = ManuallyDrop::new(self.inner.alloc_host_as(len_bytes, HostFlags::new().mapped())?);
        self.inner.map_host(&other).map(|buffer| Placed::new(buffer, self.bug))
    }
}

// SAFETY: as for the device.
unsafe impl<D: RegisterHost> RegisterHost for Broken<D> {
    type Registration = Registered<D::Registration>;

    unsafe fn register_host(&self, start: *mut u8, len_bytes: NonZeroUsize) -> Result<Self::Registration> {
        self.lie("register_host", Capability::RegisteredMemory)?;
        let range = start.addr()..start.addr() + len_bytes.get();
        let mut registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        let overlaps = registered.iter().any(|other| other.start < range.end && range.start < other.end);
        if overlaps && self.bug == Bug::RegisterRefusesOverlap {
            return Err(driver("register_host", "ALREADY_REGISTERED"));
        }
        registered.push(range.clone());
        // SAFETY: the caller's promise, passed on.
        Ok(Registered(unsafe { self.inner.register_host(start, len_bytes) }?, range))
    }

    fn unregister_host(&self, Registered(inner, range): Self::Registration) -> Result<()> {
        let mut registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner);
        let at = registered.iter().position(|other| *other == range);
        registered.swap_remove(at.expect("what is unregistered was registered"));
        self.inner.unregister_host(inner)?;
        if self.bug == Bug::UnregisterFails {
            Err(driver("unregister_host", "NOT_REGISTERED"))
        } else {
            Ok(())
        }
    }
}

// SAFETY: as for the device.
unsafe impl<D: ManagedMemory> ManagedMemory for Broken<D> {
    type ManagedBuffer = D::ManagedBuffer;

    fn alloc_managed(&self, len_bytes: NonZeroUsize) -> Result<D::ManagedBuffer> {
        self.lie("alloc_managed", Capability::ManagedMemory)?;
        self.inner.alloc_managed(len_bytes).map_err(|error| match error {
            Error::OutOfMemory { .. } if self.bug == Bug::ManagedOutOfMemoryMislabelled => {
                driver("alloc_managed", "NO_MEMORY")
            }
            error => error,
        })
    }

    fn managed_buffer(&self, memory: &D::ManagedBuffer) -> Result<Placed<D::Buffer>> {
        if self.bug != Bug::ManagedIsACopy {
            return self.inner.managed_buffer(memory).map(|buffer| Placed::new(buffer, self.bug));
        }
        let len_bytes = NonZeroUsize::new(memory.len_bytes()).expect("managed memory is not empty");
        let other = ManuallyDrop::new(self.inner.alloc_managed(len_bytes)?);
        self.inner.managed_buffer(&other).map(|buffer| Placed::new(buffer, self.bug))
    }

    unsafe fn prefetch(
        &self,
        stream: &BrokenStream<D>,
        buffer: &Placed<D::Buffer>,
        bytes: Range<usize>,
        to: Location,
    ) -> Result<()> {
        // SAFETY: as the caller promises
        unsafe { self.inner.prefetch(&stream.inner, &buffer.inner, bytes, to) }
    }

    unsafe fn advise(&self, buffer: &Placed<D::Buffer>, bytes: Range<usize>, advice: Advice) -> Result<()> {
        // SAFETY: as the caller promises
        unsafe { self.inner.advise(&buffer.inner, bytes, advice) }
    }
}

// SAFETY: as for the device.
unsafe impl<D: ForeignMemory> ForeignMemory for Broken<D> {
    type Adopted = D::Adopted;

    unsafe fn adopt(&self, start: u64, bytes: Range<usize>) -> Result<(Placed<D::Buffer>, D::Adopted)> {
        self.lie("adopt", Capability::ForeignMemory)?;
        let ahead = if self.bug == Bug::AdoptsWhatLiesBehind { 256 } else { 0 };
        // SAFETY: the caller's promise, passed on, or other memory of the simulator's own.
        match unsafe { self.inner.adopt(start + ahead, bytes) } {
            Ok((buffer, adopted)) => Ok((Placed::new(buffer, self.bug), adopted)),
            Err(_) if self.bug == Bug::AdoptMislabelled => Err(Error::Unsupported {
                backend: "broken",
                operation: "adopt",
                capability: Capability::ForeignMemory,
            }),
            Err(error) => Err(error),
        }
    }

    unsafe fn adopt_unchecked(
        &self,
        start: u64,
        bytes: Range<usize>,
    ) -> Result<(Placed<D::Buffer>, D::Adopted)> {
        let ahead = if self.bug == Bug::AdoptsUncheckedWhatLiesBehind { 256 } else { 0 };
        // SAFETY: the caller's promise, passed on, or other memory of the simulator's own.
        unsafe { self.adopt(start + ahead, bytes) }
    }

    fn wait_for_foreign(&self, stream: &BrokenStream<D>, other: ForeignStream) -> Result<()> {
        self.lie("wait_for_foreign", Capability::ForeignMemory)?;
        match self.bug {
            Bug::ForeignWaitIgnored => Ok(()),
            Bug::ThreadStreamIsNoStream if other == ForeignStream::PER_THREAD => Ok(()),
            _ => self.inner.wait_for_foreign(&stream.inner, other),
        }
    }

    fn foreign_waits(&self, other: ForeignStream, stream: &BrokenStream<D>) -> Result<()> {
        self.lie("foreign_waits", Capability::ForeignMemory)?;
        let waits = self.bug != Bug::ForeignWaitsForNothing;
        if waits { self.inner.foreign_waits(other, &stream.inner) } else { Ok(()) }
    }
}

impl<D: PoolControl> PoolControl for Broken<D> {
    fn pool_statistics(&self) -> Result<PoolStatistics> {
        self.lie("pool_statistics", Capability::MemoryPool)?;
        let mut statistics = self.inner.pool_statistics()?;
        match self.bug {
            Bug::PoolCountsNothing => statistics.used_bytes = 0,
            Bug::PoolForgetsPeaks => statistics.peak_used_bytes = 0,
            _ => {}
        }
        Ok(statistics)
    }

    fn reset_pool_peaks(&self) -> Result<()> {
        self.inner.reset_pool_peaks()
    }

    fn set_pool_release_threshold(&self, len_bytes: usize) -> Result<()> {
        self.inner.set_pool_release_threshold(len_bytes)
    }

    fn trim_pool(&self, keep_bytes: usize) -> Result<()> {
        self.inner.trim_pool(keep_bytes)
    }
}

// SAFETY: as for the device.
unsafe impl<D: PeerAccess> PeerAccess for Broken<D> {
    fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        self.inner.can_access_peer(&peer.inner)
    }

    fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        self.lie("enable_peer_access", Capability::PeerAccess)?;
        self.inner.enable_peer_access(&peer.inner)
    }

    fn reaches_peer(&self, peer: &Self) -> bool {
        self.inner.reaches_peer(&peer.inner)
    }

    fn copy_from_peer(&self, stream: &BrokenStream<D>, op: &CopyOp<'_, Placed<D::Buffer>>) -> Result<()> {
        if self.bug == Bug::PeerCopyDoesNothing {
            return Ok(());
        }
        // SAFETY: the same operation.
        let op = unsafe { CopyOp::new_unchecked(&op.dst().inner, &op.src().inner, op.plan()) };
        self.inner.copy_from_peer(stream.unless(self.bug == Bug::PeerCopiesOutOfOrder), &op)
    }

    fn wait_for_peer(&self, stream: &BrokenStream<D>, event: &BrokenEvent<D>) -> Result<()> {
        if self.bug == Bug::PeerWaitIgnored {
            return Ok(());
        }
        self.inner.wait_for_peer(&stream.inner, &event.inner)
    }
}

// SAFETY: as for the device.
unsafe impl<D: Ipc> Ipc for Broken<D> {
    type Exportable = D::Exportable;
    type Opened = D::Opened;

    fn process(&self) -> u64 {
        self.inner.process()
    }

    fn alloc_exportable(&self, len_bytes: NonZeroUsize) -> Result<(Placed<D::Buffer>, D::Exportable)> {
        self.lie("alloc_exportable", Capability::Ipc)?;
        let (buffer, exportable) = self.inner.alloc_exportable(len_bytes)?;
        Ok((Placed::new(buffer, self.bug), exportable))
    }

    fn export_memory(&self, buffer: &Placed<D::Buffer>, bytes: Range<usize>) -> Result<IpcMemory> {
        self.inner.export_memory(&buffer.inner, bytes)
    }

    unsafe fn open_memory(&self, memory: &IpcMemory) -> Result<(Placed<D::Buffer>, D::Opened)> {
        // SAFETY: the caller's promise, passed on.
        let (buffer, opened) = unsafe { self.inner.open_memory(memory) }?;
        Ok((Placed::new(buffer, self.bug), opened))
    }

    fn record_exported(&self, stream: &BrokenStream<D>) -> Result<(BrokenEvent<D>, IpcToken)> {
        let on = stream.unless(self.bug == Bug::ExportedEventCapturesNothing);
        let (event, token) = self.inner.record_exported(on)?;
        Ok((stream.event(event), token))
    }

    unsafe fn wait_exported(&self, stream: &BrokenStream<D>, event: &IpcToken) -> Result<()> {
        let on = stream.unless(self.bug == Bug::ExportedWaitIgnored);
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.wait_exported(on, event) }
    }
}
