//! One run, and the mistake in it.

use std::{
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
};

use devarray::{Error, backend::Device as _};

use super::{FailedCalls, Failure, Wrong, options::Options, shrink, witness};
use crate::{FaultKind, Fired, MockDevice, ProfileSet, Schedule, Site, Trace, engine::Happened, panics};

/// The result of a run.
#[derive(Debug)]
pub(super) struct Run {
    /// None if the run is right.
    pub(super) wrong: Option<Wrong>,
    pub(super) trace: Trace,
    /// The message of the program's panic, if the panic is not the failure itself.
    pub(super) panic: Option<String>,
    /// The faults of the plan that fired.
    pub(super) fired: Vec<Fired>,
    /// The events until the program had ended and everything had run, if they were recorded.
    pub(super) history: Vec<Happened>,
    /// The number of choices of what continues.
    pub(super) steps: u64,
}

impl Options {
    /// Runs the program, and reduces the choices if the run is wrong. `runs` is the number of runs
    /// before it.
    pub(super) fn run_or_shrink<R>(
        &self,
        runs: u64,
        program: &impl Fn(MockDevice) -> R,
    ) -> Result<Run, Failure> {
        let mut run = self.run(program);
        let Some(wrong) = run.wrong.take() else { return Ok(run) };
        let trace = run.trace;
        let again = |trace| Self { schedule: Schedule::Replay(trace), ..self.clone() }.run(program);
        let (wrong, trace) = shrink::shrink(wrong, trace, |trace| {
            let run = again(trace);
            run.wrong.map(|wrong| (wrong, run.trace))
        });
        let Run { panic, fired, .. } = again(trace.clone());
        let wrong = witness::added(wrong, self, program);
        let schedule = match &self.schedule {
            Schedule::Random => format!("random schedule, seed {:#x}", self.seed),
            Schedule::Priorities { depth, .. } => {
                format!("random priorities, depth {depth}, seed {:#x}", self.seed)
            }
            Schedule::Replay(_) => "an order that differs".to_owned(),
            fixed => format!("schedule {fixed:?}"),
        };
        let schedule = schedule.into();
        let (plan, profile, right_under) = (Box::new(self.plan.clone()), self.profile, ProfileSet::default());
        let (panic, failed) = (panic.map(String::into_boxed_str), Box::new(FailedCalls(fired)));
        Err(Failure { wrong, trace, plan, failed, profile, right_under, runs, schedule, panic })
    }

    pub(super) fn run<R>(&self, program: &impl Fn(MockDevice) -> R) -> Run {
        let device = self.builder().record_trace(true).build();
        if self.keep_history {
            device.shared().engine().record_history();
        }
        // After a panic, only the device is inspected, not the program's values.
        let ended = panics::quietly(|| catch_unwind(AssertUnwindSafe(|| drop(program(device.clone())))));
        let report = device.report();
        let (trace, fired, steps) =
            (device.trace().unwrap_or_default(), device.faults_fired(), device.steps());
        let history = device.shared().engine().history().to_vec();
        let mut panic = ended.err().map(panics::message);
        let wrong = if let Some(finding) = report.findings.first() {
            Some(Wrong::Found(Box::new(finding.clone())))
        } else if let Some(message) = panic.take() {
            Some(Wrong::Panicked(message))
        } else if !report.is_clean() && !may_keep(&fired) {
            Some(Wrong::Leaked(Box::new(report)))
        } else {
            broken(&device).map(Wrong::Broken)
        };
        Run { wrong, trace, panic, fired, history, steps }
    }
}

/// Whether one of the failures allows memory to stay allocated: its free failed, or it is unknown
/// whether work that uses it has ended.
fn may_keep(fired: &[Fired]) -> bool {
    fired.iter().any(|fired| match (fired.site, fired.kind) {
        (Site::Free | Site::UnregisterHost, FaultKind::Refused | FaultKind::Cancelled) => true,
        (site, kind) => (site, kind) == (Site::Synchronize, FaultKind::Refused),
    })
}

/// A violation by the device itself: an operation was lost, or one loss of the device gave several
/// errors.
fn broken(device: &MockDevice) -> Option<String> {
    let statistics = device.statistics();
    let ended = statistics.executed.operations() + statistics.cancelled.operations();
    if statistics.enqueued.operations() != ended {
        return Some(format!("{} operations were enqueued, {ended} ended", statistics.enqueued.operations()));
    }
    let errors: Vec<Option<Error>> =
        vec![device.memory().err(), device.open_stream().err(), device.alloc_host(NonZeroUsize::MIN).err()];
    let lost = errors.iter().flatten().any(Error::is_sticky);
    (lost && errors.iter().any(|error| *error != errors[0]))
        .then(|| format!("a lost device answers {errors:?}"))
}
