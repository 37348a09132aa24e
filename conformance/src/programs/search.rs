//! Draws programs until one fails, makes it small, and prints it.

use std::fmt;

use devarray::{Device, backend::Compute};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use super::{
    failure::Failure,
    functions::Computing,
    machine::run,
    op::{Op, Part, Program, Transform},
    strategies::programs,
};
use crate::{Harness, Violation};

/// Operations of a drawn program at most.
pub const MOST_OPS: usize = 24;

/// A look at what a device thinks of the program that just ended, such as the report of a
/// simulator.
type After = Box<dyn Fn() -> Result<(), String> + Sync>;

/// What follows one program after another.
pub struct Search {
    programs: Option<usize>,
    functions: bool,
    again: String,
    after: Option<After>,
}

/// The smallest program that fails, and how. Its text is that program as a test, and the command to
/// repeat the search.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The program.
    pub program: Program,
    /// How it fails.
    pub failure: Failure,
    /// The seed of the search.
    pub seed: u64,
    /// Which program of the search failed, from 0.
    pub case: usize,
    /// How many operations it had when it was drawn.
    pub drawn_ops: usize,
    functions: bool,
    again: String,
}

impl Program {
    /// Runs the program on a fresh device, and compares all that it reads with what running it call
    /// by call gives. Functions are left out.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn check<D: Device>(&self, harness: &Harness<D>) -> Result<(), Failure> {
        run(self, harness, None)
    }

    /// As [`check`](Self::check), with functions and reductions where the device declares them.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn check_with_functions<D: Compute>(&self, harness: &Harness<D>) -> Result<(), Failure> {
        // A device that does not open fails the program itself.
        let computing = harness.open().ok().and_then(|device| Computing::of(&device));
        run(self, harness, computing)
    }
}

impl Default for Search {
    fn default() -> Self {
        Self::new()
    }
}

impl Search {
    /// A search that asks nothing but the programs themselves.
    #[must_use]
    pub fn new() -> Self {
        Self { programs: None, functions: false, again: String::from("run this test again"), after: None }
    }

    /// The same, of so many programs instead of the harness's number of cases.
    #[must_use]
    pub fn programs(mut self, count: usize) -> Self {
        self.programs = Some(count);
        self
    }

    /// The same, with the command that repeats it.
    #[must_use]
    pub fn again(mut self, command: impl Into<String>) -> Self {
        self.again = command.into();
        self
    }

    /// The same, asking this too after each program, when all that it made is dropped.
    #[must_use]
    pub fn after(mut self, look: impl Fn() -> Result<(), String> + Sync + 'static) -> Self {
        self.after = Some(Box::new(look));
        self
    }

    /// Tries as many programs as the harness has cases, from its seed.
    ///
    /// # Errors
    ///
    /// The first that fails, made small.
    pub fn run<D: Device>(self, harness: &Harness<D>) -> Result<(), Box<Found>> {
        self.search(harness, None)
    }

    /// As [`run`](Self::run), with functions and reductions where the device declares them.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_with_functions<D: Compute>(mut self, harness: &Harness<D>) -> Result<(), Box<Found>> {
        self.functions = true;
        let computing = harness.open().ok().and_then(|device| Computing::of(&device));
        self.search(harness, computing)
    }

    fn search<D: Device>(
        self,
        harness: &Harness<D>,
        computing: Option<Computing<D>>,
    ) -> Result<(), Box<Found>> {
        let check = |program: &Program| {
            run(program, harness, computing)?;
            let Some(after) = &self.after else { return Ok(()) };
            after().map_err(|found| Failure {
                clause: "the device has nothing to object to",
                operation: program.ops.len(),
                expected: "a clean report".into(),
                found,
            })
        };
        let config = Config { failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, rng(harness.seed()));
        let strategy = programs(MOST_OPS);
        for case in 0..self.programs.unwrap_or(harness.cases()) {
            let Ok(mut tree) = strategy.new_tree(&mut runner) else { continue };
            let drawn = tree.current();
            let Err(failure) = check(&drawn) else { continue };
            let (program, failure) = smallest(&mut tree, failure, &check);
            return Err(Box::new(Found {
                drawn_ops: drawn.ops.len(),
                program,
                failure,
                seed: harness.seed(),
                case,
                functions: self.functions,
                again: self.again,
            }));
        }
        Ok(())
    }
}

