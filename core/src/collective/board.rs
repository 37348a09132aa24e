//! Where ranks compare their calls before anything is enqueued.
//!
//! This is the board of ranks that are threads of one process. Each has a seat, on which stands what it
//! is doing. A rank that makes a call writes it there and blocks until the calls fit, or cannot any more.

use std::{
    mem,
    sync::{Condvar, Mutex},
    time::Duration,
};

use super::{
    CollectiveError, CommunicatorId, RankCall, RankState, RankStates, RowCounts,
    waits::{Waits, Woke},
};
use crate::lock::lock;

/// The seats of all ranks.
#[derive(Default)]
pub(super) struct Board {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Empty before the first rank comes.
    seats: Vec<Seat>,
    /// Calls that fit so far.
    agreed: u64,
    /// The first mistake: no call succeeds any more.
    broken: Option<CollectiveError>,
}

/// One rank.
#[derive(Default)]
struct Seat {
    joiner: Option<Joiner>,
    last: Option<RankCall>,
    at: At,
    /// The group that it goes to, in a split.
    color: Option<usize>,
}

/// The identity of a rank.
#[derive(Debug, Clone, Copy)]
pub(super) struct Joiner {
    pub(super) backend: &'static str,
    /// The address of its context.
    pub(super) context: usize,
}

/// The state of a rank.
#[derive(Default)]
enum At {
    /// Its program runs, or has not joined.
    #[default]
    Away,
    /// It waits for others.
    Calls(RankCall),
    /// Its call fits; it has not noticed yet.
    Agreed(Agreement),
    Dropped,
    Panicked,
}

/// A call that all have made.
pub(super) struct Agreement {
    /// All that take part have this number, and no other call has it.
    pub(super) number: u64,
    /// For a split, the new communicator, this rank in it, and its size.
    pub(super) group: Option<(CommunicatorId, usize, usize)>,
    /// The rows that each rank has for this one, in a call that counts rows.
    pub(super) received: Vec<usize>,
}

impl Board {
    /// Takes a seat, and waits for the others to take theirs.
    pub(super) fn join(
        &self,
        (rank, ranks): (usize, usize),
        joiner: Joiner,
        call: &RankCall,
        waits: &Waits<'_>,
    ) -> Result<(), CollectiveError> {
        let mut state = lock(&self.state);
        if state.seats.is_empty() {
            state.seats.resize_with(ranks, Seat::default);
        }
        if let Err(error) = state.seat(rank, ranks, joiner) {
            // Others of a communicator that is complete have nothing to do with this one.
            if !matches!(error, CollectiveError::Taken(_)) {
                state.break_with(error.clone(), waits);
                waits.changed(&self.changed);
            }
            return Err(error);
        }
        drop(state);
        self.agree(rank, call, None, waits).map(drop)
    }

    /// Waits until the others make calls that fit. `color`: the group of this rank, in a split.
    pub(super) fn agree(
        &self,
        rank: usize,
        call: &RankCall,
        color: Option<usize>,
        waits: &Waits<'_>,
    ) -> Result<Agreement, CollectiveError> {
        let mut state = lock(&self.state);
        if let Some(error) = &state.broken {
            return Err(error.clone());
        }
        let seat = &mut state.seats[rank];
        (seat.at, seat.last, seat.color) = (At::Calls(call.clone()), Some(call.clone()), color);
        state.settle(waits);
        waits.changed(&self.changed);
        let mut woke = Woke::Again;
        loop {
            if let At::Agreed(_) = state.seats[rank].at
                && let At::Agreed(agreement) = mem::take(&mut state.seats[rank].at)
            {
                return Ok(agreement);
            }
            if state.broken.is_none() && woke != Woke::Again {
                let states = state.states();
                let limit = waits.limit();
                let error = match woke {
                    Woke::Stuck => CollectiveError::Stuck(states),
                    _ => CollectiveError::TimeLimit { limit, states },
                };
                state.break_with(error, waits);
                waits.changed(&self.changed);
            }
            if let Some(error) = &state.broken {
                let error = error.clone();
                state.seats[rank].at = At::Away;
                return Err(error);
            }
            (state, woke) = waits.wait(&self.state, &self.changed, state);
        }
    }

    /// Makes all calls fail, with this error unless there is an earlier one, which is returned.
    pub(super) fn break_off(&self, error: CollectiveError, waits: &Waits<'_>) -> CollectiveError {
        let mut state = lock(&self.state);
        state.break_with(error, waits);
        let first = state.broken.clone().unwrap_or(CollectiveError::Aborted);
        drop(state);
        waits.changed(&self.changed);
        first
    }

    /// A rank is gone.
    pub(super) fn leave(&self, rank: usize, panicked: bool, waits: &Waits<'_>) {
        let mut state = lock(&self.state);
        state.seats[rank].at = if panicked { At::Panicked } else { At::Dropped };
        state.settle(waits);
        drop(state);
        waits.changed(&self.changed);
    }
}

