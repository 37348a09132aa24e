//! A point in the work of a stream.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::sync::Arc;

use devarray::{
    Result,
    backend::{Event, Quiesced},
};

use super::shared::Shared;
use crate::{
    engine::{Engine, Mark},
    fault::Site,
    judge::Snapshot,
    time::Stamp,
};

/// An event: the operation that recorded it, and with it all earlier operations of its stream.
pub struct MockEvent {
    pub(crate) shared: Arc<Shared>,
    pub(crate) mark: Mark,
    /// The operations that the judge knows to be before it.
    pub(crate) snapshot: Snapshot,
    /// Its time, if it is timed.
    pub(crate) stamp: Option<Stamp>,
    /// Its number among the events that other processes may wait for.
    pub(crate) exported: Option<u64>,
}

impl MockEvent {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        engine: &mut Engine,
        (mark, snapshot): (Mark, Snapshot),
        stamp: Option<Stamp>,
    ) -> Self {
        engine.open_event();
        Self { shared: Arc::clone(shared), mark, snapshot, stamp, exported: None }
    }
}

impl Drop for MockEvent {
    fn drop(&mut self) {
        let mut engine = self.shared.engine();
        engine.close_event();
        engine.withdraw_event(self.exported);
    }
}

// SAFETY: both methods check whether the recording operation has left its queue, which it does
// once, after everything before it. A query that finds the operation in its queue runs one step
// towards it.
unsafe impl Event for MockEvent {
    fn query(&self) -> Result<bool> {
        let mut engine = self.shared.engine();
        engine.enter(Site::Query)?;
        Ok(engine.query(self.mark, &self.snapshot))
    }

    #[track_caller]
    fn synchronize(&self) -> Quiesced {
        self.shared.engine().synchronize_event(self.mark, &self.snapshot, devarray::backend::call_location())
    }
}
