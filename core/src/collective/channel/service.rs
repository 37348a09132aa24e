//! The boards of a program whose ranks are processes, and the door to them.

use std::{
    any::Any,
    fmt,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::Duration,
};

use super::{door::Door, limits::SERVICE, remote::Place, rooms::Rooms, secret::Secret, visitor};
use crate::{collective::board::Board, lock::lock, processes::ProcessError};

/// The end of the service waits as long until the last answers have arrived.
const END_LIMIT: Duration = Duration::from_secs(3);

/// The service, in the process of rank 0. It ends when it is dropped, with the last user in this process.
pub(crate) struct Service {
    rooms: Arc<Rooms>,
    door: Door,
    secret: Secret,
    /// Is dropped when all ranks of the first board have come.
    until_joined: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Service {
    /// Begins to listen. The first board has the number 0.
    pub(crate) fn start(
        listener: TcpListener,
        secret: Secret,
        time_limit: Duration,
    ) -> Result<Self, ProcessError> {
        let is_local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
        let rooms = Arc::new(Rooms::new(time_limit, is_local, Secret::random()?));
        let inside = Arc::clone(&rooms);
        let enter = Box::new(move |stream: &_, _: &[u8]| visitor::serve(&inside, stream));
        let door = Door::open(listener, secret.clone(), SERVICE, enter)
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

impl Drop for Service {
    fn drop(&mut self) {
        self.rooms.begin_to_close();
        self.door.close();
        self.rooms.close();
        self.door.empty(END_LIMIT);
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Service({})", self.door.address())
    }
}
