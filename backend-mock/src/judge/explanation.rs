//! The notes below a finding: the missing edge, the nearest miss, what would help.

use super::{
    lanes::{Lanes, Wait},
    shadow::Conflict,
};
use crate::finding::{Finding, Operation};

impl Finding {
    /// Why `later` on a stream is not ordered after the first of the conflicts, and what would
    /// order it.
    pub(super) fn explain(self, lanes: &Lanes, later: Operation, first: &Conflict) -> Self {
        let earlier = first.with.operation;
        let (from, to) = (earlier.number, later.number);
        let missed = first.with.position;
        let Some(stream) = later.stream else {
            return self.note(format!("the host has not waited for #{from}")).note(format!(
                "help: wait for stream {}, or for an event recorded after #{from}",
                missed.lane
            ));
        };
        let edge = self.note(format!("no happens-before path #{from} → #{to}"));
        let near = match lanes.nearest_miss(stream, missed) {
            Some(Wait { wait, record, .. }) => edge.note(format!(
                "nearest miss: stream {stream} waited at op#{} for the event of op#{}, recorded before #{from}",
                wait.number, record.number
            )),
            None => edge,
        };
        near.note(format!(
            "help: record an event on stream {} after #{from}, and wait for it on stream {stream} before #{to}",
            missed.lane
        ))
    }
}
