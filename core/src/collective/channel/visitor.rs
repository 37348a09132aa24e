//! A rank of another process, in the process of the board.
//!
//! One thread reads what the rank says, so that its end is noticed at any time. Another makes its calls on the board,
//! which block, and is the only one that waits for others.

use std::{
    io,
    net::{Shutdown, TcpStream},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    frames::{self, Frames},
    limits::{STACK_BYTES, pause, silence},
    messages::{Answer, Join, MOST_REQUEST, Request},
    rooms::{Rooms, Work},
};
use crate::{
    collective::{
        CollectiveError, RankCall,
        board::{Board, Given, Joiner, Leaving, Told},
        waits::Waits,
    },
    lock::lock,
};

/// A rank may take as long to say which rank it is, and to take an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A rank that has taken its seat, or is about to.
struct Visitor {
    rooms: Arc<Rooms>,
    stream: Arc<TcpStream>,
    /// One says something at a time.
    speaks: Mutex<()>,
    board: Arc<Board>,
    board_number: u64,
    rank: usize,
    /// Whether it has a seat.
    seated: AtomicBool,
    /// Whether it said goodbye, or was lost.
    gone: AtomicBool,
    /// Whether it waits for an answer.
    calls: AtomicBool,
}

/// Hands the end of the communicator on to the thread that may write.
struct Tells(Sender<Work>);

impl Told for Tells {
    fn told(&self, error: &CollectiveError) {
        drop(self.0.send(Work::Told(error.clone())));
    }
}

/// Serves a rank until it goes, or is gone.
pub(super) fn serve(rooms: &Arc<Rooms>, stream: &Arc<TcpStream>) {
    // Errors are all one here: the connection is over.
    drop(try_serve(rooms, stream));
    drop(stream.shutdown(Shutdown::Both));
}

fn try_serve(rooms: &Arc<Rooms>, stream: &Arc<TcpStream>) -> io::Result<()> {
    static NUMBERS: AtomicU64 = AtomicU64::new(0);
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    say(stream, &Answer::Welcome { limit: rooms.time_limit })?;
    let mut frames = Frames::new(Arc::clone(stream), MOST_REQUEST);
    let Some(Request::Join(join)) = next(&mut frames)? else { return Ok(()) };
    // Another call could be of a rank that does not exist.
    if join.call.operation != "join" || join.call.peer.is_some() {
        return Ok(());
    }
    let Some(board) = rooms.board(join.board).filter(|_| join.rank < join.ranks) else {
        let error = CollectiveError::NoRank { rank: join.rank, ranks: join.ranks };
        return say(stream, &Answer::Failed(error));
    };
    let visitor = Arc::new(Visitor {
        rooms: Arc::clone(rooms),
        stream: Arc::clone(stream),
        speaks: Mutex::default(),
        board,
        board_number: join.board,
        rank: join.rank,
        seated: AtomicBool::new(false),
        gone: AtomicBool::new(false),
        calls: AtomicBool::new(true),
    });
    stream.set_read_timeout(Some(pause(rooms.time_limit)))?;
    let number = NUMBERS.fetch_add(1, SeqCst);
    let (work, todo) = channel();
    if !rooms.come(number, work.clone()) {
        rooms.go(number);
        return Ok(());
    }
    let of_rank = Arc::clone(&visitor);
    let tells = Arc::new(Tells(work.clone()));
    let ranks = join.ranks;
    let acts = thread::Builder::new()
        .name("devarray-seat".into())
        .stack_size(STACK_BYTES)
        .spawn(move || of_rank.act(&join, &todo, &tells));
    if let Ok(acts) = acts {
        let leaving = visitor.listen(&mut frames, ranks, &work);
        // Before the other thread ends: it may wait for others, and this wakes it up. If it takes its seat only
        // now, it sees that the rank has gone.
        visitor.gone.store(true, SeqCst);
        visitor.leave(leaving);
        drop(work.send(Work::End));
        drop(acts.join());
    }
    rooms.go(number);
    Ok(())
}

fn next(frames: &mut Frames) -> io::Result<Option<Request>> {
    let garbled = |_| io::ErrorKind::InvalidData.into();
    frames.next()?.map(|frame| Request::decode(&frame).map_err(garbled)).transpose()
}

fn say(stream: &TcpStream, answer: &Answer) -> io::Result<()> {
    frames::send(stream, &answer.encode())
}

