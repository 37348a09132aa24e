//! Streams, whose operations run in the calling thread.
#![allow(unsafe_code)] // implements the unsafe traits of a stream

mod captures;

pub(crate) use moves::copy_bytes;

use std::{num::NonZeroUsize, sync::Arc};

use devarray::{
    Result,
    backend::{CopyOp, DownloadOp, FillOp, FreeOp, Quiesced, RunsAtOnce, Stream, UploadOp},
};

use crate::{
    HostDevice, HostEvent,
    captured::{self, Step, Taken},
    memory::DeviceMemory,
    moves,
    order::{Flag, Lane, Point, Stamp, Then, Turn},
    shared::Shared,
};

/// A stream of a [`HostDevice`], or one turn of a stream.
#[derive(Debug)]
pub struct HostStream {
    lane: Arc<Lane>,
    place: Place,
}

/// The place in the order for enqueued operations.
#[derive(Debug)]
enum Place {
    /// Each operation takes the next turn.
    Next,
    /// Operations run in a turn that was taken.
    Turn(Turn),
    /// Operations do not run; they are captured.
    Taken(Taken),
}

impl HostStream {
    pub(crate) fn new(lane: Arc<Lane>) -> Self {
        Self { lane, place: Place::Next }
    }

    pub(crate) fn device(&self) -> &Shared {
        &self.lane.device
    }

    /// Runs an operation at its turn.
    #[inline]
    pub(crate) fn run<R>(&self, operation: impl FnOnce(&Shared) -> R) -> R {
        let mut own = None;
        let turn = match &self.place {
            Place::Turn(turn) => turn,
            Place::Next | Place::Taken(_) => own.insert(self.lane.turn()),
        };
        turn.arrive();
        operation(&self.lane.device)
    }

    /// Runs an operation at its turn, or captures it as a step.
    #[inline]
    pub(crate) fn run_or_take(&self, operation: impl FnOnce(&Shared), step: impl FnOnce(&Shared) -> Step) {
        match &self.place {
            Place::Taken(taken) => taken.push(step(&self.lane.device)),
            Place::Next | Place::Turn(_) => self.run(operation),
        }
    }

    /// The point of an event that is recorded now.
    fn now(&self) -> Point {
        match &self.place {
            // The operations on the turn have run, and so have all before them.
            Place::Turn(turn) => {
                turn.arrive();
                Point::default()
            }
            Place::Next | Place::Taken(_) => self.lane.now(),
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

    /// Makes later operations run after a point.
    pub(crate) fn come_after(&self, point: &Point) {
        match &self.place {
            Place::Turn(_) => point.wait(),
            Place::Next | Place::Taken(_) => self.lane.come_after(point),
        }
    }
}

impl Drop for HostStream {
    /// Running operations continue, and waiting ones keep their turns.
    fn drop(&mut self) {
        if matches!(self.place, Place::Next) {
            self.lane.close();
        }
    }
}

// SAFETY: S1: the turns of a lane end in order, and an operation runs at its turn. S2 asks for nothing. S3:
// an event captures the turns so far, and the points that the stream was made to wait for since then. S4: the
// next turn comes after those points, and later turns after it. S5: an event holds the points that its stream
// waits for, or a turn that waited for them. S6: it waits for the point of an event recorded now. S7: memory
// is free after an event recorded now. S8: a turn has a thread, which ends it.
unsafe impl Stream for HostStream {
    type Device = HostDevice;

    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<DeviceMemory> {
        self.device().room.alloc("alloc", len_bytes.get()).map(|(block, _)| DeviceMemory::of(block))
    }

    fn free(&self, op: FreeOp<DeviceMemory>) -> Result<()> {
        // This also holds on a turn, whose own later operations may use the memory.
        self.device().later.after(self.lane.now(), Then::Free(op.into_buffer()));
        Ok(())
    }

    fn copy(&self, op: &CopyOp<'_, DeviceMemory>) -> Result<()> {
        self.run_or_take(
            // SAFETY: the operation proves that all runs lie inside their buffers and share no byte, and this
            // is its turn.
            |device| unsafe { moves::copy(&device.threads, op.plan(), op.src().at(0), op.dst().at(0)) },
            |_| captured::copy(op),
        );
        Ok(())
    }

    fn copy_all(&self, ops: &[CopyOp<'_, DeviceMemory>]) -> Result<()> {
        let all = |device: &Shared| {
            for op in ops {
                // SAFETY: as for `copy`.
                unsafe { moves::copy(&device.threads, op.plan(), op.src().at(0), op.dst().at(0)) }
            }
        };
        self.run_or_take(all, |_| captured::copy_all(ops));
        Ok(())
    }

    fn fill(&self, op: &FillOp<'_, DeviceMemory>) -> Result<()> {
        self.run_or_take(
            // SAFETY: the operation proves that all runs lie inside the buffer and are whole patterns, and
            // this is its turn.
            |device| unsafe { moves::fill(&device.threads, op.plan(), op.pattern(), op.dst().at(0)) },
            |_| captured::fill(op),
        );
        Ok(())
    }

    fn upload(&self, op: &UploadOp<'_, DeviceMemory>) -> Result<()> {
        self.check_runs("upload")?;
        let to = op.dst().at(op.dst_range_bytes().start);
        // SAFETY: the operation proves that the range lies inside the buffer and that the host memory may be
        // read, and this is its turn.
        self.run(|device| unsafe { copy_bytes(&device.threads, op.src(), to, op.len_bytes()) });
        Ok(())
    }

    fn download(&self, op: &DownloadOp<'_, DeviceMemory>) -> Result<()> {
        self.check_runs("download")?;
        let from = op.src().at(op.src_range_bytes().start);
        // SAFETY: the operation proves that the range lies inside the buffer and that the host memory may be
        // written, and this is its turn.
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
        // Other processes do not notify this one when their points are over.
        self.device().later.look();
        Quiesced::Done
    }
}

// SAFETY: a turn gets its number when it is taken, and ends when it is dropped. A lent buffer is the memory
// that it names.
unsafe impl RunsAtOnce<DeviceMemory> for HostStream {
    fn runs_at_once(&self) -> bool {
        true
    }

    #[inline]
    fn turn(&self) -> Option<Self> {
        Some(Self { lane: Arc::clone(&self.lane), place: Place::Turn(self.lane.turn()) })
    }

    unsafe fn over_host(&self, start: *mut u8, len_bytes: usize) -> Option<DeviceMemory> {
        Some(DeviceMemory::lent(start, len_bytes))
    }
}

devarray::capabilities!(impl[] HostStream: without Fetches, ChecksForeign);

#[cfg(test)]
mod tests {
    use devarray::backend::Device as _;

    use super::*;

    /// Two streams with work that waits for each other's when they are dropped.
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
