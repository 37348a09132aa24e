//! Memory in the forms that core knows: device memory and host memory.
#![allow(unsafe_code)] // implements the unsafe traits of memory

use std::{
    mem::ManuallyDrop,
    ptr::{self, NonNull},
    sync::Arc,
};

use devarray::{
    Result,
    backend::{Buffer, HostBuffer},
};

use super::{Block, Room, SharedPages, shared_pages::PagesName};

/// Memory of a [`HostDevice`](crate::HostDevice), aligned to 256 bytes. Dropping it frees nothing.
#[derive(Debug)]
pub struct DeviceMemory {
    start: *mut u8,
    len_bytes: usize,
    source: Source,
}

/// The origin of memory.
#[derive(Debug)]
enum Source {
    /// A block that is freed by giving it back.
    Block(ManuallyDrop<Block>),
    /// Pages that other processes may open.
    Shared(PagesName),
    /// Somebody else, who keeps the memory.
    Lender,
}

// SAFETY: it only tells where memory lies; an access is `unsafe` code of the caller.
unsafe impl Send for DeviceMemory {}
// SAFETY: as for `Send`.
unsafe impl Sync for DeviceMemory {}

impl DeviceMemory {
    pub(crate) fn of(block: Block) -> Self {
        let (start, len_bytes) = (block.start().as_ptr(), block.len_bytes());
        Self { start, len_bytes, source: Source::Block(ManuallyDrop::new(block)) }
    }

    /// Pages that other processes may open; their owner keeps them.
    pub(crate) fn of_shared(pages: &SharedPages, len_bytes: usize) -> Self {
        Self { start: pages.start().as_ptr(), len_bytes, source: Source::Shared(pages.name()) }
    }

    /// Memory of somebody else, who keeps it.
    pub(crate) fn lent(start: *mut u8, len_bytes: usize) -> Self {
        Self { start, len_bytes, source: Source::Lender }
    }

    /// A second handle to the memory, for a caller who knows that the owner keeps it.
    pub(crate) fn again(&self) -> Self {
        Self::lent(self.start, self.len_bytes)
    }

    /// The address at this offset.
    #[inline]
    pub(crate) fn at(&self, offset_bytes: usize) -> *mut u8 {
        self.start.wrapping_add(offset_bytes)
    }

    /// The block to be freed.
    pub(crate) fn into_block(self) -> Option<Block> {
        match self.source {
            Source::Block(block) => Some(ManuallyDrop::into_inner(block)),
            Source::Shared(_) | Source::Lender => None,
        }
    }

    /// Whether nobody else has the memory.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.source, Source::Block(_))
    }

    /// The name by which other processes find it; none if they cannot.
    pub(crate) fn name(&self) -> Option<PagesName> {
        match self.source {
            Source::Shared(name) => Some(name),
            Source::Block(_) | Source::Lender => None,
        }
    }
}

// SAFETY: size and address belong to a block that lives until it is freed, or to memory that its lender
// keeps; blocks do not overlap and are aligned to 256.
unsafe impl Buffer for DeviceMemory {
    fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    fn address(&self) -> u64 {
        self.start.expose_provenance() as u64
    }
}

/// Host memory from a [`HostDevice`](crate::HostDevice): zeroed at first, aligned to 256 bytes. Freed on
/// drop.
#[derive(Debug)]
pub struct HostMemory {
    start: NonNull<u8>,
    len_bytes: usize,
    /// Only `drop` takes it out.
    block: Option<Block>,
    room: Arc<Room>,
}

// SAFETY: as for `DeviceMemory`.
unsafe impl Send for HostMemory {}
// SAFETY: as for `Send`.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    pub(crate) fn alloc(room: &Arc<Room>, operation: &'static str, len_bytes: usize) -> Result<Self> {
        let (block, is_zeroed) = room.alloc(operation, len_bytes)?;
        let start = block.start();
        if !is_zeroed {
            // SAFETY: the block has `len_bytes` bytes, and nobody else has it.
            unsafe { ptr::write_bytes(start.as_ptr(), 0, len_bytes) }
        }
        Ok(Self { start, len_bytes, block: Some(block), room: Arc::clone(room) })
    }

    /// The memory, as a buffer of the device.
    pub(crate) fn as_device(&self) -> DeviceMemory {
        DeviceMemory::lent(self.start.as_ptr(), self.len_bytes)
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.room.free(block);
        }
    }
}

// SAFETY: the memory is zeroed, aligned to 256, and held by a raw pointer.
unsafe impl HostBuffer for HostMemory {
    fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}
