//! Streams, whose operations run in the calling thread.
#![allow(unsafe_code)] // implements the unsafe traits of a stream

mod moves;

pub(crate) use moves::copy_bytes;

use std::{num::NonZeroUsize, sync::Arc};

use devarray::{
    Result,
    backend::{CopyOp, DownloadOp, FillOp, FreeOp, Quiesced, RunsAtOnce, Stream, UploadOp},
};

use crate::{
    HostDevice, HostEvent,
    memory::DeviceMemory,
    order::{Flag, Lane, Point, Stamp, Then, Turn},
    shared::Shared,
};

/// A stream of a [`HostDevice`], or a turn of one.
#[derive(Debug)]
pub struct HostStream {
    lane: Arc<Lane>,
    /// The place of what is enqueued here; none if each operation takes the next.
    turn: Option<Turn>,
}

impl HostStream {
    pub(crate) fn new(lane: Arc<Lane>) -> Self {
        Self { lane, turn: None }
    }

    pub(crate) fn device(&self) -> &Shared {
        &self.lane.device
    }

    /// Runs an operation at its turn.
    #[inline]
    pub(crate) fn run<R>(&self, operation: impl FnOnce(&Shared) -> R) -> R {
        let mut own = None;
        let turn = self.turn.as_ref().unwrap_or_else(|| own.insert(self.lane.turn()));
        turn.arrive();
        operation(&self.lane.device)
    }

    /// What an event of now captures.
    fn now(&self) -> Point {
        match &self.turn {
            // What was enqueued on the turn has run, and so has what came before.
            Some(turn) => {
                turn.arrive();
                Point::default()
            }
            None => self.lane.now(),
        }
    }

    pub(crate) fn record_as(&self, stamp: Option<Stamp>) -> HostEvent {
        let point = self.now();
        if let Some(stamp) = &stamp {
            self.device().later.after(point.clone(), Then::Note(Arc::clone(stamp)));
        }
        HostEvent::new(point, stamp)
    }

    pub(crate) fn record_exported(&self, flag: Flag) -> HostEvent {
        let (point, flag) = (self.now(), Arc::new(flag));
        self.device().later.after(point.clone(), Then::Raise(Arc::clone(&flag)));
        HostEvent::exported(point, flag)
    }

    /// Makes what is enqueued later run after a point.
    pub(crate) fn come_after(&self, point: &Point) {
        match &self.turn {
            Some(_) => point.wait(),
            None => self.lane.come_after(point),
        }
    }
}

impl Drop for HostStream {
    /// What runs goes on, and what waits still has its turn.
    fn drop(&mut self) {
        if self.turn.is_none() {
            self.lane.close();
        }
    }
}

// SAFETY: S1: turns of a lane end in order, and an operation runs at its turn. S2 asks for nothing.
// S3: an event captures the turns so far, and what the stream was made to wait for since. S4: the next
// turn comes after that, and later ones after it. S5: an event holds what its stream waited for, or a
// turn that did. S6: it waits for what an event of now captures. S7: memory is free after an event of
// now. S8: a turn has a thread, which ends it.
unsafe impl Stream for HostStream {
    type Device = HostDevice;

    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<DeviceMemory> {
        self.device().room.alloc("alloc", len_bytes.get()).map(|(block, _)| DeviceMemory::of(block))
    }

    fn free(&self, op: FreeOp<DeviceMemory>) -> Result<()> {
        // Also on a turn: its own operations may come later.
        self.device().later.after(self.lane.now(), Then::Free(op.into_buffer()));
        Ok(())
    }

    fn copy(&self, op: &CopyOp<'_, DeviceMemory>) -> Result<()> {
        // SAFETY: the operation proves that all runs lie inside their buffers and share no byte, and
        // this is its turn.
        self.run(|device| unsafe { moves::copy(&device.threads, op.plan(), op.src().at(0), op.dst().at(0)) });
        Ok(())
    }

    fn copy_all(&self, ops: &[CopyOp<'_, DeviceMemory>]) -> Result<()> {
        self.run(|device| {
            for op in ops {
                // SAFETY: as for `copy`.
                unsafe { moves::copy(&device.threads, op.plan(), op.src().at(0), op.dst().at(0)) }
            }
        });
        Ok(())
    }

    fn fill(&self, op: &FillOp<'_, DeviceMemory>) -> Result<()> {
        // SAFETY: the operation proves that all runs lie inside the buffer and are whole patterns, and
        // this is its turn.
        self.run(|device| unsafe { moves::fill(&device.threads, op.plan(), op.pattern(), op.dst().at(0)) });
        Ok(())
    }

    fn upload(&self, op: &UploadOp<'_, DeviceMemory>) -> Result<()> {
        let to = op.dst().at(op.dst_range_bytes().start);
        // SAFETY: the operation proves that the range lies inside the buffer and that the host memory
        // may be read, and this is its turn.
        self.run(|device| unsafe { copy_bytes(&device.threads, op.src(), to, op.len_bytes()) });
        Ok(())
    }

    fn download(&self, op: &DownloadOp<'_, DeviceMemory>) -> Result<()> {
        let from = op.src().at(op.src_range_bytes().start);
        // SAFETY: the operation proves that the range lies inside the buffer and that the host memory
        // may be written, and this is its turn.
        self.run(|device| unsafe { copy_bytes(&device.threads, from, op.dst(), op.len_bytes()) });
        Ok(())
    }

    fn record(&self) -> Result<HostEvent> {
        Ok(self.record_as(None))
    }

    fn wait(&self, event: &HostEvent) -> Result<()> {
        self.come_after(&event.point);
        Ok(())
    }

    fn synchronize(&self) -> Quiesced {
        self.now().wait();
        // Other processes tell nobody that theirs is over.
        self.device().later.look();
        Quiesced::Done
    }
}

// SAFETY: a turn is numbered when it is taken, and it ends when it is dropped. A lent buffer is the
// memory that it names.
unsafe impl RunsAtOnce<DeviceMemory> for HostStream {
    fn runs_at_once(&self) -> bool {
        true
    }

    #[inline]
    fn turn(&self) -> Option<Self> {
        Some(Self { lane: Arc::clone(&self.lane), turn: Some(self.lane.turn()) })
    }

    unsafe fn over_host(&self, start: *mut u8, len_bytes: usize) -> Option<DeviceMemory> {
        Some(DeviceMemory::lent(start, len_bytes))
    }
}

devarray::capabilities!(impl[] HostStream: without Fetches, ChecksForeign, Captures);

#[cfg(test)]
mod tests {
    use devarray::backend::Device as _;

    use super::*;

    /// Streams that wait for each other's work when they are dropped.
    fn entangled() -> Result<std::sync::Weak<Shared>> {
        let device = HostDevice::builder().capacity_bytes(1 << 20).threads(1).build();
        let (one, two) = (device.open_stream()?, device.open_stream()?);
        let (turn, other) = (one.turn(), two.turn());
        one.wait(&two.record()?)?;
        two.wait(&one.record()?)?;
        one.wait(&two.record()?)?;
        drop((one, two));
        drop((turn, other));
        Ok(Arc::downgrade(&device.shared))
    }

    #[test]
    fn streams_that_wait_for_each_other_do_not_keep_their_device() -> Result<()> {
        assert!(entangled()?.upgrade().is_none());
        Ok(())
    }
}
