//! Clocks under profiles that promise more than the documentation.
//!
//! An operation is judged by documented promises. Each conflict that is found is checked again with
//! the clocks of every [profile](Profile) that has additional edges. These clocks are kept only
//! once a profile first differs, so most programs have none. All edges of the judge are edges under
//! every profile, so an operation that it finds right is right under all.

use std::collections::VecDeque;

use devarray::backend::Meeting;

use super::{
    Judge,
    access_lists::ListedAccess,
    clock::Clock,
    lanes::{Lanes, Snapshot, SnapshotByProfile},
    shadow::Conflict,
};
use crate::{
    finding::{Code, Finding, Operation},
    profile::{NullStream, Profile, ProfileSet, Rules},
};

/// The number of a profile's edges that are remembered, to name them.
const MOST_EDGES: usize = 16;

/// The order between an operation and the operations of blocking streams, which depends on the
/// operation's stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// There is none.
    #[default]
    None,
    /// Like [`Always`](Self::Always), if stream 0 is the legacy default stream.
    IfLegacy,
    /// It comes after all their earlier operations, and before all their later ones.
    Always,
}

impl Barrier {
    /// Whether there is an order under these rules.
    pub(crate) fn holds_under(self, rules: Rules) -> bool {
        match self {
            Self::None => false,
            Self::IfLegacy => rules.null_stream == NullStream::Legacy,
            Self::Always => true,
        }
    }
}

/// The clocks for profiles that have additional edges; empty until one of them differs.
#[derive(Debug, Default)]
pub(super) struct ProfileClocks(Vec<ClocksOfProfile>);

#[derive(Debug)]
struct ClocksOfProfile {
    profile: Profile,
    lanes: Lanes,
    /// Copies that waited for themselves under this profile, the oldest first, each with the clock
    /// of everything before it, including itself.
    waited: VecDeque<(Operation, Clock)>,
}

/// The later of two conflicting accesses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Later {
    /// The stream; none for the host.
    pub(super) stream: Option<usize>,
    /// Whether it reads the source of an upload of pageable memory.
    pub(super) of_pageable: bool,
}

impl ProfileClocks {
    /// Notes that a profile may differ from now on.
    pub(super) fn open(&mut self, lanes: &Lanes) {
        if self.0.is_empty() {
            let differs = |profile: &Profile| {
                let rules = profile.rules();
                rules.pageable_download_blocks || rules.null_stream == NullStream::Legacy
            };
            let clocks = |profile| ClocksOfProfile { profile, lanes: lanes.clone(), waited: VecDeque::new() };
            self.0 = Profile::ALL.into_iter().filter(differs).map(clocks).collect();
        }
    }

    pub(super) fn set_blocking(&mut self, lane: usize, blocking: bool) {
        self.0.iter_mut().for_each(|clocks| clocks.lanes.set_blocking(lane, blocking));
    }

    pub(super) fn set_host(&mut self, host: usize) {
        self.0.iter_mut().for_each(|clocks| clocks.lanes.set_host(host));
    }

    pub(super) fn start_hosts(&mut self, count: usize) {
        for clocks in &mut self.0 {
            clocks.lanes.start_hosts(count);
        }
    }

    pub(super) fn end_hosts(&mut self) {
        self.0.iter_mut().for_each(|clocks| clocks.lanes.end_hosts());
    }

    pub(super) fn come_to(&mut self, meeting: Meeting) {
        self.0.iter_mut().for_each(|clocks| clocks.lanes.come_to(meeting));
    }

    pub(super) fn go_from(&mut self, meeting: Meeting, all_came: bool) {
        self.0.iter_mut().for_each(|clocks| clocks.lanes.go_from(meeting, all_came));
    }

    pub(super) fn issue(&mut self, lane: usize, barrier: Barrier) {
        for ClocksOfProfile { profile, lanes, .. } in &mut self.0 {
            lanes.issue(lane);
            if barrier.holds_under(profile.rules()) {
                lanes.come_after_blocking(lane);
            }
        }
        self.come_before_blocking(lane, barrier);
    }

    pub(super) fn come_before_blocking(&mut self, lane: usize, barrier: Barrier) {
        let profile_clocks = self.0.iter_mut().filter(|clocks| barrier.holds_under(clocks.profile.rules()));
        profile_clocks.for_each(|clocks| clocks.lanes.come_before_blocking(lane));
    }

    /// The clock of a snapshot of a lane, for each profile.
    pub(super) fn snapshot(&self, lane: usize) -> Option<Box<SnapshotByProfile>> {
        let clocks = || self.0.iter().map(|clocks| clocks.lanes.clock(lane).clone()).collect();
        (!self.0.is_empty()).then(|| Box::new(SnapshotByProfile(clocks())))
    }

    pub(super) fn wait(&mut self, lane: usize, event: &Snapshot) {
        for (index, clocks) in self.0.iter_mut().enumerate() {
            clocks.lanes.learn(lane, event.clock_under(index));
        }
    }

