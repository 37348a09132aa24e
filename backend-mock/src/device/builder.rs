//! Options of a device.

use std::time::Duration;

use devarray::backend::{Capabilities, Capability, DeviceInfo};

use super::{MockDevice, properties::properties, shared::Shared};
use crate::{
    backend::BACKEND,
    engine::Engine,
    fault::FaultPlan,
    judge::Judge,
    profile::Profile,
    schedule::{Chooser, Schedule},
};

/// Memory of a device unless told otherwise: 8 GiB.
const DEFAULT_MEMORY_BYTES: usize = 8 << 30;

/// Operations that are queued at a time unless told otherwise.
const DEFAULT_MOST_QUEUED: usize = 4096;

/// The time for which a rank may keep the turn unless told otherwise.
const RANK_TIME_LIMIT: Duration = Duration::from_secs(30);

/// The extras that the simulator knows.
const EXTRAS: [Capability; 17] = [
    Capability::EventTiming,
    Capability::RegisteredMemory,
    Capability::MappedMemory,
    Capability::WriteCombinedMemory,
    Capability::ManagedMemory,
    Capability::ForeignMemory,
    Capability::PeerAccess,
    Capability::Ipc,
    Capability::DeviceSymbols,
    Capability::MemoryPool,
    Capability::Functions,
    Capability::Reductions,
    Capability::Gathers,
    Capability::Orders,
    Capability::Products,
    Capability::Kernels,
    Capability::Collectives,
];

/// Options of a [`MockDevice`]; from [`MockDevice::builder`].
///
/// ```
/// use devarray_mock::{MockDevice, Schedule};
///
/// let device = MockDevice::builder().schedule(Schedule::Random).seed(7).memory_limit_bytes(1 << 20).build();
/// ```
#[derive(Clone)]
#[must_use = "a builder makes a device only when `build` is called"]
pub struct Builder {
    pub(crate) info: DeviceInfo,
    pub(crate) profile: Profile,
    pub(crate) schedule: Schedule,
    pub(crate) seed: u64,
    pub(crate) record: bool,
    pub(crate) record_order: bool,
    pub(crate) record_timeline: bool,
    pub(crate) judge: bool,
    pub(crate) lints: bool,
    pub(crate) check_kernels: bool,
    pub(crate) forgets_waits: bool,
    pub(crate) adopts_host_memory: bool,
    pub(crate) most_queued: usize,
    pub(crate) rank_time_limit: Duration,
    pub(crate) memory_limit_bytes: usize,
    pub(crate) host_limit_bytes: usize,
    pub(crate) faults: FaultPlan,
}

impl Builder {
    pub(crate) fn new() -> Self {
        let mut info = DeviceInfo::new(BACKEND, "simulator in host memory");
        info.capabilities.extras = EXTRAS.into();
        Self {
            info,
            profile: Profile::Strict,
            schedule: Schedule::default(),
            seed: 0,
            record: false,
            record_order: false,
            record_timeline: false,
            judge: true,
            lints: false,
            check_kernels: false,
            forgets_waits: false,
            adopts_host_memory: false,
            most_queued: DEFAULT_MOST_QUEUED,
            rank_time_limit: RANK_TIME_LIMIT,
            memory_limit_bytes: DEFAULT_MEMORY_BYTES,
            host_limit_bytes: usize::MAX,
            faults: FaultPlan::new(),
        }
    }

    /// The machine's behaviour beyond documented promises. By default [`Profile::Strict`], which
    /// adds none.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// How to choose among legal orders. [`Schedule::Lazy`] unless told.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// The seed of [`Schedule::Random`]; the other schedules ignore it. 0 unless told.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Keeps every choice for [`MockDevice::trace`], a word each. Off unless told. A run can be
    /// repeated from its options or from its trace.
    pub fn record_trace(mut self, record: bool) -> Self {
        self.record = record;
        self
    }

    /// Keeps the order in which operations run for [`MockDevice::order`], a word each. Off unless
    /// told.
    pub fn record_order(mut self, record: bool) -> Self {
        self.record_order = record;
        self
    }

    /// Keeps the steps of the host and the streams for [`MockDevice::timeline`], a few hundred
    /// bytes an operation. Off unless told.
    pub fn record_timeline(mut self, record: bool) -> Self {
        self.record_timeline = record;
        self
    }

    /// Whether operations are judged when they are enqueued, and mistakes become
    /// [findings](crate::Finding). On unless told.
    ///
    /// If off, nothing is looked for: no repeated index, no value that was never given, no lint, and
    /// [kernels](Self::check_kernels) run once. Only what cannot be done is found: an operation that
    /// reaches outside a memory, which is refused ([`OutOfBounds`](crate::Code::OutOfBounds)), and a
    /// host function that panics ([`HostPanicked`](crate::Code::HostPanicked)). What is still alive
    /// is reported either way.
    pub fn judge(mut self, judge: bool) -> Self {
        self.judge = judge;
        self
    }

    /// Whether to look for uses that are right, yet slow or needless, and to list them in
    /// [`Report::lints`](crate::Report::lints). Off unless told, and without the [judge](Self::judge).
    pub fn lints(mut self, lints: bool) -> Self {
        self.lints = lints;
        self
    }

