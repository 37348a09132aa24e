//! Runs a user's code under many schedules and with many failures, and reports a wrong run like a failing
//! test.
//!
//! ```
//! use devarray::{Array, Context};
//! use devarray_mock::{explore, sweep};
//!
//! explore(0, 50, |device| {
//!     let context = Context::new(device).unwrap();
//!     let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
//!     let array = Array::full(&one, &[64], 7_u8).unwrap();
//!     assert_eq!(array.to_vec(&two).unwrap(), [7; 64]);
//! });
//!
//! sweep(|device| {
//!     let stream = Context::new(device)?.stream()?;
//!     Array::full(&stream, &[64], 7_u8)?.to_vec(&stream)
//! });
//! ```

mod exhaustive;
mod failure;
mod options;
mod replay_variable;
mod run;
mod shrink;
mod sweep;
mod timeline;
mod witness;

pub use exhaustive::Exhausted;
pub use failure::{FailedCalls, Failure, ParseReplayError, Wrong};
pub use sweep::{Swept, sweep};

use crate::{FaultPlan, MockDevice, Profile, ProfileSet, Schedule, Trace, rng::mix};
use options::{FIXED, Options};
pub(crate) use replay_variable::like_a_test;
use run::Run;

/// Runs `program` on fresh devices under the three fixed schedules and under `schedules` random ones drawn
/// from `seed`. Fails like a test at the first wrong run: the judge found a mistake, the program panicked, or
/// something is alive on the device after all objects of the program were dropped.
///
/// The message tells the mistake, the fewest choices of the schedule that still show it, and a value of the
/// variable `DEVARRAY_REPLAY` that repeats exactly that run. There is no other hidden input, so it works
/// equally under every test runner, and inside a property test, where the program is built from the generated
/// value.
///
/// # Panics
///
/// If a run is wrong, or the variable is malformed.
#[track_caller]
pub fn explore<R>(seed: u64, schedules: u64, program: impl Fn(MockDevice) -> R) {
    let exploration = Explore::new().seed(seed).schedules(schedules);
    like_a_test(&exploration, program, |program| exploration.run(program).map(drop));
}

/// The search of [`explore`], with more options and without the panic.
#[derive(Debug, Clone)]
#[must_use = "an exploration does nothing before `run`"]
pub struct Explore {
    seed: u64,
    schedules: u64,
    memory_limit_bytes: usize,
    faults: FaultPlan,
    depth: usize,
    /// The first profile, and the others.
    profiles: (Profile, Vec<Profile>),
    forgets_waits: bool,
}

impl Explore {
    /// 100 random schedules from seed 0, on devices of 1 GiB.
    pub fn new() -> Self {
        let (memory_limit_bytes, faults, profiles) =
            (1 << 30, FaultPlan::new(), (Profile::Strict, Vec::new()));
        Self { seed: 0, schedules: 100, memory_limit_bytes, faults, depth: 3, profiles, forgets_waits: false }
    }

    /// The profiles of the devices: the search is made for each profile separately. By default, and for an
    /// empty list, [`Profile::Strict`]; a program that is right under it is right under all.
    ///
    /// The failure is from the first profile that shows one, and [names](Failure::right_under) the profiles
    /// that show none: code that fails under only some profiles relies on the behaviour of certain machines.
    ///
    /// ```
    /// use devarray::{backend::{Device, FillOp, Stream}, copy::Plan, Layout};
    /// use devarray_mock::{Explore, MockDevice, Profile};
    ///
    /// /// Other code fills on a stream of its own, and again on stream 0, and orders nothing.
    /// fn trusts_in_stream_0(device: MockDevice) -> devarray::Result<()> {
    ///     let blocking = device.open_blocking_stream()?;
    ///     let buffer = blocking.alloc(64.try_into().expect("not 0"))?;
    ///     let line = Layout::new(&[64], &[1], 0)?;
    ///     let plan = Plan::new(&line, &line, 1, &device.info().capabilities)?;
    ///     for stream in [&blocking, &device.null_stream()] {
    ///         // SAFETY: inside the buffer; the simulator defines what a missing order does.
    ///         stream.fill(&unsafe { FillOp::new_unchecked(&buffer, &plan, &[7]) })?;
    ///     }
    /// #    // SAFETY: everything that uses it is waited for.
    /// #    device.finish(); blocking.free(unsafe { devarray::backend::FreeOp::new_unchecked(buffer) })?;
    ///     Ok(())
    /// }
    ///
    /// let failure = Explore::new().profiles(Profile::ALL).run(trusts_in_stream_0).unwrap_err();
    /// assert_eq!((failure.profile, failure.right_under), (Profile::Strict, [Profile::Legacy].into()));
    /// ```
    pub fn profiles(mut self, profiles: impl IntoIterator<Item = Profile>) -> Self {
        let mut profiles = profiles.into_iter();
        self.profiles = (profiles.next().unwrap_or_default(), profiles.collect());
        self
    }

