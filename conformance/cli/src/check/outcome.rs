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
    /// The violation; `None` if the law holds.
    pub violation: Option<String>,
    /// The command that shows the violation again; only if the law is broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
    /// The time it took, in seconds.
    pub seconds: f64,
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
}

impl Tally {
    /// The tally of some laws.
    #[must_use]
    pub fn of(laws: &[Checked]) -> Self {
        let failed = laws.iter().filter(|law| law.violation.is_some()).count();
        let not_applicable = laws.iter().filter(|law| law.violation.is_none() && !law.applicable).count();
        Self { passed: laws.len() - failed - not_applicable, failed, not_applicable }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, not_applicable } = self;
        write!(f, "{passed} passed, {failed} failed")?;
        if *not_applicable > 0 {
            write!(f, ", {not_applicable} not applicable")?;
        }
        Ok(())
    }
}

/// Checks one law on every candidate; the first violation counts. A check that panics counts as
/// broken, and does not stop the run.
#[must_use]
pub fn check<D: Device>(law: &Law<D>, candidates: &[Candidate<D>]) -> (Option<String>, Duration) {
    let start = Instant::now();
    let violation = candidates.iter().find_map(|candidate| {
        let outcome = catch_unwind(AssertUnwindSafe(|| law.check(&candidate.harness)));
        let violation = match outcome {
            Ok(Ok(())) => return None,
            Ok(Err(violation)) => violation.to_string(),
            Err(panic) => format!("{}: the check panicked: {}", law.code, text(&*panic)),
        };
        let on = if candidate.name.is_empty() { String::new() } else { format!("{}: ", candidate.name) };
        Some(format!("{on}{violation}"))
    });
    (violation, start.elapsed())
}

fn text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