    pub(super) fn host_waited(&mut self, event: &Snapshot) {
        for (index, clocks) in self.0.iter_mut().enumerate() {
            clocks.lanes.host_learns(event.clock_under(index));
        }
    }

    pub(super) fn host_waited_for_lane(&mut self, lane: usize) {
        self.0.iter_mut().for_each(|clocks| clocks.lanes.host_waited_for_lane(lane));
    }

    pub(super) fn host_waited_for_all(&mut self) {
        self.0.iter_mut().for_each(|clocks| clocks.lanes.host_waited_for_all());
    }

    /// Notes that the newest operation of a lane is a download to pageable memory.
    pub(super) fn downloaded(&mut self, lane: usize, copy: Operation) {
        for clocks in self.0.iter_mut().filter(|clocks| clocks.profile.rules().pageable_download_blocks) {
            clocks.lanes.host_waited_for_lane(lane);
            if clocks.waited.len() == MOST_EDGES {
                clocks.waited.pop_front();
            }
            clocks.waited.push_back((copy, clocks.lanes.clock(lane).clone()));
        }
    }
}

impl Judge {
    /// Keeps the conflicts that remain under the profile of the device. Returns the profiles under
    /// which none of them remains.
    pub(super) fn under_profiles(&self, later: Later, conflicts: &mut Vec<Conflict>) -> ProfileSet {
        // Most programs return here.
        if self.profile_clocks.0.is_empty() {
            return ProfileSet::default();
        }
        conflicts.retain(|conflict| !self.is_ordered_under(self.profile, later, &conflict.with));
        let is_right = |&profile: &Profile| {
            conflicts.iter().all(|conflict| self.is_ordered_under(profile, later, &conflict.with))
        };
        Profile::ALL.into_iter().filter(|_| !conflicts.is_empty()).filter(is_right).collect()
    }

    fn is_ordered_under(&self, profile: Profile, later: Later, earlier: &ListedAccess) -> bool {
        let rules = profile.rules();
        if earlier.of_pageable && rules.source_is_free_at_return() {
            return true;
        }
        let clocks = self.profile_clocks.0.iter().find(|clocks| clocks.profile == profile);
        let lanes = clocks.map_or(&self.lanes, |clocks| &clocks.lanes);
        let reads_early = later.of_pageable && rules.may_read_early();
        let clock = later.stream.filter(|_| !reads_early).map_or(lanes.host(), |lane| lanes.clock(lane));
        clock.knows(earlier.position)
    }

    /// The copy that, if it waited for itself, put an access before everything issued since.
    pub(super) fn may_have_waited(&self, earlier: &ListedAccess) -> Option<Operation> {
        let waited = self.profile_clocks.0.iter().flat_map(|clocks| &clocks.waited);
        waited.filter(|(_, clock)| clock.knows(earlier.position)).map(|(copy, _)| *copy).next()
    }
}

impl Finding {
    /// Makes this a finding of reliance if it is right under some profile, and adds the reasons.
    pub(super) fn classed(mut self) -> Self {
        for profile in self.passes_under.iter() {
            let why = match profile {
                Profile::Cuda12Discrete => {
                    "copies of pageable memory are done with it when they return (rows 6 and 7)"
                }
                Profile::CoherentHost => "uploads of pageable memory read it in stream order (row 6)",
                Profile::Legacy => {
                    "stream 0 is the legacy default stream, which all blocking streams wait for (row 26)"
                }
                Profile::Strict | Profile::PerThread => "it is documented",
            };
            self.notes.push(format!("right under profile {profile}, and not under strict: there {why}"));
            self.code = Code::ReliesOnProfile;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::finding::Access;

    /// Only a number of copies that may have waited are remembered, the newest ones.
    #[test]
    fn the_first_copy_that_may_have_waited_for_an_access_is_named() {
        let mut judge = Judge::new(true, false, Profile::Strict);
        judge.profile_clocks.open(&judge.lanes);
        let location = Location::caller();
        let operation =
            |number| Operation { number, kind: "copy", stream: Some(0), location, argument: None };
        let mut copies = Vec::new();
        for number in 0..2 * MOST_EDGES as u64 {
            let position = judge.issue(0);
            judge.profile_clocks.downloaded(0, operation(number));
            copies.push(ListedAccess::new(position, operation(number), Access::Read));
            // The first remembered copy that is at the access or after it.
            for (at, copy) in copies.iter().enumerate() {
                let oldest = (copies.len()).saturating_sub(MOST_EDGES);
                let found = judge.may_have_waited(copy).map(|copy| copy.number);
                assert_eq!(found, Some(at.max(oldest) as u64), "of {} copies", copies.len());
            }
        }
        let other = ListedAccess::new(judge.issue(1), operation(99), Access::Read);
        assert_eq!(judge.may_have_waited(&other), None);
    }
}
