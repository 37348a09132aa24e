//! The things that threads of a service share: the boards, and the ranks that came.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
        mpsc::Sender,
    },
    time::Duration,
};

use super::secret::Secret;
use crate::{
    collective::{
        CollectiveError, RankCall,
        board::{Board, Given},
    },
    lock::lock,
    processes::ProcessError,
};

/// Work of the thread that makes calls.
pub(super) enum Work {
    Agree {
        call: RankCall,
        given: Given,
    },
    Told(CollectiveError),
    /// The service ends.
    Bye,
    /// The rank has gone.
    End,
}

/// The things that threads of the service share.
pub(super) struct Rooms {
    pub(super) time_limit: Duration,
    /// Whether only this machine reaches the service.
    pub(super) is_local: bool,
    boards: Mutex<Boards>,
    /// Makes a key for the ranks of each board.
    key: Secret,
    closing: AtomicBool,
    visitors: Mutex<BTreeMap<u64, Sender<Work>>>,
}

#[derive(Default)]
struct Boards {
    next: u64,
    open: BTreeMap<u64, Arc<Board>>,
}

impl Rooms {
    /// Rooms with a first board, which has the number 0.
    pub(super) fn new(time_limit: Duration, is_local: bool, key: Secret) -> Self {
        let (boards, visitors) = (Mutex::default(), Mutex::default());
        let rooms = Self { time_limit, is_local, boards, key, closing: AtomicBool::new(false), visitors };
        rooms.number_of(&Arc::default());
        rooms
    }

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

    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(SeqCst)
    }

    /// Lets nobody come any more.
    pub(super) fn begin_to_close(&self) {
        self.closing.store(true, SeqCst);
    }

    /// Makes calls fail that wait for others, and says goodbye.
    pub(super) fn close(&self) {
        let boards: Vec<Arc<Board>> = lock(&self.boards).open.values().cloned().collect();
        for board in boards {
            board.close(ProcessError::ServiceLeft.into());
        }
        for work in lock(&self.visitors).values() {
            // A rank that has gone needs no goodbye.
            drop(work.send(Work::Bye));
        }
    }
}