fn rng(seed: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

/// First as proptest makes values small, then by leaving operations and transforms out until none
/// can go.
fn smallest(
    tree: &mut impl ValueTree<Value = Program>,
    mut failure: Failure,
    check: &impl Fn(&Program) -> Result<(), Failure>,
) -> (Program, Failure) {
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
        simpler(&program).into_iter().find_map(|p| check(&p).err().map(|found| (p, found)))
    {
        (program, failure) = (smaller, found);
    }
    (program, failure)
}

/// Programs with one thing less.
fn simpler(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    for at in 0..program.ops.len() {
        let mut shorter = program.clone();
        shorter.ops.remove(at);
        all.push(shorter);
    }
    if program.streams > 1 {
        all.push(Program { streams: program.streams - 1, ..program.clone() });
    }
    if program.threads > 1 {
        all.push(Program { threads: program.threads - 1, ..program.clone() });
    }
    for (at, op) in program.ops.iter().enumerate() {
        for which in 0..4 {
            let mut plainer = *op;
            let mut transforms = parts_of(&mut plainer).flat_map(|part| part.transforms.iter_mut());
            let Some(transform) = transforms.nth(which).filter(|t| **t != Transform::Whole) else { continue };
            *transform = Transform::Whole;
            drop(transforms);
            let mut smaller = program.clone();
            smaller.ops[at] = plainer;
            all.push(smaller);
        }
    }
    all
}

fn parts_of(op: &mut Op) -> impl Iterator<Item = &mut Part> {
    let (first, second) = match op {
        Op::Fill { to: part, .. }
        | Op::Upload { to: part, .. }
        | Op::UploadF { to: part, .. }
        | Op::StartUpload { to: part, .. }
        | Op::Download { from: part, .. }
        | Op::StartDownload { from: part, .. }
        | Op::Contiguous { from: part, .. }
        | Op::Greatest { from: part, .. }
        | Op::Sections { of: part, .. }
        | Op::Shift { of: part, .. } => (Some(part), None),
        Op::Copy { to, from, .. }
        | Op::Map { to, from, .. }
        | Op::Across { to, from, .. }
        | Op::Scope { to, from, .. } => (Some(to), Some(from)),
        Op::Concatenate { first, second, .. } => (Some(first), Some(second)),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}

/// The program as a test; `device()` is the call that opens a device, as in the suite.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "check")
    }
}

impl Program {
    fn write(&self, f: &mut fmt::Formatter<'_>, check: &str) -> fmt::Result {
        writeln!(f, "#[test] fn smallest_program() {{ use devarray_conformance::{{Harness, programs::*}};")?;
        writeln!(f, "    Program::new(Item::{:?}, {}, &[", self.item, self.streams)?;
        for op in &self.ops {
            writeln!(f, "        Op::{},", qualified(op))?;
        }
        let threads = if self.threads > 1 { format!(".on_threads({})", self.threads) } else { String::new() };
        write!(f, "    ]){threads}.{check}(&Harness::new(|| device())).unwrap() }}")
    }
}

/// As `Debug`, with the variants of enums named in full.
fn qualified(op: &Op) -> String {
    let mut text = format!("{op:?}");
    for (of, names) in [
        (
            "Transform",
            &["Whole", "Swap(", "Permute(", "Flip(", "Cut {", "Index(", "NewAxis(", "Section("][..],
        ),
        ("Start", &["Zeros", "Full", "Uploaded,", "UploadedF", "Uninit"]),
        ("End", &["Waited", "Polled", "Dropped"]),
        ("Away", &["Here", "Deferred", "Elsewhere"]),
        ("Formula", &["Sum", "Product", "Maximum", "Fold"]),
    ] {
        for name in names {
            text = text.replace(&format!(" {name}"), &format!(" {of}::{name}"));
            text = text.replace(&format!("[{name}"), &format!("[{of}::{name}"));
        }
    }
    text
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (law, check) = if self.functions {
            ("functions::programs (N30)", "check_with_functions")
        } else {
            ("programs::sequential (Q01)", "check")
        };
        let (seed, case, len) = (self.seed, self.case, self.program.ops.len());
        writeln!(
            f,
            "{law}, seed {seed}, program {case}, {len} of {} operations: {}",
            self.drawn_ops, self.failure
        )?;
        writeln!(f, "again: {}", self.again)?;
        self.program.write(f, check)
    }
}

impl std::error::Error for Found {}

impl From<Box<Found>> for Violation {
    fn from(found: Box<Found>) -> Self {
        Self::new(found.to_string())
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Found");
        shown.field("clause", &self.failure.clause).field("ops", &self.program.ops.len());
        shown.field("seed", &self.seed).field("case", &self.case).finish_non_exhaustive()
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("again", &self.again).finish_non_exhaustive()
    }
}
