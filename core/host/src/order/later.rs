//! Actions for when a point is over, done by the thread that ends its last turn.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Instant,
};

use super::{Flag, Point};
use crate::memory::{DeviceMemory, Room};

/// The time when a point was over.
pub(crate) type Stamp = Arc<OnceLock<Instant>>;

/// The actions that wait for points of one device.
#[derive(Debug)]
pub(crate) struct Later {
    /// The number of waiting actions; read first, without the lock.
    count: AtomicUsize,
    list: Mutex<Vec<(Point, Then)>>,
    room: Arc<Room>,
}

/// An action to do then.
#[derive(Debug)]
pub(crate) enum Then {
    Free(DeviceMemory),
    Note(Stamp),
    Raise(Arc<Flag>),
}

impl Later {
    /// For memory of a device's room.
    pub(crate) fn new(room: &Arc<Room>) -> Self {
        Self { count: AtomicUsize::new(0), list: Mutex::default(), room: Arc::clone(room) }
    }

    /// Does an action when a point is over, or now if it is over already. Does not block.
    pub(crate) fn after(&self, point: Point, then: Then) {
        if point.is_over() {
            return self.act(then);
        }
        let mut list = self.list();
        list.push((point, then));
        self.count.store(list.len(), SeqCst);
        drop(list);
        // The thread that ends the last turn either sees the count, or ended the turn before this
        // look.
        self.look();
    }

    /// Does the actions that can be done now.
    #[inline]
    pub(crate) fn look(&self) {
        if self.count.load(SeqCst) > 0 {
            self.look_closely();
        }
    }

    #[cold]
    fn look_closely(&self) {
        let mut list = self.list();
        let (over, rest) = list.drain(..).partition(|(point, _)| point.is_over());
        *list = rest;
        self.count.store(list.len(), SeqCst);
        drop(list);
        let over: Vec<(Point, Then)> = over;
        over.into_iter().for_each(|(_, then)| self.act(then));
    }

    fn act(&self, then: Then) {
        match then {
            Then::Free(memory) => {
                if let Some(block) = memory.into_block() {
                    self.room.free(block);
                }
            }
            Then::Note(stamp) => {
                stamp.get_or_init(Instant::now);
            }
            Then::Raise(flag) => flag.raise(),
        }
    }

    fn list(&self) -> MutexGuard<'_, Vec<(Point, Then)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Later {
    /// Waits for the points that other processes wait for, and raises their flags. Such a point may
    /// itself wait for other processes.
    fn drop(&mut self) {
        for (point, then) in self.list().drain(..) {
            if let Then::Raise(flag) = then {
                point.wait();
                flag.raise();
            }
        }
    }
}
