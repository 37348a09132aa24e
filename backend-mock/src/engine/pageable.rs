//! Copies of host memory that is not pinned, which profiles treat differently.

use std::panic::Location;

use super::{Engine, Work, execute};
use crate::{
    profile::{Profile, SourceRead},
    schedule::Choice,
};

impl Engine {
    pub(crate) fn profile(&self) -> Profile {
        self.judge.profile()
    }

    /// Whether an operation copies host memory that is neither pinned nor registered.
    pub(super) fn is_pageable(&self, work: &Work) -> bool {
        let Some((host, _)) = work.host() else { return false };
        let host = host.addresses();
        let mut registrations = self.ledger.registrations.values();
        let registered = registrations.any(|(range, _)| range.start <= host.start && host.end <= range.end);
        !registered && self.judge.pinned(&host).is_none()
    }

    /// Adds such a copy to the queue of a stream, and does during the call what the profile
    /// demands.
    pub(super) fn push_pageable(
        &mut self,
        lane: usize,
        mut work: Work,
        location: &'static Location<'static>,
    ) {
        let rules = self.profile().rules();
        let mut staged = None;
        if let Work::Upload { host, .. } = &mut work {
            let ways = rules.pageable_upload;
            let way = ways[self.chooser.choose(Choice::Source, ways.len())];
            if way == SourceRead::AfterEarlierWork
                && let Some(last) = self.lanes.last(lane)
            {
                self.force(last);
            }
            if way != SourceRead::InStreamOrder {
                staged = Some(execute::stage(host));
            }
        }
        let blocks = rules.pageable_download_blocks && matches!(work, Work::Download { .. });
        if let Some(staged) = staged {
            self.staged.insert(self.enqueued, staged);
        }
        let mark = self.push(lane, work, location);
        if blocks {
            self.force(mark);
        }
    }
}
