//! Counts of operations that were enqueued and that have run.

use std::ops::AddAssign;

/// The operations and calls of a device so far.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Operations that were enqueued.
    pub enqueued: Counts,
    /// Operations that have run, without those that a failure cancelled.
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
    /// Gathers and scatters of device memory.
    pub gathers: Tally,
    /// Sorts, searches, counts and sums by index on device memory.
    pub orders: Tally,
    /// Matrix products on device memory.
    pub products: Tally,
    /// Launches of the program's own kernels.
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

/// The operations of one kind.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// The number of operations.
    pub count: u64,
    /// The total bytes that they moved, allocated or freed.
    pub bytes: u64,
}

impl AddAssign<usize> for Tally {
    /// Counts one more operation, on `len_bytes` bytes.
    fn add_assign(&mut self, len_bytes: usize) {
        self.count += 1;
        self.bytes += len_bytes as u64;
    }
}
