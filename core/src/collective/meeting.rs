//! A rank's wait in a meeting of all ranks.

use std::sync::Arc;

use super::link::{Link, Way};
use crate::backend::{Meeting, RankTurns};

/// A rank that waits in a meeting: the backend is told that decides which rank's thread runs.
pub(super) struct Waiting<'w> {
    turns: Option<&'w dyn RankTurns>,
    meeting: Meeting,
}

impl<'w> Waiting<'w> {
    pub(super) fn begin(turns: Option<&'w dyn RankTurns>, meeting: Meeting) -> Self {
        if let Some(turns) = turns {
            turns.comes_to(meeting);
        }
        Self { turns, meeting }
    }

    /// Returns the outcome: an error if a rank did not come.
    pub(super) fn end<T, E>(self, outcome: Result<T, E>) -> Result<T, E> {
        if let Some(turns) = self.turns {
            turns.goes_from(self.meeting, outcome.is_ok());
        }
        outcome
    }
}

impl Way {
    /// The meeting of this number. No backend decides which thread of another process runs.
    pub(super) fn meeting(&self, number: u64) -> Meeting {
        match self {
            Self::Here { board, .. } => Meeting { communicator: Arc::as_ptr(board).addr(), number },
            Self::There(_) => Meeting { communicator: 0, number },
        }
    }
}

impl Link {
    /// The meeting of this number, the same as by the [way](Way::meeting).
    pub(super) fn meeting(&self, number: u64) -> Meeting {
        match self {
            Self::Here { board, .. } => Meeting { communicator: Arc::as_ptr(board).addr(), number },
            Self::There(_) => Meeting { communicator: 0, number },
        }
    }
}
