//! The simulated device, and its methods beyond the traits.
#![allow(unsafe_code)] // implements an unsafe trait; performs no unsafe operation

use std::{
    num::NonZeroUsize,
    ops::Range,
    panic::Location,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use devarray::{
    Error, Result,
    backend::{Device, DeviceInfo, HostFlags, MemoryInfo, StreamOwner},
    gather::{Finished, IndexError},
    timeline::Timeline,
};

use crate::{
    buffer::MockBuffer,
    builder::Builder,
    engine::{Engine, HostUse},
    event::MockEvent,
    fault::{Fault, Fired, Site},
    finding::{Access, Finding},
    host::MockHostBuffer,
    judge::Judge,
    peer::properties,
    profile::Profile,
    report::Report,
    schedule::Chooser,
    statistics::Statistics,
    stream::MockStream,
    trace::Trace,
};

/// The name of the backend in errors.
pub(crate) const BACKEND: &str = "mock";

/// A simulated device in host memory. Clones are one device.
///
/// Its options alone decide what runs when: the same options and the same calls give the same run.
///
/// Queued work runs when its last clone, stream, event and buffer is gone.
#[derive(Clone)]
pub struct MockDevice {
    shared: Arc<Shared>,
}

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

impl MockDevice {
    /// A device with the default options: [`Schedule::Lazy`](crate::Schedule::Lazy), seed 0, 8 GiB,
    /// ordinal 0, no limits.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Options to change.
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn with(options: Builder) -> Self {
        let chooser = Chooser::new(options.schedule, options.seed, options.record);
        let mut engine = Engine::new(
            chooser,
            Judge::new(options.judge, options.forgets_waits, options.profile),
            options.memory_limit_bytes,
            options.host_limit_bytes,
            options.record_order,
            options.faults,
        );
        if options.record_timeline {
            engine.record_timeline();
        }
        if options.lints {
            engine.look_for_lints();
        }
        engine.check_kernels(options.check_kernels);
        engine.set_most_queued(options.most_queued);
        let mut info = options.info;
        info.properties = properties(info.ordinal, options.memory_limit_bytes);
        let (engine, machine) = (Arc::new(Mutex::new(engine)), MACHINES.fetch_add(1, Relaxed));
        let adopts_host_memory = options.adopts_host_memory;
        Self { shared: Arc::new(Shared { info, process: 0, engine, machine, adopts_host_memory }) }
    }

    /// A device of the same machine, as a process sees it.
    pub(crate) fn beside(&self, info: DeviceInfo, process: u64) -> Self {
        let engine = Arc::clone(&self.shared.engine);
        let Shared { machine, adopts_host_memory, .. } = *self.shared;
        Self { shared: Arc::new(Shared { info, process, engine, machine, adopts_host_memory }) }
    }

    /// Waits for the whole device: runs everything that is queued, on all streams.
    pub fn finish(&self) {
        self.shared.engine().synchronize_all();
    }

    /// The behaviour beyond documented promises.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.shared.engine().profile()
    }

    /// Tells the judge that the host itself reads or writes these bytes of pinned memory now. It is
    /// a finding if an operation that the host has not waited for uses them, or if they are
    /// outside. Touches nothing and runs nothing.
    #[track_caller]
    pub fn host_access(&self, host: &MockHostBuffer, bytes: Range<usize>, access: Access) {
        let addresses = host.addresses_of(bytes);
        self.shared.engine().host_access(&addresses, access, Location::caller());
    }

    /// As [`host_access`](Self::host_access), of any host memory, by its addresses.
    #[track_caller]
    pub fn host_access_at(&self, memory: Range<*const u8>, access: Access) {
        let addresses = memory.start.addr()..memory.end.addr();
        self.shared.engine().host_access(&addresses, access, Location::caller());
    }

    /// The first mistake that was found. Runs nothing.
    #[must_use]
    pub fn first_finding(&self) -> Option<Finding> {
        self.shared.engine().first_finding().cloned()
    }

    /// Live objects and findings. First runs everything that is queued.
    #[must_use]
    pub fn report(&self) -> Report {
        self.shared.engine().report()
    }

    /// Counts of calls and operations. Runs nothing.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.shared.engine().statistics()
    }

    /// Makes a call of `site` fail: the next one that no fault is planned for yet.
    pub fn fail_next(&self, site: Site, fault: impl Into<Fault>) {
        self.shared.engine().plan_fault(site, fault.into());
    }

    /// The calls that failed because [the plan](Builder::faults) named them, oldest first; at most
    /// 1,000.
    #[must_use]
    pub fn faults_fired(&self) -> Vec<Fired> {
        self.shared.engine().fired().to_vec()
    }

    /// The choices so far; none unless [recorded](Builder::record_trace).
    #[must_use]
    pub fn trace(&self) -> Option<Trace> {
        self.shared.engine().recorded()
    }

    /// Numbers of the operations that have run and of accesses of the host that it was told of, in
    /// the order in which they were done; none unless [recorded](Builder::record_order).
    #[must_use]
    pub fn order(&self) -> Option<Vec<u64>> {
        self.shared.engine().order().map(<[u64]>::to_vec)
    }

    /// How often the schedule chose whether the host or a stream goes on: the steps of
    /// [`Schedule::Priorities`](crate::Schedule::Priorities).
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.shared.engine().steps()
    }

    /// The steps of the host and the streams so far, by the simulated clock, with the operations of
    /// findings marked; `None` unless [recorded](Builder::record_timeline). Runs nothing, so queued
    /// work is missing. Devices of one machine have one timeline.
    ///
    /// ```
    /// use devarray::{Array, Context};
    /// use devarray_mock::MockDevice;
    ///
    /// let device = MockDevice::builder().record_timeline(true).build();
    /// let stream = Context::new(device.clone())?.stream()?;
    /// Array::<f32, _>::zeros(&stream, &[4])?.to_vec(&stream)?;
    ///
    /// let timeline = device.timeline().expect("it was recorded");
    /// let mut trace = Vec::new(); // or a file, for Perfetto
    /// timeline.write_json(&mut trace)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn timeline(&self) -> Option<Timeline> {
        let info = self.info();
        self.shared.engine().timeline(format!("{} {}: {}", info.backend, info.ordinal, info.name))
    }

    /// A hash of the choices so far and of the order in which operations ran: equal for equal runs.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.shared.engine().trace_hash()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

