//! Makes every call of a program fail once, in every way.

use std::{cell::Cell, collections::BTreeMap};

use super::{Explore, Failure, options::FIXED, replay_variable::like_a_test};
use crate::{FaultKind, MockDevice, Site};

/// The failures that were tried when a [sweep](Explore::sweep) found nothing wrong.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Swept {
    /// The number of runs, including the last ones, in which no call was left to fail.
    pub runs: u64,
    /// The number of runs in which the program returned the failure.
    pub told: u64,
    /// The number of runs in which the program returned no error: a second try succeeded, or a
    /// clean-up failed.
    pub survived: u64,
    /// The number of failed calls, by site and kind.
    pub failed: BTreeMap<(Site, FaultKind), u64>,
}

/// Makes every call that `program` makes to its device fail, one in each run, in every way that
/// leaves the process alive, under the three fixed schedules. Panics like a test at the first wrong
/// run. [`Explore::sweep`] tells when a run is wrong.
///
/// The program must return errors instead of panicking on them.
///
/// # Panics
///
/// If a run is wrong, or the variable `DEVARRAY_REPLAY` is malformed;
/// [`explore()`](super::explore()) explains the variable.
#[track_caller]
pub fn sweep<T, E>(program: impl Fn(MockDevice) -> Result<T, E>) {
    like_a_test(&Explore::new(), program, |program| Explore::new().sweep(program).map(drop));
}

impl Explore {
    /// Runs the program again and again: the first call of the backend fails in the first run, the
    /// second call in the second run, and so on, until a run ends before it reaches the call that
    /// was to fail. This is done for each of the three fixed schedules and each of these kinds:
    /// [`Cancelled`](FaultKind::Cancelled), [`Lost`](FaultKind::Lost), [`Torn`](FaultKind::Torn)
    /// and [`Late`](FaultKind::Late). ([`Refused`](FaultKind::Refused) differs from the first kind
    /// only in waits with an unknown end, which may have to abort the process: a scope that lends
    /// out borrowed memory cannot return. A plan given by [`faults`](Self::faults) can have such
    /// failures, and applies in addition to the sweep.)
    ///
    /// A run is wrong if the program panics, if the judge finds a mistake, if an operation neither
    /// ran nor was cancelled, if a lost device returns any error but the one that lost it, or if
    /// something is alive at the end. Device memory of a lost device is gone with it; memory kept
    /// by a failed free or unpinning may stay.
    ///
    /// # Errors
    ///
    /// The first wrong run, with the plan that makes it wrong.
    pub fn sweep<T, E>(&self, program: impl Fn(MockDevice) -> Result<T, E>) -> Result<Swept, Failure> {
        let mut swept = Swept::default();
        for schedule in FIXED {
            for kind in [FaultKind::Cancelled, FaultKind::Lost, FaultKind::Torn, FaultKind::Late] {
                // Only a query can be late.
                let site = (kind == FaultKind::Late).then_some(Site::Query);
                for call in 0.. {
                    let plan = self.faults.clone().nth(site, call, kind);
                    let own = plan.len() - 1;
                    let told = Cell::new(false);
                    let program = |device| program(device).inspect_err(|_| told.set(true));
                    let options = self.clone().faults(plan).options(schedule.clone(), 0);
                    let run = options.run_or_shrink(swept.runs, &program)?;
                    swept.runs += 1;
                    let Some(fired) = run.fired.iter().find(|fired| fired.rule == own) else { break };
                    *swept.failed.entry((fired.site, fired.kind)).or_default() += 1;
                    *if told.get() { &mut swept.told } else { &mut swept.survived } += 1;
                }
            }
        }
        Ok(swept)
    }
}
