//! The side of a rank whose board is in another process.
//!
//! A thread reads what the service says: answers of calls, and at any time that the communicator is over.

use std::{
    fmt, io,
    net::{Shutdown, TcpStream},
    num::NonZeroU64,
    sync::{
        Arc, Condvar, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    frames::{self, Frames},
    limits::{STACK_BYTES, pause, silence},
    messages::{Answer, Join, Request, most_answer},
    remote::{Known, Reached, Remote},
    secret::random,
};
use crate::{
    backend::Network,
    collective::{
        CollectiveError, RankCall, RankState,
        board::{Given, Told},
    },
    lock::lock,
    processes::ProcessError,
};

/// A goodbye may take as long.
const GOODBYE_LIMIT: Duration = Duration::from_secs(1);

/// The connection of one rank.
pub(crate) struct Client {
    remote: Remote,
    stream: Arc<TcpStream>,
    speaks: Mutex<Instant>,
    rank: usize,
    ranks: usize,
    time_limit: Duration,
    state: Mutex<State>,
    changed: Condvar,
    /// The key of the ranks of the board, and whether all are on this machine.
    joined: OnceLock<([u8; 32], bool)>,
    /// Whether the thread that reads has ended.
    is_over: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    last: Option<RankCall>,
    answer: Option<Answer>,
    /// No call succeeds any more.
    failed: Option<CollectiveError>,
    watcher: Option<Weak<dyn Told>>,
    /// Whether this side said goodbye.
    left: bool,
}

/// A call that all have made, where the new communicator of a split has a number.
pub(crate) struct Agreed {
    pub(crate) number: u64,
    pub(crate) group: Option<(Remote, usize, usize)>,
    pub(crate) given: Option<Arc<[Vec<u8>]>>,
    pub(crate) received: Vec<usize>,
}

impl Client {
    /// Reaches the service, and takes a seat there. Blocks until all ranks have, up to the time limit.
    pub(crate) fn join(
        remote: &Remote,
        (rank, ranks): (usize, usize),
        (backend, context): (&'static str, usize),
        call: &RankCall,
        time_limit: Duration,
    ) -> Result<Arc<Self>, CollectiveError> {
        let process = process()?;
        let Reached { stream, mut frames, place, time_limit: limit } = remote.reach(time_limit)?;
        // Boards of splits are there, too.
        let remote = &Remote::new(Arc::new(Known(place)), remote.board);
        let broken = |error: io::Error| remote.unreachable(&error.to_string());
        frames.allow(most_answer(ranks));
        stream.set_read_timeout(Some(pause(limit))).map_err(broken)?;
        let client = Arc::new(Self {
            remote: remote.clone(),
            stream,
            speaks: Mutex::new(Instant::now()),
            rank,
            ranks,
            time_limit: limit,
            state: Mutex::default(),
            changed: Condvar::new(),
            joined: OnceLock::new(),
            is_over: Arc::default(),
        });
        let of_thread = Arc::clone(&client);
        thread::Builder::new()
            .name("devarray-rank".into())
            .stack_size(STACK_BYTES)
            .spawn(move || of_thread.listen(&mut frames))
            .map_err(|error| ProcessError::system("start a thread", &error))?;
        let (board, context) = (remote.board, context as u64);
        let join = Join { board, rank, ranks, backend, process, context, call: call.clone() };
        match client.ask(&Request::Join(join), call) {
            Ok(Answer::Joined { token, is_local }) => {
                let _ = client.joined.set((token, is_local));
                Ok(client)
            }
            Ok(_) => {
                client.end();
                Err(ProcessError::Refused { address: remote.find.address() }.into())
            }
            Err(error) => {
                client.end();
                Err(error)
            }
        }
    }

    /// The time for which calls wait, which the process of rank 0 chose.
    pub(crate) fn time_limit(&self) -> Duration {
        self.time_limit
    }

    /// The needs of connections to the other ranks.
    pub(crate) fn network(&self) -> Option<Network> {
        let &(token, is_local) = self.joined.get()?;
        let own_ip = Some(self.stream.local_addr().ok()?.ip());
        Some(Network { token, is_local, own_ip, service_ip: self.stream.peer_addr().ok()?.ip() })
    }

    /// The error of all calls from now on.
    pub(crate) fn failed(&self) -> Option<CollectiveError> {
        lock(&self.state).failed.clone()
    }

    pub(in crate::collective) fn agree(
        &self,
        call: &RankCall,
        given: Given,
    ) -> Result<Agreed, CollectiveError> {
        let request = Request::Agree { call: call.clone(), color: given.color, given: given.bytes };
        match self.ask(&request, call)? {
            Answer::Agreed { number, group, given, received } => {
                let remote = |board| {
                    let (find, is_over) = (Arc::clone(&self.remote.find), Arc::clone(&self.is_over));
                    Remote { find, board, is_over }
                };
                let group = group.map(|(board, rank, ranks)| (remote(board), rank, ranks));
                Ok(Agreed { number, group, given: given.map(Into::into), received })
            }
            _ => Err(self.fail(ProcessError::Refused { address: self.remote.find.address() }.into())),
        }
    }

    /// Makes all calls of all ranks fail. The first error of this rank.
    pub(crate) fn break_off(&self, error: CollectiveError) -> CollectiveError {
        drop(self.say(&Request::Break(error.clone())));
        self.fail(error)
    }

    /// Says goodbye. Waits until the service has heard it, but not long.
    pub(crate) fn leave(&self, panicked: bool) {
        lock(&self.state).left = true;
        if self.say(&Request::Leave { panicked }).is_ok() {
            let ends = Instant::now() + GOODBYE_LIMIT;
            let mut state = lock(&self.state);
            while !self.is_over.load(SeqCst) {
                let left = ends.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                (state, _) = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner);
            }
        }
        self.end();
    }

    /// Tells `who` when the communicator is over, at once if it is.
    pub(in crate::collective) fn watch(&self, who: Weak<dyn Told>) {
        let mut state = lock(&self.state);
        state.watcher = Some(who);
        let error = state.failed.clone();
        drop(state);
        if let Some(error) = error {
            self.tell(&error);
        }
    }

    /// Ends the connection.
    fn end(&self) {
        lock(&self.state).left = true;
        drop(self.stream.shutdown(Shutdown::Both));
    }

    /// Asks, and waits for the answer.
    fn ask(&self, request: &Request, call: &RankCall) -> Result<Answer, CollectiveError> {
        {
            let mut state = lock(&self.state);
            if let Some(error) = &state.failed {
                return Err(error.clone());
            }
            (state.answer, state.last) = (None, Some(call.clone()));
        }
        // If it fails, the thread that reads finds out why, which may be in what was said before.
        drop(self.say(request));
        let ends = Instant::now()
            .checked_add(self.time_limit.saturating_add(silence(self.time_limit).saturating_mul(2)));
        let mut state = lock(&self.state);
        loop {
            match state.answer.take() {
                Some(Answer::Failed(error)) => {
                    return Err(state.failed.get_or_insert(error).clone());
                }
                Some(answer) => return Ok(answer),
                None => {}
            }
            if let Some(error) = &state.failed {
                return Err(error.clone());
            }
            let left = ends.map_or(Duration::MAX, |ends| ends.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                let error = self.gone(&state, &RankState::Lost);
                return Err(state.failed.insert(error).clone());
            }
            let wait = left.min(Duration::from_secs(3600));
            (state, _) = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn say(&self, request: &Request) -> io::Result<()> {
        let mut said = lock(&self.speaks);
        *said = Instant::now();
        frames::send(&self.stream, &request.encode())
    }

    /// Notes that no call succeeds any more. The first error of all.
    fn fail(&self, error: CollectiveError) -> CollectiveError {
        let first = lock(&self.state).failed.get_or_insert(error).clone();
        self.changed.notify_all();
        first
    }

    /// The error of a service that is gone.
    fn gone(&self, state: &State, how: &RankState) -> CollectiveError {
        if self.remote.board != 0 || self.rank == 0 {
            let has_left = *how == RankState::Dropped;
            return if has_left { ProcessError::ServiceLeft } else { ProcessError::NoService }.into();
        }
        let known = |rank| match (&state.last, rank) {
            (_, 0) => how.clone(),
            (Some(call), rank) if rank == self.rank => RankState::Calls(call.clone()),
            _ => RankState::Unknown,
        };
        CollectiveError::Gone { rank: 0, states: (0..self.ranks).map(known).collect() }
    }

    /// Reads what the service says, until it or this side has gone.
    fn listen(&self, frames: &mut Frames) {
        let (mut heard, silence) = (Instant::now(), silence(self.time_limit));
        let (how, is_sudden) = loop {
            let frame = match frames.next() {
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    let said = lock(&self.speaks).elapsed();
                    if heard.elapsed() > silence || said >= pause(self.time_limit) && self.ping().is_err() {
                        break (RankState::Lost, true);
                    }
                    continue;
                }
                Err(_) => break (RankState::Lost, true),
            };
            heard = Instant::now();
            match Answer::decode(&frame) {
                Ok(Answer::Pong) => {}
                Ok(Answer::Told(error)) => {
                    self.fail(error.clone());
                    self.tell(&error);
                }
                Ok(Answer::Bye) => break (RankState::Dropped, false),
                Ok(answer) => {
                    lock(&self.state).answer = Some(answer);
                    self.changed.notify_all();
                }
                Err(_) => break (RankState::Lost, true),
            }
        };
        let mut state = lock(&self.state);
        let left = state.left;
        let error = self.gone(&state, &how);
        if !left {
            state.failed.get_or_insert_with(|| error.clone());
        }
        self.is_over.store(true, SeqCst);
        drop(state);
        drop(self.stream.shutdown(Shutdown::Both));
        self.changed.notify_all();
        // Exchanges are under way that rank 0 has done its part in, if it said goodbye.
        if is_sudden && !left {
            self.tell(&error);
        }
    }

    fn ping(&self) -> io::Result<()> {
        self.say(&Request::Ping)
    }

    /// Tells who watches that the communicator is over, or that exchanges are left undone. No lock is held meanwhile.
    fn tell(&self, error: &CollectiveError) {
        let watcher = lock(&self.state).watcher.clone();
        if let Some(watcher) = watcher.and_then(|watcher| watcher.upgrade()) {
            watcher.told(error);
        }
    }
}

/// A number that no other process of the program has.
fn process() -> Result<NonZeroU64, ProcessError> {
    static NUMBER: OnceLock<NonZeroU64> = OnceLock::new();
    if let Some(&number) = NUMBER.get() {
        return Ok(number);
    }
    let number = NonZeroU64::new(u64::from_le_bytes(random()?)).unwrap_or(NonZeroU64::MAX);
    Ok(*NUMBER.get_or_init(|| number))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Client(rank {} of {} at {})", self.rank, self.ranks, self.remote.find.address())
    }
}