    /// The seed of the first random schedule; the seeds of the others follow from it.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The number of random schedules, besides the three fixed ones.
    pub fn schedules(mut self, schedules: u64) -> Self {
        self.schedules = schedules;
        self
    }

    /// The number of steps of the host and the streams whose order makes a mistake. It is used for the half
    /// of the random schedules that are [`Priorities`](Schedule::Priorities). 3 by default.
    pub fn depth(mut self, depth: usize) -> Self {
        self.depth = depth;
        self
    }

    /// The memory of each device, in bytes.
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = bytes;
        self
    }

    /// The failures in each run. If the plan has random ones, each run draws its own.
    pub fn faults(mut self, plan: FaultPlan) -> Self {
        self.faults = plan;
        self
    }

    /// Plants a bug in the judge, like [`Builder::forgets_waits`](crate::Builder::forgets_waits). For tests
    /// of tests.
    #[doc(hidden)]
    pub fn forgets_waits(mut self, forgets: bool) -> Self {
        self.forgets_waits = forgets;
        self
    }

    /// Runs the program under each schedule. Returns the number of runs.
    ///
    /// # Errors
    ///
    /// The first wrong run, with as few choices as still make it wrong in the same way.
    pub fn run<R>(&self, program: impl Fn(MockDevice) -> R) -> Result<u64, Failure> {
        let runs = self.under_each(|exploration| exploration.run_under_one(&program))?;
        Ok(runs.into_iter().sum())
    }

    /// The results of all profiles, or the first failure.
    fn under_each<T>(&self, explore: impl Fn(&Self) -> Result<T, Failure>) -> Result<Vec<T>, Failure> {
        let (first, others) = &self.profiles;
        let (mut right, mut failed) = (Vec::new(), None);
        let mut outcomes = Vec::new();
        for profile in [first].into_iter().chain(others) {
            match explore(&self.clone().profiles([*profile])) {
                Ok(outcome) => {
                    right.push(*profile);
                    outcomes.push(outcome);
                }
                Err(failure) => failed = failed.or(Some(failure)),
            }
        }
        failed.map_or(Ok(outcomes), |failure| {
            Err(Failure { right_under: right.into_iter().collect(), ..failure })
        })
    }

    fn run_under_one<R>(&self, program: &impl Fn(MockDevice) -> R) -> Result<u64, Failure> {
        let fixed = FIXED.map(|schedule| (schedule, 0));
        // Mixed, so that neighbouring seeds have no schedule in common.
        let random = (0..self.schedules).map(|k| (Schedule::Random, mix(mix(self.seed) ^ k)));
        let (mut runs, mut steps) = (0, 0);
        for (schedule, seed) in fixed.into_iter().chain(random) {
            let schedule = match schedule {
                Schedule::Random if runs % 2 == 0 => Schedule::Priorities { depth: self.depth, steps },
                schedule => schedule,
            };
            steps = self.options(schedule, seed).run_or_shrink(runs, program)?.steps;
            runs += 1;
        }
        Ok(runs)
    }

    /// Runs the program once, with the choices of a trace.
    ///
    /// # Errors
    ///
    /// The run is wrong.
    pub fn replay<R>(&self, trace: Trace, program: impl Fn(MockDevice) -> R) -> Result<u64, Failure> {
        let Run { wrong, trace, panic, fired, .. } = self.options(Schedule::Replay(trace), 0).run(&program);
        let Some(wrong) = wrong else { return Ok(1) };
        let (trace, schedule) = (shrink::trimmed(&trace).into(), "a run that is repeated".into());
        let (plan, profile, right_under) =
            (Box::new(self.faults.clone()), self.profiles.0, ProfileSet::default());
        let (panic, failed) = (panic.map(String::into_boxed_str), Box::new(FailedCalls(fired)));
        Err(Failure { wrong, trace, plan, failed, profile, right_under, runs: 0, schedule, panic })
    }

    fn options(&self, schedule: Schedule, seed: u64) -> Options {
        let (memory_limit_bytes, plan) = (self.memory_limit_bytes, self.faults.clone());
        let profile = self.profiles.0;
        let forgets_waits = self.forgets_waits;
        Options { profile, schedule, seed, memory_limit_bytes, plan, forgets_waits, keep_history: false }
    }
}

impl Default for Explore {
    fn default() -> Self {
        Self::new()
    }
}
