//! The gathers of one stream that may have found an index out of range.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{CallSite, gather::IndexError};

/// An enqueued gather.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gathered {
    /// Its number among the operations of its stream.
    pub(crate) sequence: u64,
    /// Its number among all gathers: [`GatherOp::number`](crate::backend::GatherOp::number).
    pub(crate) number: u64,
    /// The call that enqueued it.
    pub(crate) call: CallSite,
}

/// An error, and the call that enqueued the gather.
pub(crate) type Told = (IndexError, CallSite);

/// The gathers of one stream whose outcome the program does not know.
#[derive(Debug, Default)]
pub(crate) struct Untold(Mutex<Lists>);

/// Both lists are in the order of submission.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// The device was not asked about these: they may still run.
    pub(super) unasked: VecDeque<Gathered>,
    pub(super) found: VecDeque<(Gathered, IndexError)>,
}

impl Untold {
    pub(super) fn lists(&self) -> MutexGuard<'_, Lists> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is one among the operations after `from`, up to `to`.
    pub(super) fn has(&self, from: u64, to: u64) -> bool {
        let lists = self.lists();
        let unasked = lists.unasked.partition_point(|gather| gather.sequence <= from);
        let found = lists.found.partition_point(|(gather, _)| gather.sequence <= from);
        lists.unasked.get(unasked).is_some_and(|gather| gather.sequence <= to)
            || lists.found.get(found).is_some_and(|(gather, _)| gather.sequence <= to)
    }

    /// The number of the first error of the operations up to `to`.
    pub(super) fn first(&self, to: u64) -> Option<u64> {
        let lists = self.lists();
        lists.found.front().filter(|(gather, _)| gather.sequence <= to).map(|(gather, _)| gather.number)
    }

    pub(super) fn is_empty(&self) -> bool {
        let lists = self.lists();
        lists.unasked.is_empty() && lists.found.is_empty()
    }
}
