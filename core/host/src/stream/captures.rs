//! Streams that capture operations, and launches of captured operations.
#![allow(unsafe_code)] // runs operations whose memory the caller of a launch vouches for

use std::{any::Any, ops::Range, sync::Arc};

use devarray::{
    Error, Result,
    backend::{Captured, Captures},
};

use super::{HostStream, Place};
use crate::{
    backend::BACKEND,
    captured::{Steps, Taken},
};

// SAFETY: steps run in the order in which they were enqueued, at the launch's turn, and use only the memory
// that their operations name.
unsafe impl Captures for HostStream {
    fn capture(&self) -> Result<Option<Self>> {
        Ok(Some(Self { lane: Arc::clone(&self.lane), place: Place::Taken(Taken::default()) }))
    }

    fn end_capture(self) -> Result<Box<dyn Captured>> {
        match &self.place {
            Place::Taken(taken) => Ok(Box::new(Steps::of(&self.lane.device, taken))),
            Place::Next | Place::Turn(_) => Err(driver("capture", "STREAM_RUNS")),
        }
    }

    unsafe fn launch_captured(&self, captured: &dyn Captured, _: Range<u64>) -> Result<()> {
        const OPERATION: &str = "launch";
        self.check_runs(OPERATION)?;
        let captured: &dyn Any = captured;
        let steps = captured.downcast_ref::<Steps>().filter(|steps| steps.are_of(self.device()));
        let Some(steps) = steps else {
            return Err(Error::DeviceMismatch { backend: BACKEND, operation: OPERATION });
        };
        // SAFETY: as the caller promises.
        self.run(|_| unsafe { steps.run() });
        Ok(())
    }
}

impl HostStream {
    /// Refuses operations that cannot be captured: a launch would find other host memory, or none.
    pub(super) fn check_runs(&self, operation: &'static str) -> Result<()> {
        match &self.place {
            Place::Next | Place::Turn(_) => Ok(()),
            Place::Taken(_) => Err(driver(operation, "STREAM_CAPTURES")),
        }
    }
}

fn driver(operation: &'static str, name: &str) -> Error {
    Error::Driver { backend: BACKEND, operation, code: -1, name: name.into() }
}
