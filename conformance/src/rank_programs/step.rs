//! Steps of programs: what each rank calls, and with which elements.

use std::ops::Range;

use devarray::collective::Combination;

use super::value::Kind;
use crate::Rng;

const COMBINATIONS: [Combination; 5] =
    [Combination::Sum, Combination::Product, Combination::Minimum, Combination::Maximum, Combination::Mean];

/// Arrays of a rank.
pub(super) const SLOTS: usize = 3;

/// A step of all ranks.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// Whether it is one of the groups of the last split, each among themselves.
    pub(super) group: bool,
    pub(super) call: Call,
    /// The elements that each rank gives and gets, in the order of ranks.
    pub(super) parts: Vec<Parts>,
}

/// Steps that are recorded, and launched one after the other as often as this.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) steps: Range<usize>,
    pub(super) launches: usize,
}

impl Block {
    /// Some of these steps, in blocks of one communicator each.
    pub(super) fn drawn(rng: &mut Rng, steps: &[Step]) -> Vec<Self> {
        let (mut blocks, mut at) = (Vec::new(), 0);
        while at < steps.len() {
            let fits = |step: &&Step| step.group == steps[at].group && step.call.is_recordable();
            let most = steps[at..].iter().take_while(fits).count();
            let count = if most > 0 && rng.below(2) == 0 { 1 + rng.below(most) } else { 0 };
            if count > 0 {
                blocks.push(Self { steps: at..at + count, launches: 1 + rng.below(2) });
            }
            at += count.max(1);
        }
        blocks
    }
}

/// The stream and the elements of a rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub(super) stream: usize,
    pub(super) from: View,
    /// In another array.
    pub(super) to: View,
}

/// Some elements of an array: rows for the members of a group, and of each row as many elements as the
/// program says.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub(super) slot: usize,
    /// The first column, and the distance to the next.
    pub(super) start: usize,
    pub(super) step: usize,
    pub(super) flips: [bool; 2],
    /// The row where one is meant; taken modulo their number.
    pub(super) row: usize,
}

/// The place of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A new array, which is copied to where it goes.
    New,
    Into,
    InPlace,
}

/// Roots and peers are taken modulo the number of members.
#[derive(Debug, Clone)]
pub(super) enum Call {
    AllReduce(Combination, Form),
    Reduce(Combination, usize, Form),
    ReduceScatter(Combination, Form),
    Broadcast(usize),
    AllGather(Form),
    AllToAll(Form),
    /// Rows from each member to each, for as many members as there are ranks.
    Counted(Vec<Vec<usize>>, Form),
    Transfer(usize, usize),
    /// A row from each member to the member this number of places after it; some name what they get first.
    Rotate(usize),
    Barrier,
    /// A function of both views, in the second.
    Add,
    Copy,
    Fill(u64),
    Look,
    Split(Vec<Option<usize>>),
    /// All ranks go on without comparing their calls.
    Uncheck,
}

impl Step {
    /// `smallest`: the size of the smallest group, for a step of groups.
    pub(super) fn drawn(rng: &mut Rng, kind: Kind, ranks: usize, smallest: Option<usize>) -> Self {
        let call = Call::drawn(rng, kind, ranks, smallest.unwrap_or(ranks));
        let is_local = matches!(call, Call::Split(_) | Call::Uncheck | Call::Look);
        let parts = (0..ranks).map(|_| Parts::drawn(rng)).collect();
        Self { group: smallest.is_some() && !is_local, call, parts }
    }
}

impl Parts {
    fn drawn(rng: &mut Rng) -> Self {
        let from = View::drawn(rng, rng.clone().below(SLOTS));
        let to = (from.slot + 1 + rng.below(SLOTS - 1)) % SLOTS;
        Self { stream: rng.below(2), from, to: View::drawn(rng, to) }
    }
}

impl View {
    fn drawn(rng: &mut Rng, slot: usize) -> Self {
        // The first array is as wide as a row, so that views of it are contiguous.
        let is_wide = slot > 0;
        let start = if is_wide { rng.below(2) } else { 0 };
        let step = if is_wide { 1 + rng.below(2) } else { 1 };
        let flips = [rng.below(3) == 0, rng.below(3) == 0];
        Self { slot, start, step, flips, row: rng.below(12) }
    }

    /// Columns of its array.
    pub(super) fn width(slot: usize, len: usize) -> usize {
        if slot == 0 { len } else { 2 * len + 1 }
    }

