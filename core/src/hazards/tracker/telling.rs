//! Waits of the host, and the errors of gathers that they report.

use std::sync::{Arc, Mutex};

use super::HazardTracker;
use crate::{
    backend::{CutOff, Device},
    hazards::{
        AccessLog, Covered, Footprint, Position, RecordedEvent, Reporting, Untold,
        access_log::Access,
        untold::{Gathered, Told},
    },
    lock::lock,
};

/// The internal lane. The program cannot wait for it, so it reports nothing.
const INTERNAL: usize = 0;

impl<D: Device> HazardTracker<D> {
    /// Notes that the host waited. The wait is not one of the program's calls, so it reports no
    /// index out of range.
    pub(crate) fn host_waited(&mut self, wait: &Position, device: &D) {
        if self.index_errors.any_unasked() {
            for (list, to) in wait.covered.lists() {
                self.index_errors.ask(&list, to, device);
            }
        }
        self.done.join(&wait.seen);
        self.done.raise(wait.lane, wait.sequence);
    }

    /// Takes the first index out of range that a finished wait of the program covers.
    pub(crate) fn take_index_error(&mut self, wait: &Position) -> Option<Told> {
        self.index_errors.take(&wait.covered)
    }

    /// Whether a wait covers gathers that may have found an index out of range and have not
    /// reported it, or may cover exchanges that were cut off.
    pub(crate) fn may_tell(&self, wait: &Position) -> bool {
        wait.covered.has_any() || self.exchanges.any()
    }

    /// Notes that the last operation of a lane is an exchange of ranks, which may be cut off.
    pub(crate) fn note_exchange(
        &mut self,
        lane: usize,
        number: u64,
        operation: &'static str,
        of: &Arc<dyn CutOff>,
    ) {
        self.exchanges.note((lane, self.lanes[lane].sequence), number, operation, of);
    }

    /// Forgets the exchanges that a wait of the program covers, and returns the operation of the first that was cut
    /// off.
    pub(crate) fn take_cut_off(&mut self, wait: &Position) -> Option<&'static str> {
        self.exchanges.take(wait, &self.done)
    }

    /// Notes that the last operation of a lane is a gather, which may find an index out of range.
    ///
    /// In a program that never waits, the list of gathers would grow without end. So now and then
    /// the device is asked about gathers that events show to be finished, and gathers without an
    /// error are forgotten.
    pub(crate) fn note_gather(
        &mut self,
        lane: usize,
        number: u64,
        Reporting { call, ask }: Reporting<D>,
        device: &D,
    ) {
        let sequence = self.lanes[lane].sequence;
        let list = self.lanes[lane].covering.own();
        if !self.index_errors.add(&list, Gathered { sequence, number, call }, ask) {
            return;
        }
        self.ask_of_finished(device);
        self.index_errors.looked();
        // This event can show later that the gathers up to here are finished. Without it, they are
        // found later.
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

    /// The gathers that a wait for an operation must report.
    #[inline]
    pub(super) fn covered_at(&self, lane: usize, sequence: u64) -> Covered {
        if !self.index_errors.any() {
            return Covered::default();
        }
        self.lanes[lane].covering.at(sequence)
    }

    /// Notes that an operation, given by its lane and number, and later ones come after what is
    /// covered.
    pub(super) fn cover(&mut self, (lane, number): (usize, u64), covered: &Covered) {
        if lane == INTERNAL || !covered.has_any() {
            return;
        }
        let lane = &mut self.lanes[lane];
        // A wait is not an operation, but gets a number if there is something to report.
        lane.sequence = lane.sequence.max(number);
        lane.covering.join(number, covered);
    }

    /// Notes that an operation comes after conflicting, finished operations of earlier streams of
    /// its lane.
    #[inline]
    pub(super) fn cover_earlier_here(&mut self, uses: &AccessLog, next: &Access) {
        if !self.index_errors.any() {
            return;
        }
        for earlier in uses.earlier_here(next, self.lanes[next.lane].covering.after()) {
            self.cover((next.lane, next.sequence), &self.covered_at(earlier.lane, earlier.sequence));
        }
    }

    /// The finished gathers that must be reported before the host reads, or writes, all of an
    /// allocation of `len_bytes` bytes with these `uses`.
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

    /// Last events of closed streams with gathers for which only the context can wait.
    pub(crate) fn left_alone(&self) -> Vec<(usize, RecordedEvent<D>)> {
        let lanes = self.closing.iter().filter(|&&lane| self.lanes[lane].covering.left_alone().is_some());
        lanes.filter_map(|&lane| Some((lane, self.lanes[lane].mark.clone()?))).collect()
    }

    /// Forgets the gathers of a closed stream, after a wait that failed.
    pub(crate) fn forget_gathers(&mut self, lane: usize) {
        if let Some(list) = self.lanes[lane].covering.left_alone() {
            let list: Arc<Untold> = Arc::clone(list);
            self.index_errors.forget(&list);
        }
    }

    /// Takes the errors of closed, finished streams that nothing covers which the program can wait
    /// for.
    pub(crate) fn take_left(&mut self, device: &D) -> Vec<Told> {
        if !self.index_errors.any() {
            return Vec::new();
        }
        self.free_lanes(usize::MAX, device);
        self.index_errors.take_left()
    }
}
