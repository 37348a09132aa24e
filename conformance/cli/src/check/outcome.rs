//! Checks laws one by one.

use std::{
    any::Any,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use devarray::Device;
use devarray_conformance::{Harness, Law};
use serde::Serialize;

/// One way to run a backend, and its name if there are several ways.
#[derive(Debug)]
#[non_exhaustive]
pub struct Candidate<D> {
    /// The name in a violation, such as a schedule of the simulator; empty if it is the only
    /// candidate.
    pub name: String,
    /// The harness that opens its devices.
    pub harness: Harness<D>,
}

impl<D> Candidate<D> {
    /// A candidate with this name.
    pub fn new(name: impl Into<String>, harness: Harness<D>) -> Self {
        Self { name: name.into(), harness }
    }
}

/// The outcome of a law.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Checked {
    /// The group of the law.
    pub group: String,
    /// The group and the name.
    pub name: String,
    /// The code, as contracts cite it.
    pub code: String,
    /// The summary of the law.
    pub summary: String,
    /// Whether the device has the capability that the law tests. If not, the check made sure that
    /// the refusal names the capability.
    pub applicable: bool,
    /// The reason why the law was not run, such as a library that is not on this machine; `None` if it
    /// was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// The violation; `None` if the law holds, and if it was not run.
    pub violation: Option<String>,
    /// The command that shows the violation again; only if the law is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// The time it took, in seconds.
    pub seconds: f64,
}

impl Checked {
    /// Whether the law was run on the device, and holds.
    pub(super) fn holds(&self) -> bool {
        self.violation.is_none() && self.applicable && self.not_run.is_none()
    }
}

/// A run of the suite: its device and its outcome.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// The version of the suite.
    pub suite: String,
    /// The time at which the run ended, in UTC.
    pub date: String,
    /// The backend.
    pub backend: String,
    /// The device.
    pub device: String,
    /// The generation of the device.
    pub generation: String,
    /// The driver.
    pub driver: String,
    /// The seed of the generated cases.
    pub seed: u64,
    /// The number of generated cases for each law.
    pub cases: usize,
    /// All laws, in the order of the registry.
    pub laws: Vec<Checked>,
}

impl Run {
    /// The number of laws of each outcome.
    #[must_use]
    pub fn tally(&self) -> Tally {
        Tally::of(&self.laws)
    }
}

/// The number of laws of each outcome; each law is counted once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// The laws that hold.
    pub passed: usize,
    /// The laws that are broken.
    pub failed: usize,
    /// The laws about an extra that the device does not have, and refuses by name.
    pub not_applicable: usize,
    /// The laws that were not run because something is missing on this machine.
    pub not_run: usize,
}

impl Tally {
    /// The tally of some laws.
    #[must_use]
    pub fn of(laws: &[Checked]) -> Self {
        let failed = laws.iter().filter(|law| law.violation.is_some()).count();
        let passed = laws.iter().filter(|law| law.holds()).count();
        let not_run = laws.iter().filter(|law| law.violation.is_none() && law.not_run.is_some()).count();
        Self { passed, failed, not_applicable: laws.len() - passed - failed - not_run, not_run }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, not_applicable, not_run } = self;
        write!(f, "{passed} passed, {failed} failed")?;
        if *not_applicable > 0 {
            write!(f, ", {not_applicable} not applicable")?;
        }
        if *not_run > 0 {
            write!(f, ", {not_run} not run")?;
        }
        Ok(())
    }
}

/// The outcome of one law on all candidates.
#[derive(Debug)]
#[non_exhaustive]
pub struct Found {
    /// The violation; `None` if no candidate breaks the law.
    pub violation: Option<String>,
    /// The reason why no candidate ran the law; `None` if one did.
    pub not_run: Option<String>,
    /// The time that it took.
    pub took: Duration,
}

/// Checks one law on every candidate; the first violation counts. A check that panics counts as
/// broken, and does not stop the run.
#[must_use]
pub fn check<D: Device>(law: &Law<D>, candidates: &[Candidate<D>]) -> Found {
    let start = Instant::now();
    let mut ran = false;
    let mut not_run = None;
    let violation = candidates.iter().find_map(|candidate| {
        let outcome = catch_unwind(AssertUnwindSafe(|| law.check(&candidate.harness)));
        let violation = match outcome {
            Ok(Ok(())) => {
                let reason = candidate.harness.not_run();
                ran |= reason.is_none();
                not_run = not_run.take().or(reason);
                return None;
            }
            Ok(Err(violation)) => violation.to_string(),
            Err(panic) => format!("{}: the check panicked: {}", law.code, text(&*panic)),
        };
        let on = if candidate.name.is_empty() { String::new() } else { format!("{}: ", candidate.name) };
        Some(format!("{on}{violation}"))
    });
    let not_run = not_run.filter(|_| !ran && violation.is_none());
    Found { violation, not_run, took: start.elapsed() }
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
