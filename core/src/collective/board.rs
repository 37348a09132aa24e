//! Where ranks compare their calls before anything is enqueued.
//!
//! Each rank has a seat, on which stands what it is doing. A rank that makes a call writes it there and blocks
//! until the calls fit, or cannot any more. Ranks are threads of the process of the board; ranks of other processes
//! have a thread here each that acts for them.

mod parts;
mod seat;

use std::{
    mem,
    sync::{Arc, Condvar, Mutex, Weak},
};

use super::{
    CollectiveError, RankCall, RankState, RankStates, RowCounts, SharedPlace,
    waits::{Waits, Woke},
};
use crate::lock::lock;
use parts::{Known, Part, Place};
use seat::{At, Seat};
pub(super) use seat::{Joiner, Leaving};

/// The seats of all ranks.
#[derive(Default)]
pub(super) struct Board {
    state: Mutex<State>,
    changed: Condvar,
    /// The object that backends of the ranks of this process share.
    pub(super) place: SharedPlace,
}

#[derive(Default)]
struct State {
    /// Empty before the first rank comes.
    seats: Vec<Seat>,
    /// Calls that fit so far.
    agreed: u64,
    /// The first mistake: no call succeeds any more.
    broken: Option<CollectiveError>,
    /// The first mistake that leaves exchanges undone that all have come to.
    cut_off: Option<CollectiveError>,
    /// Why no more calls come: one that would wait fails.
    closed: Option<CollectiveError>,
    /// Ranks that are told of it, whatever they are doing, and whether they have been.
    watchers: Vec<(usize, Weak<dyn Told>, bool)>,
    /// The boards of splits, as long as anybody has them.
    parts: Vec<Known>,
}

/// Is told that a communicator is over, by whichever thread ended it: once, and a second time if exchanges are left undone
/// later. It does not wait for other ranks.
pub(super) trait Told: Send + Sync {
    fn told(&self, error: &CollectiveError);
}

/// The things that a rank gives the others in a call.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// The group that it goes to, in a split.
    pub(super) color: Option<usize>,
    /// Bytes for all, in a gathering.
    pub(super) bytes: Vec<u8>,
}

/// The call in which ranks give each other bytes.
pub(super) const GATHER: &str = "gather";

/// A call that all have made.
pub(super) struct Agreement {
    /// All that take part have this number, and no other call has it.
    pub(super) number: u64,
    /// For a split, the board of the new communicator, this rank in it, and its size.
    pub(super) group: Option<(Arc<Board>, usize, usize)>,
    /// For a gathering, the bytes that each rank gave.
    pub(super) given: Option<Arc<[Vec<u8>]>>,
    /// The rows that each rank has for this one, in a call that counts rows.
    pub(super) received: Vec<usize>,
}

impl Board {
    /// Takes a seat. The rank then joins by a call.
    pub(super) fn sit(
        &self,
        (rank, ranks): (usize, usize),
        joiner: Joiner,
        waits: &Waits<'_>,
    ) -> Result<(), CollectiveError> {
        let mut state = lock(&self.state);
        if state.seats.is_empty() {
            state.seats.resize_with(ranks, Seat::default);
        }
        let seated = state.seat(rank, ranks, joiner);
        if let Err(error) = &seated
            // Others of a communicator that is complete have nothing to do with this one.
            && !matches!(error, CollectiveError::Taken(_))
        {
            state.break_with(error.clone(), waits);
            // It never comes: the board is over without it.
            let seat = state.seats.get_mut(rank).filter(|seat| seat.joiner.is_none());
            seat.into_iter().for_each(|seat| seat.at = At::Gone(Leaving::Dropped));
            waits.changed(&self.changed);
            drop(state);
            self.tell();
        }
        seated
    }

    /// Waits until the others make calls that fit.
    pub(super) fn agree(
        &self,
        rank: usize,
        call: &RankCall,
        given: Given,
        waits: &Waits<'_>,
    ) -> Result<Agreement, CollectiveError> {
        self.wait_to_agree(rank, call, given, waits).inspect_err(|_| self.tell())
    }

