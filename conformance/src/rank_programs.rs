//! Random programs of several ranks, for backends with collectives.
//!
//! A [`RankProgram`] is a list of steps that all ranks make: exchanges of every kind, in new arrays, into existing
//! ones and in place, of views of any strides, on two streams, in all ranks and in groups of a split, among copies
//! and small functions, called or recorded and launched. The expected bits are computed with vectors. They are one
//! and the same on every backend, under every schedule.
//!
//! ```
//! use devarray::Context;
//! use devarray_conformance::rank_programs::{Functions, RankProgram};
//! use devarray_mock::MockDevice;
//!
//! let program = RankProgram::drawn(7, 2);
//! let first = MockDevice::new();
//! let contexts = [Context::new(first.clone())?, Context::new(first.sibling())?];
//! program.check(&contexts, Functions::of_device(), || ())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod calls;
mod due;
mod run;
mod step;
mod value;

use std::{fmt, ops::Range, thread, time::Duration};

use devarray::{Context, backend::Collects, collective::CommunicatorId};

pub use self::{calls::Functions, due::Twin};
use self::{
    step::{Block, Call, Step, Wrong},
    value::Kind,
};
use crate::{Outcome, Rng, Violation};

/// Steps of a program.
const MOST_STEPS: usize = 14;
/// Elements of a row that is exchanged: none, few, more than a block of threads has.
const LENS: [usize; 8] = [0, 1, 2, 3, 5, 8, 33, 300];
/// The time that a call may take if a rank does not come: the program or the backend is wrong then.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// The bits of all arrays of a rank, each time that they were looked at.
pub type Seen = Vec<Vec<u64>>;

/// A program of several ranks, which a seed names.
#[derive(Clone)]
pub struct RankProgram {
    seed: u64,
    ranks: usize,
    kind: Kind,
    /// Elements of a row that is exchanged.
    len: usize,
    steps: Vec<Step>,
    /// Steps that are recorded, in their order.
    blocks: Vec<Block>,
    wrong: Option<Wrong>,
}

impl RankProgram {
    /// The program of a seed, for this number of ranks.
    #[must_use]
    pub fn drawn(seed: u64, ranks: usize) -> Self {
        let mut rng = Rng::new(seed);
        let kind = *rng.pick(&Kind::ALL);
        let len = *rng.pick(&LENS);
        let count = 1 + rng.below(MOST_STEPS);
        let mut smallest = ranks;
        let mut is_split = false;
        let steps = (0..count).map(|_| {
            let group = is_split && rng.below(2) == 0;
            let step = Step::drawn(&mut rng, kind, ranks, group.then_some(smallest));
            if let Call::Split(colors) = &step.call {
                let size = |color: &usize| colors.iter().filter(|other| **other == Some(*color)).count();
                smallest = colors.iter().flatten().map(size).min().unwrap_or(0);
                is_split = smallest > 0;
            }
            step
        });
        let steps: Vec<Step> = steps.collect();
        let blocks = Block::drawn(&mut rng, &steps);
        Self { seed, ranks, kind, len, steps, blocks, wrong: None }
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The number of steps.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The first steps of it, no more than that.
    #[must_use]
    pub fn first(&self, steps: usize) -> Self {
        let cut = |block: &Block| {
            let steps = block.steps.start..block.steps.end.min(steps);
            (!steps.is_empty()).then_some(Block { steps, ..*block })
        };
        let blocks = self.blocks.iter().filter_map(cut).collect();
        Self { steps: self.steps.iter().take(steps).cloned().collect(), blocks, ..self.clone() }
    }

    /// The steps in the order in which they are made, cut into what is recorded, with the number of its launches, and
    /// single steps.
    fn parts(&self) -> impl Iterator<Item = (Range<usize>, Option<usize>)> {
        let mut blocks = self.blocks.iter().peekable();
        let mut at = 0;
        std::iter::from_fn(move || {
            let block = blocks.next_if(|block| block.steps.start == at);
            let steps = block.map_or(at..at + 1, |block| block.steps.clone());
            at = steps.end;
            (steps.end <= self.steps.len()).then_some((steps, block.map(|block| block.launches)))
        })
    }

    /// This program with a call of one rank that does not fit the other calls; none if it has no call of
    /// two ranks or more.
    #[must_use]
    pub fn with_mistake(&self, seed: u64) -> Option<Self> {
        let wrong = Wrong::drawn(&mut Rng::new(seed), &self.steps, self.ranks)?;
        Some(Self { wrong: Some(wrong), ..self.clone() })
    }

    /// Runs it on a thread for each context, which is a rank, and compares what they have with what is due. Each
    /// thread calls `begin` first.
    ///
    /// # Errors
    ///
    /// A rank has other elements, or a call failed.
    pub fn check<D: Collects>(
        &self,
        contexts: &[Context<D>],
        functions: Functions<D>,
        begin: impl Fn() + Sync,
    ) -> Outcome {
        let id = &CommunicatorId::with_time_limit(TIME_LIMIT);
        let run = |rank: usize, context: &Context<D>| -> Outcome {
            begin();
            let seen = self.run(context, id, rank, functions)?;
            self.compare(rank, &seen)
        };
        let run = &run;
        let outcomes: Vec<Outcome> = thread::scope(|scope| {
            let start = |(rank, context)| scope.spawn(move || run(rank, context));
            let threads: Vec<_> = contexts.iter().enumerate().map(start).collect();
            let ended = |thread: thread::ScopedJoinHandle<'_, Outcome>| {
                thread.join().unwrap_or_else(|_| Err(Violation::new(format!("{self:?}: a rank panicked"))))
            };
            threads.into_iter().map(ended).collect()
        });
        outcomes.into_iter().collect()
    }

    /// Compares what a rank has with what is due.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn compare(&self, rank: usize, seen: &Seen) -> Outcome {
        let due = &self.due(Twin::None)[rank];
        if seen.len() != due.len() {
            return Err(Violation::new(format!("{self:?}: rank {rank} looked {} times", seen.len())));
        }
        for (look, (seen, due)) in seen.iter().zip(due).enumerate() {
            let differs = seen.iter().zip(due).position(|(seen, due)| seen != due);
            if let Some(at) = differs.or((seen.len() != due.len()).then_some(seen.len().min(due.len()))) {
                let [found, due] = [seen, due].map(|of| of.get(at).copied().unwrap_or(0));
                let steps: Vec<String> = self.steps.iter().map(|step| format!("\n  {step:?}")).collect();
                let blocks = &self.blocks;
                return Err(Violation::new(format!(
                    "{self:?}: at look {look} rank {rank} has {found:#x} at element {at} of its arrays, and {due:#x} \
                     is due; recorded are {blocks:?} of the steps{}",
                    steps.concat()
                )));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RankProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, ranks, kind, len, steps, wrong, .. } = self;
        let wrong = if wrong.is_some() { ", with a mistake" } else { "" };
        let count = steps.len();
        write!(f, "RankProgram(seed {seed}, {ranks} ranks, {count} steps with rows of {len} {kind:?}{wrong})")
    }
}
