//! The events of a run, in order, from which other possible orders are found.

use smallvec::SmallVec;

use super::{Engine, Mark, Work, op::Op};
use crate::judge::{Footprint as _, Touch};

/// One event of a run.
#[derive(Debug, Clone)]
pub(crate) enum Happened {
    /// A choice of what continues: one of the streams, or the host if it may.
    Open {
        /// The number of choices made before. If there is only one way, no choice is made.
        choices: usize,
        lanes: Vec<usize>,
        may_return: bool,
        way: usize,
    },
    /// The host put the operation of this number into a queue.
    Enqueued(u64),
    /// An operation ran, or a piece of it.
    Ran {
        lane: usize,
        number: u64,
        /// The operation's place in its lane; none if more of it has to run.
        at: Option<Mark>,
        /// The operations that it waited for.
        after: SmallVec<[Mark; 1]>,
        touches: Vec<Touch>,
        /// Whether it changes the amount of free memory.
        frees: bool,
    },
    /// The host queried whether an operation has run.
    Asked(Mark),
    /// The host queried the amount of free memory.
    AskedForMemory,
    /// The host waited for an operation, and so knows that it has run.
    Waited(Mark),
}

impl Engine {
    /// The events so far; none unless they are recorded.
    pub(crate) fn history(&self) -> &[Happened] {
        self.history.as_deref().unwrap_or(&[])
    }

    /// Records an event, if events are recorded.
    pub(super) fn note(&mut self, happened: Happened) {
        if let Some(history) = &mut self.history {
            history.push(happened);
        }
    }

    /// Records that the operation at the front of a lane ran, or a piece of it, if events are
    /// recorded.
    pub(super) fn note_step(&mut self, lane: usize, finished: bool) {
        if let Some(history) = &mut self.history {
            let at = finished.then(|| self.lanes.next_mark(lane));
            history.extend(self.lanes.front_mut(lane).map(|op| Happened::ran(lane, at, op)));
        }
    }
}

impl Happened {
    pub(super) fn ran(lane: usize, at: Option<Mark>, op: &Op) -> Self {
        let Op { number, ref work, .. } = *op;
        let after = op.waits_for().collect();
        let frees = matches!(work, Work::Free { .. });
        // A prefetch does not change the result.
        let touches =
            if matches!(work, Work::Prefetch { .. }) { Vec::new() } else { work.touches().into_vec() };
        Self::Ran { lane, number, at, after, touches, frees }
    }
}
