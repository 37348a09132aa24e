//! The options of a run.

use crate::{Builder, FaultPlan, MockDevice, Profile, Schedule};

/// The schedules that need no seed.
pub(super) const FIXED: [Schedule; 3] = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy];

/// The options that, with the program, determine a run.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) profile: Profile,
    pub(super) schedule: Schedule,
    pub(super) seed: u64,
    pub(super) memory_limit_bytes: usize,
    pub(super) plan: FaultPlan,
    pub(super) forgets_waits: bool,
    pub(super) keep_history: bool,
}

impl Options {
    /// A builder for the devices that programs run on.
    pub(super) fn builder(&self) -> Builder {
        MockDevice::builder()
            .profile(self.profile)
            .schedule(self.schedule.clone())
            .seed(self.seed)
            .memory_limit_bytes(self.memory_limit_bytes)
            .faults(self.plan.clone())
            .check_kernels(true)
            .forgets_waits(self.forgets_waits)
    }
}
