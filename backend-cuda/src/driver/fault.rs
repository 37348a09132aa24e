//! Counts calls, and makes one fail.

use std::{
    num::NonZeroI32,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use super::{Answer, Failure, Function};
use crate::handle::locked;

/// A call that fails without reaching the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    function: Option<Function>,
    after: u64,
    code: NonZeroI32,
    lasting: bool,
}

impl Fault {
    /// Fails one call with `code`, once `after` calls went before it; 0 fails the next.
    #[must_use]
    pub const fn new(after: u64, code: NonZeroI32) -> Self {
        Self { function: None, after, code, lasting: false }
    }

    /// Counts and fails only calls of `function`.
    #[must_use]
    pub const fn of(self, function: Function) -> Self {
        Self { function: Some(function), ..self }
    }

    /// From then on every such call fails, as after the loss of a device.
    #[must_use]
    pub const fn lasting(self) -> Self {
        Self { lasting: true, ..self }
    }
}

/// Call counts of one driver, and its fault.
#[derive(Debug)]
pub(super) struct Calls {
    counts: [AtomicU64; Function::ALL.len()],
    armed: AtomicBool,
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    fault: Option<Fault>,
    struck: bool,
}

impl Calls {
    pub(super) fn new() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; Function::ALL.len()],
            armed: AtomicBool::new(false),
            plan: Mutex::default(),
        }
    }

    /// Counts a call of `function`. Returns an error if the call should fail.
    pub(super) fn count(&self, function: Function) -> Answer {
        self.counts[function as usize].fetch_add(1, Relaxed);
        if self.armed.load(Relaxed) { locked(&self.plan).meet(function) } else { Ok(()) }
    }

    pub(super) fn of(&self, function: Function) -> u64 {
        self.counts[function as usize].load(Relaxed)
    }

    pub(super) fn total(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Replaces the fault. Returns whether the previous one has happened.
    pub(super) fn fail(&self, fault: Option<Fault>) -> bool {
        let mut plan = locked(&self.plan);
        self.armed.store(fault.is_some(), Relaxed);
        std::mem::replace(&mut *plan, Plan { fault, struck: false }).struck
    }
}

impl Plan {
    fn meet(&mut self, function: Function) -> Answer {
        let Some(fault) = &mut self.fault else { return Ok(()) };
        if fault.function.is_some_and(|only| only != function) {
            return Ok(());
        }
        if fault.after > 0 {
            fault.after -= 1;
            return Ok(());
        }
        let code = fault.code.get();
        self.struck = true;
        if !fault.lasting {
            self.fault = None;
        }
        Err(Failure::Code(code))
    }
}