    /// Whether the host function of a kernel runs twice, with different bytes wherever it must not
    /// read. Undeclared reads, and elements left unwritten, then become [findings](crate::Finding).
    /// Off unless told, and without the [judge](Self::judge); on in [`explore`](crate::explore()).
    ///
    /// Writes outside its arguments are found either way, by the judge.
    pub fn check_kernels(mut self, check: bool) -> Self {
        self.check_kernels = check;
        self
    }

    /// Plants a bug in the judge: waits of streams for events order nothing. For tests of tests.
    #[doc(hidden)]
    pub fn forgets_waits(mut self, forgets: bool) -> Self {
        self.forgets_waits = forgets;
        self
    }

    /// Whether memory of the host that the device does not know can be
    /// [adopted](devarray::Array::adopt) by its address on the host, as where a device reaches
    /// all memory of the system. Off unless told: an address that the device does not know is then
    /// refused.
    ///
    /// If memory is adopted twice, the judge sees one memory if the second range lies in the first,
    /// else two.
    pub fn adopts_host_memory(mut self, adopts: bool) -> Self {
        self.adopts_host_memory = adopts;
        self
    }

    /// The time for which a rank of a [cluster](MockDevice::cluster) may keep the turn without a call that comes
    /// here. 30 seconds unless told. Beyond that it is a [finding](crate::Code::RankBlocked), and all ranks
    /// go on at once.
    pub fn rank_time_limit(mut self, limit: Duration) -> Self {
        self.rank_time_limit = limit;
        self
    }

    /// Operations that are queued at a time, over all streams. 4,096 unless told. A call that
    /// enqueues one more runs those enqueued first, whatever the schedule, so that a program that
    /// never waits does not take ever more of the host's memory. That is no choice: no
    /// [trace](crate::Trace) has it, and a replay needs the same limit. `usize::MAX`: no limit.
    pub fn most_queued(mut self, operations: usize) -> Self {
        self.most_queued = operations;
        self
    }

    /// Bytes of device memory. 8 GiB unless told. The host's memory is used only as far as it is
    /// allocated.
    pub fn memory_limit_bytes(mut self, limit_bytes: usize) -> Self {
        self.memory_limit_bytes = limit_bytes;
        self
    }

    /// Bytes of host memory that can be pinned at a time. No limit unless told.
    pub fn host_limit_bytes(mut self, limit_bytes: usize) -> Self {
        self.host_limit_bytes = limit_bytes;
        self
    }

    /// Which calls fail, and how. None unless told.
    ///
    /// ```
    /// use devarray::{Array, Context};
    /// use devarray_mock::MockDevice;
    ///
    /// /// How many allocations succeed, each twice as large as the one before.
    /// fn doublings(plan: &str) -> devarray::Result<usize> {
    ///     let device = MockDevice::builder().faults(plan.parse().expect("a plan")).build();
    ///     let stream = Context::new(device)?.stream()?;
    ///     Ok((0..20).take_while(|&bits| Array::<u8, _>::uninit(&stream, &[1 << bits]).is_ok()).count())
    /// }
    ///
    /// assert_eq!(doublings("")?, 20);
    /// assert_eq!(doublings("hole=4096")?, 13); // 4096 bytes are the most in one piece
    /// assert_eq!(doublings("alloc#7=refused")?, 20); // the eighth allocation fails, and is tried once more
    /// assert_eq!(doublings("alloc#7=lost")?, 7); // the device is lost at the eighth
    /// # Ok::<(), devarray::Error>(())
    /// ```
    pub fn faults(mut self, plan: FaultPlan) -> Self {
        self.faults = plan;
        self
    }

    /// Limits for the copy planner, and the extras of the device. No limits, and every capability that
    /// the simulator knows, unless told.
    pub fn capabilities(mut self, capabilities: Capabilities) -> Self {
        self.info.capabilities = capabilities;
        self
    }

    /// The number of the device. 0 unless told.
    pub fn ordinal(mut self, ordinal: usize) -> Self {
        self.info.ordinal = ordinal;
        self
    }

    /// The device.
    #[must_use]
    pub fn build(self) -> MockDevice {
        let chooser = Chooser::new(self.schedule, self.seed, self.record);
        let mut engine = Engine::new(
            chooser,
            Judge::new(self.judge, self.forgets_waits, self.profile),
            self.memory_limit_bytes,
            self.host_limit_bytes,
            self.record_order,
            self.faults,
        );
        if self.record_timeline {
            engine.record_timeline();
        }
        if self.lints {
            engine.look_for_lints();
        }
        engine.check_kernels(self.check_kernels);
        engine.set_most_queued(self.most_queued);
        let mut info = self.info;
        info.properties = properties(info.ordinal, self.memory_limit_bytes);
        MockDevice::of(Shared::new(info, engine, self.adopts_host_memory, self.rank_time_limit))
    }
}

impl MockDevice {
    /// A device with the default options: [`Schedule::Lazy`], seed 0, 8 GiB,
    /// ordinal 0, no limits.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Options to change.
    pub fn builder() -> Builder {
        Builder::new()
    }
}

impl Default for MockDevice {
    fn default() -> Self {
        Self::new()
    }
}
