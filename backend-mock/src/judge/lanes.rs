//! The clocks of the streams and of the hosts, and the waits that updated them.

use std::collections::{BTreeMap, VecDeque};

use devarray::backend::Meeting;

use super::clock::{Clock, Position};
use crate::finding::Operation;

/// The number of waits of a lane that are remembered, to find the one that came nearest.
const MOST_WAITS: usize = 16;

/// The clock at a record, for each profile that may differ.
#[derive(Debug, Clone)]
pub(super) struct SnapshotByProfile(pub(super) Vec<Clock>);

/// The content of an event: everything before its record.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    clock: Clock,
    /// The clock for each profile that differed by then.
    others: Option<Box<SnapshotByProfile>>,
    position: Position,
    record: Option<Operation>,
}

impl Snapshot {
    /// The number of the record; none if nothing was recorded, or the judge is off.
    pub(crate) fn record_number(&self) -> Option<u64> {
        self.record.map(|record| record.number)
    }

    /// The record; none if nothing was recorded, or the judge is off.
    pub(crate) fn record(&self) -> Option<Operation> {
        self.record
    }

    /// Its clock under a profile that may differ, given the profile's index.
    pub(super) fn clock_under(&self, index: usize) -> &Clock {
        self.others.as_ref().and_then(|others| others.0.get(index)).unwrap_or(&self.clock)
    }

    /// Whether the owner of this clock comes after the record.
    pub(super) fn is_known_to(&self, clock: &Clock) -> bool {
        self.record.is_some() && clock.knows(self.position)
    }
}

/// One wait of a lane for an event of another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub(super) wait: Operation,
    pub(super) record: Operation,
    /// The position of the record.
    position: Position,
}

/// The clocks of all lanes and of the hosts. Each rank has its own host: with a single host, the wait of one
/// rank would hide that another rank's wait is missing.
#[derive(Debug, Clone)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    /// The clock of each host.
    hosts: Vec<Clock>,
    /// Whether ranks run.
    has_ranks: bool,
    /// The host that makes the calls.
    host: usize,
    /// The number of times that a host's clock changed or another host began to make the calls.
    host_version: u64,
    /// The clock of everything that comes before all later operations of blocking lanes.
    barrier: Clock,
    /// Everything that the hosts in a meeting had waited for when they came, and the number of hosts that have not gone.
    meetings: BTreeMap<Meeting, (Clock, usize)>,
}

#[derive(Debug, Clone, Default)]
struct Lane {
    /// The clock of everything before the next operation.
    clock: Clock,
    /// The version of the host's clock that was joined last.
    host_version: u64,
    waits: VecDeque<Wait>,
    /// Whether it is ordered with the legacy default stream.
    blocking: bool,
}

impl Default for Lanes {
    fn default() -> Self {
        let (lanes, hosts) = (Vec::new(), vec![Clock::default()]);
        let (barrier, meetings) = (Clock::default(), BTreeMap::new());
        Self { lanes, hosts, has_ranks: false, host: 0, host_version: 0, barrier, meetings }
    }
}

impl Lanes {
    /// Issues the next operation of a lane. It comes after the previous one, and after everything that the
    /// host has waited for.
    pub(super) fn issue(&mut self, index: usize) -> Position {
        self.reach(index);
        let lane = &mut self.lanes[index];
        if lane.host_version != self.host_version {
            lane.clock.join(&self.hosts[self.host]);
            lane.host_version = self.host_version;
        }
        if lane.blocking {
            lane.clock.join(&self.barrier);
        }
        lane.clock.tick(index)
    }

    fn reach(&mut self, index: usize) {
        if self.lanes.len() <= index {
            self.lanes.resize_with(index + 1, Lane::default);
        }
    }

    pub(super) fn set_blocking(&mut self, index: usize, blocking: bool) {
        self.reach(index);
        self.lanes[index].blocking = blocking;
    }

    /// Orders the newest operation of a lane after all operations of blocking lanes so far.
    pub(super) fn come_after_blocking(&mut self, index: usize) {
        let mut clock = std::mem::take(&mut self.lanes[index].clock);
        self.lanes.iter().filter(|lane| lane.blocking).for_each(|lane| clock.join(&lane.clock));
        self.lanes[index].clock = clock;
    }

    /// Orders all later operations of blocking lanes after the newest operation of a lane.
    pub(super) fn come_before_blocking(&mut self, index: usize) {
        self.barrier.join(&self.lanes[index].clock);
    }

    /// The clock of a lane's newest operation, including itself.
    pub(super) fn clock(&self, lane: usize) -> &Clock {
        &self.lanes[lane].clock
    }

    /// The clock of the host that makes the calls.
    pub(super) fn host(&self) -> &Clock {
        &self.hosts[self.host]
    }

    /// Whether every host has waited for an operation. Then everything that is issued from now on
    /// comes after it.
    pub(super) fn all_hosts_know(&self, position: Position) -> bool {
        self.hosts.iter().all(|host| host.knows(position))
    }

    /// The host that makes the calls.
    pub(super) fn current_host(&self) -> usize {
        self.host
    }

    /// Sets the host that makes the following calls. Handles of a rank that has ended are used by the
    /// first host.
    pub(super) fn set_host(&mut self, host: usize) {
        let host = if host < self.hosts.len() { host } else { 0 };
        if self.host != host {
            self.host = host;
            self.host_version += 1;
        }
    }

