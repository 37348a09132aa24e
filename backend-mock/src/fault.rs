//! Failures on demand: the next call of a site, or the calls that a plan names.

mod kind;
mod plan;
mod site;

pub use kind::FaultKind;
pub(crate) use plan::Pressure;
pub use plan::{FaultPlan, ParseFaultPlanError};
use plan::{Rule, When};
pub use site::Site;

use std::collections::{BTreeMap, VecDeque};

use devarray::{Error, backend::Quiesced};

use crate::schedule::Chooser;

/// The failure of a call chosen by [`MockDevice::fail_next`](crate::MockDevice::fail_next).
///
/// An error that [is sticky](Error::is_sticky) loses the device: work in flight is cancelled, and
/// every later call returns the same error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The call returns this error and changes nothing. At [`Site::Synchronize`], it is then
    /// unknown whether the work has ended.
    Error(Error),
    /// At [`Site::Synchronize`], the wait ends like this. `Ended` cancels the covered copies,
    /// fills, uploads and downloads that have not run; `Unknown` leaves all of them queued, and
    /// they may run at any time later; `Done` is no fault. At other sites, the call returns the
    /// error in it.
    Quiesced(Quiesced),
}

impl Fault {
    /// The error that a call other than a wait returns; none for `Done`.
    fn into_error(self) -> Option<Error> {
        match self {
            Self::Error(error) => Some(error),
            Self::Quiesced(end) => end.into_result().err(),
        }
    }

    /// The result of a wait.
    fn into_quiesced(self) -> Quiesced {
        match self {
            Self::Error(error) => Quiesced::Unknown(error),
            Self::Quiesced(end) => end,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Quiesced> for Fault {
    fn from(end: Quiesced) -> Self {
        Self::Quiesced(end)
    }
}

/// A call that failed because a plan named it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fired {
    /// The number of calls of the backend before it.
    pub call: u64,
    /// The site of the call.
    pub site: Site,
    /// The way in which it failed.
    pub kind: FaultKind,
    /// The rule of the plan that named it, counted from 0.
    pub rule: usize,
}

/// The most fired faults that are kept; nobody would read more.
const MOST_FIRED: usize = 1000;

/// One site in this number takes part in a run of `buggify`.
const ARMED_ONE_IN: usize = 4;

/// The planned failures. Every call checks here, once.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    next: BTreeMap<Site, VecDeque<Fault>>,
    plan: FaultPlan,
    /// The number of calls so far.
    calls: u64,
    calls_by_site: BTreeMap<Site, u64>,
    /// Whether a site takes part in `buggify`, once that has been decided.
    armed: BTreeMap<Site, bool>,
    fired: Vec<Fired>,
}

impl Faults {
    pub(crate) fn new(plan: FaultPlan) -> Self {
        Self { plan, ..Self::default() }
    }

    pub(crate) fn plan(&mut self, site: Site, fault: Fault) {
        self.next.entry(site).or_default().push_back(fault);
    }

    /// Whether no failure is planned now.
    pub(crate) fn are_none(&self) -> bool {
        self.next.is_empty() && self.plan.rules.is_empty()
    }

    /// The fate of a call that is no wait. `len_bytes`: the size it asks for, if it allocates.
    pub(crate) fn call(&mut self, site: Site, len_bytes: usize, chooser: &mut Chooser) -> Fate {
        let planned = self.planned(site, chooser);
        if let Some(error) = self.take(site).and_then(Fault::into_error) {
            return Fate::Fails(error);
        }
        match planned {
            None => Fate::Runs,
            Some(FaultKind::Late) => Fate::Late,
            Some(kind @ FaultKind::Torn) if site.enqueues() => Fate::Doomed(kind.error(site, len_bytes)),
            Some(kind) => Fate::Fails(kind.error(site, len_bytes)),
        }
    }

    /// The result that a wait must have; `Done` if no fault is planned.
    pub(crate) fn quiesce(&mut self, chooser: &mut Chooser) -> Quiesced {
        let planned = self.planned(Site::Synchronize, chooser).map(FaultKind::quiesced);
        self.take(Site::Synchronize).map(Fault::into_quiesced).or(planned).unwrap_or(Quiesced::Done)
    }

    /// The faults of the plan that fired so far.
    pub(crate) fn fired(&self) -> &[Fired] {
        &self.fired
    }

    fn take(&mut self, site: Site) -> Option<Fault> {
        self.next.get_mut(&site)?.pop_front()
    }

    /// The plan's decision about this call, which is counted.
    fn planned(&mut self, site: Site, chooser: &mut Chooser) -> Option<FaultKind> {
        if self.plan.rules.is_empty() {
            return None;
        }
        let call = self.calls;
        self.calls += 1;
        let of_site = self.calls_by_site.entry(site).or_default();
        let nth = *of_site;
        *of_site += 1;
        let armed = &mut self.armed;
        let names = |rule: &Rule| {
            let number = if rule.site.is_some() { nth } else { call };
            rule.site.is_none_or(|named| named == site)
                && (rule.kind != FaultKind::Late || site == Site::Query)
                && match &rule.when {
                    When::Window(calls) => calls.contains(&number),
                    When::OneIn(n) => chooser.unlikely(*n),
                    When::Buggify(n) => {
                        *armed.entry(site).or_insert_with(|| chooser.unlikely(ARMED_ONE_IN))
                            && chooser.unlikely(*n)
                    }
                }
        };
        let rule = self.plan.rules.iter().position(names)?;
        let kind = self.plan.rules[rule].kind;
        if self.fired.len() < MOST_FIRED {
            self.fired.push(Fired { call, site, kind, rule });
        }
        Some(kind)
    }
}

/// The fate of a call.
#[derive(Debug)]
pub(crate) enum Fate {
    /// It runs as usual.
    Runs,
    /// It returns this error.
    Fails(Error),
    /// It runs, and its operation loses the device with this error.
    Doomed(Error),
    /// It runs, but takes no step.
    Late,
}
