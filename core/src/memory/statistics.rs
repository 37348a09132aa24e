//! Statistics of the memory of each kind.

use std::fmt;

use super::MemoryKind;

/// Memory of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindStatistics {
    /// Allocations that are live.
    pub live: usize,
    /// Bytes of live allocations, as requested: a device may reserve more.
    pub live_bytes: usize,
    /// The most bytes that were live at any time.
    pub peak_bytes: usize,
    /// Allocations made so far.
    pub allocations: u64,
    /// Allocations given back so far.
    pub frees: u64,
}

/// Memory of every kind that a context's program holds.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryStatistics(pub(super) [KindStatistics; MemoryKind::ALL.len()]);

impl MemoryStatistics {
    /// The statistics of one kind.
    #[must_use]
    pub fn of(&self, kind: MemoryKind) -> KindStatistics {
        self.0[kind as usize]
    }

    /// Bytes that are live, over all kinds.
    #[must_use]
    pub fn live_bytes(&self) -> usize {
        self.0.iter().map(|of_kind| of_kind.live_bytes).sum()
    }

    /// Adds the kinds that another ledger counts.
    pub(super) fn join(mut self, other: &Self) -> Self {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            if theirs.allocations > 0 {
                *mine = *theirs;
            }
        }
        self
    }
}

impl fmt::Debug for MemoryStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = MemoryKind::ALL.into_iter().filter(|&kind| self.of(kind).allocations > 0);
        let live = used.map(|kind| (kind, self.of(kind).live_bytes));
        f.write_str("MemoryStatistics of live bytes ")?;
        f.debug_map().entries(live).finish()
    }
}
