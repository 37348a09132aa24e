//! The seats of a board: who sits there, and what it is doing.

use std::sync::Arc;

use super::{Agreement, Given};
use crate::collective::RankCall;

/// The end of a rank.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Leaving {
    Dropped,
    Panicked,
    /// Its process is gone, or does not answer.
    Lost,
}

/// One rank.
#[derive(Default)]
pub(super) struct Seat {
    pub(super) joiner: Option<Joiner>,
    pub(super) last: Option<RankCall>,
    pub(super) at: At,
    pub(super) given: Given,
    /// It makes no call before the calls of these ranks have ended: [`Board::rest`](super::Board::rest).
    pub(super) rests: Option<Arc<[usize]>>,
}

/// The identity of a rank.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Joiner {
    pub(in super::super) backend: &'static str,
    /// The number of its process; 0 for the process of the board.
    pub(in super::super) process: u64,
    /// The address of its context, there.
    pub(in super::super) context: usize,
}

/// The state of a rank.
#[derive(Default)]
pub(super) enum At {
    /// Its program runs, or has not joined.
    #[default]
    Away,
    /// It waits for others.
    Calls(RankCall),
    /// Its call fits; it has not noticed yet.
    Agreed(Agreement),
    Gone(Leaving),
}

impl Seat {
    pub(super) fn call(&self) -> Option<&RankCall> {
        let At::Calls(call) = &self.at else { return None };
        Some(call)
    }

    pub(super) fn is_gone(&self) -> bool {
        matches!(self.at, At::Gone(_))
    }

    /// Whether nobody else's call can go on by it before a program does something, its own or another's.
    pub(super) fn is_still(&self, seats: &[Self]) -> bool {
        let waits = |rank: &usize| seats.get(*rank).is_some_and(|seat| seat.call().is_some());
        let rests = self.rests.as_ref();
        // If none of the ranks that it rests for waits, the thread of all of them goes on, and may make its call.
        self.call().is_some() || self.is_gone() || rests.is_some_and(|ranks| ranks.iter().any(waits))
    }
}
