//! The events of a run, in order, for finding the other orders that it could have had.

use smallvec::SmallVec;

use super::{Engine, Mark, Work, op::Op};
use crate::judge::{Footprint as _, Touch};

/// One thing that happened.
#[derive(Debug, Clone)]
pub(crate) enum Happened {
    /// A choice of who goes on: one of the streams, or the host if it may.
    Open {
        /// Choices made before. If there is only one way, none is made.
        choices: usize,
        lanes: Vec<usize>,
        may_return: bool,
        way: usize,
    },
    /// The host put an operation into a queue; its number.
    Enqueued(u64),
    /// An operation ran, or a piece of it.
    Ran {
        lane: usize,
        number: u64,
        /// Which of its lane it is; none if there is more of it to run.
        at: Option<Mark>,
        /// What it waited for.
        after: SmallVec<[Mark; 1]>,
        touches: Vec<Touch>,
        /// Whether it changes how much memory is free.
        frees: bool,
    },
    /// The host asked whether an operation has run.
    Asked(Mark),
    /// The host asked how much memory is free.
    AskedForMemory,
    /// The host knows that an operation has run.
    Waited(Mark),
}

impl Engine {
    /// What happened so far; nothing unless that is recorded.
    pub(crate) fn history(&self) -> &[Happened] {
        self.history.as_deref().unwrap_or(&[])
    }

    /// Takes a note, if notes are taken.
    pub(super) fn note(&mut self, happened: Happened) {
        if let Some(history) = &mut self.history {
            history.push(happened);
        }
    }

    /// Takes a note, if notes are taken, of the operation in front of a lane, or of a piece of it.
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
        // A prefetch changes no outcome.
        let touches =
            if matches!(work, Work::Prefetch { .. }) { Vec::new() } else { work.touches().into_vec() };
        Self::Ran { lane, number, at, after, touches, frees }
    }
}