    fn wait_to_agree(
        &self,
        rank: usize,
        call: &RankCall,
        given: Given,
        waits: &Waits<'_>,
    ) -> Result<Agreement, CollectiveError> {
        let mut state = lock(&self.state);
        if let Some(error) = &state.broken {
            return Err(error.clone());
        }
        let seat = &mut state.seats[rank];
        if seat.is_gone() {
            return Err(CollectiveError::Aborted);
        }
        (seat.at, seat.last, seat.given) = (At::Calls(call.clone()), Some(call.clone()), given);
        state.settle(waits);
        waits.changed(&self.changed);
        let mut woke = Woke::Again;
        loop {
            if let At::Agreed(_) = state.seats[rank].at
                && let At::Agreed(agreement) = mem::take(&mut state.seats[rank].at)
            {
                return Ok(agreement);
            }
            if let Some(error) = state.closed.clone() {
                state.break_with(error, waits);
                waits.changed(&self.changed);
            }
            if state.broken.is_none() && woke != Woke::Again {
                let states = state.states();
                let error = match woke {
                    Woke::Stuck => CollectiveError::Stuck(states),
                    _ => CollectiveError::TimeLimit { limit: waits.limit(), states },
                };
                state.break_with(error, waits);
                waits.changed(&self.changed);
            }
            if let Some(error) = &state.broken {
                let (error, seat) = (error.clone(), &mut state.seats[rank]);
                // A rank of another process may have gone meanwhile.
                if seat.call().is_some() {
                    seat.at = At::Away;
                }
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
        self.tell();
        first
    }

    /// A rank is gone. Others that need it are told when they call; if it is lost, all are told at once, as it may
    /// have been in the middle of an exchange.
    pub(super) fn leave(&self, rank: usize, leaving: Leaving, waits: &Waits<'_>) {
        let mut state = lock(&self.state);
        state.watchers.retain(|(of, ..)| *of != rank);
        state.seats[rank].at = At::Gone(leaving);
        // A broken board compares no calls any more, so no call would tell of the panic.
        let is_panic = matches!(leaving, Leaving::Panicked) && state.broken.is_some();
        if is_panic || matches!(leaving, Leaving::Lost) && !state.is_over() {
            let states = state.states();
            state.break_with(CollectiveError::Gone { rank, states }, waits);
        }
        state.settle(waits);
        let parts: Vec<_> = state.parts.iter().filter_map(|part| part.of(rank)).collect();
        drop(state);
        waits.changed(&self.changed);
        self.tell();
        for (board, place) in parts {
            board.is_not_joined(&place, leaving, waits);
        }
    }

    /// A rank has left the board that was split into this one and others. If it has no seat here it takes none any
    /// more, and those that wait for it are told.
    fn is_not_joined(&self, place: &Place, leaving: Leaving, waits: &Waits<'_>) {
        let mut state = lock(&self.state);
        if state.seats.is_empty() {
            state.seats.resize_with(place.ranks, Seat::default);
        }
        // One that came first may have told another number of ranks.
        let Some(seat) = state.seats.get_mut(place.rank).filter(|seat| seat.joiner.is_none()) else { return };
        seat.at = At::Gone(leaving);
        let states = state.states();
        state.break_with(CollectiveError::Gone { rank: place.rank, states }, waits);
        drop(state);
        waits.changed(&self.changed);
        self.tell();
    }

    /// From here on the rank makes no call while one of these ranks waits in a call: if all others wait for it, they
    /// cannot go on. None: it may make calls.
    pub(super) fn rest(&self, rank: usize, rests: Option<Arc<[usize]>>, waits: &Waits<'_>) {
        let mut state = lock(&self.state);
        state.seats[rank].rests = rests;
        state.settle(waits);
        drop(state);
        waits.changed(&self.changed);
        self.tell();
    }

    /// Tells `who` when the communicator is over, at once if it is. It is not told after its rank has left.
    pub(super) fn watch(&self, rank: usize, who: Weak<dyn Told>) {
        lock(&self.state).watchers.push((rank, who, false));
        self.tell();
    }

    /// Makes calls fail that would wait for others, because nobody can make theirs any more. Exchanges that are
    /// under way are not disturbed.
    pub(super) fn close(&self, error: CollectiveError) {
        lock(&self.state).closed = Some(error);
        self.changed.notify_all();
    }

    /// The first mistake.
    pub(super) fn broken(&self) -> Option<CollectiveError> {
        lock(&self.state).broken.clone()
    }

    /// Whether all ranks have come and gone.
    pub(super) fn is_over(&self) -> bool {
        lock(&self.state).is_over()
    }

    /// Tells the ranks that watch, if the communicator is over. No lock is held meanwhile.
    fn tell(&self) {
        let mut state = lock(&self.state);
        let is_last = state.cut_off.is_some();
        let Some(error) = state.cut_off.clone().or_else(|| state.broken.clone()) else { return };
        let told = |(_, watcher, told): &mut (_, Weak<dyn Told>, _)| {
            (is_last || !mem::replace(told, true)).then(|| watcher.upgrade()).flatten()
        };
        let watchers: Vec<_> = state.watchers.iter_mut().filter_map(told).collect();
        if is_last {
            state.watchers.clear();
        }
        drop(state);
        for watcher in watchers {
            watcher.told(&error);
        }
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
            if (seated.process, seated.context) == (joiner.process, joiner.context) {
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
                let operation = first.operation;
                return self.go_on(operation);
            }
            return self.break_with(CollectiveError::Disagree(self.states()), waits);
        }
        for call in calls {
            let gone = match call.peer.filter(|_| call.is_of_two()) {
                Some(peer) => Some(peer).filter(|&peer| self.seats[peer].is_gone()),
                None => self.seats.iter().position(Seat::is_gone),
            };
            if let Some(rank) = gone {
                return self.break_with(CollectiveError::Gone { rank, states: self.states() }, waits);
            }
        }
        if self.seats.iter().all(|seat| seat.is_still(&self.seats))
            && self.seats.iter().any(|seat| seat.call().is_some())
        {
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
                let received = Vec::new();
                self.seats[rank].at = At::Agreed(Agreement { number, group: None, given: None, received });
            }
        }
    }

