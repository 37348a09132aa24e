//! The extras of a profiled device: the extras of the device it wraps.
#![allow(unsafe_code)] // implements unsafe traits by forwarding; performs only the unsafe operations asked for

use std::{num::NonZeroUsize, ops::Range, time::Duration};

use super::{Profiled, ProfiledEvent, ProfiledStream, log::Operation};
use crate::{
    Result,
    backend::{
        Advice, AllocHost, CopyOp, ForeignMemory, ForeignStream, Forwarded, HostFlags, Location,
        ManagedMemory, MapHost, PeerAccess, PoolControl, PoolStatistics, RegisterHost, Timing, Wraps,
    },
};

// SAFETY: every event it makes is recorded by a device whose implementor vouches for it.
unsafe impl<D: Timing> Timing for Profiled<D> {
    #[track_caller]
    fn record_timed(&self, stream: &ProfiledStream<D>) -> Result<ProfiledEvent<D>> {
        stream.record_event()
    }

    fn elapsed(&self, from: &ProfiledEvent<D>, to: &ProfiledEvent<D>) -> Result<Option<Duration>> {
        self.device.elapsed(&from.event, &to.event)
    }
}

// SAFETY: forwards to a device whose implementor vouches for it.
unsafe impl<D: Timing + AllocHost> AllocHost for Profiled<D> {
    #[track_caller]
    fn alloc_host_as(&self, len_bytes: NonZeroUsize, flags: HostFlags) -> Result<D::HostBuffer> {
        self.device.alloc_host_as(len_bytes, flags)
    }

    #[track_caller]
    fn note_slow_read(memory: &D::HostBuffer) {
        D::note_slow_read(memory);
    }
}

// SAFETY: forwards to a device whose implementor vouches for it.
unsafe impl<D: Timing + MapHost> MapHost for Profiled<D> {
    #[track_caller]
    fn map_host(&self, memory: &D::HostBuffer) -> Result<D::Buffer> {
        self.device.map_host(memory)
    }
}

// SAFETY: forwards to a device whose implementor vouches for it.
unsafe impl<D: Timing + RegisterHost> RegisterHost for Profiled<D> {
    type Registration = D::Registration;

    #[track_caller]
    unsafe fn register_host(&self, start: *mut u8, len_bytes: NonZeroUsize) -> Result<D::Registration> {
        // SAFETY: what the caller promises is what the device asks.
        unsafe { self.device.register_host(start, len_bytes) }
    }

    #[track_caller]
    fn unregister_host(&self, registration: D::Registration) -> Result<()> {
        self.device.unregister_host(registration)
    }
}

// SAFETY: forwards to a device whose implementor vouches for it.
unsafe impl<D: Timing + ManagedMemory> ManagedMemory for Profiled<D> {
    type ManagedBuffer = D::ManagedBuffer;

    #[track_caller]
    fn alloc_managed(&self, len_bytes: NonZeroUsize) -> Result<D::ManagedBuffer> {
        self.device.alloc_managed(len_bytes)
    }

    #[track_caller]
    fn managed_buffer(&self, memory: &D::ManagedBuffer) -> Result<D::Buffer> {
        self.device.managed_buffer(memory)
    }

    #[track_caller]
    unsafe fn prefetch(
        &self,
        stream: &ProfiledStream<D>,
        buffer: &D::Buffer,
        bytes: Range<usize>,
        to: Location,
    ) -> Result<()> {
        let operation = Operation::new("prefetch", crate::backend::call_location()).bytes(bytes.len());
        // SAFETY: as the caller promises
        stream.enqueue(operation, |stream| unsafe { self.device.prefetch(stream, buffer, bytes, to) })
    }

    unsafe fn advise(&self, buffer: &D::Buffer, bytes: Range<usize>, advice: Advice) -> Result<()> {
        // SAFETY: as the caller promises
        unsafe { self.device.advise(buffer, bytes, advice) }
    }
}