    /// Notes that the first host starts the hosts of this many ranks: each knows what it knows. False if ranks run already.
    pub(super) fn start_hosts(&mut self, count: usize) -> bool {
        if self.has_ranks {
            return false;
        }
        self.has_ranks = true;
        self.set_host(0);
        let first = self.hosts[0].clone();
        self.hosts = vec![first; count.max(1)];
        true
    }

    /// Notes that all other hosts have ended, and the first one has waited for that.
    pub(super) fn end_hosts(&mut self) {
        self.set_host(0);
        let others = self.hosts.split_off(1);
        others.iter().for_each(|host| self.hosts[0].join(host));
        self.host_version += 1;
        self.meetings.clear();
        self.has_ranks = false;
    }

    /// The host that makes the calls comes to a meeting.
    pub(super) fn come_to(&mut self, meeting: Meeting) {
        let (known, hosts) = self.meetings.entry(meeting).or_default();
        known.join(&self.hosts[self.host]);
        *hosts += 1;
    }

    /// The host that makes the calls goes on. If all came, it knows what they knew.
    pub(super) fn go_from(&mut self, meeting: Meeting, all_came: bool) {
        let Some((known, mut hosts)) = self.meetings.remove(&meeting) else { return };
        if all_came {
            self.host_learns(&known);
        }
        hosts -= 1;
        if hosts > 0 {
            self.meetings.insert(meeting, (known, hosts));
        }
    }

    pub(super) fn record(
        &self,
        position: Position,
        operation: Operation,
        others: Option<Box<SnapshotByProfile>>,
    ) -> Snapshot {
        Snapshot { clock: self.lanes[position.lane].clock.clone(), others, position, record: Some(operation) }
    }

    pub(super) fn wait(&mut self, lane: usize, event: &Snapshot, wait: Operation) {
        self.learn(lane, &event.clock);
        let lane = &mut self.lanes[lane];
        if let Some(record) = event.record {
            if lane.waits.len() == MOST_WAITS {
                lane.waits.pop_front();
            }
            lane.waits.push_back(Wait { wait, record, position: event.position });
        }
    }

    /// Orders all later operations of a lane after this clock.
    pub(super) fn learn(&mut self, lane: usize, clock: &Clock) {
        self.lanes[lane].clock.join(clock);
    }

    pub(super) fn host_waited(&mut self, event: &Snapshot) {
        self.host_learns(&event.clock);
    }

    pub(super) fn host_learns(&mut self, clock: &Clock) {
        self.hosts[self.host].join(clock);
        self.host_version += 1;
    }

    pub(super) fn host_waited_for_lane(&mut self, lane: usize) {
        if let Some(lane) = self.lanes.get(lane) {
            self.hosts[self.host].join(&lane.clock);
            self.host_version += 1;
        }
    }

    pub(super) fn host_waited_for_all(&mut self) {
        let Self { lanes, hosts, host, .. } = self;
        lanes.iter().for_each(|lane| hosts[*host].join(&lane.clock));
        self.host_version += 1;
    }

    pub(super) fn host_knows_all(&self, lane: usize) -> bool {
        self.lanes.get(lane).is_none_or(|all| all.clock.of(lane) <= self.host().of(lane))
    }

    /// The wait of `lane` that came nearest to covering an operation that the lane does not know.
    pub(super) fn nearest_miss(&self, lane: usize, missed: Position) -> Option<Wait> {
        let waits = self.lanes.get(lane)?.waits.iter();
        let short = |wait: &&Wait| wait.position.lane == missed.lane && wait.position.tick < missed.tick;
        waits.filter(short).max_by_key(|wait| wait.position.tick).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;

    /// Lane 2 lacks an operation of lane 0 or 1, and has waited for others.
    #[test]
    fn the_nearest_miss_is_the_newest_record_before_the_operation_on_its_lane() {
        let mut lanes = Lanes::default();
        let location = Location::caller();
        let operation = |number| Operation { number, kind: "wait", stream: None, location, argument: None };
        let record = |lanes: &mut Lanes, lane, number| {
            let position = lanes.issue(lane);
            let event = lanes.record(position, operation(number), None);
            lanes.reach(2);
            lanes.wait(2, &event, operation(number + 100));
            position
        };
        let first = record(&mut lanes, 0, 1);
        record(&mut lanes, 1, 2);
        record(&mut lanes, 0, 3);
        let missed = lanes.issue(0);
        let nearest = |lanes: &Lanes, missed| lanes.nearest_miss(2, missed).map(|wait| wait.record.number);
        assert_eq!(nearest(&lanes, missed), Some(3));
        assert_eq!(nearest(&lanes, Position { tick: first.tick + 1, ..missed }), Some(1));
        assert_eq!(nearest(&lanes, first), None, "only an older record came near");
        assert_eq!(nearest(&lanes, Position { lane: 5, ..missed }), None, "of another lane");
        // The oldest remembered wait makes room for a new one.
        for number in 4..4 + MOST_WAITS as u64 - 3 {
            record(&mut lanes, 1, number);
        }
        assert_eq!(nearest(&lanes, Position { tick: first.tick + 1, ..missed }), Some(1));
        record(&mut lanes, 1, 50);
        assert_eq!(nearest(&lanes, Position { tick: first.tick + 1, ..missed }), None);
        assert_eq!(nearest(&lanes, missed), Some(3));
    }
}
