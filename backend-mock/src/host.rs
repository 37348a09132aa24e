//! Host memory that the simulated device reads and writes by itself.
#![allow(unsafe_code)] // owns memory by raw pointer, and dereferences the pointers of transfers when they run

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    num::NonZeroUsize,
    ops::Range,
    panic::Location,
    ptr::NonNull,
    sync::Arc,
};

use devarray::backend::{DownloadOp, HostBuffer, HostFlags, UploadOp};

use crate::{
    device::Shared,
    engine::{Bytes, Engine, HostBytes, HostUse, Reserved},
    poison::{Poison, repeat},
};

/// Simulated pinned memory: host memory aligned to 64 bytes and owned by raw pointer, so that
/// moving the owner while a copy is in flight is defined.
pub struct MockHostBuffer {
    shared: Arc<Shared>,
    start: NonNull<u8>,
    layout: Layout,
    number: u64,
    pub(crate) kind: HostUse,
    /// The place of the memory among the device's, if the device reaches it in place.
    pub(crate) place: Option<Reserved>,
}

// SAFETY: the value owns the memory, and its methods only tell where it lies; access through the
// pointer is the `unsafe` of whoever does it.
unsafe impl Send for MockHostBuffer {}
// SAFETY: as for `Send`: a shared reference gives no access to the memory.
unsafe impl Sync for MockHostBuffer {}

impl MockHostBuffer {
    /// Zeroed memory; none if the host has no more, the size is beyond what it can address, or over
    /// the limit.
    pub(crate) fn alloc(
        shared: &Arc<Shared>,
        engine: &mut Engine,
        len_bytes: NonZeroUsize,
        kind: HostUse,
        location: &'static Location<'static>,
    ) -> Option<Self> {
        if !engine.has_host_room(len_bytes.get(), kind) {
            return None;
        }
        let layout = Layout::from_size_align(len_bytes.get(), 64).ok()?;
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let addresses = start.addr().get()..start.addr().get() + len_bytes.get();
        let number = engine.open_host_buffer(addresses, kind, location);
        let mut buffer = Self { shared: Arc::clone(shared), start, layout, number, kind, place: None };
        if kind.is_in_place() {
            // SAFETY: `drop` takes the place back before it frees the memory; core keeps the host
            // from it while operations use it.
            let bytes = Bytes::Host(unsafe { HostBytes::new(start, len_bytes.get()) });
            buffer.place = engine.lend(bytes, location);
        }
        Some(buffer)
    }

    /// Its addresses.
    pub(crate) fn addresses(&self) -> Range<usize> {
        self.addresses_of(0..self.layout.size())
    }

    /// The addresses of some of its bytes. If they begin outside, of the last byte and on, so that
    /// it is plain which memory is left.
    pub(crate) fn addresses_of(&self, bytes: Range<usize>) -> Range<usize> {
        let start = self.start.addr().get();
        let first = bytes.start.min(self.layout.size() - 1);
        start + first..start.saturating_add(bytes.end.max(first))
    }

