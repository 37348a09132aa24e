//! Host memory that the simulated device reads and writes by itself.
#![allow(unsafe_code)] // owns memory by raw pointer

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    num::NonZeroUsize,
    ops::Range,
    panic::Location,
    ptr::NonNull,
    sync::Arc,
};

use devarray::{
    Error,
    backend::{HostBuffer, HostFlags},
};

use super::shared::Shared;
use crate::{
    backend::BACKEND,
    engine::{Bytes, Engine, HostBytes, HostUse, Reserved},
};

/// Simulated pinned memory: host memory that is aligned to 64 bytes and owned by a raw pointer, so
/// that moving the owner while a copy is in flight is defined.
pub struct MockHostBuffer {
    shared: Arc<Shared>,
    start: NonNull<u8>,
    layout: Layout,
    number: u64,
    pub(crate) kind: HostUse,
    /// Its place among the device's memories, if the device reaches it in place.
    pub(crate) place: Option<Reserved>,
}

// SAFETY: the value owns the memory, and its methods only tell where it lies; an access through the
// pointer is `unsafe` code of the caller.
unsafe impl Send for MockHostBuffer {}
// SAFETY: as for `Send`: a shared reference gives no access to the memory.
unsafe impl Sync for MockHostBuffer {}

impl MockHostBuffer {
    /// Zeroed memory; none if the host has no more, or the size is too large to be addressed or
    /// over the limit.
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
            // away from the memory while operations use it.
            let bytes = Bytes::Host(unsafe { HostBytes::new(start, len_bytes.get()) });
            buffer.place = engine.lend(bytes, location);
        }
        Some(buffer)
    }

    /// The addresses of its bytes.
    pub(crate) fn addresses(&self) -> Range<usize> {
        self.addresses_of(0..self.layout.size())
    }

    /// The addresses of some of its bytes. A range that begins outside is taken from the last byte
    /// on, so that it is clear which memory is exceeded.
    pub(crate) fn addresses_of(&self, bytes: Range<usize>) -> Range<usize> {
        let start = self.start.addr().get();
        let first = bytes.start.min(self.layout.size() - 1);
        start + first..start.saturating_add(bytes.end.max(first))
    }

    /// The flags of its allocation.
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
            engine.take_back(place.buffer, devarray::backend::call_location());
        }
        let is_unused =
            engine.close_host_buffer(self.number, &self.addresses(), devarray::backend::call_location());
        drop(engine);
        // An operation in flight still uses the memory, which is a mistake that was found. The
        // memory is leaked, so that the program survives to report it.
        if is_unused {
            // SAFETY: `start` came from `alloc_zeroed` with this layout, and is freed once. No
            // operation in flight uses the memory.
            unsafe { dealloc(self.start.as_ptr(), self.layout) }
        }
    }
}

// SAFETY: the memory is zeroed, aligned to 64, owned by a raw pointer, and not moved until drop.
unsafe impl HostBuffer for MockHostBuffer {
    fn len_bytes(&self) -> usize {
        self.layout.size()
    }

    fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

/// The host has no more memory, or no more that may be pinned.
pub(super) fn out_of_host_memory(operation: &'static str, len_bytes: NonZeroUsize) -> Error {
    Error::out_of_memory(BACKEND, operation, len_bytes.get(), None)
}
