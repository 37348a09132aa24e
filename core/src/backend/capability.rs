//! Extras: abilities that a device may have beyond the abilities of every device.

use std::fmt;

/// A capability, declared in [`Capabilities::extras`](super::Capabilities::extras).
///
/// Each capability has its own trait beside [`Device`](super::Device), which a backend implements if any
/// of its devices may have the capability. Whether a device has it is declared here, at run time: a
/// declared capability works, and any other returns [`Error::Unsupported`](crate::Error::Unsupported),
/// which names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// Events tell how much time passed between them on the device.
    EventTiming,
    /// Host memory of the caller's can be pinned for a while.
    RegisteredMemory,
    /// Host memory can be read and written by the device in place.
    MappedMemory,
    /// Host memory that the host writes fast and reads slowly can be allocated.
    WriteCombinedMemory,
    /// Memory that host and device share, and that moves between them by itself.
    ManagedMemory,
    /// The pool that memory comes from can be limited, trimmed and asked.
    MemoryPool,
    /// A device can read and write the memory of another in place.
    PeerAccess,
    /// Memory can be shared with other processes.
    Ipc,
    /// Constant memory of a loaded module can be written.
    DeviceSymbols,
    /// Device memory that other code allocated can be used.
    ForeignMemory,
    /// Functions are computed on elements.
    Functions,
    /// Elements are reduced along axes.
    Reductions,
    /// Elements are picked and put by index.
    Gathers,
    /// Elements are ordered, searched, counted and combined by index.
    Orders,
    /// Matrices are multiplied.
    Products,
    /// Kernels of the program's own are launched.
    Kernels,
    /// Elements are exchanged with other ranks.
    Collectives,
}

impl Capability {
    /// Every capability, in order.
    pub const ALL: [Self; 17] = [
        Self::EventTiming,
        Self::RegisteredMemory,
        Self::MappedMemory,
        Self::WriteCombinedMemory,
        Self::ManagedMemory,
        Self::MemoryPool,
        Self::PeerAccess,
        Self::Ipc,
        Self::DeviceSymbols,
        Self::ForeignMemory,
        Self::Functions,
        Self::Reductions,
        Self::Gathers,
        Self::Orders,
        Self::Products,
        Self::Kernels,
        Self::Collectives,
    ];

    /// Its name in words, as messages and tables show it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EventTiming => "event timing",
            Self::RegisteredMemory => "registered host memory",
            Self::MappedMemory => "mapped host memory",
            Self::WriteCombinedMemory => "write-combined host memory",
            Self::ManagedMemory => "managed memory",
            Self::MemoryPool => "memory pool control",
            Self::PeerAccess => "peer access",
            Self::Ipc => "sharing memory with other processes",
            Self::DeviceSymbols => "device symbols",
            Self::ForeignMemory => "device memory of other code",
            Self::Functions => "functions on elements",
            Self::Reductions => "reductions of elements",
            Self::Gathers => "elements by index",
            Self::Orders => "order and sums by index",
            Self::Products => "matrix products",
            Self::Kernels => "kernels of the program's own",
            Self::Collectives => "exchanges with other ranks",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of extras.
///
/// ```
/// use devarray::backend::{Capability, CapabilitySet};
///
/// let extras = CapabilitySet::from([Capability::EventTiming, Capability::Ipc]);
/// assert!(extras.has(Capability::Ipc) && !extras.has(Capability::ManagedMemory));
/// assert_eq!(extras.without(Capability::Ipc), [Capability::EventTiming].into());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CapabilitySet(u32);

impl CapabilitySet {
    /// Whether the capability is in the set.
    #[must_use]
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u32) != 0
    }

    /// The set with the capability.
    #[must_use]
    pub const fn with(self, capability: Capability) -> Self {
        Self(self.0 | (1 << capability as u32))
    }

    /// The set without the capability.
    #[must_use]
    pub const fn without(self, capability: Capability) -> Self {
        Self(self.0 & !(1 << capability as u32))
    }

    /// The extras in the set, in order.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |&capability| self.has(capability))
    }
}

impl<const N: usize> From<[Capability; N]> for CapabilitySet {
    fn from(capabilities: [Capability; N]) -> Self {
        capabilities.into_iter().fold(Self::default(), Self::with)
    }
}
