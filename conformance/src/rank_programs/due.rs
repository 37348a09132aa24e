//! The elements that are due, by vectors.

use std::ops::Range;

use devarray::collective::Combination;

use super::{
    RankProgram, Seen,
    step::{Call, Form, Parts, SLOTS, Step, View},
    value::{Kind, Value},
};
use crate::Rng;

/// A mistake that a backend might make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Twin {
    /// Nothing: this is right.
    None,
    /// Ranks are combined from the last to the first.
    Backwards,
    /// The parts of two ranks that are gathered are at each other's place.
    Misplaced,
}

/// The arrays of all ranks.
struct Model<T> {
    len: usize,
    arrays: Vec<Vec<Vec<T>>>,
    twin: Twin,
}

impl RankProgram {
    /// The bits that each rank has, or has on the twin of a backend.
    #[must_use]
    pub fn due(&self, twin: Twin) -> Vec<Seen> {
        match self.kind {
            Kind::F32 => self.due_of::<f32>(twin),
            Kind::F64 => self.due_of::<f64>(twin),
            Kind::U8 => self.due_of::<u8>(twin),
            Kind::I32 => self.due_of::<i32>(twin),
            Kind::U64 => self.due_of::<u64>(twin),
        }
    }

    /// The first elements of an array of a rank.
    pub(super) fn begin<T: Value>(&self, rank: usize, slot: usize) -> Vec<T> {
        let mut rng = Rng::new(self.seed ^ ((rank * SLOTS + slot) as u64).wrapping_mul(0x9E37_79B9));
        (0..self.ranks * View::width(slot, self.len)).map(|_| T::drawn(&mut rng)).collect()
    }

    fn due_of<T: Value>(&self, twin: Twin) -> Vec<Seen> {
        let begin = |rank| (0..SLOTS).map(|slot| self.begin::<T>(rank, slot)).collect();
        let arrays = (0..self.ranks).map(begin).collect();
        let mut model = Model::<T> { len: self.len, arrays, twin };
        let mut seen = vec![Seen::new(); self.ranks];
        let mut groups = Vec::new();
        let repeated = |(steps, launches): (Range<usize>, Option<usize>)| {
            (0..launches.unwrap_or(1)).flat_map(move |_| steps.clone())
        };
        for step in self.parts().flat_map(repeated).map(|at| &self.steps[at]) {
            match &step.call {
                Call::Look => model.look(&mut seen),
                Call::Split(colors) => groups = members(colors),
                _ if step.group => groups.iter().for_each(|group: &Vec<usize>| model.exchange(step, group)),
                _ => model.exchange(step, &(0..self.ranks).collect::<Vec<_>>()),
            }
        }
        model.look(&mut seen);
        seen
    }
}

/// The ranks of each group.
fn members(colors: &[Option<usize>]) -> Vec<Vec<usize>> {
    let mut all: Vec<usize> = colors.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let of = |color| (0..colors.len()).filter(|&rank| colors[rank] == Some(color)).collect();
    all.into_iter().map(of).collect()
}

impl<T: Value> Model<T> {
    fn look(&self, seen: &mut [Seen]) {
        for (arrays, seen) in self.arrays.iter().zip(seen) {
            seen.push(arrays.iter().flatten().map(|x| x.bits()).collect());
        }
    }

    /// A row of a view of a rank.
    fn row(&self, rank: usize, view: &View, rows: usize, row: usize) -> Vec<T> {
        let of = &self.arrays[rank][view.slot];
        (0..self.len).map(|column| of[view.at(rows, self.len, row, column)]).collect()
    }

    fn rows(&self, rank: usize, view: &View, rows: usize) -> Vec<Vec<T>> {
        (0..rows).map(|row| self.row(rank, view, rows, row)).collect()
    }

    fn put(&mut self, rank: usize, view: &View, rows: usize, row: usize, values: &[T]) {
        for (column, &value) in values.iter().enumerate() {
            self.arrays[rank][view.slot][view.at(rows, self.len, row, column)] = value;
        }
    }

    fn put_all(&mut self, rank: usize, view: &View, rows: usize, values: &[Vec<T>]) {
        for (row, values) in values.iter().enumerate() {
            self.put(rank, view, rows, row, values);
        }
    }

    /// Vectors combined, in their order.
    fn combined(&self, combination: Combination, mut of: Vec<Vec<T>>) -> Vec<T> {
        let count = of.len();
        if self.twin == Twin::Backwards {
            of.reverse();
        }
        let two = |one: Vec<T>, other: Vec<T>| {
            one.iter().zip(&other).map(|(one, other)| one.combined(*other, combination)).collect()
        };
        let all = of.into_iter().reduce(two).unwrap_or_default();
        if combination == Combination::Mean { all.iter().map(|x| x.divided(count)).collect() } else { all }
    }

