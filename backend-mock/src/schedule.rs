//! Schedules: every nondeterministic choice is made here.

mod priorities;

use crate::{
    rng::{SplitMix64, mix},
    trace::Trace,
};
use priorities::Priorities;

/// The way in which the simulator chooses among the orders that the contract of
/// [`Stream`](devarray::backend::Stream) allows. Under every schedule, if more operations are queued than
/// [allowed](crate::Builder::most_queued), the oldest run first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Schedule {
    /// Everything runs as soon as it is enqueued, whole and in order: the order that a test on an idle device
    /// usually sees.
    Eager,
    /// Nothing runs until something waits for it, and then only the work that the wait needs runs, the oldest
    /// first. Shows reads of memory that nobody waited for.
    #[default]
    Lazy,
    /// Nothing runs until something waits; then the newest work runs first, needed or not, and copies run in
    /// pieces from the back. Shows writes that overtake a reader.
    ReverseLazy,
    /// Every choice is drawn from the seed.
    Random,
    /// The host and each stream have a priority drawn from the seed, and the one with the highest that can
    /// run continues. At `depth - 1` of the first `steps` steps, the one that continues falls behind all
    /// others. A mistake that needs only `depth` steps in one order is found with a chance of at least one in
    /// `(streams + 1) × steps^(depth - 1)`, however long the run is (Burckhardt and others, "A randomized
    /// scheduler with probabilistic guarantees of finding bugs", 2010).
    Priorities {
        /// The number of steps that must be in one order.
        depth: usize,
        /// The approximate number of steps in a run: [`MockDevice::steps`](crate::MockDevice::steps) of
        /// another run.
        steps: u64,
    },
    /// Every choice is taken from the trace; past its end, the harmless one.
    Replay(Trace),
}

/// The kind of choice. Way 0 is always the harmless one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// In a call that does not wait: each ready stream, where 0 is the stream whose next operation was
    /// enqueued first; last, a return to the caller.
    Next,
    /// In a wait: 0 is the stream that the wait needs, then each other ready stream as above.
    Needed,
    /// The number of pieces beyond one into which an operation is divided.
    Tear,
    /// The remaining piece that is next; 0 is the first.
    Piece,
    /// The place of an allocation: 0 is a fresh address, k is the k-th most recently freed range that fits.
    Reuse,
    /// When an upload of pageable memory reads its source, among the ways that the profile allows.
    Source,
    /// Whether a call fails that a plan lets fail at random; 0 is no.
    Fault,
    /// The rank that continues. On entry to the engine, 0 is the rank that enters; otherwise the next in
    /// turn.
    Rank,
    /// The amount of work that an operation does before it loses the device: 0 is none, 1 is some.
    Doom,
    /// The call of a launch of recorded work that comes next, among those that come behind no call that is still to
    /// come; 0 is the one that was recorded first.
    Call,
}

/// The only source of nondeterminism.
#[derive(Debug)]
pub(crate) struct Chooser {
    schedule: Schedule,
    rng: SplitMix64,
    /// The number of choices so far.
    choices: usize,
    /// The number of times that it was chosen what continues.
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

    /// Chooses one of the ways `0..ways`, where 0 is the harmless one. If there is only one way, nothing is
    /// chosen or recorded.
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

    /// Chooses the stream that continues: its index in the list; the index after the last stands for the
    /// host, if it may continue.
    pub(crate) fn choose_stream(&mut self, kind: Choice, streams: &[usize], may_return: bool) -> usize {
        let ways = streams.len() + usize::from(may_return);
        self.steps += 1;
        if !matches!(self.schedule, Schedule::Priorities { .. }) {
            return self.choose(kind, ways);
        }
        let way = self.priorities.first(streams, may_return, &mut self.rng);
        if ways > 1 { self.keep(kind, ways, way) } else { way }
    }

    /// Whether an event with a chance of one in `one_in` happens; never if that is 0. Drawn from the seed
    /// under every schedule except a replay.
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

    /// Adds words that describe an event to the hash of the run.
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
