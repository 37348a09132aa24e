//! Kinds of memory.

use std::fmt;

/// Where memory comes from, and which side reaches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum MemoryKind {
    /// Memory of the device, from its pool. Arrays use it.
    Device,
    /// Pinned memory of the host.
    Pinned,
    /// Pinned memory of the host that the device reads and writes in place.
    Mapped,
    /// Memory that moves between host and device automatically.
    Managed,
    /// Memory of the program's own that is pinned for a while.
    Registered,
    /// Memory of the device that other processes can open. It does not come from the pool, so no
    /// limit applies.
    Exportable,
}

impl MemoryKind {
    /// Every kind, in order.
    pub const ALL: [Self; 6] =
        [Self::Device, Self::Pinned, Self::Mapped, Self::Managed, Self::Registered, Self::Exportable];

    /// Its name in a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Pinned => "pinned",
            Self::Mapped => "mapped",
            Self::Managed => "managed",
            Self::Registered => "registered",
            Self::Exportable => "exportable",
        }
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