/// The host has no more memory, or none that may be pinned.
pub(crate) fn out_of_host_memory(operation: &'static str, len_bytes: NonZeroUsize) -> Error {
    Error::out_of_memory(BACKEND, operation, len_bytes.get(), None)
}

impl Default for MockDevice {
    fn default() -> Self {
        Self::new()
    }
}

// SAFETY: the four promises, kept by the engine, which all handles share behind one lock.
// Order: a lane is a first-in, first-out queue, and a wait leaves it only after the event's
// operation ran. Confinement: device memory is reached through slices of the allocation; host
// memory through the range of the operation. Quiescence: `Done`, `Ended` and `true` are answered
// only when the covered operations have left their lanes. Progress: waits run steps until the work
// has run, and a query runs one that the work needs.
unsafe impl Device for MockDevice {
    type Buffer = MockBuffer;
    type HostBuffer = MockHostBuffer;
    type Event = MockEvent;
    type Stream = MockStream;

    fn info(&self) -> &DeviceInfo {
        &self.shared.info
    }

    fn memory(&self) -> Result<MemoryInfo> {
        let mut engine = self.shared.engine();
        engine.enter(Site::Memory)?;
        Ok(engine.ask_for_memory())
    }

    fn open_stream(&self) -> Result<MockStream> {
        let mut engine = self.shared.engine();
        engine.enter(Site::OpenStream)?;
        Ok(MockStream::new(self.clone(), engine.open_lane()))
    }

    #[track_caller]
    fn alloc_host(&self, len_bytes: NonZeroUsize) -> Result<MockHostBuffer> {
        let location = Location::caller();
        let mut engine = self.shared.engine();
        engine.enter_asking(Site::AllocHost, len_bytes.get())?;
        let kind = HostUse::Pinned(HostFlags::new());
        MockHostBuffer::alloc(&self.shared, &mut engine, len_bytes, kind, location)
            .ok_or_else(|| out_of_host_memory("alloc_host", len_bytes))
    }

    fn take_index_error(&self, gather: Finished) -> Option<IndexError> {
        self.shared.engine().take_index_error(gather.number())
    }
}
