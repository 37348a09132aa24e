//! The simulated device, and its methods beyond the traits.

mod buffer;
mod builder;
mod captures;
mod collect;
mod compute;
mod contract;
mod event;
mod foreign;
mod host;
mod host_kinds;
mod ipc;
mod launch;
mod limits;
mod peer;
mod pool;
mod properties;
mod shared;
mod stream;
mod symbols;
mod timing;

use std::{ops::Range, panic::Location, sync::Arc};

use devarray::{
    backend::{Device as _, DeviceInfo},
    timeline::Timeline,
};

pub use buffer::MockBuffer;
pub use builder::Builder;
pub use collect::MockCommunicator;
pub use event::MockEvent;
pub use foreign::MockAdopted;
pub use host::MockHostBuffer;
pub use host_kinds::MockRegistration;
pub use ipc::{MockExportable, MockOpened};
pub(crate) use shared::Shared;
pub use stream::MockStream;
pub use symbols::MockModule;

use crate::{
    fault::{Fault, Fired, Site},
    finding::{Access, Finding},
    profile::Profile,
    report::Report,
    statistics::Statistics,
    trace::Trace,
    turns::Turn,
};

/// A simulated device in host memory. Clones are the same device.
///
/// The order of its work depends only on its options: equal options and equal calls give equal
/// runs.
///
/// Queued work runs when the last clone, stream, event and buffer of the device is dropped.
#[derive(Clone)]
pub struct MockDevice {
    shared: Arc<Shared>,
}

impl MockDevice {
    pub(crate) fn of(shared: Shared) -> Self {
        Self { shared: Arc::new(shared) }
    }

    /// Another device of the same machine, as seen by a process.
    pub(crate) fn beside(&self, info: DeviceInfo, process: u64) -> Self {
        Self::of(self.shared.beside(info, process))
    }

    /// Waits for the whole device: runs everything that is queued, on all streams.
    pub fn finish(&self) {
        self.shared.engine().synchronize_all();
    }

    /// The device's behaviour beyond documented promises.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.shared.engine().profile()
    }

    /// Tells the judge that the host itself reads or writes these bytes of pinned memory now. It is
    /// a finding if an operation that the host has not waited for uses the bytes, or if they are
    /// outside the memory. Touches nothing and runs nothing.
    #[track_caller]
    pub fn host_access(&self, host: &MockHostBuffer, bytes: Range<usize>, access: Access) {
        let addresses = host.addresses_of(bytes);
        self.shared.engine().host_access(&addresses, access, Location::caller());
    }

    /// Like [`host_access`](Self::host_access), for any host memory, given by its addresses.
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

    /// Makes a call of `site` fail: the next call for which no fault is planned yet.
    pub fn fail_next(&self, site: Site, fault: impl Into<Fault>) {
        self.shared.engine().plan_fault(site, fault.into());
    }

    /// The calls that failed because [the plan](Builder::faults) named them, the oldest first; at
    /// most 1,000.
    #[must_use]
    pub fn faults_fired(&self) -> Vec<Fired> {
        self.shared.engine().fired().to_vec()
    }

    /// The choices so far; none unless [recorded](Builder::record_trace).
    #[must_use]
    pub fn trace(&self) -> Option<Trace> {
        self.shared.engine().recorded()
    }

    /// The numbers of the operations that have run and of the accesses of the host that were
    /// declared, in the order in which they happened; none unless
    /// [recorded](Builder::record_order).
    #[must_use]
    pub fn order(&self) -> Option<Vec<u64>> {
        self.shared.engine().order().map(<[u64]>::to_vec)
    }

    /// The number of times that the schedule chose whether the host or a stream continues: the
    /// steps of [`Schedule::Priorities`](crate::Schedule::Priorities).
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

    /// Another device of the same machine, for a rank.
    pub(crate) fn of_turn(&self, turn: Arc<Turn>) -> Self {
        let Self { shared } = self.sibling();
        Self::of(shared.beside(shared.info().clone(), shared.process()).with_turn(turn))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}
