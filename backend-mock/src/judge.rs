//! The judge: decides whether the issued operations are right under every schedule, not only under
//! the one that happens to run.
//!
//! Each operation is judged once, when it is enqueued, by its bytes and by the operations ordered
//! before it. Only these edges make an order:
//!
//! - operations of one stream, in the order in which they were enqueued;
//! - a record takes a snapshot of its stream, and a wait joins the snapshot that the event held at
//!   the call;
//! - everything that the host has waited for (a stream, an event, the device, a query that returned
//!   true) is before everything that it issues afterwards, and before each access of the host
//!   itself;
//! - an operation of the legacy default stream, which only other code has, is after all earlier
//!   operations of blocking streams, and before all their later operations.
//!
//! Edges that a [profile](crate::Profile) adds are used only for conflicts that remain without
//! them; they are in `profile_clocks`.
//!
//! An operation is checked in this order, up to the first mistake:
//!
//! 1. it reaches outside a memory;
//! 2. one of its memories, source before destination, was freed, or the memory's allocation is not
//!    ordered before it; or it is a free that is not ordered after every use;
//! 3. it races: an earlier access touches a common byte, one of the two writes, and neither is
//!    ordered before the other;
//! 4. it reads bytes that it writes, or writes bytes twice: two of its operands share a byte, and
//!    it is no function whose result replaces an input;
//! 5. it reads bytes that never got a value, and is no copy. A copy carries the missing value
//!    along.
//!
//! The judge knows neither the content of memory nor which operations have run: it is told only the
//! `footprint` of an operation. The engine asks the judge, and runs operations whatever the verdict
//! is. There is one exception: only when a scatter runs does it turn out which elements it wrote,
//! and `deferred` tells later operations which bytes to look up.

mod access_lists;
mod bytes;
mod cells;
mod clock;
mod declared;
mod deferred;
mod explanation;
mod footprint;
mod history;
mod host;
mod initialized;
mod lanes;
mod memory;
mod profile_clocks;
mod propagation;
mod shadow;
mod strided;
mod verdict;

use access_lists::AccessLists;
pub(crate) use bytes::Bytes as ByteSet;
use clock::Position;
pub(crate) use declared::Declared;
pub(crate) use deferred::{DeferredCheck, propagated_by};
pub(crate) use footprint::{Footprint, Kind, Place, Touch};
use history::{History, Of, Step};
use host::HostMemory;
pub(crate) use initialized::INITIALIZE;
use lanes::Lanes;
pub(crate) use lanes::Snapshot;
use memory::DeviceMemory;
pub(crate) use profile_clocks::Barrier;
use profile_clocks::ProfileClocks;

use std::panic::Location;

use devarray::backend::Meeting;

use crate::{
    allocation::BufferId,
    finding::{Finding, Operation},
    profile::Profile,
};

/// The judge of one device.
#[derive(Debug)]
pub(crate) struct Judge {
    /// If false, the judge notes nothing and finds nothing.
    on: bool,
    /// A planted bug, for tests of tests: waits of streams order nothing.
    forgets_waits: bool,
    profile: Profile,
    lanes: Lanes,
    device: DeviceMemory,
    host: HostMemory,
    access_lists: AccessLists,
    history: History,
    profile_clocks: ProfileClocks,
    /// The barrier of the next operation.
    barrier: Barrier,
}

