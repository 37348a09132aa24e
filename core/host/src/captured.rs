//! Operations that are captured once and run again and again, each launch in one turn.
//!
//! An operation is kept as a *step*: everything that it needs, except its turn. The addresses of
//! operands, compiled loops and the pieces for threads are decided when it is captured.
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

/// A captured operation.
pub(crate) struct Step(Box<Run>);

type Run = dyn Fn(&Shared) + Send + Sync;

impl Step {
    /// `run` is called only as [`run`](Self::run) allows.
    pub(crate) fn new(run: impl Fn(&Shared) + Send + Sync + 'static) -> Self {
        Self(Box::new(run))
    }

    /// Runs the operation.
    ///
    /// # Safety
    ///
    /// The promises that the operation made when it was captured hold now.
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
    /// The steps that were captured so far, for launches on their device.
    pub(crate) fn of(device: &Arc<Shared>, taken: &Taken) -> Self {
        Self { steps: taken.take(), device: Arc::clone(device) }
    }

    pub(crate) fn are_of(&self, device: &Shared) -> bool {
        ptr::eq(Arc::as_ptr(&self.device), device)
    }

    /// Runs all steps, in order.
    ///
    /// # Safety
    ///
    /// The conditions of [`Step::run`] hold for each step.
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
