//! The host side of a transfer.
#![allow(unsafe_code)] // dereferences the pointers of transfers when they run

use std::ops::Range;

use devarray::backend::{DownloadOp, UploadOp};

use crate::poison::{Poison, repeat};

/// The host side of a transfer that is in flight.
///
/// The pointer is the caller's own, and is dereferenced only when the operation runs. So
/// AddressSanitizer sees host memory that was freed or moved too early.
#[derive(Debug)]
pub(crate) struct HostRange {
    start: *mut u8,
    len_bytes: usize,
}

// SAFETY: the operation promises that the memory may be used from any thread until a wait that
// covers the operation ends.
unsafe impl Send for HostRange {}

impl HostRange {
    /// The memory that an upload reads.
    pub(crate) fn source<B>(op: &UploadOp<'_, B>) -> Self {
        Self { start: op.src().cast_mut(), len_bytes: op.len_bytes() }
    }

    /// The memory that a download writes.
    pub(crate) fn destination<B>(op: &DownloadOp<'_, B>) -> Self {
        Self { start: op.dst(), len_bytes: op.len_bytes() }
    }

    /// The addresses of its bytes.
    pub(crate) fn addresses(&self) -> Range<usize> {
        self.start.addr()..self.start.addr().saturating_add(self.len_bytes)
    }

    /// Reads all of it now. The returned bytes take its place, and must be kept until the operation
    /// has run.
    ///
    /// # Safety
    ///
    /// Made by [`source`](Self::source) from an operation that is being enqueued.
    pub(crate) unsafe fn stage(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; self.len_bytes];
        // SAFETY: the whole memory of an operation, as the caller promises.
        unsafe { self.read(0, &mut bytes) };
        self.start = bytes.as_mut_ptr();
        bytes
    }

    /// Whether both share a byte.
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
    /// Like [`write`](Self::write), and no other operation in flight uses the memory.
    pub(crate) unsafe fn poison_destination(&self, poison: Poison) {
        let mut block = [0; 4096];
        repeat(&mut block, &poison.bytes(), 0);
        for offset_bytes in (0..self.len_bytes).step_by(block.len()) {
            let len_bytes = block.len().min(self.len_bytes - offset_bytes);
            // SAFETY: inside the memory, because the last piece is cut to its length; the rest is
            // the caller's promise.
            unsafe { self.write(offset_bytes, &block[..len_bytes]) }
        }
    }
}