// SAFETY: forwards to a device whose implementor vouches for it.
unsafe impl<D: Timing + ForeignMemory> ForeignMemory for Profiled<D> {
    type Adopted = D::Adopted;

    #[track_caller]
    unsafe fn adopt(&self, start: u64, bytes: Range<usize>) -> Result<(D::Buffer, D::Adopted)> {
        // SAFETY: what the caller promises is what the device asks.
        unsafe { self.device.adopt(start, bytes) }
    }

    #[track_caller]
    unsafe fn adopt_unchecked(&self, start: u64, bytes: Range<usize>) -> Result<(D::Buffer, D::Adopted)> {
        // SAFETY: what the caller promises is what the device asks.
        unsafe { self.device.adopt_unchecked(start, bytes) }
    }

    #[track_caller]
    fn wait_for_foreign(&self, stream: &ProfiledStream<D>, other: ForeignStream) -> Result<()> {
        let operation = Operation::new("wait", crate::backend::call_location());
        stream.enqueue(operation, |stream| self.device.wait_for_foreign(stream, other))
    }

    #[track_caller]
    fn foreign_waits(&self, other: ForeignStream, stream: &ProfiledStream<D>) -> Result<()> {
        self.device.foreign_waits(other, stream.stream())
    }
}

impl<D: Timing + PoolControl> PoolControl for Profiled<D> {
    fn pool_statistics(&self) -> Result<PoolStatistics> {
        self.device.pool_statistics()
    }

    fn reset_pool_peaks(&self) -> Result<()> {
        self.device.reset_pool_peaks()
    }

    fn set_pool_release_threshold(&self, len_bytes: usize) -> Result<()> {
        self.device.set_pool_release_threshold(len_bytes)
    }

    fn trim_pool(&self, keep_bytes: usize) -> Result<()> {
        self.device.trim_pool(keep_bytes)
    }
}

// SAFETY: forwards to a device whose implementor vouches for it.
unsafe impl<D: Timing + PeerAccess> PeerAccess for Profiled<D> {
    fn can_access_peer(&self, peer: &Self) -> Result<bool> {
        self.device.can_access_peer(&peer.device)
    }

    fn enable_peer_access(&self, peer: &Self) -> Result<()> {
        self.device.enable_peer_access(&peer.device)
    }

    fn reaches_peer(&self, peer: &Self) -> bool {
        self.device.reaches_peer(&peer.device)
    }

    #[track_caller]
    fn copy_from_peer(&self, stream: &ProfiledStream<D>, op: &CopyOp<'_, D::Buffer>) -> Result<()> {
        let operation = Operation::new("copy", crate::backend::call_location()).bytes(op.plan().len_bytes());
        stream.enqueue(operation, |stream| self.device.copy_from_peer(stream, op))
    }

    #[track_caller]
    fn wait_for_peer(&self, stream: &ProfiledStream<D>, event: &ProfiledEvent<D>) -> Result<()> {
        let operation = Operation::new("wait", crate::backend::call_location());
        stream.enqueue(operation, |stream| self.device.wait_for_peer(stream, &event.event))
    }
}

// SAFETY: the call is made once, between two events, which touch nothing.
unsafe impl<D: Timing> Wraps for Profiled<D> {
    type Inner = D;

    fn inner(&self) -> &D {
        &self.device
    }

    #[track_caller]
    fn forward(
        &self,
        stream: &ProfiledStream<D>,
        Forwarded { name, len_bytes, .. }: Forwarded,
        call: impl FnOnce(&D, &D::Stream) -> Result<()>,
    ) -> Result<()> {
        let operation = Operation::new(name, crate::backend::call_location()).bytes(len_bytes);
        stream.enqueue(operation, |stream| call(&self.device, stream))
    }
}

crate::capabilities!(impl[D: Timing] Profiled<D>: forward Maps, Reduces, Fuses, Gathers, Orders, Products, Launch);
