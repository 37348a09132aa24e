//! A rank's way to the board, which is in this process or in another.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use super::{
    CollectiveError, RankCall,
    board::{Board, GATHER, Given, Joiner, Leaving, Told},
    channel::{Client, MOST_GIVEN, MOST_PROCESSES, Remote, Service},
    waits::Waits,
};
use crate::{
    backend::{Network, RankTurns, Together},
    processes::ProcessError,
};

/// Where the board of an id is.
#[derive(Clone)]
pub(super) enum Way {
    /// In this process. Ranks of other processes come to the service, if there is one.
    Here { board: Arc<Board>, service: Option<Arc<Service>> },
    /// In another.
    There(Remote),
}

/// The way of a rank that has taken its seat.
pub(super) enum Link {
    Here { board: Arc<Board>, rank: usize, service: Option<Arc<Service>> },
    There(Arc<Client>),
}

/// A call that all have made.
pub(super) struct Agreement {
    /// All that take part have this number, and no other call has it.
    pub(super) number: u64,
    /// For a split, the new communicator, this rank in it, and its size.
    pub(super) group: Option<(Way, usize, usize)>,
    /// For a gathering, the bytes that each rank gave.
    pub(super) given: Option<Arc<[Vec<u8>]>>,
    /// The rows that each rank has for this one, in a call that counts rows.
    pub(super) received: Vec<usize>,
}

impl Way {
    /// Takes a seat, and waits for the others to take theirs.
    pub(super) fn join(
        &self,
        (rank, ranks): (usize, usize),
        (backend, context): (&'static str, usize),
        call: &RankCall,
        waits: &Waits<'_>,
    ) -> Result<Link, CollectiveError> {
        match self {
            Self::Here { service: Some(_), .. } | Self::There(_) if ranks > MOST_PROCESSES => {
                Err(CollectiveError::TooMany { ranks, most: MOST_PROCESSES })
            }
            Self::Here { board, service } => {
                board.sit((rank, ranks), Joiner { backend, process: 0, context }, waits)?;
                if let Err(error) = board.agree(rank, call, Given::default(), waits) {
                    board.leave(rank, Leaving::Dropped, waits);
                    return Err(error);
                }
                if let Some(service) = service {
                    service.all_came();
                }
                Ok(Link::Here { board: Arc::clone(board), rank, service: service.clone() })
            }
            Self::There(remote) => {
                Client::join(remote, (rank, ranks), (backend, context), call, waits.limit()).map(Link::There)
            }
        }
    }
}

impl Link {
    /// The time for which calls wait, where the process of the board chooses it.
    pub(super) fn time_limit(&self) -> Option<Duration> {
        match self {
            Self::Here { .. } => None,
            Self::There(client) => Some(client.time_limit()),
        }
    }

    /// Waits until the others make calls that fit.
    pub(super) fn agree(
        &self,
        call: &RankCall,
        given: Given,
        waits: &Waits<'_>,
    ) -> Result<Agreement, CollectiveError> {
        match self {
            Self::Here { board, rank, service } => {
                let agreed = board.agree(*rank, call, given, waits)?;
                let group = agreed
                    .group
                    .map(|(board, rank, ranks)| (Way::Here { board, service: service.clone() }, rank, ranks));
                Ok(Agreement { number: agreed.number, group, given: agreed.given, received: agreed.received })
            }
            Self::There(client) => {
                let agreed = client.agree(call, given)?;
                let group = agreed.group.map(|(remote, rank, ranks)| (Way::There(remote), rank, ranks));
                Ok(Agreement { number: agreed.number, group, given: agreed.given, received: agreed.received })
            }
        }
    }

    /// Makes all calls fail, with this error unless there is an earlier one, which is returned.
    pub(super) fn break_off(&self, error: CollectiveError, waits: &Waits<'_>) -> CollectiveError {
        match self {
            Self::Here { board, .. } => board.break_off(error, waits),
            Self::There(client) => client.break_off(error),
        }
    }

    /// The rank makes no call from here on while one of these ranks waits in a call; none: it may make calls. Whether
    /// those that wait for it are told: not by a board in another process.
    pub(super) fn rest(&self, rests: Option<Arc<[usize]>>, waits: &Waits<'_>) -> bool {
        match self {
            Self::Here { board, rank, .. } => {
                board.rest(*rank, rests, waits);
                true
            }
            Self::There(_) => false,
        }
    }

