//! The verdict: whether the operations issued are right under every schedule, not only under the
//! one that happens to run.
//!
//! Each operation is judged once, when it is enqueued, from its bytes and from the operations
//! ordered before it. Order comes from these edges and no others:
//!
//! - operations of one stream, in the order they were enqueued;
//! - a record takes a snapshot of its stream, and a wait joins the snapshot that the event held at
//!   the call;
//! - what the host has waited for (a stream, an event, the device, a query that said yes) is before
//!   everything it issues afterwards, and so is each access of the host itself;
//! - an operation of the legacy default stream, which only other code has, is after all that
//!   blocking streams were given, and before all that they will be.
//!
//! Edges that a [profile](crate::Profile) adds are looked at only for conflicts that remain without
//! them: `profile_clocks` has them.
//!
//! For one operation, in this order, stopping at the first that is wrong:
//!
//! 1. it reaches outside a memory;
//! 2. a memory of it, source before destination, was freed, or its allocation is not ordered
//!    before; a free, moreover, is not ordered after every use;
//! 3. it races: an earlier access touches a common byte, one of the two writes, neither is ordered
//!    before the other;
//! 4. it reads what it writes, or writes it twice: two of its sides share a byte, and it is no
//!    function whose result goes where an input is;
//! 5. it reads bytes that were never given a value, and is no copy. Copies carry that flag along.
//!
//! Nothing here knows what memory holds or which operations have run: of an operation it is told the
//! `footprint`. The engine asks, and runs operations whatever the verdict is, with one exception:
//! only a run shows which elements a scatter wrote, and `deferred` tells later operations what to
//! look up.

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

use crate::{
    allocation::BufferId,
    finding::{Finding, Operation},
    profile::Profile,
};

/// The judge of one device.
#[derive(Debug)]
pub(crate) struct Judge {
    /// Off, it takes no notes and finds nothing.
    on: bool,
    /// A bug to test tests with: waits of streams order nothing.
    forgets_waits: bool,
    profile: Profile,
    lanes: Lanes,
    device: DeviceMemory,
    host: HostMemory,
    access_lists: AccessLists,
    history: History,
    profile_clocks: ProfileClocks,
    /// The barrier of the operation which is issued next.
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

    /// A lane is, from its next operation on, one that waits for the legacy default stream, or
    /// none.
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

    /// Says which host makes the calls that follow.
    pub(crate) fn set_host(&mut self, host: usize) {
        self.lanes.set_host(host);
        self.profile_clocks.set_host(host);
    }

    /// Sets how the next operation is ordered with operations of blocking streams.
    pub(crate) fn set_barrier(&mut self, barrier: Barrier) {
        self.barrier = barrier;
    }

    /// Where device memory was allocated, if it was not freed long ago.
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

    /// Judges an operation that is being enqueued on a lane, and takes note of it. `pageable`: it
    /// copies host memory that is not pinned.
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

    /// The lane records an event, as its next operation.
    pub(crate) fn record(&mut self, lane: usize, operation: Operation) -> Snapshot {
        if !self.on {
            return Snapshot::default();
        }
        let position = self.issue(lane);
        self.note(Step::of_operation(&operation, Of::Nothing));
        self.lanes.record(position, operation, self.profile_clocks.snapshot(lane))
    }

    /// The lane waits for an event, as its next operation. Whether it came after it already.
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

    /// Whether the host has waited for the event already, or for what comes after it.
    pub(crate) fn host_knows(&self, event: &Snapshot) -> bool {
        self.on && event.is_known_to(self.lanes.host())
    }

    /// Whether the host has waited for everything on a lane already.
    pub(crate) fn host_knows_all(&self, lane: usize) -> bool {
        self.on && self.lanes.host_knows_all(lane)
    }

    /// The host has waited for an event, or was told that it is ready.
    pub(crate) fn host_waited(&mut self, event: &Snapshot) {
        let of = event.record_number().map_or(Of::Nothing, Of::Record);
        self.note(Step::of_host("wait", of));
        self.lanes.host_waited(event);
        self.profile_clocks.host_waited(event);
    }

    /// The host has waited for everything on a lane.
    pub(crate) fn host_waited_for_lane(&mut self, lane: usize) {
        self.note(Step::of_host("wait stream", Of::Stream(lane)));
        self.lanes.host_waited_for_lane(lane);
        self.profile_clocks.host_waited_for_lane(lane);
    }

    /// The host has waited for the whole device.
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

    /// Findings from now on draw nothing that was issued so far.
    pub(crate) fn begin_program(&mut self) {
        self.history.clear();
    }

    /// The finding, with its class and a drawing of the operations around it.
    pub(crate) fn drawn(&self, finding: Finding) -> Finding {
        let finding = finding.classed();
        Finding { timeline: self.history.draw(&finding), ..finding }
    }

    /// Whether a new stream may go on where a dropped one ended without seeming to be ordered after
    /// it.
    pub(crate) fn may_take_over(&self, lane: usize) -> bool {
        self.lanes.host_knows_all(lane)
    }
}
