//! Opens and closes the lanes of streams, and reuses lanes.

use std::sync::Arc;

use super::HazardTracker;
use crate::{
    Result,
    backend::{Device, Event},
    hazards::{Clock, LaneId, RecordedEvent, covering::Covering, lane::Lane},
};

/// The most lanes that are checked for finished work when a stream opens.
const ASKED_AT_ONCE: usize = 8;

impl<D: Device> HazardTracker<D> {
    /// Gives a new stream a lane: the lane of a closed stream whose work is known to be finished, or
    /// a fresh one.
    pub(crate) fn open(&mut self, stream: Arc<D::Stream>, device: &D) -> LaneId {
        self.free_lanes(ASKED_AT_ONCE, device);
        let index = self.free.pop_first().unwrap_or_else(|| {
            let (seen, covering) = (Clock::default(), Covering::default());
            self.lanes.push(Lane { stream: None, generation: 0, sequence: 0, seen, mark: None, covering });
            self.lanes.len() - 1
        });
        let lane = &mut self.lanes[index];
        // Sequence numbers continue, so that accesses noted before stay older than new ones.
        lane.stream = Some(stream);
        lane.generation += 1;
        lane.seen = Clock::default();
        lane.mark = None;
        lane.covering.open(lane.sequence);
        LaneId { index, generation: lane.generation }
    }

    /// Closes a lane and keeps the stream's last event. If that fails, the stream itself is kept,
    /// so that its work can still be waited for.
    pub(crate) fn close(&mut self, lane: LaneId) -> Result<()> {
        let index = lane.index;
        let sequence = self.lanes[index].sequence;
        if sequence > self.done.of(index) {
            self.mark(index, sequence)?;
        }
        let lane = &mut self.lanes[index];
        lane.stream = None;
        lane.covering.close(sequence);
        self.closing.push_back(index);
        Ok(())
    }

    /// Checks some of the closed streams, beginning with the one closed first. If its work is
    /// finished, its lane becomes free.
    pub(super) fn free_lanes(&mut self, count: usize, device: &D) {
        for _ in 0..count.min(self.closing.len()) {
            let Some(index) = self.closing.pop_front() else { return };
            if !self.is_finished(index, device) {
                self.closing.push_back(index);
                continue;
            }
            self.free.insert(index);
            if let Some(list) = self.lanes[index].covering.take_own() {
                self.index_errors.ask(&list, u64::MAX, device);
                self.index_errors.leave(list);
            }
        }
    }

    /// Whether the host knows, or an event says, that all work of a lane is finished.
    fn is_finished(&mut self, index: usize, device: &D) -> bool {
        let sequence = self.lanes[index].sequence;
        if self.done.of(index) < sequence
            && let Some(mark) = self.finished_mark(index)
        {
            self.host_waited(&mark.position(index), device);
        }
        self.done.of(index) >= sequence
    }

    /// The last event of a lane, if the event says that the lane's work is finished.
    pub(super) fn finished_mark(&self, index: usize) -> Option<RecordedEvent<D>> {
        self.lanes[index].mark.clone().filter(|mark| matches!(mark.event.query(), Ok(true)))
    }

    /// The lane to free on: its home if that stream still lives, else the internal one.
    pub(crate) fn home_or_internal(&self, home: LaneId) -> usize {
        let lane = &self.lanes[home.index];
        if lane.stream.is_some() && lane.generation == home.generation { home.index } else { 0 }
    }

    /// The lanes whose stream is open.
    pub(crate) fn open_lanes(&self) -> impl Iterator<Item = usize> {
        (0..self.lanes.len()).filter(|&lane| self.lanes[lane].stream.is_some())
    }

    /// The stream of a live lane.
    pub(crate) fn stream(&self, lane: usize) -> Option<&Arc<D::Stream>> {
        self.lanes[lane].stream.as_ref()
    }
}
