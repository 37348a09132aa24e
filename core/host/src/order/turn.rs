//! A turn: the place of one operation in the order.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use super::{Lane, Point};

/// A turn of a lane. Dropping it waits for everything before it, if nothing has waited yet, and
/// ends the turn.
#[derive(Debug)]
pub(crate) struct Turn {
    lane: Arc<Lane>,
    number: u64,
    before: Point,
    /// Everything before it is over. Only saves another look.
    is_here: AtomicBool,
}

impl Turn {
    pub(super) fn new(lane: &Arc<Lane>, number: u64, before: Point) -> Self {
        Self { lane: Arc::clone(lane), number, before, is_here: AtomicBool::new(false) }
    }

    /// Blocks until everything before the turn is over.
    #[inline]
    pub(crate) fn arrive(&self) {
        if !self.is_here.load(Relaxed) {
            self.lane.wait(self.number - 1);
            self.before.wait();
            self.is_here.store(true, Relaxed);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.arrive();
        self.lane.end(self.number);
    }
}
