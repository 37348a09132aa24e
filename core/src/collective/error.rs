//! Mistakes in calls of several ranks, and ranks that are gone.

use std::time::Duration;

use super::{RankState, RankStates};
use crate::{function::ElementType, processes::ProcessError};

/// Why a call of several ranks failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CollectiveError {
    /// A rank, root or peer that does not exist.
    #[error("there is no rank {rank} of {ranks}")]
    NoRank {
        /// The number given.
        rank: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// More ranks than a communicator can have.
    #[error("{ranks} ranks are more than {most}")]
    TooMany {
        /// The number given.
        ranks: usize,
        /// The most that are possible.
        most: usize,
    },
    /// A rank that sends to itself, or receives from itself.
    #[error("rank {0} sends nothing to itself")]
    Itself(usize),
    /// A rank that joins again. An id is for one communicator.
    #[error("rank {0} has joined already, and an id is for one communicator")]
    Taken(usize),
    /// Ranks that join communicators of different sizes under one id.
    #[error("rank {rank} joins {ranks} ranks, and others join {others}")]
    Sizes {
        /// The rank that differs.
        rank: usize,
        /// The number of ranks it gave.
        ranks: usize,
        /// The number that the first gave.
        others: usize,
    },
    /// Two ranks of one context, whose stream could wait for itself.
    #[error("ranks {0} and {1} are of one context, and each rank needs its own")]
    OneContext(usize, usize),
    /// A rank whose device does not exchange with the others': it is of another backend, or of
    /// another simulated machine.
    #[error("the device of rank {0} does not exchange with the devices of the others")]
    Apart(usize),
    /// A mean of elements that are no floats.
    #[error("elements of {0} have no mean of their type")]
    NoMean(ElementType),
    /// The ranks make different calls, or one call with different elements.
    #[error("the calls of the ranks differ: {0}")]
    Disagree(RankStates),
    /// Ranks wait for each other, and none can go on.
    #[error("no rank can go on: {0}")]
    Stuck(RankStates),
    /// A rank is gone that the call needs.
    #[error("rank {rank} is gone: {states}")]
    Gone {
        /// The rank.
        rank: usize,
        /// The state of each rank.
        states: RankStates,
    },
    /// The other ranks did not come in time.
    #[error("a rank did not come within {limit:?}: {states}")]
    TimeLimit {
        /// The limit of the communicator.
        limit: Duration,
        /// The state of each rank.
        states: RankStates,
    },
    /// The communicator was aborted, or a call of another rank failed after all had come.
    #[error("the communicator was aborted")]
    Aborted,
    /// Ranks that are processes did not find each other, or lost each other.
    #[error("{0}")]
    Processes(Box<ProcessError>),
}

impl From<ProcessError> for CollectiveError {
    fn from(error: ProcessError) -> Self {
        Self::Processes(Box::new(error))
    }
}

impl CollectiveError {
    /// Whether a rank may leave exchanges undone that all have come to. One that drops its communicator has enqueued its
    /// part in each.
    pub(super) fn cuts_off(&self) -> bool {
        match self {
            Self::Gone { rank, states } => states.iter().nth(*rank) != Some(&RankState::Dropped),
            Self::Processes(error) => **error != ProcessError::ServiceLeft,
            _ => true,
        }
    }

    /// The state of each rank, for errors that are about calls of several.
    #[must_use]
    pub fn states(&self) -> Option<&RankStates> {
        match self {
            Self::Disagree(states)
            | Self::Stuck(states)
            | Self::Gone { states, .. }
            | Self::TimeLimit { states, .. } => Some(states),
            _ => None,
        }
    }
}
