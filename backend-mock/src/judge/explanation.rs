//! The notes below a finding: the missing edge, the nearest miss, and the remedy.

use super::{
    lanes::{Lanes, Wait},
    shadow::Conflict,
};
use crate::finding::{Finding, Operation};

/// The operations that must come before another: the last conflict of each stream, by number. An
/// edge from an earlier operation of the stream would not order its last one.
pub(super) fn last_of_streams<'c>(conflicts: impl Iterator<Item = &'c Conflict>) -> Vec<(usize, u64)> {
    let mut last: Vec<(usize, u64)> = Vec::new();
    for Conflict { with, .. } in conflicts {
        let (lane, number) = (with.position.lane, with.operation.number);
        match last.iter_mut().find(|(known, _)| *known == lane) {
            Some((_, newest)) => *newest = number.max(*newest),
            None => last.push((lane, number)),
        }
    }
    last.sort_unstable_by_key(|(_, number)| *number);
    last
}

impl Finding {
    /// Explains why `later` is not ordered after the first conflict, and what would order it: an
    /// edge from each of `last`.
    pub(super) fn explain(
        self,
        lanes: &Lanes,
        later: Operation,
        first: &Conflict,
        last: &[(usize, u64)],
    ) -> Self {
        let earlier = first.with.operation;
        let (from, to) = (earlier.number, later.number);
        let missed = first.with.position;
        let Some(stream) = later.stream else {
            let told = self.note(format!("the host has not waited for #{from}"));
            return last.iter().fold(told, |told, (lane, from)| {
                told.note(format!("help: wait for stream {lane}, or for an event recorded after #{from}"))
            });
        };
        let edge = self.note(format!("no happens-before path #{from} → #{to}"));
        let near = match lanes.nearest_miss(stream, missed) {
            Some(Wait { wait, record, .. }) => edge.note(format!(
                "nearest miss: stream {stream} waited at op#{} for the event of op#{}, recorded before #{from}",
                wait.number, record.number
            )),
            None => edge,
        };
        last.iter().fold(near, |told, (lane, from)| {
            told.note(format!(
                "help: record an event on stream {lane} after #{from}, and wait for it on stream {stream} before #{to}"
            ))
        })
    }
}
