//! Ranks on their way into a communicator.

use std::thread;

use super::{link::Link, waits::Waits};

/// A rank whose backend joins. If it fails, or panics, the rank leaves, so that the others do not wait for it.
pub(super) struct Seated<'s> {
    link: &'s Link,
    waits: &'s Waits<'s>,
    stays: bool,
}

impl<'s> Seated<'s> {
    pub(super) fn new(link: &'s Link, waits: &'s Waits<'s>) -> Self {
        Self { link, waits, stays: false }
    }

    /// The backend has joined.
    pub(super) fn stays(mut self) {
        self.stays = true;
    }
}

impl Drop for Seated<'_> {
    fn drop(&mut self) {
        if !self.stays {
            self.link.leave(thread::panicking(), self.waits);
        }
    }
}
