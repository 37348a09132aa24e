//! Operations that are taken down once and run again and again, at one turn.
//!
//! An operation is kept as a *step*: all that it needs, but for its turn. The places of operands,
//! compiled loops and pieces for threads are decided when it is taken down.
#![allow(unsafe_code)] // runs steps whose memory the caller of a launch vouches for

mod computed;
mod indexed;
mod kept;
mod moved;

use std::{
    fmt, mem, ptr,
    sync::{Arc, Mutex, PoisonError},
};

use devarray::backend::Captured;

pub(crate) use computed::{fuse, map, product, reduce};
pub(crate) use indexed::{gather, order};
pub(crate) use moved::{copy, copy_all, fill};

use crate::shared::Shared;

/// An operation that was taken down.
pub(crate) struct Step(Box<Run>);

type Run = dyn Fn(&Shared) + Send + Sync;

impl Step {
    /// `run` is called only as [`run`](Self::run) allows.
    pub(crate) fn new(run: impl Fn(&Shared) + Send + Sync + 'static) -> Self {
        Self(Box::new(run))
    }

    /// Runs it.
    ///
    /// # Safety
    ///
    /// The promises of the operation, when it was taken down, hold now.
    unsafe fn run(&self, device: &Shared) {
        (self.0)(device);
    }
}

/// The steps of a stream that captures.
#[derive(Debug, Default)]
pub(crate) struct Taken(Mutex<Vec<Step>>);

impl Taken {
    pub(crate) fn push(&self, step: Step) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    }

    fn take(&self) -> Vec<Step> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Steps that run in order.
#[derive(Debug)]
pub(crate) struct Steps {
    steps: Vec<Step>,
    device: Arc<Shared>,
}

impl Captured for Steps {}

impl Steps {
    /// The steps so far, for launches on their device.
    pub(crate) fn of(device: &Arc<Shared>, taken: &Taken) -> Self {
        Self { steps: taken.take(), device: Arc::clone(device) }
    }

    pub(crate) fn are_of(&self, device: &Shared) -> bool {
        ptr::eq(Arc::as_ptr(&self.device), device)
    }

    /// Runs all, in order.
    ///
    /// # Safety
    ///
    /// The conditions of [`Step::run`], for each.
    pub(crate) unsafe fn run(&self) {
        for step in &self.steps {
            // SAFETY: as the caller promises.
            unsafe { step.run(&self.device) }
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Step")
    }
}