impl Visitor {
    /// Reads what the rank says, until it goes.
    fn listen(&self, frames: &mut Frames, ranks: usize, work: &Sender<Work>) -> Leaving {
        let silence = silence(self.rooms.time_limit);
        let mut heard = Instant::now();
        loop {
            let request = match next(frames) {
                Ok(Some(request)) => request,
                Ok(None) if heard.elapsed() < silence => continue,
                Ok(None) | Err(_) if self.rooms.is_closing() => return Leaving::Dropped,
                Ok(None) | Err(_) => return Leaving::Lost,
            };
            heard = Instant::now();
            let waits = |call| Waits::new(call, None, None);
            match request {
                Request::Agree { call, color, given: bytes } => {
                    // One call at a time, none on a seat of another, and no rank that does not exist.
                    let is_odd = call.peer.is_some_and(|peer| peer >= ranks) || !self.seated.load(SeqCst);
                    if is_odd || self.calls.swap(true, SeqCst) {
                        return Leaving::Lost;
                    }
                    drop(work.send(Work::Agree { call, given: Given { color, bytes } }));
                }
                Request::Break(error) if self.seated.load(SeqCst) => {
                    self.board.break_off(error, &waits(&RankCall::new("abort", 0)));
                }
                Request::Leave { .. } if self.calls.load(SeqCst) => return Leaving::Lost,
                Request::Leave { panicked: true } => return Leaving::Panicked,
                Request::Leave { panicked: false } => return Leaving::Dropped,
                Request::Ping => {
                    if self.say(&Answer::Pong).is_err() {
                        return Leaving::Lost;
                    }
                }
                Request::Join(_) | Request::Break(_) => return Leaving::Lost,
            }
        }
    }

    /// Makes the calls of the rank, until it goes.
    fn act(&self, join: &Join, todo: &Receiver<Work>, tells: &Arc<Tells>) {
        let limit = Some(self.rooms.time_limit);
        let joiner = Joiner {
            backend: join.backend,
            process: join.process.get(),
            context: usize::try_from(join.context).unwrap_or(usize::MAX),
        };
        let waits = Waits::new(&join.call, None, limit);
        let joined = self.board.sit((self.rank, join.ranks), joiner, &waits).and_then(|()| {
            self.seated.store(true, SeqCst);
            if self.gone.load(SeqCst) {
                self.leave(Leaving::Lost);
            }
            self.board.agree(self.rank, &join.call, Given::default(), &waits)
        });
        let answer = match joined {
            Ok(_) => {
                let tells: Weak<Tells> = Arc::downgrade(tells);
                self.board.watch(self.rank, tells);
                Answer::Joined { token: self.rooms.token(self.board_number), is_local: self.rooms.is_local }
            }
            Err(error) => Answer::Failed(error),
        };
        self.answer(&answer);
        while let Ok(work) = todo.recv() {
            match work {
                Work::Agree { call, given } => {
                    let waits = Waits::new(&call, None, limit);
                    let answer = match self.board.agree(self.rank, &call, given, &waits) {
                        Ok(agreement) => Answer::Agreed {
                            number: agreement.number,
                            group: agreement
                                .group
                                .map(|(board, rank, ranks)| (self.rooms.number_of(&board), rank, ranks)),
                            given: agreement.given.map(|given| given.to_vec()),
                            received: agreement.received,
                        },
                        Err(error) => Answer::Failed(error),
                    };
                    self.answer(&answer);
                }
                Work::Told(error) => drop(self.say(&Answer::Told(error))),
                // The rank closes the connection when it has read this, so that nothing on the way is lost.
                Work::Bye => {
                    drop(self.say(&Answer::Bye));
                    drop(self.stream.shutdown(Shutdown::Write));
                }
                Work::End => return,
            }
        }
    }

    /// Answers a call.
    fn answer(&self, answer: &Answer) {
        // Before it is sent: the rank may make its next call at once.
        self.calls.store(false, SeqCst);
        if self.say(answer).is_err() {
            drop(self.stream.shutdown(Shutdown::Both));
        }
    }

    fn say(&self, answer: &Answer) -> io::Result<()> {
        let _alone = lock(&self.speaks);
        say(&self.stream, answer)
    }

    /// Gives the seat back, once.
    fn leave(&self, leaving: Leaving) {
        if self.seated.swap(false, SeqCst) {
            let call = RankCall::new("drop", 0);
            self.board.leave(self.rank, leaving, &Waits::new(&call, None, None));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, num::NonZeroU64};

    use super::*;
    use crate::collective::{
        RankState,
        channel::{Known, Remote, Service, remote::Reached, secret::Secret},
    };

    const LIMIT: Duration = Duration::from_secs(20);

    fn service() -> (Service, Remote) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let service = Service::start(listener, Secret::new(b"of the test"), LIMIT).unwrap();
        let remote = Remote::new(Arc::new(Known(service.place())), 0);
        (service, remote)
    }

