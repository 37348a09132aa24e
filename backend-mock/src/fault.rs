//! Failures on demand.

use std::collections::{BTreeMap, VecDeque};

use devarray::{Error, backend::Quiesced};

/// A call of the backend that can be made to fail. `Device::alloc_host` and `AllocHost::alloc_host_as` are one.
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
    /// Each method of `PoolControl`.
    Pool,
}

/// How a call fails.
///
/// An error that [is sticky](Error::is_sticky) loses the device: work in flight is cancelled, and every later call
/// returns the same error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The call returns this error and changes nothing. At [`Site::Synchronize`] its end is then unknown.
    Error(Error),
    /// At [`Site::Synchronize`]: the wait ends so. `Ended` cancels the copies, fills, uploads and downloads it covers
    /// that have not run; `Unknown` leaves all of them queued, and they may run at any time later; `Done` is no fault.
    /// At other sites, its error.
    Quiesced(Quiesced),
}

impl Fault {
    /// The error that a call which is no wait returns; none for `Done`.
    fn into_error(self) -> Option<Error> {
        match self {
            Self::Error(error) => Some(error),
            Self::Quiesced(end) => end.into_result().err(),
        }
    }

    /// The end of a wait.
    fn into_quiesced(self) -> Quiesced {
        match self {
            Self::Error(error) => Quiesced::Unknown(error),
            Self::Quiesced(end) => end,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<Quiesced> for Fault {
    fn from(end: Quiesced) -> Self {
        Self::Quiesced(end)
    }
}

/// The failures that are planned. Every call asks here first, once.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    next: BTreeMap<Site, VecDeque<Fault>>,
}

impl Faults {
    pub(crate) fn plan(&mut self, site: Site, fault: Fault) {
        self.next.entry(site).or_default().push_back(fault);
    }

    /// The error that this call of `site` must return.
    pub(crate) fn call(&mut self, site: Site) -> Option<Error> {
        self.take(site)?.into_error()
    }

    /// How this wait must end; `Done` if no fault is planned.
    pub(crate) fn quiesce(&mut self) -> Quiesced {
        self.take(Site::Synchronize).map_or(Quiesced::Done, Fault::into_quiesced)
    }

    fn take(&mut self, site: Site) -> Option<Fault> {
        self.next.get_mut(&site)?.pop_front()
    }
}