    /// How it was allocated.
    #[must_use]
    pub fn flags(&self) -> HostFlags {
        match self.kind {
            HostUse::Pinned(flags) => flags,
            HostUse::Managed => HostFlags::new(),
        }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for MockHostBuffer {
    fn drop(&mut self) {
        let mut engine = self.shared.engine();
        if let Some(place) = self.place {
            engine.take_back(place.buffer, Location::caller());
        }
        let is_unused = engine.close_host_buffer(self.number, &self.addresses(), Location::caller());
        drop(engine);
        // An operation in flight still uses the memory: that mistake was found. The memory is
        // leaked, so that the program lives to report it.
        if is_unused {
            // SAFETY: `start` came from `alloc_zeroed` with this layout, and is given back once. No
            // operation in flight uses the memory.
            unsafe { dealloc(self.start.as_ptr(), self.layout) }
        }
    }
}

// SAFETY: zeroed, aligned to 64, owned by raw pointer, and never moved until drop.
unsafe impl HostBuffer for MockHostBuffer {
    fn len_bytes(&self) -> usize {
        self.layout.size()
    }

    fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

/// The host side of a transfer that is in flight.
///
/// The pointer is the caller's own, and dereferenced no earlier than the contract of the stream
/// demands: that is what lets AddressSanitizer see host memory that was freed or moved too early.
#[derive(Debug)]
pub(crate) struct HostRange {
    start: *mut u8,
    len_bytes: usize,
}

// SAFETY: the operation it came from promises that the memory may be used from any thread until a
// wait that covers the operation ends.
unsafe impl Send for HostRange {}

impl HostRange {
    /// What an upload reads.
    pub(crate) fn source<B>(op: &UploadOp<'_, B>) -> Self {
        Self { start: op.src().cast_mut(), len_bytes: op.len_bytes() }
    }

    /// What a download writes.
    pub(crate) fn destination<B>(op: &DownloadOp<'_, B>) -> Self {
        Self { start: op.dst(), len_bytes: op.len_bytes() }
    }

    /// Its addresses.
    pub(crate) fn addresses(&self) -> Range<usize> {
        self.start.addr()..self.start.addr().saturating_add(self.len_bytes)
    }

    /// Reads all of it now. What is answered takes its place, and must be kept until the operation
    /// has run.
    ///
    /// # Safety
    ///
    /// Made by [`source`](Self::source) from an operation that is being enqueued.
    pub(crate) unsafe fn stage(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; self.len_bytes];
        // SAFETY: all of the memory of an operation, as the caller promises.
        unsafe { self.read(0, &mut bytes) };
        self.start = bytes.as_mut_ptr();
        bytes
    }

    /// Whether the two share a byte.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let span = |range: &Self| range.start.addr()..range.start.addr().saturating_add(range.len_bytes);
        let (one, two) = (span(self), span(other));
        one.start < two.end && two.start < one.end
    }

    /// Reads the host bytes from `offset_bytes` on.
    ///
    /// # Safety
    ///
    /// Made by [`source`](Self::source) or [`destination`](Self::destination) from an operation
    /// that is in flight: no wait that covers it has ended. `offset_bytes` and `into` lie
    /// inside it.
    pub(crate) unsafe fn read(&self, offset_bytes: usize, into: &mut [u8]) {
        // SAFETY: inside the memory of the operation, as the caller promises.
        let from = unsafe { self.start.add(offset_bytes) };
        // SAFETY: the operation promises that the bytes are valid while it is in flight; device
        // memory, which `into` is part of, is the engine's own allocation.
        unsafe { from.copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) }
    }

    /// Writes the host bytes from `offset_bytes` on.
    ///
    /// # Safety
    ///
    /// Made by [`destination`](Self::destination) from an operation that is in flight: no wait that
    /// covers it has ended. `offset_bytes` and `from` lie inside it.
    pub(crate) unsafe fn write(&self, offset_bytes: usize, from: &[u8]) {
        // SAFETY: inside the memory of the operation, as the caller promises.
        let to = unsafe { self.start.add(offset_bytes) };
        // SAFETY: the operation promises that the bytes are valid and nobody else's while it is in
        // flight; device memory, which `from` is part of, is the engine's own allocation.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) }
    }

    /// Poisons the destination of a download until it has run.
    ///
    /// # Safety
    ///
    /// As [`write`](Self::write), and no other operation in flight uses the memory.
    pub(crate) unsafe fn poison_destination(&self, poison: Poison) {
        let mut block = [0; 4096];
        repeat(&mut block, &poison.bytes(), 0);
        for offset_bytes in (0..self.len_bytes).step_by(block.len()) {
            let len_bytes = block.len().min(self.len_bytes - offset_bytes);
            // SAFETY: inside the memory, as the length of the last piece is cut to it; the rest is
            // the caller's promise.
            unsafe { self.write(offset_bytes, &block[..len_bytes]) }
        }
    }
}
