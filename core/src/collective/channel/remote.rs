//! The way to a board of another process.

use std::{
    fmt, io,
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use super::{
    frames::Frames,
    handshake::{self, Failed},
    limits::SERVICE,
    messages::{Answer, MOST_FIRST},
    secret::Secret,
};
use crate::processes::ProcessError;

/// One attempt to reach the service may take as long, and so may its first word.
const ATTEMPT: Duration = Duration::from_secs(5);
/// The pause between attempts: from the first to the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(200)];

/// Where a service is, and the secret to come in.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) secret: Secret,
}

/// A way to find a service, which may not be there yet.
pub(crate) trait Find: fmt::Debug + Send + Sync {
    /// Where it is now.
    fn find(&self) -> Result<Place, ProcessError>;

    /// Its address, for errors.
    fn address(&self) -> String;

    /// Whether a place that refuses may be an old one, so that it is looked up again.
    fn may_be_old(&self) -> bool;
}

/// A place that is known.
#[derive(Debug)]
pub(crate) struct Known(pub(crate) Place);

impl Find for Known {
    fn find(&self) -> Result<Place, ProcessError> {
        Ok(self.0.clone())
    }

    fn address(&self) -> String {
        self.0.addresses.first().map_or_else(String::new, ToString::to_string)
    }

    fn may_be_old(&self) -> bool {
        false
    }
}

/// A board of another process.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    pub(crate) find: Arc<dyn Find>,
    /// The number of the board.
    pub(crate) board: u64,
    /// Whether the service is gone that was there when the board was made.
    pub(super) is_over: Arc<AtomicBool>,
}

/// A service that has said its first word.
pub(super) struct Reached {
    pub(super) stream: Arc<TcpStream>,
    /// Its words from now on.
    pub(super) frames: Frames,
    pub(super) place: Place,
    /// The time for which calls wait.
    pub(super) time_limit: Duration,
}

impl Remote {
    /// The way to a board of a service that may not be there yet.
    pub(crate) fn new(find: Arc<dyn Find>, board: u64) -> Self {
        Self { find, board, is_over: Arc::default() }
    }

    /// Connects, again and again until the time limit has passed. Only who has another secret is told at once, and who
    /// comes when the service is over.
    pub(super) fn reach(&self, time_limit: Duration) -> Result<Reached, ProcessError> {
        let ends = Instant::now().checked_add(time_limit);
        let mut pause = PAUSES[0];
        loop {
            let error = match self.try_reach() {
                Ok(reached) => return Ok(reached),
                Err(error @ ProcessError::Refused { .. }) if !self.find.may_be_old() => return Err(error),
                Err(error) => error,
            };
            if self.is_over.load(SeqCst) {
                return Err(ProcessError::NoService);
            }
            if ends.is_some_and(|ends| Instant::now() + pause >= ends) {
                return Err(error);
            }
            thread::sleep(pause);
            pause = (2 * pause).min(PAUSES[1]);
        }
    }

    fn try_reach(&self) -> Result<Reached, ProcessError> {
        let place = self.find.find()?;
        let mut last = self.unreachable("the name has no address");
        for address in &place.addresses {
            last = match come_in(address, &place.secret) {
                Ok(reached) => return Ok(reached),
                Err(Failed::Refused) => return Err(ProcessError::Refused { address: address.to_string() }),
                Err(Failed::Broken(error)) => self.unreachable(&error.to_string()),
            };
        }
        Err(last)
    }

    pub(super) fn unreachable(&self, reason: &str) -> ProcessError {
        ProcessError::Unreachable { address: self.find.address(), reason: reason.into() }
    }
}