    /// Whether both ranks have a seat at one board of this process.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        let (Self::Here { board, .. }, Self::Here { board: others, .. }) = (self, other) else {
            return false;
        };
        Arc::ptr_eq(board, others)
    }

    pub(super) fn leave(&self, panicked: bool, waits: &Waits<'_>) {
        match self {
            Self::Here { board, rank, .. } => {
                board.leave(*rank, if panicked { Leaving::Panicked } else { Leaving::Dropped }, waits);
            }
            Self::There(client) => client.leave(panicked),
        }
    }

    /// Tells `who` when the communicator is over, at once if it is.
    pub(super) fn watch(&self, who: Weak<dyn Told>) {
        match self {
            Self::Here { board, rank, .. } => board.watch(*rank, who),
            Self::There(client) => client.watch(who),
        }
    }

    /// The error of all calls from now on.
    pub(super) fn broken(&self) -> Option<CollectiveError> {
        match self {
            Self::Here { board, .. } => board.broken(),
            Self::There(client) => client.failed(),
        }
    }

    fn network(&self) -> Option<Network> {
        match self {
            Self::Here { service: None, .. } => None,
            Self::Here { board, service: Some(service), .. } => {
                let service_ip = match service.address().ip() {
                    IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
                    IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
                    ip => ip,
                };
                let is_local = service.is_local();
                Some(Network { token: service.token(board), is_local, own_ip: None, service_ip })
            }
            Self::There(client) => client.network(),
        }
    }
}

/// The ranks that join, for a backend.
pub(super) struct Gathering<'g> {
    pub(super) link: &'g Link,
    pub(super) turns: Option<&'g dyn RankTurns>,
    pub(super) time_limit: Duration,
    pub(super) calls: AtomicU64,
}

