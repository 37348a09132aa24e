//! What all handles of one device hold.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use devarray::backend::{DeviceInfo, StreamOwner};

use crate::{backend::BACKEND, engine::Engine};

/// What all handles of one device hold.
pub(crate) struct Shared {
    info: DeviceInfo,
    /// Which process sees the device so.
    process: u64,
    /// One for all devices of a machine.
    engine: Arc<Mutex<Engine>>,
    /// Which machine, of all of this program.
    machine: u64,
    adopts_host_memory: bool,
}

/// Machines made so far.
static MACHINES: AtomicU64 = AtomicU64::new(0);

impl Shared {
    /// The first device of a new machine, in process 0.
    pub(crate) fn new(info: DeviceInfo, engine: Engine, adopts_host_memory: bool) -> Self {
        let (engine, machine) = (Arc::new(Mutex::new(engine)), MACHINES.fetch_add(1, Relaxed));
        Self { info, process: 0, engine, machine, adopts_host_memory }
    }

    /// A device of the same machine, as a process sees it.
    pub(crate) fn beside(&self, info: DeviceInfo, process: u64) -> Self {
        let Self { machine, adopts_host_memory, .. } = *self;
        Self { info, process, engine: Arc::clone(&self.engine), machine, adopts_host_memory }
    }

    /// Locks the engine. It stays usable after a panic, as every step leaves it consistent. Panics
    /// in the host function of a kernel, which runs while the engine is locked.
    pub(crate) fn engine(&self) -> MutexGuard<'_, Engine> {
        devarray::kernel::Running::lock(&self.engine)
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub(crate) fn adopts_host_memory(&self) -> bool {
        self.adopts_host_memory
    }

    pub(crate) fn process(&self) -> u64 {
        self.process
    }

    /// The owner of its streams, in their names.
    pub(crate) fn stream_owner(&self) -> StreamOwner {
        StreamOwner::new(BACKEND, self.machine)
    }

    /// Whether the two are handles of one machine.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.engine, &other.engine)
    }
}
