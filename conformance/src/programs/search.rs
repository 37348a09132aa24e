//! Draws programs until one fails, and reduces it.

use std::fmt;

use devarray::Device;
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::{
    drawn::{Drawn, MOST_STREAMS, Sealed},
    extras::Extras,
    failure::Failure,
    machine::{MOST_ARRAYS, run},
    op::{Op, Part, Program, Transform},
    raw::{self, Play},
    strategies::programs,
};
use crate::Harness;

/// The most operations of a drawn program.
pub const MOST_OPS: usize = 24;

/// With up to this many operations, all combinations of three can be tried.
const FEW_OPS: usize = 14;

/// A check of the device after each program, such as the report of a simulator.
type After = Box<dyn Fn() -> Result<(), String> + Sync>;

/// Searches for a program that fails.
pub struct Search {
    programs: Option<usize>,
    again: String,
    after: Option<After>,
}

/// The smallest program that fails, and its failure. Its text is that program as a test, and the
/// command that repeats the search.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found<P = Program> {
    /// The program.
    pub program: P,
    /// The failure.
    pub failure: Failure,
    /// The seed of the search.
    pub seed: u64,
    /// The number of the program that failed, from 0.
    pub case: usize,
    /// The number of operations it had when it was drawn.
    pub drawn_ops: usize,
    pub(super) law: &'static str,
    /// The call that checks it, as it is printed: the part up to its first argument, and the
    /// further arguments.
    pub(super) check: (&'static str, &'static str),
    pub(super) again: String,
}

impl Program {
    /// Runs the program on a fresh device, and compares everything that it reads with the results
    /// of a call-by-call run. Extras are left out.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check<D: Device>(&self, harness: &Harness<D>) -> Result<(), Failure> {
        run(self, harness, Extras::none())
    }

    /// Like [`check`](Self::check), with the extras that the device declares.
    ///
    /// # Errors
    ///
    /// The errors of [`check`](Self::check).
    pub fn check_with<D: Device>(&self, harness: &Harness<D>, extras: Extras<D>) -> Result<(), Failure> {
        run(self, harness, extras)
    }
}

impl Default for Search {
    fn default() -> Self {
        Self::new()
    }
}

impl Search {
    /// A search that checks only the programs themselves.
    #[must_use]
    pub fn new() -> Self {
        Self { programs: None, again: String::from("run this test again"), after: None }
    }

    /// Returns this search with `count` programs instead of the harness's number of cases.
    #[must_use]
    pub fn programs(mut self, count: usize) -> Self {
        self.programs = Some(count);
        self
    }

    /// Returns this search with the command that repeats it.
    #[must_use]
    pub fn again(mut self, command: impl Into<String>) -> Self {
        self.again = command.into();
        self
    }

    /// Returns this search with another check, made after each program when everything of the
    /// program is dropped.
    #[must_use]
    pub fn after(mut self, look: impl Fn() -> Result<(), String> + Sync + 'static) -> Self {
        self.after = Some(Box::new(look));
        self
    }

    /// Tries as many programs as the harness has cases, from its seed.
    ///
    /// # Errors
    ///
    /// The first program that fails, reduced.
    pub fn run<D: Device>(self, harness: &Harness<D>) -> Result<(), Box<Found>> {
        self.run_with(harness, Extras::none())
    }

    /// Like [`run`](Self::run), with the extras that the device declares.
    ///
    /// # Errors
    ///
    /// The errors of [`run`](Self::run).
    pub fn run_with<D: Device>(self, harness: &Harness<D>, extras: Extras<D>) -> Result<(), Box<Found>> {
        let cases = (harness.seed(), harness.cases());
        let printed = (extras.laws(), extras.check());
        self.search(cases, printed, programs(MOST_OPS), |program| run(program, harness, extras))
    }

    /// Tries `cases` raw programs, drawn from a seed; `play` plays each of them.
    ///
    /// # Errors
    ///
    /// The first program that fails, reduced.
    pub fn run_raw(self, seed: u64, cases: usize, play: impl Play) -> Result<(), Box<Found<raw::Program>>> {
        let printed = ("raw programs", ("check", ""));
        self.search((seed, cases), printed, raw::programs(MOST_OPS), |program| program.check(&play))
    }

    fn search<P: Drawn>(
        self,
        (seed, cases): (u64, usize),
        (law, check): (&'static str, (&'static str, &'static str)),
        strategy: impl Strategy<Value = P>,
        run: impl Fn(&P) -> Result<(), Failure>,
    ) -> Result<(), Box<Found<P>>> {
        let holds = |program: &P| {
            run(program)?;
            let Some(after) = &self.after else { return Ok(()) };
            after().map_err(|found| Failure {
                clause: "the device has nothing to object to",
                operation: program.len(),
                expected: "a clean report".into(),
                found,
            })
        };
        let mut runner = runner(seed);
        for case in 0..self.programs.unwrap_or(cases) {
            let Ok(mut tree) = strategy.new_tree(&mut runner) else { continue };
            let drawn = tree.current();
            let Err(failure) = holds(&drawn) else { continue };
            let drawn_ops = drawn.len();
            let (program, failure) = smallest(&mut tree, failure, &holds);
            let again = self.again;
            return Err(Box::new(Found { program, failure, seed, case, drawn_ops, law, check, again }));
        }
        Ok(())
    }
}

/// The source of programs for a seed.
fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// Reduces the program first as proptest does, then by leaving out operations and transforms until
/// none can be left out.
fn smallest<P: Drawn>(
    tree: &mut impl ValueTree<Value = P>,
    mut failure: Failure,
    check: &impl Fn(&P) -> Result<(), Failure>,
) -> (P, Failure) {
    let mut program = tree.current();
    let mut tries = 0;
    let mut more = tree.simplify();
    while more && tries < 600 {
        tries += 1;
        match check(&tree.current()) {
            Err(found) => {
                (program, failure) = (tree.current(), found);
                more = tree.simplify();
            }
            Ok(()) => more = tree.complicate(),
        }
    }
    while let Some((smaller, found)) =
        program.simpler().into_iter().find_map(|p| check(&p).err().map(|found| (p, found)))
    {
        (program, failure) = (smaller, found);
    }
    (program, failure)
}

impl Sealed for Program {}

impl Drawn for Program {
    fn len(&self) -> usize {
        self.ops.len()
    }

