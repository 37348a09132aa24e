//! Waits of the host, and what they tell of gathers.

use std::sync::{Arc, Mutex};

use super::HazardTracker;
use crate::{
    CallSite,
    backend::Device,
    hazards::{
        AccessLog, Ask, Covered, Footprint, Position, RecordedEvent, Untold,
        access_log::Access,
        untold::{Gathered, Told},
    },
    lock::lock,
};

/// The internal lane. Nobody waits for it, so it answers for nothing.
const INTERNAL: usize = 0;

impl<D: Device> HazardTracker<D> {
    /// Notes that the host waited, without a call of the program to tell of an index out of range.
    pub(crate) fn host_waited(&mut self, wait: &Position, device: &D) {
        if self.index_errors.any_unasked() {
            for (list, to) in wait.covered.lists() {
                self.index_errors.ask(&list, to, device);
            }
        }
        self.done.join(&wait.seen);
        self.done.raise(wait.lane, wait.sequence);
    }

    /// Does the same for a wait of the program, which is told of the first index out of range that the
    /// wait covers.
    pub(crate) fn program_waited(&mut self, wait: &Position, device: &D) -> Option<Told> {
        self.host_waited(wait, device);
        self.index_errors.take(&wait.covered)
    }

    /// Whether a wait covers gathers that may have found an index out of range which the program
    /// was not told of.
    pub(crate) fn may_tell(&self, wait: &Position) -> bool {
        wait.covered.has_any()
    }

    /// Notes that the last operation of a lane is a gather, which may find an index out of range.
    ///
    /// A program that never waits would make the list of them endless. So the finished ones are
    /// asked for now and then, as far as events show them, and those that found nothing are
    /// forgotten. `ask` asks the device.
    pub(crate) fn note_gather(
        &mut self,
        lane: usize,
        (number, call): (u64, CallSite),
        ask: Ask<D>,
        device: &D,
    ) {
        let sequence = self.lanes[lane].sequence;
        let list = self.lanes[lane].covering.own();
        if !self.index_errors.add(&list, Gathered { sequence, number, call }, ask) {
            return;
        }
        self.ask_of_finished(device);
        self.index_errors.looked();
        // What is not known to be finished now can be known then. Without the event it is later.
        let _ = self.record(lane);
    }

    /// Asks about all gathers that events show to be finished.
    pub(crate) fn ask_of_finished(&mut self, device: &D) {
        if !self.index_errors.any_unasked() {
            return;
        }
        for lane in 0..self.lanes.len() {
            if let Some(mark) = self.finished_mark(lane) {
                self.host_waited(&mark.position(lane), device);
            }
        }
    }

    /// What is to be told to who waits for an operation.
    #[inline]
    pub(super) fn covered_at(&self, lane: usize, sequence: u64) -> Covered {
        if !self.index_errors.any() {
            return Covered::default();
        }
        self.lanes[lane].covering.at(sequence)
    }

    /// Notes that an operation, by its lane and number, and later ones come after what is covered.
    pub(super) fn cover(&mut self, (lane, number): (usize, u64), covered: &Covered) {
        if lane == INTERNAL || !covered.has_any() {
            return;
        }
        let lane = &mut self.lanes[lane];
        // What is no operation, such as a wait, has a number if it tells.
        lane.sequence = lane.sequence.max(number);
        lane.covering.join(number, covered);
    }

    /// Notes that an operation comes after conflicting ones of earlier streams of its lane. These
    /// are finished.
    #[inline]
    pub(super) fn cover_earlier_here(&mut self, uses: &AccessLog, next: &Access) {
        if !self.index_errors.any() {
            return;
        }
        for earlier in uses.earlier_here(next, self.lanes[next.lane].covering.after()) {
            self.cover((next.lane, next.sequence), &self.covered_at(earlier.lane, earlier.sequence));
        }
    }

    /// What is to be told before the host reads, or writes, all of an allocation of `len_bytes`
    /// bytes with some `uses`: of operations that are finished.
    pub(crate) fn covered_by(&self, uses: &Mutex<AccessLog>, len_bytes: usize, write: bool) -> Covered {
        let mut covered = Covered::default();
        if !self.index_errors.any() {
            return covered;
        }
        let host = Access::of_host(Footprint::solid(0, len_bytes), write);
        for u in lock(uses).conflicting(&host).filter(|u| u.sequence <= self.done.of(u.lane)) {
            covered.add(self.covered_at(u.lane, u.sequence));
        }
        covered
    }

    /// Events of streams that are gone, for whose gathers nobody but the context can wait.
    pub(crate) fn left_alone(&self) -> Vec<(usize, RecordedEvent<D>)> {
        let lanes = self.closing.iter().filter(|&&lane| self.lanes[lane].covering.left_alone().is_some());
        lanes.filter_map(|&lane| Some((lane, self.lanes[lane].mark.clone()?))).collect()
    }

    /// Forgets the gathers of a stream that is gone, after a wait that failed.
    pub(crate) fn forget_gathers(&mut self, lane: usize) {
        if let Some(list) = self.lanes[lane].covering.left_alone() {
            let list: Arc<Untold> = Arc::clone(list);
            self.index_errors.forget(&list);
        }
    }

    /// Takes the errors of streams that are gone and finished, and that nothing which the program
    /// can wait for covers.
    pub(crate) fn take_left(&mut self, device: &D) -> Vec<Told> {
        if !self.index_errors.any() {
            return Vec::new();
        }
        self.free_lanes(usize::MAX, device);
        self.index_errors.take_left()
    }
}
