//! Short calls for stream programs of raw operations.
#![allow(unsafe_code)] // makes operations by their unchecked constructors, to leave out on purpose what core would order

use std::num::NonZeroUsize;

use devarray::{
    Layout, Result,
    backend::{
        Capabilities, CopyOp, Device, DownloadOp, FillOp, FreeOp, HostBuffer, Quiesced, Stream, UploadOp,
    },
    copy::Plan,
};
use devarray_mock::{Builder, MockBuffer, MockDevice, MockEvent, MockHostBuffer, MockStream, Schedule};

/// The reason why a test's call cannot fail.
pub(crate) const PLAIN: &str = "no fault is planned, and the operation is in bounds";

/// A device that picks legal orders from `seed`.
pub(crate) fn random(seed: u64) -> MockDevice {
    device(Schedule::Random, seed)
}

pub(crate) fn device(schedule: Schedule, seed: u64) -> MockDevice {
    builder().schedule(schedule).seed(seed).build()
}

pub(crate) fn builder() -> Builder {
    MockDevice::builder()
}

pub(crate) fn size(len_bytes: usize) -> NonZeroUsize {
    NonZeroUsize::new(len_bytes).expect("tests use sizes above 0")
}

/// All fixed schedules, and some random ones.
pub(crate) fn every_schedule() -> impl Iterator<Item = (Schedule, u64)> {
    let fixed = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy].map(|schedule| (schedule, 0));
    fixed.into_iter().chain((0..20).map(|seed| (Schedule::Random, seed)))
}

/// A stream with one method for each operation.
pub(crate) struct Queue(pub(crate) MockStream);

impl Queue {
    pub(crate) fn open(device: &MockDevice) -> Self {
        Self(device.open_stream().expect(PLAIN))
    }

    #[track_caller]
    pub(crate) fn alloc(&self, len_bytes: usize) -> MockBuffer {
        self.0.alloc(size(len_bytes)).expect(PLAIN)
    }

    pub(crate) fn free(&self, buffer: MockBuffer) -> Result<()> {
        // SAFETY: the buffer came from the same device. Some tests want its uses not to be ordered
        // before; the simulator defines the effect.
        self.0.free(unsafe { FreeOp::new_unchecked(buffer) })
    }

    pub(crate) fn copy(
        &self,
        dst: &MockBuffer,
        dst_offset: usize,
        src: &MockBuffer,
        src_offset: usize,
        len: usize,
    ) -> Result<()> {
        self.copy_plan(dst, src, &linear(dst_offset, src_offset, len))
    }

    pub(crate) fn copy_plan(&self, dst: &MockBuffer, src: &MockBuffer, plan: &Plan) -> Result<()> {
        // SAFETY: the operands are in bounds unless a test wants otherwise; the simulator defines
        // the effect of a race or of an access out of bounds.
        self.0.copy(&unsafe { CopyOp::new_unchecked(dst, src, plan) })
    }

    pub(crate) fn fill(&self, dst: &MockBuffer, offset: usize, len: usize, value: u8) -> Result<()> {
        self.fill_plan(dst, &linear(offset, offset, len), &[value])
    }

    pub(crate) fn fill_plan(&self, dst: &MockBuffer, plan: &Plan, pattern: &[u8]) -> Result<()> {
        // SAFETY: as for `copy_plan`; the plan was made for elements of the pattern's length.
        self.0.fill(&unsafe { FillOp::new_unchecked(dst, plan, pattern) })
    }

    /// Uploads all of `host`, which the caller keeps until the device is done with it.
    pub(crate) fn upload(&self, dst: &MockBuffer, offset: usize, host: &Host) -> Result<()> {
        let src = host.0.as_ptr().cast_const();
        // SAFETY: pinned memory that lives until the test has waited; nobody writes it meanwhile.
        // The rest is as for `copy_plan`.
        self.0.upload(&unsafe { UploadOp::new_unchecked(dst, offset, src, host.0.len_bytes()) })
    }

    /// Downloads to all of `host`, which the caller keeps until the device is done with it.
    pub(crate) fn download(&self, src: &MockBuffer, offset: usize, host: &Host) -> Result<()> {
        let dst = host.0.as_ptr();
        // SAFETY: pinned memory that lives until the test has waited; nobody reads it meanwhile,
        // except through `Host::bytes` on the same thread. The rest is as for `copy_plan`.
        self.0.download(&unsafe { DownloadOp::new_unchecked(src, offset, dst, host.0.len_bytes()) })
    }

    #[track_caller]
    pub(crate) fn record(&self) -> MockEvent {
        self.0.record().expect(PLAIN)
    }

    pub(crate) fn wait(&self, event: &MockEvent) {
        self.0.wait(event).expect(PLAIN);
    }

    #[track_caller]
    pub(crate) fn synchronize(&self) {
        assert_eq!(self.0.synchronize(), Quiesced::Done);
    }

    /// The bytes of a buffer after all earlier work of this stream.
    pub(crate) fn bytes(
        &self,
        device: &MockDevice,
        buffer: &MockBuffer,
        offset: usize,
        len: usize,
    ) -> Vec<u8> {
        let host = Host::new(device, &vec![0; len]);
        self.download(buffer, offset, &host).expect(PLAIN);
        self.synchronize();
        host.bytes()
    }
}

/// Pinned memory with methods for tests.
pub(crate) struct Host(pub(crate) MockHostBuffer);

impl Host {
    pub(crate) fn new(device: &MockDevice, bytes: &[u8]) -> Self {
        let host = device.alloc_host(size(bytes.len())).expect(PLAIN);
        // SAFETY: memory of that size, which nobody else uses yet.
        unsafe { host.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
        Self(host)
    }

    pub(crate) fn wrap(all: Vec<MockHostBuffer>) -> Vec<Self> {
        all.into_iter().map(Self).collect()
    }

    /// The bytes that the memory holds now. The simulator runs only inside calls, so no operation
    /// writes meanwhile.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        // SAFETY: initialized, alive as long as `self`, and read while no operation runs.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr(), self.0.len_bytes()) }.to_vec()
    }
}

/// The plan of a contiguous copy of bytes.
pub(crate) fn linear(dst_offset: usize, src_offset: usize, len: usize) -> Plan {
    let at = |offset| Layout::new(&[len], &[1], offset).expect("small");
    strided(&at(dst_offset), &at(src_offset), 1)
}

pub(crate) fn strided(dst: &Layout, src: &Layout, item_bytes: usize) -> Plan {
    Plan::new(dst, src, item_bytes, &Capabilities::default()).expect("the layouts of tests fit")
}
