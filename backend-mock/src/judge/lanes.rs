//! What each stream and the host know, and by which waits they came to know it.

use std::collections::VecDeque;

use super::{Clock, Position};
use crate::finding::Operation;

/// Waits of a lane that are remembered, to tell which of them came near.
const MOST_WAITS: usize = 16;

/// What an event holds: everything before its record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    clock: Clock,
    position: Position,
    record: Option<Operation>,
}

impl Snapshot {
    /// The number of the record; none if nothing was recorded, or the judge is off.
    pub(crate) fn record_number(&self) -> Option<u64> {
        self.record.map(|record| record.number)
    }

    /// The record; none as for its number.
    pub(crate) fn record(&self) -> Option<Operation> {
        self.record
    }

    /// Whether who has this clock comes after the record.
    pub(super) fn is_known_to(&self, clock: &Clock) -> bool {
        self.record.is_some() && clock.knows(self.position)
    }
}

/// One wait of a lane for an event of another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub(super) wait: Operation,
    pub(super) record: Operation,
    /// That of the record.
    position: Position,
}

/// The clocks of all lanes and of the host.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    host: Clock,
    /// How often the host learned something.
    host_version: u64,
}

#[derive(Debug, Default)]
struct Lane {
    /// What is before the next operation.
    clock: Clock,
    /// As far as the host's knowledge was joined.
    host_version: u64,
    waits: VecDeque<Wait>,
}

impl Lanes {
    /// The next operation of a lane: after the one before it, and after all that the host has waited for.
    pub(super) fn issue(&mut self, index: usize) -> Position {
        if self.lanes.len() <= index {
            self.lanes.resize_with(index + 1, Lane::default);
        }
        let lane = &mut self.lanes[index];
        if lane.host_version != self.host_version {
            lane.clock.join(&self.host);
            lane.host_version = self.host_version;
        }
        lane.clock.tick(index)
    }

    /// What the newest operation of a lane knows, itself included.
    pub(super) fn clock(&self, lane: usize) -> &Clock {
        &self.lanes[lane].clock
    }

    /// What the host knows.
    pub(super) fn host(&self) -> &Clock {
        &self.host
    }

    pub(super) fn record(&self, position: Position, operation: Operation) -> Snapshot {
        Snapshot { clock: self.lanes[position.lane].clock.clone(), position, record: Some(operation) }
    }

    pub(super) fn wait(&mut self, lane: usize, event: &Snapshot, wait: Operation) {
        let lane = &mut self.lanes[lane];
        lane.clock.join(&event.clock);
        if let Some(record) = event.record {
            if lane.waits.len() == MOST_WAITS {
                lane.waits.pop_front();
            }
            lane.waits.push_back(Wait { wait, record, position: event.position });
        }
    }

    pub(super) fn host_waited(&mut self, event: &Snapshot) {
        self.host.join(&event.clock);
        self.host_version += 1;
    }

    pub(super) fn host_waited_for_lane(&mut self, lane: usize) {
        if let Some(lane) = self.lanes.get(lane) {
            self.host.join(&lane.clock);
            self.host_version += 1;
        }
    }

    pub(super) fn host_waited_for_all(&mut self) {
        self.lanes.iter().for_each(|lane| self.host.join(&lane.clock));
        self.host_version += 1;
    }

    pub(super) fn host_knows_all(&self, lane: usize) -> bool {
        self.lanes.get(lane).is_none_or(|all| all.clock.of(lane) <= self.host.of(lane))
    }

    /// The wait of `lane` that came nearest to covering an operation it does not know.
    pub(super) fn nearest_miss(&self, lane: usize, missed: Position) -> Option<Wait> {
        let waits = self.lanes.get(lane)?.waits.iter();
        let short = |wait: &&Wait| wait.position.lane == missed.lane && wait.position.tick < missed.tick;
        waits.filter(short).max_by_key(|wait| wait.position.tick).copied()
    }
}