impl Judge {
    pub(crate) fn new(on: bool, forgets_waits: bool, profile: Profile) -> Self {
        let (lanes, device, host) = (Lanes::default(), DeviceMemory::default(), HostMemory::default());
        let (access_lists, history) = (AccessLists::default(), History::default());
        let (profile_clocks, barrier) = (ProfileClocks::default(), Barrier::None);
        Self {
            on,
            forgets_waits,
            profile,
            lanes,
            device,
            host,
            access_lists,
            history,
            profile_clocks,
            barrier,
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }

    /// Sets whether a lane waits for the legacy default stream, from its next operation on.
    pub(crate) fn set_blocking(&mut self, lane: usize, blocking: bool) {
        if blocking {
            self.profile_clocks.open(&self.lanes);
        }
        self.lanes.set_blocking(lane, blocking);
        self.profile_clocks.set_blocking(lane, blocking);
    }

    /// The host that makes the calls.
    pub(crate) fn host(&self) -> usize {
        self.lanes.current_host()
    }

    /// Sets the host that makes the following calls.
    pub(crate) fn set_host(&mut self, host: usize) {
        self.lanes.set_host(host);
        self.profile_clocks.set_host(host);
    }

    /// Notes that the first host starts the hosts of this many ranks. False if ranks run already.
    pub(crate) fn start_hosts(&mut self, count: usize) -> bool {
        let starts = self.lanes.start_hosts(count);
        self.profile_clocks.start_hosts(count);
        starts
    }

    /// Notes that the hosts of all ranks have ended, and the first host goes on.
    pub(crate) fn end_hosts(&mut self) {
        self.lanes.end_hosts();
        self.profile_clocks.end_hosts();
    }

    /// Notes that the host that makes the calls comes to a meeting.
    pub(crate) fn come_to(&mut self, meeting: Meeting) {
        self.lanes.come_to(meeting);
        self.profile_clocks.come_to(meeting);
    }

    /// Notes that the host that makes the calls goes on after a meeting.
    pub(crate) fn go_from(&mut self, meeting: Meeting, all_came: bool) {
        self.lanes.go_from(meeting, all_came);
        self.profile_clocks.go_from(meeting, all_came);
    }

    /// Sets the order between the next operation and operations of blocking streams.
    pub(crate) fn set_barrier(&mut self, barrier: Barrier) {
        self.barrier = barrier;
    }

    /// The place where device memory was allocated, unless it was freed long ago.
    pub(crate) fn allocated_at(&self, id: BufferId) -> Option<&'static Location<'static>> {
        self.device.allocated_at(id)
    }

    fn issue(&mut self, lane: usize) -> Position {
        let position = self.lanes.issue(lane);
        self.profile_clocks.issue(lane, self.barrier);
        if self.barrier == Barrier::Always {
            self.lanes.come_after_blocking(lane);
            self.lanes.come_before_blocking(lane);
        }
        position
    }

    /// Judges an operation that is being enqueued on a lane, and notes it. `pageable`: it copies
    /// host memory that is not pinned.
    pub(crate) fn enqueue(
        &mut self,
        lane: usize,
        work: &dyn Footprint,
        operation: Operation,
        pageable: bool,
    ) -> Option<Box<Finding>> {
        if !self.on {
            return None;
        }
        if pageable {
            self.profile_clocks.open(&self.lanes);
        }
        let position = self.issue(lane);
        self.note(Step::of_operation(&operation, Of::Nothing));
        let finding = self.verdict(work, operation, position, pageable);
        if pageable && matches!(work.kind(), Kind::Download) {
            self.profile_clocks.downloaded(lane, operation);
        }
        finding
    }

    /// Notes that the next operation of the lane records an event.
    pub(crate) fn record(&mut self, lane: usize, operation: Operation) -> Snapshot {
        if !self.on {
            return Snapshot::default();
        }
        let position = self.issue(lane);
        self.note(Step::of_operation(&operation, Of::Nothing));
        self.lanes.record(position, operation, self.profile_clocks.snapshot(lane))
    }

    /// Notes that the next operation of the lane waits for an event. Returns whether the lane came
    /// after the event already.
    pub(crate) fn wait(&mut self, lane: usize, event: &Snapshot, operation: Operation) -> bool {
        if !self.on {
            return false;
        }
        self.issue(lane);
        let needless = event.is_known_to(self.lanes.clock(lane));
        let of = event.record_number().map_or(Of::Nothing, Of::Record);
        self.note(Step::of_operation(&operation, of));
        if !self.forgets_waits {
            self.lanes.wait(lane, event, operation);
            self.profile_clocks.wait(lane, event);
            self.profile_clocks.come_before_blocking(lane, self.barrier);
            if self.barrier == Barrier::Always {
                self.lanes.come_before_blocking(lane);
            }
        }
        needless
    }

    /// Whether the host has already waited for the event, or for something after it.
    pub(crate) fn host_knows(&self, event: &Snapshot) -> bool {
        self.on && event.is_known_to(self.lanes.host())
    }

    /// Whether the host has already waited for everything on a lane.
    pub(crate) fn host_knows_all(&self, lane: usize) -> bool {
        self.on && self.lanes.host_knows_all(lane)
    }

    /// Notes that the host has waited for an event, or that a query of it returned true.
    pub(crate) fn host_waited(&mut self, event: &Snapshot) {
        let of = event.record_number().map_or(Of::Nothing, Of::Record);
        self.note(Step::of_host("wait", of));
        self.lanes.host_waited(event);
        self.profile_clocks.host_waited(event);
    }

    /// Notes that the host has waited for everything on a lane.
    pub(crate) fn host_waited_for_lane(&mut self, lane: usize) {
        self.note(Step::of_host("wait stream", Of::Stream(lane)));
        self.lanes.host_waited_for_lane(lane);
        self.profile_clocks.host_waited_for_lane(lane);
    }

    /// Notes that the host has waited for the whole device.
    pub(crate) fn host_waited_for_all(&mut self) {
        self.note(Step::of_host("wait device", Of::Nothing));
        self.lanes.host_waited_for_all();
        self.profile_clocks.host_waited_for_all();
    }

    fn note(&mut self, step: Step) {
        if self.on {
            self.history.push(step);
        }
    }

    /// Later findings no longer draw the steps issued so far.
    pub(crate) fn begin_program(&mut self) {
        self.history.clear();
    }

    /// The finding, with its class and a drawing of the operations around it.
    pub(crate) fn drawn(&self, finding: Finding) -> Finding {
        let finding = finding.classed();
        Finding { timeline: self.history.draw(&finding), ..finding }
    }

    /// Whether a new stream may continue the lane of a dropped one without seeming to be ordered
    /// after it.
    pub(crate) fn may_take_over(&self, lane: usize) -> bool {
        self.lanes.host_knows_all(lane)
    }
}
