//! Every nondeterministic choice, made in one place.

use crate::{
    rng::{SplitMix64, mix},
    trace::Trace,
};

/// How the simulator chooses among the orders that the contract of [`Stream`](devarray::backend::Stream) allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Schedule {
    /// Everything runs as soon as it is enqueued, whole and in order: what a test on an idle device usually sees.
    Eager,
    /// Nothing runs before something waits for it, and then only what that wait needs, oldest first. Shows reads of
    /// what nobody waited for.
    #[default]
    Lazy,
    /// Nothing runs before something waits; then the work enqueued last runs first, wanted or not, and copies run in
    /// pieces from the back. Shows writes that overtake a reader.
    ReverseLazy,
    /// Every choice is drawn from the seed.
    Random,
    /// Every choice is the trace's; past its end, the benign one.
    Replay(Trace),
}

/// What is being chosen. 0 is always the benign way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    /// After a call that enqueues: 0 runs one more step, 1 returns to the caller.
    Pause,
    /// In a wait: 0 runs what the wait needs, 1 runs anything that is ready.
    Stray,
    /// Which of the ready streams runs, the one whose next operation was enqueued first being 0.
    Lane,
    /// Into how many pieces more than one an operation is torn.
    Tear,
    /// Which of the remaining pieces is next, the first being 0.
    Piece,
    /// Where memory is allocated: 0 at a fresh address, k at the k-th most recently freed that fits.
    Reuse,
    /// Whether a call fails that a plan lets fail now and then: 0 is no.
    Fault,
    /// What an operation does that loses the device: 0 nothing before, 1 some of its work.
    Doom,
}

/// The one source of nondeterminism.
#[derive(Debug)]
pub(crate) struct Chooser {
    schedule: Schedule,
    rng: SplitMix64,
    replayed: usize,
    hash: u64,
    recorded: Option<Trace>,
}

impl Chooser {
    pub(crate) fn new(schedule: Schedule, seed: u64, record: bool) -> Self {
        let recorded = record.then(Trace::default);
        Self { schedule, rng: SplitMix64::new(seed), replayed: 0, hash: 0, recorded }
    }

    /// One of the ways `0..ways`, 0 being the benign one. A choice of one way is none, and is not recorded.
    pub(crate) fn choose(&mut self, kind: Choice, ways: usize) -> usize {
        if ways <= 1 {
            return 0;
        }
        let last = ways - 1;
        let way = match &self.schedule {
            Schedule::Eager => 0,
            Schedule::Lazy => usize::from(kind == Choice::Pause),
            Schedule::ReverseLazy => last,
            Schedule::Random => self.rng.below(ways),
            Schedule::Replay(trace) => replayed(trace, self.replayed, last),
        };
        self.keep(kind, ways, way)
    }

    /// Whether something happens that does once in `one_in` times; never if that is 0. Drawn from the seed under every schedule
    /// but a replay.
    pub(crate) fn unlikely(&mut self, one_in: usize) -> bool {
        let way = match &self.schedule {
            _ if one_in == 0 => return false,
            Schedule::Replay(trace) => replayed(trace, self.replayed, 1),
            _ => usize::from(self.rng.below(one_in) == 0),
        };
        self.keep(Choice::Fault, 2, way) == 1
    }

    fn keep(&mut self, kind: Choice, ways: usize, way: usize) -> usize {
        self.replayed += 1;
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
        let kinds = [Choice::Pause, Choice::Stray, Choice::Lane, Choice::Tear, Choice::Piece, Choice::Reuse];
        let answers = |schedule: Schedule| {
            let mut chooser = Chooser::new(schedule, 0, false);
            kinds.map(|kind| chooser.choose(kind, 2))
        };
        assert_eq!(answers(Schedule::Eager), [0, 0, 0, 0, 0, 0]);
        assert_eq!(answers(Schedule::Lazy), [1, 0, 0, 0, 0, 0]);
        assert_eq!(answers(Schedule::ReverseLazy), [1, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn a_replay_clamps_to_the_ways_there_are_and_ends_benign() {
        let mut chooser = Chooser::new(Schedule::Replay(vec![2, 9].into()), 0, true);
        assert_eq!([3, 3, 3].map(|ways| chooser.choose(Choice::Lane, ways)), [2, 2, 0]);
        assert_eq!(chooser.recorded().unwrap().choices(), [2, 2, 0]);
    }
}
