//! The peak of live memory during a part of a program.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::MemoryKind;

/// The most bytes of each kind that were live while somebody watched.
#[derive(Debug, Default)]
pub(crate) struct Peaks([AtomicUsize; MemoryKind::ALL.len()]);

impl Peaks {
    pub(super) fn raise(&self, kind: MemoryKind, len_bytes: usize) {
        self.0[kind as usize].fetch_max(len_bytes, Relaxed);
    }
    /// The most bytes of a kind so far.
    pub(super) fn of(&self, kind: MemoryKind) -> usize {
        self.0[kind as usize].load(Relaxed)
    }
}
