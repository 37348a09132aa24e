//! A door to the network: only who has the secret comes in.
//!
//! Strangers can knock as often as they like. At most [`MOST_WAITING`] wait at the door; when one more comes, the
//! one that has waited longest is sent away, so strangers that say nothing do not keep ranks out. It has had
//! [`LEAST_WAIT`] at least, so ranks that come at once do not keep each other out, however many they are. Each has
//! [`HANDSHAKE_LIMIT`], and costs one thread and one descriptor meanwhile. A visitor that
//! was sent away may come again; one that was told to come in is not sent away any more.

use std::{
    collections::VecDeque,
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use super::{handshake, limits::STACK_BYTES, secret::Secret};
use crate::lock::lock;

/// Visitors that have not proved who they are.
const MOST_WAITING: usize = 64;
/// A visitor may wait as long before others push it out: a rank proves in less who it is.
const LEAST_WAIT: Duration = Duration::from_millis(100);
/// Visitors that were sent away and have not gone yet.
const MOST_LEAVING: usize = 64;
/// Visitors that have come in.
const MOST_INSIDE: usize = 32 << 10;
/// The time in which a visitor proves who it is.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);

/// A listener, and the threads of its visitors. Dropping it closes the door; who is inside stays.
pub(super) struct Door {
    address: SocketAddr,
    hall: Arc<Hall>,
    listens: Option<JoinHandle<()>>,
}

/// The treatment of a visitor, in its own thread.
pub(super) type Enter = dyn Fn(&Arc<TcpStream>, &[u8]) + Send + Sync;

struct Hall {
    secret: Secret,
    purpose: [u8; 8],
    closing: AtomicBool,
    visitors: Mutex<Visitors>,
    /// A thread ended, or a visitor came in.
    changed: Condvar,
}

#[derive(Default)]
struct Visitors {
    next: u64,
    waiting: VecDeque<Waiting>,
    inside: Vec<(u64, Arc<TcpStream>)>,
    threads: usize,
}

/// A visitor that has not proved who it is.
struct Waiting {
    number: u64,
    stream: Arc<TcpStream>,
    since: Instant,
}

impl Door {
    pub(super) fn open(
        listener: TcpListener,
        secret: Secret,
        purpose: [u8; 8],
        enter: Box<Enter>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let hall = Arc::new(Hall {
            secret,
            purpose,
            closing: AtomicBool::new(false),
            visitors: Mutex::default(),
            changed: Condvar::new(),
        });
        let (of_thread, enter) = (Arc::clone(&hall), Arc::from(enter));
        let listens = thread::Builder::new()
            .name("devarray-door".into())
            .stack_size(STACK_BYTES)
            .spawn(move || of_thread.listen(&listener, &enter))?;
        Ok(Self { address, hall, listens: Some(listens) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets nobody in any more, and sends away who waits.
    pub(super) fn close(&mut self) {
        let Some(listens) = self.listens.take() else { return };
        self.hall.closing.store(true, SeqCst);
        // Wakes the thread up.
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        let woke = TcpStream::connect_timeout(&(ip, self.address.port()).into(), Duration::from_secs(1));
        // Whoever keeps the connection from being made wakes the thread up as well; if it is the machine, the
        // thread stays behind rather than this one.
        if woke.is_ok() || listens.is_finished() {
            drop(listens.join());
        }
        for waiting in &lock(&self.hall.visitors).waiting {
            drop(waiting.stream.shutdown(Shutdown::Both));
        }
    }

    /// Waits until nobody is inside, for so long; then throws out who is.
    pub(super) fn empty(&self, limit: Duration) {
        let ends = Instant::now() + limit;
        let mut visitors = lock(&self.hall.visitors);
        while visitors.threads > 0 {
            let left = ends.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            (visitors, _) =
                self.hall.changed.wait_timeout(visitors, left).unwrap_or_else(PoisonError::into_inner);
        }
        for (_, stream) in &visitors.inside {
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}

impl Hall {
    fn listen(self: &Arc<Self>, listener: &TcpListener, enter: &Arc<Enter>) {
        loop {
            let come = listener.accept();
            if self.closing.load(SeqCst) {
                return;
            }
            match come {
                Ok((stream, _)) => self.admit(Arc::new(stream), enter),
                // Descriptors ran out, or the visitor has gone already.
                Err(_) => thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Lets a visitor wait at the door.
    fn admit(self: &Arc<Self>, stream: Arc<TcpStream>, enter: &Arc<Enter>) {
        let mut visitors = lock(&self.visitors);
        if visitors.inside.len() >= MOST_INSIDE {
            return;
        }
        while visitors.waiting.len() >= MOST_WAITING
            && let Some(longest) = visitors.waiting.front()
        {
            let left = LEAST_WAIT.saturating_sub(longest.since.elapsed());
            if !left.is_zero() && !self.closing.load(SeqCst) {
                (visitors, _) =
                    self.changed.wait_timeout(visitors, left).unwrap_or_else(PoisonError::into_inner);
            } else if let Some(longest) = visitors.waiting.pop_front() {
                drop(longest.stream.shutdown(Shutdown::Both));
            }
        }
        // Their threads end at once, but threads begin as fast.
        while visitors.threads - visitors.inside.len() >= MOST_WAITING + MOST_LEAVING {
            let pause = Duration::from_millis(100);
            (visitors, _) =
                self.changed.wait_timeout(visitors, pause).unwrap_or_else(PoisonError::into_inner);
        }
        let number = visitors.next;
        visitors.next += 1;
        visitors.threads += 1;
        visitors.waiting.push_back(Waiting { number, stream: Arc::clone(&stream), since: Instant::now() });
        drop(visitors);
        let (hall, enter) = (Arc::clone(self), Arc::clone(enter));
        let gone = Gone { hall, number };
        let visit = move || gone.hall.visit(number, &stream, &enter);
        // If no thread can be made, `gone` is dropped here.
        let begun =
            thread::Builder::new().name("devarray-visitor".into()).stack_size(STACK_BYTES).spawn(visit);
        drop(begun);
    }

    fn visit(&self, number: u64, stream: &Arc<TcpStream>, enter: &Arc<Enter>) {
        let ends = Instant::now() + HANDSHAKE_LIMIT;
        drop(stream.set_nodelay(true));
        let come_in = || self.come_in(number, stream);
        let Ok(hello) = handshake::receive(stream, (&self.secret, &self.purpose), ends, come_in) else {
            return;
        };
        enter(stream, &hello);
    }

    /// Gives a visitor its place inside. False if it was sent away meanwhile, or the door closes.
    fn come_in(&self, number: u64, stream: &Arc<TcpStream>) -> bool {
        let mut visitors = lock(&self.visitors);
        let Some(at) = visitors.waiting.iter().position(|waiting| waiting.number == number) else {
            return false;
        };
        if self.closing.load(SeqCst) {
            return false;
        }
        visitors.waiting.remove(at);
        visitors.inside.push((number, Arc::clone(stream)));
        drop(visitors);
        self.changed.notify_all();
        true
    }
}

/// The end of a visit, also if its thread panics.
struct Gone {
    hall: Arc<Hall>,
    number: u64,
}

impl Drop for Gone {
    fn drop(&mut self) {
        let mut visitors = lock(&self.hall.visitors);
        visitors.waiting.retain(|waiting| waiting.number != self.number);
        visitors.inside.retain(|(number, _)| *number != self.number);
        visitors.threads -= 1;
        drop(visitors);
        self.hall.changed.notify_all();
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Door({})", self.address)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read as _, Write as _};

    use super::*;

    const PURPOSE: [u8; 8] = *b"testing.";

    fn open(enter: Box<Enter>) -> (Door, Secret) {
        let secret = Secret::new(b"of the test");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        (Door::open(listener, secret.clone(), PURPOSE, enter).unwrap(), secret)
    }

    fn visit(door: &Door, secret: &Secret) -> Result<TcpStream, handshake::Failed> {
        let stream = TcpStream::connect(door.address())?;
        handshake::visit(&stream, (secret, &PURPOSE), b"rank", Instant::now() + HANDSHAKE_LIMIT)?;
        Ok(stream)
    }

    #[test]
    fn who_is_told_to_come_in_is_in_however_many_come() {
        let (door, secret) = open(Box::new(|stream, _| (&**stream).write_all(b"in").unwrap()));
        let sent_away = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..4 * MOST_WAITING {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let Ok(mut stream) = visit(&door, &secret) else {
                            *lock(&sent_away) += 1;
                            continue;
                        };
                        let mut word = [0; 2];
                        stream.read_exact(&mut word).unwrap();
                        assert_eq!(word, *b"in");
                    }
                });
            }
        });
        // Each has time to prove who it is, though the machine may be slow.
        assert!(*lock(&sent_away) < MOST_WAITING, "{} were sent away", lock(&sent_away));
    }

    #[test]
    fn who_was_sent_away_is_not_told_to_come_in() {
        let (door, _) = open(Box::new(|_, _| ()));
        let knock = || {
            let stream = TcpStream::connect(door.address()).unwrap();
            stream.set_read_timeout(Some(HANDSHAKE_LIMIT)).unwrap();
            stream
        };
        let mut first = knock();
        let others: Vec<TcpStream> = (0..MOST_WAITING).map(|_| knock()).collect();
        assert!(matches!(first.read(&mut [0]), Ok(0) | Err(_)), "it waited longest");
        // It proved who it is at the very moment.
        let stream = Arc::new(first);
        assert!(!door.hall.come_in(0, &stream));
        // The others wait still.
        let mut last = others.last().unwrap();
        last.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        let error = last.read(&mut [0]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
        assert!(door.hall.come_in(MOST_WAITING as u64, &stream));
        assert!(!door.hall.come_in(MOST_WAITING as u64, &stream), "its place is inside now");
    }
}
