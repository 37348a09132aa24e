//! The queue of one stream.

use std::collections::VecDeque;

use super::{
    mark::Mark,
    op::{Op, Work},
};

/// The operations of one stream that have not run, the oldest first.
///
/// A dropped stream leaves its lane behind. Once the lane is empty, a new stream takes it over and
/// continues its count, so old marks stay valid.
#[derive(Debug, Default)]
pub(super) struct Lane {
    queue: VecDeque<Op>,
    /// The number of operations that have run, which is the position of the front of the queue.
    executed: u64,
    open: bool,
    /// Whether it belongs to a default stream, which nobody opens or drops.
    is_default: bool,
    /// Whether it is ordered with the legacy default stream.
    pub(super) blocking: bool,
}

impl Lane {
    /// Adds an operation; `index` is the index of this lane.
    pub(super) fn push(&mut self, index: usize, op: Op) -> Mark {
        let position = self.executed + self.queue.len() as u64;
        self.queue.push_back(op);
        Mark { lane: index, position }
    }

    pub(super) fn front_mut(&mut self) -> Option<&mut Op> {
        self.queue.front_mut()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn front(&self) -> Option<&Op> {
        self.queue.front()
    }

    /// Removes the front, which has run.
    pub(super) fn retire(&mut self) {
        self.executed += u64::from(self.queue.pop_front().is_some());
    }

    /// The mark of the operation that runs next.
    pub(super) fn next_mark(&self, index: usize) -> Mark {
        Mark { lane: index, position: self.executed }
    }

    pub(super) fn ops(&self) -> impl Iterator<Item = &Op> {
        self.queue.iter()
    }

    pub(super) fn is_open(&self) -> bool {
        self.open && !self.is_default
    }

    /// Whether no stream has it, and the operations of its last stream have run.
    pub(super) fn is_free(&self) -> bool {
        !self.open && self.queue.is_empty()
    }

    pub(super) fn become_default(&mut self) {
        self.is_default = true;
    }

    pub(super) fn set_open(&mut self, open: bool) {
        self.open = open;
    }

    /// Whether the operation at `position` has run.
    pub(super) fn is_past(&self, position: u64) -> bool {
        position < self.executed
    }

    /// The newest operation of some kind; none if the queue holds none. `index` is the index of
    /// this lane.
    pub(super) fn last(&self, index: usize, kind: impl Fn(&Work) -> bool) -> Option<Mark> {
        let behind = self.queue.iter().rposition(|op| kind(&op.work))?;
        Some(Mark { lane: index, position: self.executed + behind as u64 })
    }

    /// Cancels the operations up to the mark.
    pub(super) fn cancel(&mut self, mark: Mark) {
        let covered =
            usize::try_from((mark.position + 1).saturating_sub(self.executed)).unwrap_or(usize::MAX);
        self.queue.iter_mut().take(covered).for_each(|op| op.cancelled = true);
    }

    pub(super) fn cancel_all(&mut self) {
        self.queue.iter_mut().for_each(|op| op.cancelled = true);
    }
}