    /// The place of an element in its array, of `rows` rows of `len` elements.
    pub(super) fn at(&self, rows: usize, len: usize, row: usize, column: usize) -> usize {
        let row = if self.flips[0] { rows - 1 - row } else { row };
        let column = if self.flips[1] { len - 1 - column } else { column };
        row * Self::width(self.slot, len) + self.start + column * self.step
    }
}

impl Call {
    fn drawn(rng: &mut Rng, kind: Kind, ranks: usize, members: usize) -> Self {
        let combination = *rng.pick(&COMBINATIONS[..if kind.is_float() { 5 } else { 4 }]);
        let form = *rng.pick(&[Form::New, Form::Into, Form::InPlace]);
        let or_into = if form == Form::InPlace { Form::Into } else { form };
        let (one, two) = (rng.below(12), rng.below(12));
        match rng.below(20) {
            0 | 1 => Self::AllReduce(combination, form),
            2 => Self::Reduce(combination, one, if form == Form::Into { Form::New } else { form }),
            3 | 4 => Self::ReduceScatter(combination, form),
            5 | 6 => Self::Broadcast(one),
            7 | 8 => Self::AllGather(form),
            9 => Self::AllToAll(or_into),
            10 | 11 => Self::Counted(counts(rng, ranks, members), or_into),
            12 => Self::Transfer(one, two),
            13 => Self::Rotate(one),
            14 => Self::Barrier,
            15 => Self::Add,
            16 => Self::Copy,
            17 => Self::Fill(rng.bits()),
            18 if rng.below(2) == 0 => Self::Look,
            18 => Self::Uncheck,
            _ => Self::Split((0..ranks).map(|_| [None, Some(4), Some(9)][rng.below(3)]).collect()),
        }
    }

    /// Whether recorded work takes it. It does not take calls that ask other ranks for more than elements.
    fn is_recordable(&self) -> bool {
        let is_new = |form: &Form| *form == Form::New;
        !matches!(self, Self::Barrier | Self::Look | Self::Split(_) | Self::Uncheck)
            && !matches!(self, Self::Counted(_, form) if is_new(form))
    }

    /// Members that make the call, of some.
    pub(super) fn callers(&self, members: usize) -> Vec<usize> {
        match self {
            Self::Transfer(from, to) if from % members == to % members => Vec::new(),
            Self::Rotate(by) if by % members == 0 => Vec::new(),
            Self::Transfer(from, to) => vec![from % members, to % members],
            Self::Add | Self::Copy | Self::Fill(_) | Self::Look | Self::Uncheck => Vec::new(),
            _ => (0..members).collect(),
        }
    }
}

/// Rows from each rank to each; none has or gets more than there are members in the smallest group.
fn counts(rng: &mut Rng, ranks: usize, members: usize) -> Vec<Vec<usize>> {
    let mut counts = vec![vec![0; ranks]; ranks];
    for _ in 0..members {
        for (from, to) in rng.permutation(ranks).into_iter().enumerate() {
            counts[from][to] += usize::from(rng.below(4) > 0);
        }
    }
    counts
}

/// A call of one rank that does not fit calls of the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wrong {
    pub(super) rank: usize,
    pub(super) step: usize,
    pub(super) how: Mistake,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mistake {
    /// The call is left out.
    Skipped,
    /// Another call.
    Barrier,
    Broadcast,
    /// A sum of other elements.
    OtherType,
    /// The rank gives up.
    Ends,
    Panics,
}

impl Wrong {
    pub(super) fn drawn(rng: &mut Rng, steps: &[Step], ranks: usize) -> Option<Self> {
        let exchanges = |&at: &usize| !steps[at].group && steps[at].call.callers(ranks).len() > 1;
        let all: Vec<usize> = (0..steps.len()).filter(exchanges).collect();
        if all.is_empty() {
            return None;
        }
        let step = *rng.pick(&all);
        let rank = *rng.pick(&steps[step].call.callers(ranks));
        let how = match rng.below(6) {
            0 if !matches!(steps[step].call, Call::Barrier) => Mistake::Barrier,
            1 if !matches!(steps[step].call, Call::Broadcast(_)) => Mistake::Broadcast,
            2 => Mistake::OtherType,
            3 => Mistake::Ends,
            4 => Mistake::Panics,
            _ => Mistake::Skipped,
        };
        Some(Self { rank, step, how })
    }
}
