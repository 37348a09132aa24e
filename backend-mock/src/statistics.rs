//! Counts of operations enqueued and run.

use std::ops::AddAssign;

/// What a device did so far.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Operations that were enqueued.
    pub enqueued: Counts,
    /// Operations that have run; those a failure cancelled are not among them.
    pub executed: Counts,
    /// Operations that a failure cancelled before they had run.
    pub cancelled: Counts,
    /// Waits of the host for a stream or an event.
    pub synchronizes: u64,
    /// Queries of events.
    pub queries: u64,
}

/// Operations by kind.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Allocations of device memory.
    pub allocs: Tally,
    /// Frees of device memory.
    pub frees: Tally,
    /// Copies from device memory to device memory.
    pub copies: Tally,
    /// Fills of device memory.
    pub fills: Tally,
    /// Copies from host memory to device memory.
    pub uploads: Tally,
    /// Copies from device memory to host memory.
    pub downloads: Tally,
    /// Functions computed on device memory.
    pub maps: Tally,
    /// Reductions and scans of device memory.
    pub reductions: Tally,
    /// Elements picked and put by index on device memory.
    pub gathers: Tally,
    /// Elements ordered, searched, counted, and combined by index on device memory.
    pub orders: Tally,
    /// Matrix products on device memory.
    pub products: Tally,
    /// Launches of kernels of the program's own.
    pub launches: Tally,
    /// Exchanges with other ranks on device memory.
    pub exchanges: Tally,
    /// Prefetches of managed memory.
    pub prefetches: Tally,
    /// Events recorded.
    pub records: u64,
    /// Waits of a stream for an event.
    pub waits: u64,
}

impl Counts {
    /// Operations of all kinds together.
    #[must_use]
    pub fn operations(&self) -> u64 {
        let Self {
            allocs,
            frees,
            copies,
            fills,
            uploads,
            downloads,
            maps,
            reductions,
            gathers,
            orders,
            products,
            launches,
            exchanges,
            prefetches,
            records,
            waits,
        } = self;
        let moving =
            [copies, fills, uploads, downloads, maps, reductions, gathers, orders, products, launches];
        let tallies = [allocs, frees, prefetches, exchanges].into_iter().chain(moving);
        tallies.map(|tally| tally.count).sum::<u64>() + records + waits
    }
}

/// Operations of one kind.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// How many.
    pub count: u64,
    /// The bytes they moved, allocated or freed together.
    pub bytes: u64,
}

impl AddAssign<usize> for Tally {
    /// One more operation, of `len_bytes`.
    fn add_assign(&mut self, len_bytes: usize) {
        self.count += 1;
        self.bytes += len_bytes as u64;
    }
}
