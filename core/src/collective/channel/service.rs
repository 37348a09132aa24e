//! The boards of a program whose ranks are processes, and the door to them.

use std::{
    any::Any,
    collections::BTreeMap,
    fmt,
    net::{SocketAddr, TcpListener},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc::Sender,
    },
    time::Duration,
};

use super::{
    client::Place,
    door::Door,
    secret::Secret,
    visitor::{self, Work},
};
use crate::{collective::board::Board, lock::lock, processes::ProcessError};

/// What a connection to the service is for.
pub(super) const PURPOSE: [u8; 8] = *b"service.";

/// How long the end of the service waits until the last answers have arrived.
const END_LIMIT: Duration = Duration::from_secs(3);

/// The service, in the process of rank 0. It ends when it is dropped, with the last user in this process.
pub(crate) struct Service {
    rooms: Arc<Rooms>,
    door: Door,
    secret: Secret,
    /// Is dropped when all ranks of the first board have come.
    until_joined: Mutex<Option<Box<dyn Any + Send>>>,
}

/// What the threads of the service share.
pub(super) struct Rooms {
    pub(super) time_limit: Duration,
    /// Whether only this machine reaches the service.
    pub(super) is_local: bool,
    boards: Mutex<Boards>,
    /// Makes a key for the ranks of each board.
    key: Secret,
    pub(super) closing: AtomicBool,
    visitors: Mutex<BTreeMap<u64, Sender<Work>>>,
}

#[derive(Default)]
struct Boards {
    next: u64,
    open: BTreeMap<u64, Arc<Board>>,
}

impl Service {
    /// Begins to listen. The first board has the number 0.
    pub(crate) fn start(
        listener: TcpListener,
        secret: Secret,
        time_limit: Duration,
    ) -> Result<Self, ProcessError> {
        let rooms = Arc::new(Rooms {
            time_limit,
            is_local: listener.local_addr().is_ok_and(|address| address.ip().is_loopback()),
            boards: Mutex::default(),
            key: Secret::random()?,
            closing: AtomicBool::new(false),
            visitors: Mutex::default(),
        });
        rooms.number_of(&Arc::default());
        let inside = Arc::clone(&rooms);
        let enter = Box::new(move |stream: &_, _: &[u8]| visitor::serve(&inside, stream));
        let door = Door::open(listener, secret.clone(), PURPOSE, enter)
            .map_err(|error| ProcessError::system("listen for ranks", &error))?;
        Ok(Self { rooms, door, secret, until_joined: Mutex::default() })
    }

    /// The address that it listens at.
    pub(crate) fn address(&self) -> SocketAddr {
        self.door.address()
    }

    /// Where it is, and its secret.
    pub(crate) fn place(&self) -> Place {
        Place { addresses: vec![self.door.address()], secret: self.secret.clone() }
    }

    /// Keeps a value until all ranks have come.
    pub(crate) fn keep_until_joined(&self, value: Box<dyn Any + Send>) {
        *lock(&self.until_joined) = Some(value);
    }

    /// All ranks have come.
    pub(in crate::collective) fn all_came(&self) {
        drop(lock(&self.until_joined).take());
    }

    /// Whether only this machine reaches it.
    pub(crate) fn is_local(&self) -> bool {
        self.rooms.is_local
    }

    pub(crate) fn time_limit(&self) -> Duration {
        self.rooms.time_limit
    }

    /// The first board.
    pub(in crate::collective) fn board(&self) -> Arc<Board> {
        self.rooms.board(0).unwrap_or_default()
    }

    /// The key of the ranks of a board.
    pub(in crate::collective) fn token(&self, board: &Arc<Board>) -> [u8; 32] {
        self.rooms.token(self.rooms.number_of(board))
    }
}

impl Rooms {
    pub(super) fn board(&self, number: u64) -> Option<Arc<Board>> {
        lock(&self.boards).open.get(&number).cloned()
    }

    /// The number of a board, which is known from now on until all its ranks have gone.
    pub(super) fn number_of(&self, board: &Arc<Board>) -> u64 {
        let mut boards = lock(&self.boards);
        if let Some((&number, _)) = boards.open.iter().find(|(_, known)| Arc::ptr_eq(known, board)) {
            return number;
        }
        // The first stays: nobody else may have its number.
        boards.open.retain(|&number, known| number == 0 || !known.is_over());
        let number = boards.next;
        boards.next += 1;
        boards.open.insert(number, Arc::clone(board));
        number
    }

    pub(super) fn token(&self, number: u64) -> [u8; 32] {
        self.key.proof(&[&number.to_le_bytes()])
    }

    /// Notes who is to be told that the service ends. False if it does already.
    pub(super) fn come(&self, number: u64, work: Sender<Work>) -> bool {
        lock(&self.visitors).insert(number, work);
        !self.closing.load(SeqCst)
    }

    pub(super) fn go(&self, number: u64) {
        lock(&self.visitors).remove(&number);
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.rooms.closing.store(true, SeqCst);
        self.door.close();
        let boards: Vec<Arc<Board>> = lock(&self.rooms.boards).open.values().cloned().collect();
        for board in boards {
            board.close(ProcessError::NoService.into());
        }
        for work in lock(&self.rooms.visitors).values() {
            // Who has gone needs no goodbye.
            drop(work.send(Work::Bye));
        }
        self.door.empty(END_LIMIT);
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Service({})", self.door.address())
    }
}
