//! The turn that the ranks of a machine pass on: exactly one of their threads runs.
//!
//! A rank asks at each entry of the engine whether it goes on, and gives the turn away when it waits for
//! others. The next rank is a choice of the engine's chooser, so a trace repeats it.

use std::{
    cell::RefCell,
    fmt,
    panic::Location,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use devarray::{
    backend::{Meeting, RankTurns},
    collective::{CollectiveError, RankCall, RankState},
};

use crate::{
    engine::Engine,
    finding::{Access, Code, Finding, Memory},
};

/// The ranks of a machine, and who has the turn.
#[derive(Debug)]
pub(crate) struct Turns {
    state: Mutex<State>,
    passed: Condvar,
    engine: Arc<Mutex<Engine>>,
    /// The time for which a rank may keep the turn without coming to the engine.
    limit: Duration,
}

#[derive(Debug)]
struct State {
    current: usize,
    ranks: Vec<RankAt>,
    /// The number of changes that ranks may wait for.
    changes: u64,
    /// The number of times that the rank with the turn came by.
    passes: u64,
    /// A rank kept the turn too long: all go on as they like.
    is_free: bool,
}

/// The state of a rank.
#[derive(Debug, Clone)]
enum RankAt {
    Runs,
    /// It waits in a call, since this number of changes.
    Waits(RankCall, u64),
    Ended,
    Panicked,
}

/// One rank, as its thread passes the turn on.
pub(crate) struct Turn {
    of: Arc<Turns>,
    rank: usize,
}

thread_local! {
    /// The rank whose thread this is.
    static CALLER: RefCell<Option<Arc<Turn>>> = const { RefCell::new(None) };
}

/// Says, while it lives, that this thread is a rank's.
pub(crate) struct Caller;

impl Caller {
    pub(crate) fn set(turn: &Arc<Turn>) -> Self {
        CALLER.set(Some(Arc::clone(turn)));
        Self
    }

    /// The turn of the rank whose thread this is, if it is a rank of this machine.
    pub(crate) fn on(engine: &Arc<Mutex<Engine>>) -> Option<Arc<Turn>> {
        // Nothing is known any more when the thread ends.
        let own = CALLER.try_with(|caller| caller.borrow().clone()).ok().flatten();
        own.filter(|turn| Arc::ptr_eq(&turn.of.engine, engine))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        CALLER.set(None);
    }
}

impl Turns {
    pub(crate) fn new(ranks: usize, engine: &Arc<Mutex<Engine>>, limit: Duration) -> Arc<Self> {
        let ranks = vec![RankAt::Runs; ranks];
        let state = State { current: 0, ranks, changes: 0, passes: 0, is_free: false };
        Arc::new(Self { state: Mutex::new(state), passed: Condvar::new(), engine: Arc::clone(engine), limit })
    }

    pub(crate) fn of_rank(self: &Arc<Self>, rank: usize) -> Arc<Turn> {
        Arc::new(Turn { of: Arc::clone(self), rank })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the turn to one of some ranks, and waits until it is back.
    fn hand_over<'t>(&'t self, mut state: MutexGuard<'t, State>, rank: usize, to: &[usize]) {
        state.passes += 1;
        let way = if to.len() > 1 { self.engine().choose_rank(to.len()) } else { 0 };
        state.current = to[way];
        if state.current != rank {
            self.passed.notify_all();
            drop(self.until(state, rank));
        }
    }

    /// Waits until a rank has the turn.
    fn until<'t>(&'t self, mut state: MutexGuard<'t, State>, rank: usize) -> MutexGuard<'t, State> {
        while !state.is_free && state.current != rank {
            let passes = state.passes;
            let (next, timeout) =
                self.passed.wait_timeout(state, self.limit).unwrap_or_else(PoisonError::into_inner);
            state = next;
            if timeout.timed_out() && state.passes == passes && !state.is_free && state.current != rank {
                state.is_free = true;
                self.tell_of_blocked(&state);
                self.passed.notify_all();
            }
        }
        state
    }

    /// A rank has the turn and does not come.
    fn tell_of_blocked(&self, state: &State) {
        // It may be inside the engine.
        let Ok(mut engine) = self.engine.try_lock() else { return };
        let note = format!("rank {} has not come to the library within {:?}", state.current, self.limit);
        found(&mut engine, Code::RankBlocked, None, state.lines().chain([note]));
    }
}

impl State {
    /// Ranks that can go on, in turn behind one.
    fn others(&self, rank: usize) -> Vec<usize> {
        let count = self.ranks.len();
        let can = |&other: &usize| match &self.ranks[other] {
            RankAt::Runs => true,
            RankAt::Waits(_, since) => *since < self.changes,
            RankAt::Ended | RankAt::Panicked => false,
        };
        (1..count).map(|k| (rank + k) % count).filter(can).collect()
    }

    /// A line for each rank.
    fn lines(&self) -> impl Iterator<Item = String> {
        self.ranks.iter().enumerate().map(|(rank, at)| match at {
            RankAt::Runs => format!("rank {rank} runs"),
            RankAt::Waits(call, _) => format!("rank {rank} waits in {call}"),
            RankAt::Ended => format!("rank {rank} has ended"),
            RankAt::Panicked => format!("rank {rank} has panicked"),
        })
    }

    fn calls(&self) -> impl Iterator<Item = &RankCall> {
        self.ranks.iter().filter_map(|at| match at {
            RankAt::Waits(call, _) => Some(call),
            _ => None,
        })
    }
}

impl Turn {
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Lets another rank go on, if the schedule likes, and waits until it is this rank's turn. A rank
    /// that has ended has no turn; handles of it are used by whoever has one.
    pub(crate) fn pass(&self) {
        let state = self.of.state();
        if matches!(state.ranks[self.rank], RankAt::Ended | RankAt::Panicked) {
            return;
        }
        let state = self.of.until(state, self.rank);
        if state.is_free || !matches!(state.ranks[self.rank], RankAt::Runs) {
            return;
        }
        let mut ways = vec![self.rank];
        ways.extend(state.others(self.rank));
        self.of.hand_over(state, self.rank, &ways);
    }

    /// Waits for the first turn of the rank.
    pub(crate) fn begin(&self) {
        drop(self.of.until(self.of.state(), self.rank));
    }

    /// The rank's thread ends.
    pub(crate) fn end(&self, panicked: bool) {
        let mut state = self.of.until(self.of.state(), self.rank);
        state.ranks[self.rank] = if panicked { RankAt::Panicked } else { RankAt::Ended };
        state.changes += 1;
        state.passes += 1;
        // Its end is a change, so whoever waits can look again.
        let others = state.others(self.rank);
        if let Some(&first) = others.first() {
            let way = if others.len() > 1 { self.of.engine().choose_rank(others.len()) } else { 0 };
            state.current = others.get(way).copied().unwrap_or(first);
        }
        drop(state);
        self.of.passed.notify_all();
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Turn(rank {})", self.rank)
    }
}

impl RankTurns for Turn {
    fn pause(&self, call: &RankCall) -> bool {
        let mut state = self.of.until(self.of.state(), self.rank);
        if state.is_free {
            drop(state);
            std::thread::yield_now();
            return false;
        }
        state.ranks[self.rank] = RankAt::Waits(call.clone(), state.changes);
        let others = state.others(self.rank);
        if others.is_empty() {
            let is_gone = |at: &RankAt| matches!(at, RankAt::Ended | RankAt::Panicked);
            let code = match () {
                () if state.ranks.iter().any(is_gone) => Code::RankGone,
                () if state.calls().any(is_of_two) => Code::Unpaired,
                () => Code::RanksStuck,
            };
            found(&mut self.of.engine(), code, Some(call), state.lines());
            state.ranks[self.rank] = RankAt::Runs;
            return false;
        }
        self.of.hand_over(state, self.rank, &others);
        let mut state = self.of.state();
        state.ranks[self.rank] = RankAt::Runs;
        true
    }

    fn changed(&self) {
        self.of.state().changes += 1;
    }

    fn comes_to(&self, meeting: Meeting) {
        let mut engine = self.of.engine();
        engine.set_host(self.rank);
        engine.come_to(meeting);
    }

    fn goes_from(&self, meeting: Meeting, all_came: bool) {
        let mut engine = self.of.engine();
        engine.set_host(self.rank);
        engine.go_from(meeting, all_came);
    }

    fn found(&self, error: &CollectiveError) {
        let Some(states) = error.states() else { return };
        let mut engine = self.of.engine();
        let code = match error {
            CollectiveError::Disagree(_) => Code::RanksDisagree,
            // A call that failed by plan may well end a rank.
            CollectiveError::Gone { .. } if !engine.fired().is_empty() => return,
            CollectiveError::Gone { .. } => Code::RankGone,
            // Told of already, with what all ranks wait for.
            CollectiveError::Stuck(_) if engine.first_finding().is_some() => return,
            CollectiveError::Stuck(_) if calls(error).any(is_of_two) => Code::Unpaired,
            _ => Code::RanksStuck,
        };
        let lines = states.iter().enumerate().map(|(rank, state)| format!("rank {rank} {state}"));
        found(&mut engine, code, calls(error).last(), lines);
    }
}

fn calls(error: &CollectiveError) -> impl Iterator<Item = &RankCall> {
    error.states().into_iter().flat_map(|states| states.iter()).filter_map(|state| match state {
        RankState::Calls(call) => Some(call),
        _ => None,
    })
}

fn is_of_two(call: &RankCall) -> bool {
    matches!(call.operation, "send" | "receive")
}

/// Keeps a finding about calls of several ranks.
fn found(engine: &mut Engine, code: Code, call: Option<&RankCall>, lines: impl Iterator<Item = String>) {
    let site = call.and_then(|call| call.site.location());
    let kind = call.map_or("ranks", |call| call.operation);
    let operation = engine.operation(kind, None, site.unwrap_or_else(Location::caller));
    let mut finding = Finding::new(code, operation, Access::Lifetime, Memory::Nothing, 0..0);
    finding.notes.extend(lines);
    engine.add_finding(Some(Box::new(finding)));
}
