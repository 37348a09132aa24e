//! Copies that may have blocked the host, and need not.
//!
//! A copy between the device and pageable host memory "may be synchronous with respect to the host" (CUDA driver API, "API
//! synchronization behavior"): if it is, the host has waited for it and for all that it comes after. That orders nothing here, as nobody
//! promises it; but what such a wait would have ordered is told apart from what nothing would.

use std::collections::VecDeque;

use super::{Clock, Position};
use crate::finding::Operation;

/// Copies that are remembered.
const MOST: usize = 16;

/// The newest copies that may have blocked, oldest first, with what is before each, itself included.
#[derive(Debug, Default)]
pub(super) struct MayHaveBlocked(VecDeque<(Operation, Clock)>);

impl MayHaveBlocked {
    pub(super) fn push(&mut self, copy: Operation, clock: Clock) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((copy, clock));
    }

    /// The first copy that, if it blocked, put an operation before everything issued since.
    pub(super) fn covers(&self, position: Position) -> Option<Operation> {
        self.0.iter().find(|(_, clock)| clock.knows(position)).map(|(copy, _)| *copy)
    }
}