    fn simpler(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for at in 0..self.ops.len() {
            let mut shorter = self.clone();
            shorter.ops.remove(at);
            // If an array is left out, later arrays get other numbers.
            let mut renamed = shorter.clone();
            renamed.ops.iter_mut().flat_map(arrays_of).for_each(|array| *array = array.saturating_sub(1));
            all.push(shorter);
            all.push(renamed);
        }
        if self.streams > 1 {
            all.push(Self { streams: self.streams - 1, ..self.clone() });
        }
        if self.threads > 1 {
            all.push(Self { threads: self.threads - 1, ..self.clone() });
        }
        for (at, op) in self.ops.iter().enumerate() {
            for which in 0..6 {
                let mut plainer = *op;
                let mut transforms = parts_of(&mut plainer).flat_map(|part| part.transforms.iter_mut());
                let Some(transform) = transforms.nth(which).filter(|t| **t != Transform::Whole) else {
                    continue;
                };
                *transform = Transform::Whole;
                drop(transforms);
                let mut smaller = self.clone();
                smaller.ops[at] = plainer;
                all.push(smaller);
            }
        }
        for at in 0..self.ops.len() {
            for which in 0..3 {
                let mut op = self.ops[at];
                let Some(named) = arrays_of(&mut op).get(which).map(|array| **array) else { continue };
                for array in (0..named).take(MOST_ARRAYS) {
                    let mut smaller = self.clone();
                    let names = arrays_of(&mut smaller.ops[at]).into_iter();
                    names.skip(which).take(1).for_each(|name| *name = array);
                    all.push(smaller);
                }
            }
        }
        for at in 0..self.ops.len() {
            let named = self.ops[at].clone().name_mut().map_or(0, |name| *name);
            for lower in 0..named.min(MOST_STREAMS) {
                let mut smaller = self.clone();
                smaller.ops[at].name_mut().into_iter().for_each(|name| *name = lower);
                all.push(smaller);
            }
        }
        // Some operations are needed only for others, so two and three are also left out at once.
        let count = self.ops.len();
        for first in 0..count {
            for second in first + 1..count {
                let thirds = second + 1..if count <= FEW_OPS { count } else { second + 1 };
                for third in thirds.map(Some).chain([None]) {
                    let mut shorter = self.clone();
                    for at in [third, Some(second), Some(first)].into_iter().flatten() {
                        shorter.ops.remove(at);
                    }
                    all.push(shorter);
                }
            }
        }
        all
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, check: (&str, &str)) -> fmt::Result {
        self.write(f, check)
    }
}

fn parts_of(op: &mut Op) -> impl Iterator<Item = &mut Part> {
    let (first, second, third) = match op {
        Op::Fill { to: part, .. }
        | Op::Upload { to: part, .. }
        | Op::UploadF { to: part, .. }
        | Op::StartUpload { to: part, .. }
        | Op::Download { from: part, .. }
        | Op::StartDownload { from: part, .. }
        | Op::Contiguous { from: part, .. }
        | Op::Greatest { from: part, .. }
        | Op::Take { from: part, .. }
        | Op::Put { to: part, .. }
        | Op::Sort { from: part, .. }
        | Op::Count { from: part, .. }
        | Op::Combine { to: part, .. }
        | Op::Segments { from: part, .. }
        | Op::Sections { of: part, .. }
        | Op::Shift { of: part, .. } => (Some(part), None, None),
        Op::Copy { to, from, .. }
        | Op::Map { to, from, .. }
        | Op::Square { to, from, .. }
        | Op::Kernel { to, from, .. }
        | Op::Across { to, from, .. }
        | Op::Scope { to, from, .. } => (Some(to), Some(from), None),
        Op::Recorded { to, beside, from, .. } => (Some(to), Some(beside), Some(from)),
        Op::SearchSorted { from, of_each, .. } => (Some(from), Some(of_each), None),
        Op::Concatenate { first, second, .. }
        | Op::Matmul { first, second, .. }
        | Op::MatmulMap { first, second, .. } => (Some(first), Some(second), None),
        _ => (None, None, None),
    };
    first.into_iter().chain(second).chain(third)
}

/// The arrays that an operation names.
fn arrays_of(op: &mut Op) -> Vec<&mut usize> {
    match op {
        Op::Drop { array, .. } => vec![array],
        _ => parts_of(op).map(|part| &mut part.array).collect(),
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("again", &self.again).finish_non_exhaustive()
    }
}
