//! The device.
#![allow(unsafe_code)] // vouches for the contract of a device

mod collect;
mod compute;
mod foreign;
mod host_kinds;
mod ipc;
mod launch;
mod peer;
mod pool;
mod processes;
mod reached;
mod timing;

use std::{num::NonZeroUsize, sync::Arc};

use devarray::{
    Result,
    backend::{Capability, Device, DeviceInfo, MemoryInfo},
};

pub use collect::HostCommunicator;
pub use ipc::{HostExportable, HostOpened};

use crate::{
    Builder, HostEvent, HostMemory, HostStream,
    backend::BACKEND,
    index_errors::IndexErrors,
    memory::{self, DeviceMemory, Room},
    order::{Flags, Lane, Later},
    shared::Shared,
    threads::Threads,
};

/// The CPU as a device. Clones are the same device.
///
/// An operation runs in the thread that calls for it, with other threads helping, and is over when the call
/// returns. Threads of the program that use different streams do not wait for each other; on one stream,
/// operations run one after another.
///
/// ```
/// use devarray::{Array, Context};
/// use devarray_host::HostDevice;
///
/// let stream = Context::new(HostDevice::new())?.stream()?;
/// let x = Array::from_slice(&stream, &[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let y = x.view().map(&stream, |x| x * x)?;
/// assert_eq!(y.to_vec(&stream)?, [1.0, 4.0, 9.0, 16.0, 25.0, 36.0]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// Memory of the device is viewed in place, without a copy: as slices by
/// [`ArrayView::host`](devarray::ArrayView::host), and with the feature `ndarray` of `devarray` as views of
/// that crate by `host_ndarray`.
///
/// ```
/// # use devarray::{Array, Context};
/// # use devarray_host::HostDevice;
/// # let stream = Context::new(HostDevice::new())?.stream()?;
/// let mut x = Array::from_slice(&stream, &[3], &[1, 2, 3])?;
/// x.host_mut()?.sort_by(|a, b| b.cmp(a));
/// x.view_mut().map_in_place(&stream, |x| x * 10)?;
/// assert_eq!(x.host()?, [30, 20, 10]);
/// # Ok::<(), devarray::Error>(())
/// ```
///
/// Borrowed memory is not written meanwhile:
///
/// ```compile_fail,E0502
/// # use devarray::{Array, Context};
/// # use devarray_host::HostDevice;
/// # let stream = Context::new(HostDevice::new())?.stream()?;
/// # let mut x = Array::from_slice(&stream, &[3], &[1, 2, 3])?;
/// let slice = x.host()?;
/// x.view_mut().fill(&stream, 0)?;
/// assert_eq!(slice, [1, 2, 3]);
/// # Ok::<(), devarray::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct HostDevice {
    pub(crate) shared: Arc<Shared>,
}

impl Default for HostDevice {
    fn default() -> Self {
        Self::new()
    }
}

impl HostDevice {
    /// A device with most of the machine's memory and all its threads. It takes memory and starts threads
    /// only when it needs them.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// A device with other limits.
    pub fn builder() -> Builder {
        Builder::new()
    }

    fn of(builder: Builder) -> Self {
        let Builder { capacity_bytes, kept_bytes, threads } = builder;
        let room = Arc::new(Room::new(capacity_bytes, kept_bytes.unwrap_or(capacity_bytes / 4)));
        let (later, threads) = (Later::new(&room), Threads::new(threads));
        let (flags, index_errors) = (Flags::default(), IndexErrors::default());
        let info = info(capacity_bytes, threads.count());
        Self { shared: Arc::new(Shared { info, room, later, flags, threads, index_errors }) }
    }

    /// The number of threads that compute, including the calling thread.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.shared.threads.count()
    }

    /// Whether both are the same device.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Builder {
    /// The device. Starts no thread and takes no memory yet.
    #[must_use]
    pub fn build(self) -> HostDevice {
        HostDevice::of(self)
    }
}

fn info(capacity_bytes: usize, threads: usize) -> DeviceInfo {
    let mut info = DeviceInfo::new(BACKEND, format!("this host, {threads} threads"));
    info.capabilities.extras = [
        Capability::EventTiming,
        Capability::RegisteredMemory,
        Capability::MappedMemory,
        Capability::WriteCombinedMemory,
        Capability::ManagedMemory,
        Capability::MemoryPool,
        Capability::ForeignMemory,
        Capability::Functions,
        Capability::Reductions,
        Capability::Gathers,
        Capability::Orders,
        Capability::Products,
        Capability::Kernels,
        Capability::Collectives,
    ]
    .into();
    if memory::ARE_THERE {
        info.capabilities.extras = info.capabilities.extras.with(Capability::Ipc);
    }
    info.properties.total_memory_bytes = capacity_bytes;
    info.properties.multiprocessors = threads;
    info.properties.is_integrated = true;
    info
}

// SAFETY: operations run at their turns, which a stream gives in order, and touch only the bytes of their
// plan or range. A turn waits only for earlier turns, and every turn belongs to a thread that runs or waits
// for earlier ones, so there is progress.
unsafe impl Device for HostDevice {
    type Buffer = DeviceMemory;
    type HostBuffer = HostMemory;
    type Event = HostEvent;
    type Stream = HostStream;

    fn info(&self) -> &DeviceInfo {
        &self.shared.info
    }

    fn memory(&self) -> Result<MemoryInfo> {
        Ok(self.shared.room.info())
    }

    fn open_stream(&self) -> Result<HostStream> {
        Ok(HostStream::new(Arc::new(Lane::new(Arc::clone(&self.shared)))))
    }

    fn alloc_host(&self, len_bytes: NonZeroUsize) -> Result<HostMemory> {
        HostMemory::alloc(&self.shared.room, "alloc_host", len_bytes.get())
    }
}
