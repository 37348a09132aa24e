//! Indices out of range that gathers found.

use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use devarray::gather::IndexError;

/// Errors that core has not asked for yet, by the number of the gather.
#[derive(Debug, Default)]
pub(crate) struct IndexErrors {
    /// The number of errors; read first, without the lock.
    count: AtomicUsize,
    found: Mutex<HashMap<u64, IndexError>>,
}

impl IndexErrors {
    pub(crate) fn put(&self, number: u64, error: IndexError) {
        let mut found = self.found();
        found.insert(number, error);
        self.count.store(found.len(), SeqCst);
    }

    pub(crate) fn take(&self, number: u64) -> Option<IndexError> {
        if self.count.load(SeqCst) == 0 {
            return None;
        }
        let mut found = self.found();
        let error = found.remove(&number);
        self.count.store(found.len(), SeqCst);
        error
    }

    fn found(&self) -> MutexGuard<'_, HashMap<u64, IndexError>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
