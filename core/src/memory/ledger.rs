//! The list of live allocations.
//!
//! A ledger has no lock of its own. It is behind a lock that is held anyway: the submission lock
//! for device memory, the pinned pool's lock for host memory. An entry costs a few stores when it
//! is made and when it is removed. Only if more allocations are live than ever before does it touch
//! the heap.

use std::{
    panic::Location,
    sync::{Arc, Weak},
};

use super::{
    AllocationRecord, AllocationState, KindStatistics, LiveByTag, MemoryKind, MemoryStatistics, peak::Peaks,
    tag,
};

/// The live allocations of some kinds.
#[derive(Debug)]
pub(crate) struct Ledger {
    slots: Vec<Slot>,
    /// The first empty slot, or the number of slots if none is empty.
    empty: usize,
    accounts: [Account; MemoryKind::ALL.len()],
    scopes: Vec<Weak<Peaks>>,
    /// The most bytes that may be live.
    pub(crate) limit_bytes: usize,
}

#[derive(Debug)]
enum Slot {
    Taken(AllocationRecord),
    /// An empty slot, and the next empty one.
    Empty(usize),
}

/// The sums of one kind.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    live: usize,
    live_bytes: usize,
    allocations: u64,
    /// The most live bytes since the last [`Ledger::fold`].
    recent_bytes: usize,
    /// The most live bytes before that.
    peak_bytes: usize,
}

/// The place of an allocation in its ledger. [`Ledger::enter`] returns it and [`Ledger::leave`]
/// takes it.
#[derive(Debug)]
pub(crate) struct LedgerEntry(usize);

impl Ledger {
    /// Enters an allocation, under the current tag.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        kind: MemoryKind,
        len_bytes: usize,
        location: &'static Location<'static>,
    ) -> LedgerEntry {
        let account = &mut self.accounts[kind as usize];
        account.allocations += 1;
        account.live += 1;
        account.live_bytes += len_bytes;
        account.recent_bytes = account.recent_bytes.max(account.live_bytes);
        let (number, tag, state) = (account.allocations, tag::current(), AllocationState::Held);
        let slot = Slot::Taken(AllocationRecord { kind, number, len_bytes, tag, location, state });
        let at = self.empty;
        match self.slots.get_mut(at) {
            Some(place) => {
                if let Slot::Empty(next) = *place {
                    self.empty = next;
                }
                *place = slot;
            }
            None => {
                self.slots.push(slot);
                self.empty = self.slots.len();
            }
        }
        LedgerEntry(at)
    }

    /// Removes an allocation that was given back.
    #[inline]
    pub(crate) fn leave(&mut self, entry: LedgerEntry) {
        let slot = &mut self.slots[entry.0];
        if let Slot::Taken(record) = slot {
            let account = &mut self.accounts[record.kind as usize];
            account.live -= 1;
            account.live_bytes -= record.len_bytes;
            *slot = Slot::Empty(self.empty);
            self.empty = entry.0;
        }
    }

    /// Sets the state of an allocation.
    pub(crate) fn set_state(&mut self, entry: &LedgerEntry, state: AllocationState) {
        if let Slot::Taken(record) = &mut self.slots[entry.0] {
            record.state = state;
        }
    }

    /// The record of an allocation.
    pub(crate) fn record(&self, entry: &LedgerEntry) -> AllocationRecord {
        match &self.slots[entry.0] {
            Slot::Taken(record) => *record,
            Slot::Empty(_) => unreachable!("a entry is of a live allocation"),
        }
    }

    /// Bytes of a kind that are live.
    #[inline]
    pub(crate) fn live_bytes(&self, kind: MemoryKind) -> usize {
        self.accounts[kind as usize].live_bytes
    }

    /// Allocations of a kind that are live.
    pub(crate) fn live(&self, kind: MemoryKind) -> usize {
        self.accounts[kind as usize].live
    }

    /// The records of everything that is live.
    pub(crate) fn records(&self) -> impl Iterator<Item = &AllocationRecord> {
        self.slots.iter().filter_map(|slot| match slot {
            Slot::Taken(record) => Some(record),
            Slot::Empty(_) => None,
        })
    }

    /// Live allocations of some kinds, by tag.
    pub(crate) fn live_by_tag(&self, is_meant: impl Fn(MemoryKind) -> bool) -> Vec<LiveByTag> {
        LiveByTag::of(self.records().filter(|record| is_meant(record.kind)))
    }

    /// The statistics of each kind.
    pub(crate) fn statistics(&self) -> MemoryStatistics {
        MemoryStatistics(self.accounts.map(|account| KindStatistics {
            live: account.live,
            live_bytes: account.live_bytes,
            peak_bytes: account.peak_bytes.max(account.recent_bytes),
            allocations: account.allocations,
            frees: account.allocations - account.live as u64,
        }))
    }

    /// Counts live memory in `peaks` too from now on, as long as `peaks` has another owner.
    pub(super) fn watch_peaks(&mut self, peaks: &Arc<Peaks>) {
        self.fold();
        self.scopes.push(Arc::downgrade(peaks));
    }

    /// Brings the watched peaks up to date. Allocations update one peak for all watchers, so their
    /// cost does not depend on the number of watchers. Only this copies the peak to each watcher.
    pub(super) fn fold(&mut self) {
        self.scopes.retain(|scope| {
            let Some(peaks) = scope.upgrade() else { return false };
            for (kind, account) in MemoryKind::ALL.into_iter().zip(&self.accounts) {
                peaks.raise(kind, account.recent_bytes);
            }
            true
        });
        for account in &mut self.accounts {
            account.peak_bytes = account.peak_bytes.max(account.recent_bytes);
            account.recent_bytes = account.live_bytes;
        }
    }
}

impl Default for Ledger {
    /// An empty ledger without a limit.
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            empty: 0,
            accounts: Default::default(),
            scopes: Vec::new(),
            limit_bytes: usize::MAX,
        }
    }
}
