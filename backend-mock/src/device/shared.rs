//! The state that all handles of one device share.

use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use devarray::backend::{DeviceInfo, StreamOwner};

use crate::{
    backend::BACKEND,
    engine::Engine,
    turns::{Caller, Turn},
};

/// The state that all handles of one device share.
pub(crate) struct Shared {
    info: DeviceInfo,
    /// The process that sees the device.
    process: u64,
    /// One engine for all devices of a machine.
    engine: Arc<Mutex<Engine>>,
    /// The number of the machine, among all machines of this program.
    machine: u64,
    adopts_host_memory: bool,
    /// The time for which a rank may keep the turn.
    rank_time_limit: Duration,
    /// In a cluster, the turn of the rank that the device belongs to.
    turn: Option<Arc<Turn>>,
}

/// The number of machines made so far.
static MACHINES: AtomicU64 = AtomicU64::new(0);

impl Shared {
    /// The first device of a new machine, in process 0.
    pub(crate) fn new(
        info: DeviceInfo,
        engine: Engine,
        adopts_host_memory: bool,
        rank_time_limit: Duration,
    ) -> Self {
        let (engine, machine) = (Arc::new(Mutex::new(engine)), MACHINES.fetch_add(1, Relaxed));
        Self { info, process: 0, engine, machine, adopts_host_memory, rank_time_limit, turn: None }
    }

    /// A device of the same machine, as seen by a process.
    pub(crate) fn beside(&self, info: DeviceInfo, process: u64) -> Self {
        let Self { machine, adopts_host_memory, rank_time_limit, .. } = *self;
        let (engine, turn) = (Arc::clone(&self.engine), self.turn.clone());
        Self { info, process, engine, machine, adopts_host_memory, rank_time_limit, turn }
    }

    /// This device, for a rank.
    pub(crate) fn with_turn(self, turn: Arc<Turn>) -> Self {
        Self { turn: Some(turn), ..self }
    }

    /// The number of the host that makes calls on this device.
    pub(crate) fn host(&self) -> usize {
        self.turn.as_ref().map_or(0, |turn| turn.rank())
    }

    /// The turn of its rank, in a cluster.
    pub(crate) fn turn(&self) -> Option<&Arc<Turn>> {
        self.turn.as_ref()
    }

    pub(crate) fn rank_time_limit(&self) -> Duration {
        self.rank_time_limit
    }

    /// The engine of the machine, for the code that passes turns.
    pub(crate) fn machine(&self) -> &Arc<Mutex<Engine>> {
        &self.engine
    }

    /// The number of its machine, among all machines of this program.
    pub(crate) fn machine_number(&self) -> u64 {
        self.machine
    }

    /// Locks the engine; in a cluster, at the turn of the rank whose thread calls, whichever rank's handle this is. A
    /// thread that a rank started calls for the rank of the handle. The engine stays usable after a panic, because
    /// every step leaves it consistent. Panics in the host function of a kernel, which runs while the engine
    /// is locked.
    pub(crate) fn engine(&self) -> MutexGuard<'_, Engine> {
        let caller = Caller::on(&self.engine).or_else(|| self.turn().cloned());
        if let Some(turn) = &caller {
            turn.pass();
        }
        let mut engine = devarray::kernel::Running::lock(&self.engine);
        engine.set_host(caller.map_or(0, |turn| turn.rank()));
        engine
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

    /// The owner of its streams, for their names.
    pub(crate) fn stream_owner(&self) -> StreamOwner {
        StreamOwner::new(BACKEND, self.machine)
    }

    /// Whether both are handles of one machine.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.engine, &other.engine)
    }
}
