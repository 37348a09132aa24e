//! A user's code under many schedules, reported like a test that fails.
//!
//! ```
//! use devarray::{Array, Context};
//! use devarray_mock::explore;
//!
//! explore(0, 50, |device| {
//!     let context = Context::new(device).unwrap();
//!     let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
//!     let array = Array::full(&one, &[64], 7_u8).unwrap();
//!     assert_eq!(array.to_vec(&two).unwrap(), [7; 64]);
//! });
//! ```

mod failure;
mod quiet;
mod shrink;

pub use failure::{Failure, ParseReplayError, Wrong};

use std::{
    any::Any,
    env,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::{MockDevice, Schedule, Trace, rng::mix};

/// The variable that names one run to repeat.
const REPLAY: &str = "DEVARRAY_REPLAY";

/// Runs `program` on fresh devices under the three fixed schedules and `schedules` random ones drawn from `seed`, and fails
/// like a test at the first run that is wrong: the judge found a mistake, the program panicked, or something is alive on the
/// device when everything the program made is gone.
///
/// The message tells what is wrong, the fewest choices of the schedule that still show it, and how to repeat just that run:
/// with the variable `DEVARRAY_REPLAY` set to what it says, only that run is made. There is no other hidden input, so it works
/// the same under every test runner, and inside a property test, where the program is built from the generated value.
///
/// # Panics
///
/// If a run is wrong, or the variable is malformed.
pub fn explore<R>(seed: u64, schedules: u64, program: impl Fn(MockDevice) -> R) {
    let exploration = Explore::new().seed(seed).schedules(schedules);
    let outcome = match env::var(REPLAY) {
        Ok(text) => match text.parse::<Failure>() {
            Ok(run) => exploration.replay(run.trace, program),
            Err(error) => panic!("{REPLAY}: {error}"),
        },
        Err(_) => exploration.run(program),
    };
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// What [`explore`] does, with more options and without the panic.
#[derive(Debug, Clone)]
#[must_use = "an exploration does nothing before `run`"]
pub struct Explore {
    seed: u64,
    schedules: u64,
    memory_limit_bytes: usize,
}

impl Explore {
    /// 100 random schedules from seed 0, on devices of 1 GiB.
    pub fn new() -> Self {
        Self { seed: 0, schedules: 100, memory_limit_bytes: 1 << 30 }
    }

    /// The seed of the first random schedule; the others follow it.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How many random schedules, besides the three fixed ones.
    pub fn schedules(mut self, schedules: u64) -> Self {
        self.schedules = schedules;
        self
    }

    /// Memory of each device.
    pub fn memory_limit_bytes(mut self, bytes: usize) -> Self {
        self.memory_limit_bytes = bytes;
        self
    }

    /// Runs the program under each schedule: how many runs there were.
    ///
    /// # Errors
    ///
    /// The first run that is wrong, with as few choices as still make it wrong in the same way.
    pub fn run<R>(&self, program: impl Fn(MockDevice) -> R) -> Result<u64, Failure> {
        let fixed = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy].map(|schedule| (schedule, 0));
        // Mixed, so that neighbouring seeds have no schedule in common.
        let random = (0..self.schedules).map(|k| (Schedule::Random, mix(mix(self.seed) ^ k)));
        let mut runs = 0;
        for (schedule, seed) in fixed.into_iter().chain(random) {
            let name = match &schedule {
                Schedule::Random => format!("random schedule, seed {seed:#x}"),
                fixed => format!("schedule {fixed:?}"),
            };
            if let Err((wrong, trace, _)) = self.once(schedule, seed, &program) {
                let (wrong, trace) = shrink::shrink(wrong, trace, |trace| {
                    self.once(Schedule::Replay(trace), 0, &program)
                        .map_err(|(wrong, trace, _)| (wrong, trace))
                });
                let again = self.once(Schedule::Replay(trace.clone()), 0, &program).err();
                let panic = again.and_then(|(_, _, panic)| panic);
                return Err(Failure { wrong, trace, runs, schedule: name, panic });
            }
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
        match self.once(Schedule::Replay(trace), 0, &program) {
            Ok(()) => Ok(1),
            Err((wrong, trace, panic)) => {
                let (trace, schedule) = (shrink::trimmed(&trace).into(), "a run that is repeated".to_owned());
                Err(Failure { wrong, trace, runs: 0, schedule, panic })
            }
        }
    }

    fn once<R>(
        &self,
        schedule: Schedule,
        seed: u64,
        program: &impl Fn(MockDevice) -> R,
    ) -> Result<(), (Wrong, Trace, Option<String>)> {
        let device = MockDevice::builder()
            .schedule(schedule)
            .seed(seed)
            .memory_limit_bytes(self.memory_limit_bytes)
            .record_trace(true)
            .build();
        // What the program leaves behind is looked at from outside, so nothing of it is relied on after a panic.
        let ended = quiet::quietly(|| catch_unwind(AssertUnwindSafe(|| drop(program(device.clone())))));
        let trace = device.trace().unwrap_or_default();
        let report = device.report();
        let panic = ended.err().map(|panic| message(&*panic));
        match (device.first_finding(), panic) {
            (Some(finding), panic) => Err((Wrong::Found(Box::new(finding)), trace, panic)),
            (None, Some(panic)) => Err((Wrong::Panicked(panic), trace, None)),
            (None, None) if !report.is_clean() => Err((Wrong::Leaked(Box::new(report)), trace, None)),
            (None, None) => Ok(()),
        }
    }
}

impl Default for Explore {
    fn default() -> Self {
        Self::new()
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}
