//! Gives a rank's part up when its communicator is over, unless what is under way will be carried out.

use std::sync::{
    Arc, Mutex, Weak,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use super::{CollectiveError, board::Told};
use crate::{Context, backend::Collects, context::ContextCore, lock::lock};

/// Gives the rank's part up when it is told that the communicator is over, so that a thread that waits for the device
/// goes on: but not where all do their part in the exchanges under way. It keeps nothing alive.
pub(super) struct Watcher<D: Collects> {
    context: Weak<ContextCore<D>>,
    raw: Weak<D::Communicator>,
    /// Whether the rank has left. Locked while the part is given up.
    has_left: Mutex<bool>,
    /// Whether the ranks come to exchanges without comparing calls.
    is_unchecked: AtomicBool,
}

impl<D: Collects> Watcher<D> {
    pub(super) fn new(context: &Context<D>, raw: &Arc<D::Communicator>) -> Self {
        let (context, raw) = (Arc::downgrade(&context.0), Arc::downgrade(raw));
        Self { context, raw, has_left: Mutex::new(false), is_unchecked: AtomicBool::new(false) }
    }

    /// From here on nobody knows whether all ranks have come to an exchange, so each mistake ends those under way.
    pub(super) fn unchecked(&self) {
        self.is_unchecked.store(true, SeqCst);
    }

    /// The rank leaves: nothing is given up from now on. Blocks while another thread is at it, so that a program that
    /// ends does not take a library away from that thread.
    pub(super) fn leave(&self) {
        *lock(&self.has_left) = true;
    }
}

impl<D: Collects> Told for Watcher<D> {
    fn told(&self, error: &CollectiveError) {
        if !error.cuts_off() && !self.is_unchecked.load(SeqCst) {
            // Exchanges under way are carried out, and the board lets no rank come to others.
            return;
        }
        let has_left = lock(&self.has_left);
        if !*has_left && let (Some(context), Some(raw)) = (self.context.upgrade(), self.raw.upgrade()) {
            context.device.abort(&raw);
        }
    }
}