    fn next(&mut self) -> u64 {
        self.agreed += 1;
        self.agreed
    }

    /// Lets all ranks go on.
    fn go_on(&mut self, operation: &str) {
        let number = self.next();
        let given = (operation == GATHER)
            .then(|| self.seats.iter_mut().map(|seat| mem::take(&mut seat.given.bytes)).collect());
        let colors: Vec<Option<usize>> = self.seats.iter().map(|seat| seat.given.color).collect();
        let counts: Vec<_> = self.seats.iter().filter_map(|seat| seat.call()?.counts.clone()).collect();
        let parts = if operation == "split" { parts::parts(&colors) } else { Vec::new() };
        for (rank, seat) in self.seats.iter_mut().enumerate() {
            let place = parts.iter().find_map(|part| Some((part, part.place(rank)?)));
            let group = place.map(|(part, place)| (Arc::clone(&part.board), place.rank, place.ranks));
            let received = counts.iter().map(|of| of.sent_to(rank).len()).collect();
            seat.at = At::Agreed(Agreement { number, group, given: Option::clone(&given), received });
        }
        if operation == "split" {
            self.parts.retain(Known::is_there);
            self.parts.extend(parts.into_iter().map(Part::known));
        }
    }

    fn break_with(&mut self, error: CollectiveError, waits: &Waits<'_>) {
        if self.cut_off.is_none() && error.cuts_off() {
            self.cut_off = Some(error.clone());
        }
        if self.broken.is_none() {
            waits.found(&error);
            self.broken = Some(error);
        }
    }

    fn is_over(&self) -> bool {
        !self.seats.is_empty() && self.seats.iter().all(Seat::is_gone)
    }

    fn states(&self) -> RankStates {
        let state = |seat: &Seat| match (&seat.at, &seat.last) {
            (At::Gone(Leaving::Dropped), _) => RankState::Dropped,
            (At::Gone(Leaving::Panicked), _) => RankState::Panicked,
            (At::Gone(Leaving::Lost), _) => RankState::Lost,
            (At::Calls(call), _) => RankState::Calls(call.clone()),
            (_, Some(last)) => RankState::Away(last.clone()),
            (_, None) => RankState::Missing,
        };
        self.seats.iter().map(state).collect()
    }
}
