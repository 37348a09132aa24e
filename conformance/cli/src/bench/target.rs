//! The calls that a backend must offer, in addition to its arrays, to be measured.

use std::{hint::black_box, time::Instant};

use anyhow::Result;
use devarray::{StreamHandle, backend::Compute, copy::Plan};
use devarray_cuda::{MemorySpeed, explain_copy};
use devarray_host::HostDevice;
use devarray_mock::MockDevice;

use super::Work;

/// The calls under the library, for comparison: the calls that a program without the library would
/// make. They use the stream that they were made for, and are not tracked: the caller waits before
/// and after.
pub trait RawCalls {
    /// Enqueues a copy from device memory to device memory.
    ///
    /// # Errors
    ///
    /// The driver refused.
    fn copy(&self, dst: u64, src: u64, len_bytes: usize) -> Result<()>;

    /// Enqueues an allocation and its free.
    ///
    /// # Errors
    ///
    /// The driver refused.
    fn alloc_free(&self, len_bytes: usize) -> Result<()>;

    /// Makes an event and records it; if `and_wait` is set, lets the stream `waiter` wait for it;
    /// then destroys it.
    ///
    /// # Errors
    ///
    /// The driver refused.
    fn record(&self, and_wait: bool) -> Result<()>;

    /// Copies host memory to the device and waits.
    ///
    /// # Errors
    ///
    /// The driver refused.
    fn upload(&self, dst: u64, src: &[u8]) -> Result<()>;

    /// Copies device memory to the host and waits.
    ///
    /// # Errors
    ///
    /// The driver refused.
    fn download(&self, src: u64, dst: &mut [u8]) -> Result<()>;
}

/// A reference copy that can be repeated: the argument is the number of the buffers to use.
pub type Reference = Box<dyn FnMut(usize) -> Result<()>>;

/// A device whose copies can be timed.
pub trait Target: Compute {
    /// Seconds from the start to the end of the work that `work` enqueues on `stream`, on the
    /// device's own clock if it has one. Blocks.
    ///
    /// # Errors
    ///
    /// The errors of the work, and of the device.
    fn seconds(stream: &StreamHandle<Self>, work: Work<'_>) -> Result<f64>;

    /// A contiguous copy of `len_bytes`, over `sets` pairs of buffers.
    ///
    /// # Errors
    ///
    /// Out of memory.
    fn reference(stream: &StreamHandle<Self>, len_bytes: usize, sets: usize) -> Result<Reference>;

    /// Explains the copy of a plan between the allocations at these addresses: its kernels and the
    /// reasons, line by line.
    fn explain(stream: &StreamHandle<Self>, plan: &Plan, dst: u64, src: u64) -> Vec<String>;

    /// The calls under the library, if there are any: for `stream`, and for `waiter`, which waits
    /// for its events.
    ///
    /// # Errors
    ///
    /// The calls are not available.
    fn raw_calls(
        stream: &StreamHandle<Self>,
        waiter: &StreamHandle<Self>,
    ) -> Result<Option<Box<dyn RawCalls>>>;
}

/// Seconds on the host's clock.
pub(super) fn host_seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}

/// The plan, in one line.
pub(super) fn explain_plan(plan: &Plan) -> String {
    let (len, run, width) = (plan.len_bytes(), plan.run_bytes(), plan.width_bytes());
    let loops = plan.axes().len();
    format!("plan: {:?}: {len} B in runs of {run} B under {loops} loops, words of {width} B", plan.class())
}

/// A contiguous copy on the host: `memcpy`.
fn memcpy_reference(len_bytes: usize, sets: usize) -> Reference {
    let pair = || (vec![1_u8; len_bytes], vec![0_u8; len_bytes]);
    let mut pairs: Vec<_> = (0..sets).map(|_| pair()).collect();
    Box::new(move |set| {
        let (src, dst) = &mut pairs[set];
        black_box(dst).copy_from_slice(black_box(src));
        Ok(())
    })
}

/// Devices in host memory: the host's clock, and `memcpy` in one thread.
macro_rules! in_host_memory {
    ($device:ty, $explain:expr) => {
        impl Target for $device {
            fn seconds(stream: &StreamHandle<Self>, work: Work<'_>) -> Result<f64> {
                host_seconds(|| {
                    work()?;
                    Ok(stream.synchronize()?)
                })
            }

            fn reference(_: &StreamHandle<Self>, len_bytes: usize, sets: usize) -> Result<Reference> {
                Ok(memcpy_reference(len_bytes, sets))
            }

            fn explain(_: &StreamHandle<Self>, plan: &Plan, dst: u64, src: u64) -> Vec<String> {
                let explain: fn(&Plan, u64, u64) -> Vec<String> = $explain;
                let mut lines = vec![explain_plan(plan)];
                lines.extend(explain(plan, dst, src));
                lines
            }

            fn raw_calls(
                _: &StreamHandle<Self>,
                _: &StreamHandle<Self>,
            ) -> Result<Option<Box<dyn RawCalls>>> {
                Ok(None)
            }
        }
    };
}

in_host_memory!(MockDevice, |plan, dst, src| {
    let mut lines = vec!["the simulator copies run by run; on a CUDA device:".to_owned()];
    lines.extend(explain_copy(MemorySpeed::default(), plan, dst, src));
    lines
});
in_host_memory!(HostDevice, |_, _, _| vec![
    "the host copies large plans in pieces, on all threads".to_owned()
]);