impl State {
    fn seat(&mut self, rank: usize, ranks: usize, joiner: Joiner) -> Result<(), CollectiveError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        if self.seats.len() != ranks {
            return Err(CollectiveError::Sizes { rank, ranks, others: self.seats.len() });
        }
        if self.seats[rank].joiner.is_some() {
            return Err(CollectiveError::Taken(rank));
        }
        for (other, seat) in self.seats.iter().enumerate() {
            let Some(seated) = seat.joiner else { continue };
            if seated.backend != joiner.backend {
                return Err(CollectiveError::Apart(rank));
            }
            if seated.context == joiner.context {
                return Err(CollectiveError::OneContext(other.min(rank), other.max(rank)));
            }
        }
        self.seats[rank].joiner = Some(joiner);
        Ok(())
    }

    /// Lets calls go on that fit, and finds those that never will.
    fn settle(&mut self, waits: &Waits<'_>) {
        if self.broken.is_some() {
            return;
        }
        self.settle_pairs(waits);
        let calls: Vec<&RankCall> = self.seats.iter().filter_map(Seat::call).collect();
        if let Some(&first) = calls.first()
            && calls.len() == self.seats.len()
            && calls.iter().all(|call| !call.is_of_two())
        {
            let counts: Vec<&RowCounts> = calls.iter().filter_map(|call| call.counts.as_ref()).collect();
            if calls.iter().all(|call| call.agrees_with(first)) && RowCounts::fit(&counts) {
                let is_split = first.operation == "split";
                return self.go_on(is_split, waits.limit());
            }
            return self.break_with(CollectiveError::Disagree(self.states()), waits);
        }
        let is_gone = |seat: &Seat| matches!(seat.at, At::Dropped | At::Panicked);
        for call in calls {
            let gone = match call.peer.filter(|_| call.is_of_two()) {
                Some(peer) => Some(peer).filter(|&peer| is_gone(&self.seats[peer])),
                None => self.seats.iter().position(is_gone),
            };
            if let Some(rank) = gone {
                return self.break_with(CollectiveError::Gone { rank, states: self.states() }, waits);
            }
        }
        let none_moves = |seat: &Seat| seat.call().is_some() || is_gone(seat);
        if self.seats.iter().all(none_moves) && self.seats.iter().any(|seat| seat.call().is_some()) {
            self.break_with(CollectiveError::Stuck(self.states()), waits);
        }
    }

    /// Lets sends and receives go on that fit.
    fn settle_pairs(&mut self, waits: &Waits<'_>) {
        for rank in 0..self.seats.len() {
            let Some(send) = self.seats[rank].call().filter(|call| call.is_send()) else { continue };
            let Some(peer) = send.peer else { continue };
            let receive = self.seats[peer].call().filter(|call| call.is_receive() && call.peer == Some(rank));
            let Some(receive) = receive else { continue };
            if !send.agrees_with(receive) {
                return self.break_with(CollectiveError::Disagree(self.states()), waits);
            }
            let number = self.next();
            for rank in [rank, peer] {
                self.seats[rank].at = At::Agreed(Agreement { number, group: None, received: Vec::new() });
            }
        }
    }

    fn next(&mut self) -> u64 {
        self.agreed += 1;
        self.agreed
    }

    /// Lets all ranks go on.
    fn go_on(&mut self, is_split: bool, limit: Duration) {
        let number = self.next();
        let colors: Vec<Option<usize>> = self.seats.iter().map(|seat| seat.color).collect();
        let counts: Vec<RowCounts> =
            self.seats.iter().filter_map(|seat| seat.call()?.counts.clone()).collect();
        let mut ids: Vec<(usize, CommunicatorId)> = Vec::new();
        for (rank, seat) in self.seats.iter_mut().enumerate() {
            let group = colors[rank].filter(|_| is_split).map(|color| {
                let of_color =
                    |others: &[Option<usize>]| others.iter().filter(|&&other| other == Some(color)).count();
                let known = ids.iter().find(|(of, _)| *of == color).map(|(_, id)| id.clone());
                let id = known.unwrap_or_else(|| {
                    let id = CommunicatorId::with_time_limit(limit);
                    ids.push((color, id.clone()));
                    id
                });
                (id, of_color(&colors[..rank]), of_color(&colors))
            });
            let received = counts.iter().map(|of| of.sent_to(rank).len()).collect();
            seat.at = At::Agreed(Agreement { number, group, received });
        }
    }

    fn break_with(&mut self, error: CollectiveError, waits: &Waits<'_>) {
        if self.broken.is_none() {
            waits.found(&error);
            self.broken = Some(error);
        }
    }

    fn states(&self) -> RankStates {
        let state = |seat: &Seat| match (&seat.at, &seat.last) {
            (At::Dropped, _) => RankState::Dropped,
            (At::Panicked, _) => RankState::Panicked,
            (At::Calls(call), _) => RankState::Calls(call.clone()),
            (_, Some(last)) => RankState::Away(last.clone()),
            (_, None) => RankState::Missing,
        };
        self.seats.iter().map(state).collect()
    }
}

impl Seat {
    fn call(&self) -> Option<&RankCall> {
        match &self.at {
            At::Calls(call) => Some(call),
            _ => None,
        }
    }
}
