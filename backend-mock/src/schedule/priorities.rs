//! Priorities of the host and of streams, drawn once and changed a few times.

use std::{cmp::Reverse, collections::BTreeMap};

use crate::rng::SplitMix64;

/// Drawn priorities are above this number; priorities of streams that fell behind are below it.
const LOWEST_DRAWN: usize = 1 << 32;

/// The most changes of priority that are made, whatever depth is asked for.
const MOST_FALLS: usize = 1 << 16;

/// The priorities of the host, which has number 0, and of the streams, whose numbers are increased
/// by 1.
#[derive(Debug, Default)]
pub(super) struct Priorities {
    priorities: BTreeMap<usize, usize>,
    /// The steps at which the one that continues falls behind.
    falls: Vec<u64>,
    steps: u64,
    /// The priority for the next one that falls behind: below all earlier ones.
    behind: usize,
}

impl Priorities {
    pub(super) fn new(depth: usize, steps: u64, rng: &mut SplitMix64) -> Self {
        let steps = usize::try_from(steps).unwrap_or(usize::MAX).max(1);
        let falls = (1..depth).take(MOST_FALLS).map(|_| rng.below(steps) as u64).collect();
        Self { falls, behind: LOWEST_DRAWN, ..Self::default() }
    }

    /// The index in the list of the stream that continues; the index after the last if the host
    /// does.
    pub(super) fn first(&mut self, streams: &[usize], may_return: bool, rng: &mut SplitMix64) -> usize {
        let host = may_return.then_some((streams.len(), 0));
        let ways = streams.iter().enumerate().map(|(way, stream)| (way, stream + 1)).chain(host);
        let mut priority =
            |who| *self.priorities.entry(who).or_insert_with(|| LOWEST_DRAWN + 1 + rng.below(LOWEST_DRAWN));
        let first = ways.max_by_key(|&(way, who)| (priority(who), Reverse(way)));
        let (way, who) = first.unwrap_or((0, 0));
        if self.falls.contains(&self.steps) {
            self.behind = self.behind.saturating_sub(1);
            self.priorities.insert(who, self.behind);
        }
        self.steps += 1;
        way
    }
}
