//! Every nondeterministic choice, made in one place.

mod priorities;

use crate::{
    rng::{SplitMix64, mix},
    trace::Trace,
};
use priorities::Priorities;

/// How the simulator chooses among the orders that the contract of
/// [`Stream`](devarray::backend::Stream) allows. Whatever it says, the operations enqueued first run
/// where more are queued than [may be](crate::Builder::most_queued).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Schedule {
    /// Everything runs as soon as it is enqueued, whole and in order: what a test on an idle device
    /// usually sees.
    Eager,
    /// Nothing runs before something waits for it, and then only the work that the wait needs,
    /// oldest first. Shows reads of memory that nobody waited for.
    #[default]
    Lazy,
    /// Nothing runs before something waits; then the work enqueued last runs first, wanted or not,
    /// and copies run in pieces from the back. Shows writes that overtake a reader.
    ReverseLazy,
    /// Every choice is drawn from the seed.
    Random,
    /// The host and each stream have a priority drawn from the seed, and the highest that can run
    /// goes on. At `depth - 1` of the first `steps` steps, the one that goes on falls behind all
    /// others. A mistake that needs only `depth` steps in one order is found with a chance of at
    /// least one in `(streams + 1) × steps^(depth - 1)`, however long the run is (Burckhardt and
    /// others, "A randomized scheduler with probabilistic guarantees of finding bugs", 2010).
    Priorities {
        /// How many steps must be in one order.
        depth: usize,
        /// About how many steps a run has: [`MockDevice::steps`](crate::MockDevice::steps) of
        /// another one.
        steps: u64,
    },
    /// Every choice is the trace's; past its end, the benign one.
    Replay(Trace),
}

/// What is being chosen. 0 is always the benign way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// In a call that does not wait: each ready stream, the one whose next operation was enqueued
    /// first being 0; last, return to the caller.
    Next,
    /// In a wait: what the wait needs is 0, then each other ready stream as above.
    Needed,
    /// Into how many pieces more than one an operation is torn.
    Tear,
    /// Which of the remaining pieces is next, the first being 0.
    Piece,
    /// Where memory is allocated: 0 at a fresh address, k at the k-th most recently freed that
    /// fits.
    Reuse,
    /// When an upload of pageable memory reads its source, among the ways that the profile leaves
    /// open.
    Source,
    /// Whether a call fails that a plan lets fail now and then: 0 is no.
    Fault,
    /// The rank that goes on: at an entry of the engine 0 is the rank that comes, else the next in turn.
    Rank,
    /// What an operation does that loses the device: 0 nothing before, 1 some of its work.
    Doom,
}

/// The one source of nondeterminism.
#[derive(Debug)]
pub(crate) struct Chooser {
    schedule: Schedule,
    rng: SplitMix64,
    /// Choices so far.
    choices: usize,
    /// How often it was decided who goes on.
    steps: u64,
    hash: u64,
    recorded: Option<Trace>,
    priorities: Priorities,
}

impl Chooser {
    pub(crate) fn new(schedule: Schedule, seed: u64, record: bool) -> Self {
        let recorded = record.then(Trace::default);
        let mut rng = SplitMix64::new(seed);
        let priorities = match schedule {
            Schedule::Priorities { depth, steps } => Priorities::new(depth, steps, &mut rng),
            _ => Priorities::default(),
        };
        Self { schedule, rng, choices: 0, steps: 0, hash: 0, recorded, priorities }
    }

    /// One of the ways `0..ways`, 0 being the benign one. A choice of one way is none, and is not
    /// recorded.
    pub(crate) fn choose(&mut self, kind: Choice, ways: usize) -> usize {
        if ways <= 1 {
            return 0;
        }
        let last = ways - 1;
        let way = match &self.schedule {
            Schedule::Eager => 0,
            Schedule::Lazy if kind == Choice::Next => last,
            Schedule::Lazy => 0,
            Schedule::ReverseLazy => last,
            Schedule::Random | Schedule::Priorities { .. } => self.rng.below(ways),
            Schedule::Replay(trace) => replayed(trace, self.choices, last),
        };
        self.keep(kind, ways, way)
    }

    /// Which of the streams goes on: its place in the list; past it, the host does, if it may.
    pub(crate) fn choose_stream(&mut self, kind: Choice, streams: &[usize], may_return: bool) -> usize {
        let ways = streams.len() + usize::from(may_return);
        self.steps += 1;
        if !matches!(self.schedule, Schedule::Priorities { .. }) {
            return self.choose(kind, ways);
        }
        let way = self.priorities.first(streams, may_return, &mut self.rng);
        if ways > 1 { self.keep(kind, ways, way) } else { way }
    }

    /// Whether something happens that does once in `one_in` times; never if that is 0. Drawn from
    /// the seed under every schedule but a replay.
    pub(crate) fn unlikely(&mut self, one_in: usize) -> bool {
        let way = match &self.schedule {
            _ if one_in == 0 => return false,
            Schedule::Replay(trace) => replayed(trace, self.choices, 1),
            _ => usize::from(self.rng.below(one_in) == 0),
        };
        self.keep(Choice::Fault, 2, way) == 1
    }

    fn keep(&mut self, kind: Choice, ways: usize, way: usize) -> usize {
        self.choices += 1;
        if let Some(trace) = &mut self.recorded {
            trace.push(way);
        }
        self.note([kind as u64, ways as u64, way as u64]);
        way
    }

    /// Takes words that describe what happened into the hash of the run.
    pub(crate) fn note(&mut self, words: [u64; 3]) {
        for word in words {
            self.hash = mix(self.hash.rotate_left(1) ^ word.wrapping_add(1));
        }
    }

    pub(crate) fn choices(&self) -> usize {
        self.choices
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn recorded(&self) -> Option<&Trace> {
        self.recorded.as_ref()
    }
}

fn replayed(trace: &Trace, position: usize, last: usize) -> usize {
    trace.choices().get(position).map_or(0, |&way| way.min(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_schedules_answer_by_rule() {
        let kinds = [Choice::Next, Choice::Needed, Choice::Tear, Choice::Piece, Choice::Reuse];
        let answers = |schedule: Schedule| {
            let mut chooser = Chooser::new(schedule, 0, false);
            kinds.map(|kind| chooser.choose(kind, 3))
        };
        assert_eq!(answers(Schedule::Eager), [0, 0, 0, 0, 0]);
        assert_eq!(answers(Schedule::Lazy), [2, 0, 0, 0, 0]);
        assert_eq!(answers(Schedule::ReverseLazy), [2, 2, 2, 2, 2]);
    }

    #[test]
    fn a_replay_clamps_to_the_ways_there_are_and_ends_benign() {
        let mut chooser = Chooser::new(Schedule::Replay(vec![2, 9].into()), 0, true);
        assert_eq!([3, 3, 3].map(|ways| chooser.choose(Choice::Next, ways)), [2, 2, 0]);
        assert_eq!(chooser.recorded().unwrap().choices(), [2, 2, 0]);
    }
}