    /// Index `row` of the views of all members, combined.
    fn combined_row(
        &self,
        combination: Combination,
        members: &[usize],
        row: usize,
        view: impl Fn(usize) -> View,
    ) -> Vec<T> {
        let rows = members.len();
        let of = members.iter().map(|&rank| self.row(rank, &view(rank), rows, row)).collect();
        self.combined(combination, of)
    }

    fn exchange(&mut self, step: &Step, members: &[usize]) {
        let n = members.len();
        let part = |rank: usize| -> &Parts { &step.parts[rank] };
        let source = |form: Form| {
            move |rank: usize| if form == Form::InPlace { part(rank).to } else { part(rank).from }
        };
        let before = Self { arrays: self.arrays.clone(), ..*self };
        let own = |rank: usize| before.row(rank, &part(rank).from, n, part(rank).from.row % n);
        match &step.call {
            Call::AllReduce(combination, form) => {
                for row in 0..n {
                    let all = before.combined_row(*combination, members, row, source(*form));
                    members.iter().for_each(|&rank| self.put(rank, &part(rank).to, n, row, &all));
                }
            }
            Call::Reduce(combination, root, form) => {
                let root = members[root % n];
                for row in 0..n {
                    let all = before.combined_row(*combination, members, row, source(*form));
                    self.put(root, &part(root).to, n, row, &all);
                }
            }
            Call::ReduceScatter(combination, form) => {
                for (at, &rank) in members.iter().enumerate() {
                    let all = before.combined_row(*combination, members, at, source(*form));
                    let row = if *form == Form::InPlace { at } else { part(rank).to.row % n };
                    self.put(rank, &part(rank).to, n, row, &all);
                }
            }
            Call::Broadcast(root) => {
                let root = members[root % n];
                let all = before.rows(root, &part(root).to, n);
                members.iter().for_each(|&rank| self.put_all(rank, &part(rank).to, n, &all));
            }
            Call::AllGather(form) => {
                let given = |(at, &rank): (usize, &usize)| match form {
                    Form::InPlace => before.row(rank, &part(rank).to, n, at),
                    _ => own(rank),
                };
                let mut all: Vec<Vec<T>> = members.iter().enumerate().map(given).collect();
                if self.twin == Twin::Misplaced && n > 1 {
                    all.swap(0, n - 1);
                }
                members.iter().for_each(|&rank| self.put_all(rank, &part(rank).to, n, &all));
            }
            Call::AllToAll(_) => {
                for (at, &rank) in members.iter().enumerate() {
                    let from = |&other: &usize| before.row(other, &part(other).from, n, at);
                    let all: Vec<Vec<T>> = members.iter().map(from).collect();
                    self.put_all(rank, &part(rank).to, n, &all);
                }
            }
            Call::Counted(counts, _) => {
                for (at, &rank) in members.iter().enumerate() {
                    let mut all = Vec::new();
                    for (place, &other) in members.iter().enumerate() {
                        let first: usize = counts[place][..at].iter().sum();
                        let rows = before.rows(other, &part(other).from, n);
                        all.extend_from_slice(&rows[first..first + counts[place][at]]);
                    }
                    self.put_all(rank, &part(rank).to, n, &all);
                }
            }
            Call::Transfer(from, to) => {
                let [from, to] = [from, to].map(|of| members[of % n]);
                if from != to {
                    self.put(to, &part(to).to, n, part(to).to.row % n, &own(from));
                }
            }
            Call::Rotate(by) => {
                for (at, &rank) in members.iter().enumerate().filter(|_| by % n != 0) {
                    self.put(
                        rank,
                        &part(rank).to,
                        n,
                        part(rank).to.row % n,
                        &own(members[(at + n - by % n) % n]),
                    );
                }
            }
            Call::Add => {
                for &rank in members {
                    let Parts { from, to, .. } = part(rank);
                    for row in 0..n {
                        let (one, two) = (before.row(rank, from, n, row), before.row(rank, to, n, row));
                        let sums: Vec<T> =
                            one.iter().zip(&two).map(|(x, y)| x.combined(*y, Combination::Sum)).collect();
                        self.put(rank, to, n, row, &sums);
                    }
                }
            }
            Call::Copy => {
                for &rank in members {
                    let all = before.rows(rank, &part(rank).from, n);
                    self.put_all(rank, &part(rank).to, n, &all);
                }
            }
            Call::Fill(seed) => {
                let value = T::drawn(&mut Rng::new(*seed));
                let all = vec![vec![value; self.len]; n];
                members.iter().for_each(|&rank| self.put_all(rank, &part(rank).to, n, &all));
            }
            Call::Barrier | Call::Look | Call::Split(_) | Call::Uncheck => {}
        }
    }
}
