//! The calls of the backend that can fail, and their names.

use std::{fmt, str::FromStr};

/// A call of the backend that can be made to fail. `Device::alloc_host` and
/// `AllocHost::alloc_host_as` are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Site {
    /// `Device::memory`.
    Memory,
    /// `Device::open_stream`.
    OpenStream,
    /// `Device::alloc_host`.
    AllocHost,
    /// `Stream::alloc`.
    Alloc,
    /// `Stream::free`.
    Free,
    /// `Stream::copy`.
    Copy,
    /// `Stream::fill`.
    Fill,
    /// `Stream::upload`.
    Upload,
    /// `Stream::download`.
    Download,
    /// `Compute::map`.
    Map,
    /// `Compute::reduce`.
    Reduce,
    /// `Compute::gather`.
    Gather,
    /// `Compute::order`.
    Order,
    /// `Compute::product`.
    Product,
    /// `Launch::launch`.
    Launch,
    /// `Stream::record`.
    Record,
    /// `Stream::wait`.
    Wait,
    /// `Stream::synchronize` and `Event::synchronize`.
    Synchronize,
    /// `Event::query`.
    Query,
    /// `MapHost::map_host` and `ManagedMemory::managed_buffer`.
    MapHost,
    /// `RegisterHost::register_host`.
    RegisterHost,
    /// `RegisterHost::unregister_host`, each of its two tries.
    UnregisterHost,
    /// `ManagedMemory::alloc_managed`.
    AllocManaged,
    /// `ManagedMemory::prefetch`.
    Prefetch,
    /// `ManagedMemory::advise`.
    Advise,
    /// `ForeignMemory::adopt`.
    Adopt,
    /// Each method of `PoolControl`.
    Pool,
    /// `PeerAccess::can_access_peer` and `PeerAccess::enable_peer_access`.
    PeerAccess,
    /// `PeerAccess::copy_from_peer`.
    CopyFromPeer,
    /// `PeerAccess::wait_for_peer`.
    WaitForPeer,
    /// `Ipc::alloc_exportable`.
    AllocExportable,
    /// `Ipc::export_memory`.
    Export,
    /// `Ipc::open_memory`.
    Open,
    /// `Ipc::wait_exported`.
    WaitExported,
    /// `DeviceSymbols::load_module`.
    LoadModule,
    /// `DeviceSymbols::symbol`.
    Symbol,
    /// `Collects::join`.
    Join,
    /// `Collects::collect`.
    Collect,
}

impl Site {
    /// Every site, with its name in plans.
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self::Memory, "memory"),
        (Self::OpenStream, "open_stream"),
        (Self::AllocHost, "alloc_host"),
        (Self::Alloc, "alloc"),
        (Self::Free, "free"),
        (Self::Copy, "copy"),
        (Self::Fill, "fill"),
        (Self::Upload, "upload"),
        (Self::Download, "download"),
        (Self::Map, "map"),
        (Self::Reduce, "reduce"),
        (Self::Gather, "gather"),
        (Self::Order, "order"),
        (Self::Product, "product"),
        (Self::Launch, "launch"),
        (Self::Record, "record"),
        (Self::Wait, "wait"),
        (Self::Synchronize, "synchronize"),
        (Self::Query, "query"),
        (Self::MapHost, "map_host"),
        (Self::RegisterHost, "register_host"),
        (Self::UnregisterHost, "unregister_host"),
        (Self::AllocManaged, "alloc_managed"),
        (Self::Prefetch, "prefetch"),
        (Self::Advise, "advise"),
        (Self::Adopt, "adopt"),
        (Self::Pool, "pool"),
        (Self::PeerAccess, "peer_access"),
        (Self::CopyFromPeer, "copy_from_peer"),
        (Self::WaitForPeer, "wait_for_peer"),
        (Self::AllocExportable, "alloc_exportable"),
        (Self::Export, "export"),
        (Self::Open, "open"),
        (Self::WaitExported, "wait_exported"),
        (Self::LoadModule, "load_module"),
        (Self::Symbol, "symbol"),
        (Self::Join, "join"),
        (Self::Collect, "collect"),
    ];

    /// Every site.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::NAMES.iter().map(|(site, _)| *site)
    }

    /// Its name, as in plans: `alloc_host`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(site, _)| *site == self).map_or("?", |(_, name)| name)
    }

    /// Whether a call puts an operation into the queue of a stream, which can fail later than the
    /// call.
    pub(super) fn enqueues(self) -> bool {
        matches!(
            self,
            Self::Alloc
                | Self::Free
                | Self::Copy
                | Self::Fill
                | Self::Upload
                | Self::Download
                | Self::Map
                | Self::Reduce
                | Self::Gather
                | Self::Order
                | Self::Product
                | Self::Launch
                | Self::Record
                | Self::Wait
                | Self::Prefetch
                | Self::CopyFromPeer
                | Self::WaitForPeer
                | Self::WaitExported
                | Self::Collect
        )
    }

    /// Whether a call needs memory.
    pub(super) fn allocates(self) -> bool {
        matches!(self, Self::Alloc | Self::AllocHost | Self::AllocManaged | Self::AllocExportable)
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Site {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::NAMES.iter().find(|(_, name)| *name == text).map(|(site, _)| *site).ok_or(())
    }
}
