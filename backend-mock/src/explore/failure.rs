//! A wrong run, as it is reported to a person.

use std::{fmt, ops::Deref, str::FromStr, thread};

use crate::{
    FaultPlan, Finding, Fired, ParseFaultPlanError, ParseProfileError, ParseTraceError, Profile, ProfileSet,
    Report, Trace,
};

/// A wrong run, and the choices that make it wrong.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Failure {
    /// The mistake.
    pub wrong: Wrong,
    /// The choices of the run, with the fewest possible that are not 0.
    pub trace: Trace,
    /// The planned failures of calls.
    pub plan: Box<FaultPlan>,
    /// The calls that failed because the plan names them.
    pub failed: Box<FailedCalls>,
    /// The behaviour of the run's devices beyond CUDA's promises.
    pub profile: Profile,
    /// The [profiles that were tried](crate::Explore::profiles) under which nothing is wrong.
    pub right_under: ProfileSet,
    /// The number of runs before it, which were right.
    pub runs: u64,
    /// The schedule that first showed it.
    pub schedule: Box<str>,
    /// The message of the program's panic, if it panicked in addition to a mistake that the judge
    /// found.
    pub panic: Option<Box<str>>,
}

/// The mistake of a run.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub enum Wrong {
    /// The judge found a mistake; this is the first one.
    Found(Box<Finding>),
    /// The program panicked, with this message.
    Panicked(String),
    /// Something is alive although the program's handles were dropped.
    Leaked(Box<Report>),
    /// The device itself broke a rule of all devices: a bug of the simulator.
    Broken(String),
    /// Unknown: this was read from a line that only tells how to repeat the run.
    Unknown,
}

impl Wrong {
    /// Whether both are the same failure: the same kind of mistake, a panic at the same assertion,
    /// or a leak.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Found(one), Self::Found(two)) => one.code == two.code,
            // The values that an assertion shows may differ; its first line identifies it.
            (Self::Panicked(one), Self::Panicked(two)) => one.lines().next() == two.lines().next(),
            (Self::Leaked(_), Self::Leaked(_)) | (Self::Broken(_), Self::Broken(_)) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wrong {
            Wrong::Found(finding) => write!(f, "{finding}")?,
            Wrong::Panicked(message) => write!(f, "the program panicked: {message}")?,
            Wrong::Leaked(report) => write!(f, "{report}")?,
            Wrong::Broken(how) => write!(f, "the simulator is broken: {how}")?,
            Wrong::Unknown => {}
        }
        if let Some(message) = &self.panic {
            write!(f, "\n  the program then panicked: {message}")?;
        }
        if !self.plan.is_empty() {
            write!(f, "\n  with calls that failed by the plan {}:{}", self.plan, self.failed)?;
        }
        let evil = self.trace.choices().iter().filter(|&&choice| choice != 0).count();
        let Self { runs, schedule, .. } = self;
        write!(
            f,
            "\n  {schedule}, after {runs} runs that were right; {evil} choices of this one are not the benign ones"
        )?;
        if self.profile != Profile::Strict || !self.right_under.is_empty() {
            write!(f, "\n  under profile {}", self.profile)?;
        }
        if !self.right_under.is_empty() {
            write!(f, "; nothing is wrong under {}: it relies on what some machines do", self.right_under)?;
        }
        let name = thread::current()
            .name()
            .filter(|name| *name != "main")
            .map_or_else(String::new, |name| format!(" {name}"));
        // Plans contain characters that are special to a shell.
        let version = match self.profile {
            Profile::Strict => "v1".to_owned(),
            profile => format!("v1+{profile}"),
        };
        let run = match self.plan.is_empty() {
            true => format!("{version}:{}", self.trace),
            false => format!("'{version}:{}:{}'", self.trace, self.plan),
        };
        write!(f, "\n  replay: DEVARRAY_REPLAY={run} cargo test{name}")
    }
}

impl std::error::Error for Failure {}

/// The most failed calls that are listed one by one.
const MOST_TOLD: usize = 3;

/// The calls of a run that failed because a plan names them, in order.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct FailedCalls(pub(super) Vec<Fired>);

impl Deref for FailedCalls {
    type Target = [Fired];

    fn deref(&self) -> &[Fired] {
        &self.0
    }
}

impl fmt::Display for FailedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str(" none");
        }
        for (index, Fired { call, site, kind, .. }) in self.iter().take(MOST_TOLD).enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma} {site} ({}, call {call} of the backend, counted from 0)", kind.name())?;
        }
        match self.len().saturating_sub(MOST_TOLD) {
            0 => Ok(()),
            more => write!(f, ", and {more} more"),
        }
    }
}

/// Reads the run that a value of `DEVARRAY_REPLAY` names.
impl FromStr for Failure {
    type Err = ParseReplayError;

    fn from_str(text: &str) -> Result<Self, ParseReplayError> {
        let unknown = || ParseReplayError(format!("{text:?} does not begin with \"v1:\""));
        let (version, trace) = text.split_once(':').ok_or_else(unknown)?;
        let profile = match version.strip_prefix("v1").ok_or_else(unknown)? {
            "" => Profile::Strict,
            profile => {
                let name = profile.strip_prefix('+').ok_or_else(unknown)?;
                name.parse().map_err(|error: ParseProfileError| ParseReplayError(error.to_string()))?
            }
        };
        let (trace, plan) = trace.split_once(':').unwrap_or((trace, ""));
        let plan = plan.parse().map_err(|error: ParseFaultPlanError| ParseReplayError(error.to_string()))?;
        let plan = Box::new(plan);
        let trace = trace.parse().map_err(|error: ParseTraceError| ParseReplayError(error.to_string()))?;
        let schedule = "a run that is repeated".into();
        let (wrong, right_under) = (Wrong::Unknown, ProfileSet::default());
        Ok(Self {
            wrong,
            trace,
            plan,
            profile,
            right_under,
            runs: 0,
            schedule,
            panic: None,
            failed: Box::default(),
        })
    }
}

/// The error for a text that names no run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseReplayError(String);

impl fmt::Display for ParseReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseReplayError {}
