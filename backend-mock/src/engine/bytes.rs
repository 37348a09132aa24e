//! The bytes of an allocation: memory of the engine, or of the host.
#![allow(unsafe_code)] // reaches mapped host memory by its address, as the simulated device does

use std::{mem::MaybeUninit, ops::Range, ptr::NonNull, slice};

use crate::poison::repeat;

/// The bytes that operations read and write.
#[derive(Debug)]
pub(crate) enum Bytes {
    /// Memory of the engine.
    Own(Vec<u8>),
    /// Host memory that the device reaches in place.
    Host(HostBytes),
}

/// Host memory that its owner keeps allocated, and takes back before freeing it. Any thread may use
/// bytes that no operation touches, so there is never a slice of the whole memory.
#[derive(Debug)]
pub(crate) struct HostBytes {
    start: NonNull<u8>,
    len_bytes: usize,
}

// SAFETY: the memory may be accessed from any thread; the contract of operations orders the
// accesses.
unsafe impl Send for HostBytes {}

impl HostBytes {
    /// # Safety
    ///
    /// The bytes are allocated and initialized, and stay so until the engine has dropped the value.
    /// From the start of an operation to a wait for it, nobody else makes a conflicting access to
    /// the bytes that the operation touches. Bytes between these may be accessed by others.
    pub(crate) unsafe fn new(start: NonNull<u8>, len_bytes: usize) -> Self {
        Self { start, len_bytes }
    }
}

impl Bytes {
    /// Reserves memory for an allocation; its pages stay untouched until
    /// [`come_to_be`](Self::come_to_be). None if the host has no more memory.
    pub(super) fn reserve(len_bytes: usize) -> Option<Self> {
        let mut own = Vec::new();
        own.try_reserve_exact(len_bytes).ok()?;
        advise_huge_pages(own.spare_capacity_mut());
        Some(Self::Own(own))
    }

    /// The number of bytes. Does not touch them.
    pub(super) fn len_bytes(&self) -> usize {
        match self {
            Self::Own(bytes) => bytes.len(),
            Self::Host(host) => host.len_bytes,
        }
    }

    /// The whole memory, if it is the engine's own.
    pub(super) fn own(&self) -> Option<&[u8]> {
        match self {
            Self::Own(bytes) => Some(bytes),
            Self::Host(_) => None,
        }
    }

    /// Like [`own`](Self::own), for writing.
    pub(super) fn own_mut(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Own(bytes) => Some(bytes),
            Self::Host(_) => None,
        }
    }

    /// The existing part of a range. The running operation touches every byte of it.
    pub(super) fn part(&self, range: Range<usize>) -> &[u8] {
        let range = self.clipped(range);
        match self {
            Self::Own(bytes) => &bytes[range],
            Self::Host(host) => {
                let start = host.start.as_ptr().wrapping_add(range.start).cast_const();
                // SAFETY: inside the memory, and initialized, as `new` was promised; an operation
                // on these bytes is in flight, so nobody writes them meanwhile.
                unsafe { slice::from_raw_parts(start, range.len()) }
            }
        }
    }

    /// Like [`part`](Self::part), for writing.
    pub(super) fn part_mut(&mut self, range: Range<usize>) -> &mut [u8] {
        let range = self.clipped(range);
        match self {
            Self::Own(bytes) => &mut bytes[range],
            Self::Host(host) => {
                let start = host.start.as_ptr().wrapping_add(range.start);
                // SAFETY: as for `part`; an operation that writes these bytes is in flight, so
                // nobody else touches them, and `&mut self` is the engine's only way to reach them.
                unsafe { slice::from_raw_parts_mut(start, range.len()) }
            }
        }
    }

    fn clipped(&self, range: Range<usize>) -> Range<usize> {
        let end = range.end.min(self.len_bytes());
        range.start.min(end)..end
    }

    /// The address of the first byte, for writing the bytes that an operation touches.
    pub(super) fn start_mut(&mut self) -> *mut u8 {
        match self {
            Self::Own(bytes) => bytes.as_mut_ptr(),
            Self::Host(host) => host.start.as_ptr(),
        }
    }

    /// The address of the first byte on the host, which may not exist yet.
    pub(super) fn start(&self) -> *const u8 {
        match self {
            Self::Own(bytes) => bytes.as_ptr(),
            Self::Host(host) => host.start.as_ptr(),
        }
    }

    pub(super) fn is_lent(&self) -> bool {
        matches!(self, Self::Host(_))
    }

    /// Fills the engine's own memory with `pattern` in one pass: pages do not exist before they are
    /// written.
    pub(super) fn come_to_be(&mut self, len_bytes: usize, pattern: [u8; 8]) {
        if let Self::Own(bytes) = self {
            let mut block = [0; 4096];
            repeat(&mut block, &pattern, 0);
            bytes.clear();
            bytes.reserve_exact(len_bytes);
            while bytes.len() < len_bytes {
                bytes.extend_from_slice(&block[..block.len().min(len_bytes - bytes.len())]);
            }
        }
    }
}

/// Asks for pages of 2 MiB, as NumPy does for its arrays. Writing a large array then takes a 512th
/// of the page faults; they are a quarter of the time of a transposed copy of 2 GiB. A host without
/// such pages ignores this.
fn advise_huge_pages(room: &mut [MaybeUninit<u8>]) {
    const LEAST_BYTES: usize = 4 << 20;
    #[cfg(target_os = "linux")]
    if room.len() >= LEAST_BYTES {
        const PAGE_BYTES: usize = 4096;
        let (start, end) = (room.as_mut_ptr(), room.as_mut_ptr_range().end);
        let first = start.wrapping_add(start.align_offset(PAGE_BYTES));
        let len_bytes = end.addr() - first.addr();
        // SAFETY: the pages lie in memory that only this function borrows; the advice changes how
        // they are mapped, never their content.
        unsafe { libc::madvise(first.cast(), len_bytes, libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (room, LEAST_BYTES);
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}