/// Comes in at an address, and hears the first word. A connection that breaks before may be of a door where too many
/// came at once.
fn come_in(address: &SocketAddr, secret: &Secret) -> Result<Reached, Failed> {
    let stream = Arc::new(TcpStream::connect_timeout(address, ATTEMPT)?);
    stream.set_nodelay(true)?;
    handshake::visit(&stream, (secret, &SERVICE), &[], Instant::now() + ATTEMPT)?;
    stream.set_read_timeout(Some(ATTEMPT))?;
    stream.set_write_timeout(Some(ATTEMPT))?;
    let mut frames = Frames::new(Arc::clone(&stream), MOST_FIRST);
    let first = frames.next()?.ok_or_else(|| io::Error::from(io::ErrorKind::TimedOut))?;
    let Ok(Answer::Welcome { limit }) = Answer::decode(&first) else { return Err(Failed::Refused) };
    let place = Place { addresses: vec![*address], secret: secret.clone() };
    Ok(Reached { stream, frames, place, time_limit: limit })
}

#[cfg(test)]
mod tests {
    use std::{
        net::TcpListener,
        sync::{Mutex, atomic::AtomicUsize},
    };

    use super::*;
    use crate::{
        collective::{
            CollectiveError, RankCall,
            channel::{Client, Service, frames},
        },
        lock::lock,
    };

    fn remote(address: SocketAddr, secret: &Secret) -> Remote {
        let place = Place { addresses: vec![address], secret: secret.clone() };
        Remote::new(Arc::new(Known(place)), 0)
    }

    #[test]
    fn a_connection_that_breaks_before_the_first_word_is_made_again() {
        let secret = Secret::new(b"of the test");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let remote = remote(listener.local_addr().unwrap(), &secret);
        // Not waited for: it may wait for attempts that are not made.
        let service = move || {
            for attempt in 0..3 {
                let stream = listener.accept().unwrap().0;
                let ends = Instant::now() + ATTEMPT;
                handshake::receive(&stream, (&secret, &SERVICE), ends, || true).unwrap();
                if attempt == 2 {
                    frames::send(&stream, &Answer::Welcome { limit: ATTEMPT }.encode()).unwrap();
                    frames::send(&stream, &Answer::Pong.encode()).unwrap();
                }
            }
        };
        thread::spawn(service);
        let mut reached = remote.reach(Duration::from_secs(30)).unwrap();
        assert_eq!(reached.time_limit, ATTEMPT);
        // Nothing that came with the first word is lost.
        assert_eq!(reached.frames.next().unwrap(), Some(Answer::Pong.encode()));
    }

    #[test]
    fn who_comes_when_the_service_is_over_is_told_at_once() {
        // Nobody listens there any more.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let remote = remote(address, &Secret::new(b"of the test"));
        let reach = |limit| remote.reach(limit).map(|reached| reached.time_limit).unwrap_err();
        // It may come yet.
        let unreachable = reach(Duration::from_millis(50));
        assert!(matches!(unreachable, ProcessError::Unreachable { .. }), "{unreachable}");
        thread::scope(|scope| {
            let waits = scope.spawn(|| reach(Duration::from_secs(600)));
            remote.is_over.store(true, SeqCst);
            assert_eq!(waits.join().unwrap(), ProcessError::NoService);
        });
    }

    #[test]
    fn many_ranks_that_start_at_once_all_come_in() {
        const RANKS: usize = 250;
        let limit = Duration::from_secs(60);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let service = Service::start(listener, Secret::new(b"of the test"), limit).unwrap();
        let place = service.place();
        let (remote, joined) = (remote(place.addresses[0], &place.secret), AtomicUsize::new(0));
        let errors: Mutex<Vec<CollectiveError>> = Mutex::default();
        thread::scope(|scope| {
            for rank in 0..RANKS {
                let (remote, joined, errors) = (&remote, &joined, &errors);
                scope.spawn(move || {
                    let call = RankCall::new("join", 0);
                    match Client::join(remote, (rank, RANKS), ("host", rank), &call, limit) {
                        Ok(client) => {
                            joined.fetch_add(1, SeqCst);
                            client.leave(false);
                        }
                        Err(error) => lock(errors).push(error),
                    }
                });
            }
        });
        assert_eq!(joined.load(SeqCst), RANKS, "{:?}", lock(&errors).first());
    }
}
