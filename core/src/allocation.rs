//! Device memory that knows who uses it.

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex},
};

use crate::{
    Result,
    backend::{Buffer, Device, FreeOp, Stream},
    context::{ContextCore, lock},
    order::{Footprint, LaneId, Mode, Touch, Uses},
    stream::StreamCore,
};

/// Bytes of one device, freed in stream order when the last array, view or transfer of them is gone.
///
/// An allocation of zero bytes has no buffer and never reaches the backend.
#[derive(Debug)]
pub(crate) struct Allocation<D: Device> {
    buffer: Option<D::Buffer>,
    len_bytes: usize,
    home: LaneId,
    pub(crate) core: Arc<ContextCore<D>>,
    pub(crate) uses: Mutex<Uses>,
}

impl<D: Device> Allocation<D> {
    /// Allocates on a stream, uninitialized.
    #[track_caller]
    pub(crate) fn new(stream: &StreamCore<D>, len_bytes: usize) -> Result<Self> {
        let (buffer, uses) = match NonZeroUsize::new(len_bytes) {
            None => (None, Uses::default()),
            Some(len) => {
                let mut timeline = lock(&stream.core.timeline);
                let buffer = stream.raw.alloc(len)?;
                // Other streams may use the memory only after the allocation took effect: it counts as a write.
                (Some(buffer), timeline.note_alloc(stream.lane.index, len_bytes))
            }
        };
        let core = Arc::clone(&stream.core);
        Ok(Self { buffer, len_bytes, home: stream.lane, core, uses: Mutex::new(uses) })
    }

    /// Size in bytes.
    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// The memory, which every non-empty operation has.
    pub(crate) fn buffer(&self) -> &D::Buffer {
        self.buffer.as_ref().expect("an operation of zero bytes never asks for its buffer")
    }

    /// The device address, 0 for zero bytes.
    pub(crate) fn address(&self) -> u64 {
        self.buffer.as_ref().map_or(0, Buffer::address)
    }
}

impl<D: Device> Drop for Allocation<D> {
    /// Frees in stream order: after every access, on the home stream if it lives. Does not block.
    fn drop(&mut self) {
        let Some(buffer) = self.buffer.take() else { return };
        let mut timeline = lock(&self.core.timeline);
        let lane = timeline.home_or_internal(self.home);
        let touch = Touch { allocation: &*self, footprint: Footprint::solid(0, self.len_bytes), write: true };
        // If the order could not be made, freeing would pull the memory from under a reader: it stays leaked.
        let freed = timeline.order(lane, Mode::Automatic, "free", &[touch]).and_then(|()| {
            let stream = timeline.stream(lane).expect("home_or_internal names a live lane");
            stream.free(FreeOp { buffer })
        });
        drop(timeline);
        if let Err(error) = freed {
            self.core.report(error);
        }
    }
}
