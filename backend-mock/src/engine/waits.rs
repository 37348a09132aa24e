//! Waits and queries of the host.

use std::panic::Location;

use devarray::backend::Quiesced;

use super::{Engine, Happened, Mark};
use crate::judge::Snapshot;

impl Engine {
    /// Waits for everything on a lane.
    pub(crate) fn synchronize_lane(&mut self, lane: usize, location: &'static Location<'static>) -> Quiesced {
        self.look_at_sync_of_lane(lane, location);
        let last = self.lanes.last(lane);
        let end = self.synchronize("sync_stream", last);
        if !matches!(end, Quiesced::Unknown(_)) {
            self.judge.host_waited_for_lane(lane);
        }
        end
    }

    /// Waits for an event.
    pub(crate) fn synchronize_event(
        &mut self,
        mark: Mark,
        snapshot: &Snapshot,
        location: &'static Location<'static>,
    ) -> Quiesced {
        self.look_at_sync_of_event(snapshot, location);
        let end = self.synchronize("sync_event", Some(mark));
        if !matches!(end, Quiesced::Unknown(_)) {
            self.judge.host_waited(snapshot);
        }
        end
    }

    /// Waits until the operation has run, and everything before it on its stream.
    fn synchronize(&mut self, call: &'static str, mark: Option<Mark>) -> Quiesced {
        let began = self.now;
        let end = self.quiesce(mark);
        self.waited(call, began, mark);
        end
    }

    fn quiesce(&mut self, mark: Option<Mark>) -> Quiesced {
        self.ledger.statistics.synchronizes += 1;
        let end = match &self.lost {
            Some(lost) => Quiesced::Ended(lost.clone()),
            None => self.faults.quiesce(&mut self.chooser),
        };
        match &end {
            Quiesced::Done => {}
            Quiesced::Ended(error) => {
                if let Some(mark) = mark {
                    self.lanes.cancel(mark);
                }
                self.lose_if_sticky(error);
            }
            Quiesced::Unknown(error) => {
                self.lose_if_sticky(error);
                return end;
            }
        }
        if let Some(mark) = mark {
            self.force(mark);
            self.note(Happened::Waited(mark));
        }
        self.memory.let_go();
        match (&self.lost, end) {
            // An operation lost the device while the host waited.
            (Some(lost), Quiesced::Done) => Quiesced::Ended(lost.clone()),
            (_, end) => end,
        }
    }

    /// Whether the operation that recorded an event has run. If not, runs one step towards it.
    pub(crate) fn query(&mut self, mark: Mark, snapshot: &Snapshot) -> bool {
        if !self.is_late {
            self.idle();
        }
        self.note(Happened::Asked(mark));
        let (done, began) = (self.lanes.is_done(mark), self.now);
        if done {
            self.note(Happened::Waited(mark));
            self.judge.host_waited(snapshot);
        } else if !self.is_late {
            self.step_towards(mark);
        }
        self.waited("query", began, done.then_some(mark));
        done
    }

    /// Waits for the whole device.
    pub(crate) fn synchronize_all(&mut self) {
        let began = self.now;
        self.finish();
        self.memory.let_go();
        self.waited("sync_device", began, None);
        self.judge.host_waited_for_all();
    }
}