impl Together for Gathering<'_> {
    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError> {
        if own.len() > MOST_GIVEN {
            return Err(ProcessError::TooLong { len: own.len(), most: MOST_GIVEN }.into());
        }
        let call = RankCall::new(GATHER, self.calls.fetch_add(1, Relaxed));
        let waits = Waits::new(&call, self.turns, Some(self.time_limit));
        let given = Given { color: None, bytes: own.to_vec() };
        let agreed = self.link.agree(&call, given, &waits)?;
        agreed.given.map(|given| given.to_vec()).ok_or(CollectiveError::Aborted)
    }

    fn broken(&self) -> Option<CollectiveError> {
        self.link.broken()
    }

    fn network(&self) -> Option<Network> {
        self.link.network()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
        sync::{Barrier, mpsc},
        thread,
    };

    use super::*;
    use crate::collective::{CommunicatorId, RankState, seated::Seated};

    const LIMIT: Duration = Duration::from_secs(30);

    /// Runs a function on each rank of an id, which each thread has its own way to.
    fn on_each<R: Send>(ids: &[CommunicatorId], run: impl Fn(usize, &Gathering<'_>) -> R + Sync) -> Vec<R> {
        let run = &run;
        thread::scope(|scope| {
            let rank = |(rank, id): (usize, &CommunicatorId)| {
                let (way, ranks) = (id.0.way.clone(), ids.len());
                scope.spawn(move || {
                    let call = RankCall::new("join", 0);
                    let waits = Waits::new(&call, None, Some(LIMIT));
                    let link = way.join((rank, ranks), ("host", rank), &call, &waits).unwrap();
                    let (turns, calls) = (None, AtomicU64::new(0));
                    let outcome = run(rank, &Gathering { link: &link, turns, time_limit: LIMIT, calls });
                    link.leave(false, &waits);
                    outcome
                })
            };
            let threads: Vec<_> = ids.iter().enumerate().map(rank).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// The ids of three ranks: threads of one process, and over connections.
    fn ids() -> [Vec<CommunicatorId>; 2] {
        let first = CommunicatorId::listen("127.0.0.1:0", LIMIT).unwrap();
        let bytes = first.to_bytes().unwrap();
        let other = || CommunicatorId::from_bytes(&bytes).unwrap();
        [vec![CommunicatorId::new(); 3], vec![first, other(), other()]]
    }

    #[test]
    fn ranks_give_each_other_bytes_in_their_order() {
        for ids in ids() {
            let gathered = on_each(&ids, |rank, together| {
                let first = together.gather(&vec![b'a'; rank]).unwrap();
                let second = together.gather(&[u8::try_from(rank).unwrap(); MOST_GIVEN]).unwrap();
                let mistake = together.gather(&[0; MOST_GIVEN + 1]).unwrap_err();
                assert!(mistake.to_string().contains("65537 bytes"), "{mistake}");
                (first, second)
            });
            for (first, second) in gathered {
                assert_eq!(first, [&b""[..], b"a", b"aa"]);
                assert_eq!(second, [vec![0; MOST_GIVEN], vec![1; MOST_GIVEN], vec![2; MOST_GIVEN]]);
            }
        }
    }

    #[test]
    fn who_waits_for_the_bytes_of_a_rank_that_is_gone_is_told() {
        for ids in ids() {
            let errors =
                on_each(&ids, |rank, together| (rank != 1).then(|| together.gather(b"x").unwrap_err()));
            for error in errors.into_iter().flatten() {
                assert!(matches!(error, CollectiveError::Gone { rank: 1, .. }), "{error}");
            }
        }
    }

    /// The others wait for it at the board of the split, or come there later.
    #[test]
    fn who_leaves_before_it_joins_its_split_is_gone_there() {
        for ids in ids() {
            let errors = on_each(&ids, |rank, together| {
                let call = RankCall::new("split", 1);
                let waits = Waits::new(&call, None, Some(LIMIT));
                let given = Given { color: Some(0), bytes: Vec::new() };
                let (way, own, ranks) = together.link.agree(&call, given, &waits).unwrap().group.unwrap();
                assert_eq!((own, ranks), (rank, 3));
                // The one that leaves does nothing more.
                let join = RankCall::new("join", 0);
                (rank != 1).then(|| way.join((own, ranks), ("host", rank), &join, &waits).err().unwrap())
            });
            for error in errors.into_iter().flatten() {
                let CollectiveError::Gone { rank: 1, states } = &error else { panic!("{error}") };
                assert_eq!(states.iter().nth(1), Some(&RankState::Dropped));
            }
        }
    }

    #[test]
    fn who_does_not_come_to_its_part_leaves() {
        for (panics, due) in [(false, RankState::Dropped), (true, RankState::Panicked)] {
            for ids in ids() {
                let all_told = Barrier::new(3);
                let told = on_each(&ids, |rank, together| {
                    if rank != 1 {
                        let error = together.gather(b"x").unwrap_err();
                        all_told.wait();
                        return Some(error);
                    }
                    let call = RankCall::new("join", 0);
                    let waits = Waits::new(&call, None, None);
                    let joins = || {
                        let _seated = Seated::new(together.link, &waits);
                        if panics {
                            resume_unwind(Box::new("on purpose"));
                        }
                    };
                    assert_eq!(catch_unwind(AssertUnwindSafe(joins)).is_err(), panics);
                    all_told.wait();
                    None
                });
                for error in told.into_iter().flatten() {
                    let CollectiveError::Gone { rank: 1, states } = &error else { panic!("{error}") };
                    assert_eq!(states.iter().nth(1), Some(&due));
                }
            }
        }
    }

    #[test]
    fn a_board_that_not_all_came_to_is_over() {
        let short = Duration::from_millis(50);
        for id in [CommunicatorId::new(), CommunicatorId::listen("127.0.0.1:0", short).unwrap()] {
            let Way::Here { board, .. } = &id.0.way else { panic!() };
            let call = RankCall::new("join", 0);
            let waits = Waits::new(&call, None, Some(short));
            let join = |rank| id.0.way.join((rank, 2), ("host", rank), &call, &waits).err();
            let first = join(0);
            assert!(matches!(first, Some(CollectiveError::TimeLimit { .. })), "{first:?}");
            assert!(!board.is_over(), "rank 1 may come");
            assert_eq!(join(1), first);
            assert!(board.is_over());
        }
    }

    #[test]
    fn who_is_in_no_call_is_told_that_it_is_over() {
        struct Notes(mpsc::Sender<CollectiveError>);
        impl Told for Notes {
            fn told(&self, error: &CollectiveError) {
                self.0.send(error.clone()).unwrap();
            }
        }
        for breaks in 0..3 {
            for ids in ids() {
                on_each(&ids, |rank, together| {
                    if rank == breaks {
                        let call = RankCall::new("abort", 0);
                        together.link.break_off(CollectiveError::Aborted, &Waits::new(&call, None, None));
                        return;
                    }
                    let (tells, told) = mpsc::channel();
                    let notes = Arc::new(Notes(tells));
                    let watcher: Weak<Notes> = Arc::downgrade(&notes);
                    together.link.watch(watcher);
                    // It is in no call: it waits for a device, say.
                    assert_eq!(told.recv_timeout(LIMIT), Ok(CollectiveError::Aborted), "rank {rank}");
                });
            }
        }
    }
}