    /// A join of a rank by a call.
    fn join(remote: &Remote, rank: usize, ranks: usize, call: RankCall) -> Reached {
        let reached = remote.reach(LIMIT).unwrap();
        reached.stream.set_read_timeout(Some(LIMIT)).unwrap();
        let (board, backend, process) = (remote.board, "host", NonZeroU64::MIN);
        let request =
            Request::Join(Join { board, rank, ranks, backend, process, context: rank as u64, call });
        frames::send(&reached.stream, &request.encode()).unwrap();
        reached
    }

    fn agree(reached: &Reached, call: RankCall) {
        let color = (call.operation == "split").then_some(0);
        let request = Request::Agree { call, color, given: Vec::new() };
        frames::send(&reached.stream, &request.encode()).unwrap();
    }

    fn heard(reached: &mut Reached) -> io::Result<Answer> {
        let frame = reached.frames.next()?.ok_or_else(|| io::Error::from(io::ErrorKind::TimedOut))?;
        Answer::decode(&frame).map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// Is turned out.
    fn is_out(mut reached: Reached) -> bool {
        heard(&mut reached).is_err_and(|error| !frames::is_timeout(&error))
    }

    #[test]
    fn a_rank_joins_by_no_other_call() {
        let (_service, remote) = service();
        for (operation, peer) in
            [("send", Some(1_000_000_000)), ("send", Some(1)), ("receive", Some(7)), ("barrier", None)]
        {
            let mut call = RankCall::new(operation, 0);
            call.peer = peer;
            assert!(is_out(join(&remote, 0, 2, call)), "{operation} {peer:?}");
        }
        let mut call = RankCall::new("join", 0);
        call.peer = Some(2);
        assert!(is_out(join(&remote, 0, 2, call)));
        // The board is as it was.
        let mut joined = [0, 1].map(|rank| join(&remote, rank, 2, RankCall::new("join", 0)));
        for joined in &mut joined {
            assert!(matches!(heard(joined), Ok(Answer::Joined { .. })));
        }
    }

    #[test]
    fn who_got_no_seat_makes_no_call_on_that_of_another() {
        let (_service, remote) = service();
        let mut joined = [0, 1].map(|rank| join(&remote, rank, 2, RankCall::new("join", 0)));
        for joined in &mut joined {
            assert!(matches!(heard(joined), Ok(Answer::Joined { .. })));
        }
        let mut again = join(&remote, 1, 2, RankCall::new("join", 0));
        assert!(matches!(heard(&mut again), Ok(Answer::Failed(CollectiveError::Taken(1)))));
        agree(&again, RankCall::new("another", 1));
        assert!(is_out(again));
        for joined in &joined {
            agree(joined, RankCall::new("barrier", 1));
        }
        for joined in &mut joined {
            let answer = heard(joined);
            assert!(matches!(answer, Ok(Answer::Agreed { .. })), "{answer:?}");
        }
    }

    #[test]
    fn who_is_lost_before_it_joins_its_split_is_lost_there() {
        let (_service, remote) = service();
        let mut joined = [0, 1, 2].map(|rank| join(&remote, rank, 3, RankCall::new("join", 0)));
        for joined in &mut joined {
            assert!(matches!(heard(joined), Ok(Answer::Joined { .. })));
            agree(joined, RankCall::new("split", 1));
        }
        let boards = joined.each_mut().map(|joined| match heard(joined) {
            Ok(Answer::Agreed { group: Some((board, _, 3)), .. }) => board,
            other => panic!("{other:?}"),
        });
        let child = Remote { board: boards[0], ..remote };
        let mut first = join(&child, 0, 3, RankCall::new("join", 0));
        let [_zero, one, _two] = joined;
        drop(one);
        let mut last = join(&child, 2, 3, RankCall::new("join", 0));
        for joined in [&mut first, &mut last] {
            let Ok(Answer::Failed(error)) = heard(joined) else { panic!("it waits for the lost rank") };
            let CollectiveError::Gone { rank: 1, states } = &error else { panic!("{error}") };
            assert_eq!(states.iter().nth(1), Some(&RankState::Lost));
        }
    }
}
