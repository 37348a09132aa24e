//! An ordered queue of device work, and the contract of order.
#![allow(unsafe_code)] // declares an unsafe trait; performs no unsafe operation

use std::{fmt::Debug, num::NonZeroUsize};

use super::{
    Captures, ChecksForeign, CopyOp, Device, DownloadOp, Fetches, FillOp, FreeOp, Quiesced, RunsAtOnce,
    UploadOp,
};
use crate::Result;

/// A queue whose operations run one after another, asynchronously to the host and to other streams.
///
/// # The contract of order
///
/// Behind each clause stand the laws of the conformance suite that enforce it.
///
/// - **S1** Operations of one stream take effect in the order in which they were enqueued.
///   `streams::fifo` (S01)
/// - **S2** Operations of two streams are in no order, unless an event puts them in one.
///   `errors::strict_refuses` (S02)
/// - **S3** [`record`](Self::record) captures everything enqueued on the stream before it, and
///   nothing after. `events::snapshot` (E03), `events::earlier_events` (E04), `events::idle` (E01)
/// - **S4** After [`wait`](Self::wait), everything enqueued on this stream later runs after what
///   the event captured. `streams::fork_join` (S06), `events::edge_outlives_event` (E06)
/// - **S5** Order is transitive: whoever waits for a stream also waits for what that stream waited for.
///   `events::transitive` (E07)
/// - **S6** When [`synchronize`](Self::synchronize) returned `Done` or `Ended`, nothing enqueued
///   before it touches memory. `streams::synchronize` (S03), `events::synchronize` (E10),
///   `streams::polling` (S04)
/// - **S7** Memory from [`alloc`](Self::alloc) may be used by work ordered after it;
///   [`free`](Self::free) takes effect in stream order, so work ordered before it may still use the
///   memory. `buffers::drop_with_work_pending` (B08), `buffers::comes_back` (B10)
/// - **S8** Dropping a stream neither blocks nor cancels: what was enqueued still runs.
///   `streams::drop_completes` (S05)
///
/// # For callers
///
/// Programs use core's [`StreamHandle`](crate::StreamHandle), which keeps the order that these
/// methods need.
///
/// # For backend authors
///
/// Every method that enqueues does not synchronize: it returns once the operation is queued, may
/// return earlier than it runs, and may also run it at once. It must not answer "busy". An `Err`
/// from one means that the operation will touch nothing; if that is uncertain, wait physically
/// first. Copying or filling zero bytes never reaches a backend.
///
/// A stream without the abilities that [`Fetches`], [`ChecksForeign`], [`RunsAtOnce`] and [`Captures`] name says so
/// by [`capabilities!`](crate::capabilities).
///
/// # Safety
///
/// The clauses above, and what [`Device`] asks.
pub unsafe trait Stream:
    Debug
    + Send
    + Sync
    + 'static
    + Fetches<BufferOf<Self>>
    + ChecksForeign<BufferOf<Self>>
    + RunsAtOnce<BufferOf<Self>>
    + Captures
{
    /// The device it belongs to.
    type Device: Device<Stream = Self>;

    /// Allocates uninitialized device memory, usable in stream order (S7). Does not synchronize.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`](crate::Error::OutOfMemory) only when certain, and after everything the
    /// backend can give back was given back and the allocation tried once more.
    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<BufferOf<Self>>;

    /// Frees memory in stream order (S7). Does not synchronize.
    ///
    /// # Errors
    ///
    /// The memory stays allocated for good; the device stays usable unless the error is sticky.
    fn free(&self, op: FreeOp<BufferOf<Self>>) -> Result<()>;

    /// Copies device memory of this device to device memory of this device, as the plan says. Does
    /// not synchronize.
    ///
    /// One loop over [`Plan::runs`](crate::copy::Plan::runs) is a correct implementation; matching
    /// [`Plan::class`](crate::copy::Plan::class) makes it fast.
    ///
    /// # Errors
    ///
    /// Nothing was enqueued, and the destination is unchanged.
    fn copy(&self, op: &CopyOp<'_, BufferOf<Self>>) -> Result<()>;

    /// Carries out several copies, in any order or together. Does not synchronize.
    ///
    /// No copy reads or writes bytes that another one writes. Joins and paddings consist of such
    /// copies. For backends that are faster when they know all copies; by default, one
    /// [`copy`](Self::copy) each.
    ///
    /// # Errors
    ///
    /// Some may have been enqueued, and still run.
    #[track_caller]
    fn copy_all(&self, ops: &[CopyOp<'_, BufferOf<Self>>]) -> Result<()> {
        for op in ops {
            self.copy(op)?;
        }
        Ok(())
    }

    /// Repeats a pattern over device memory, as the plan says. Does not synchronize.
    ///
    /// # Errors
    ///
    /// Nothing was enqueued, and the destination is unchanged.
    fn fill(&self, op: &FillOp<'_, BufferOf<Self>>) -> Result<()>;

    /// Copies contiguous host memory to contiguous device memory. Does not synchronize: the host
    /// memory is read in stream order, or earlier.
    ///
    /// # Errors
    ///
    /// Nothing was enqueued: the host memory is not read any more.
    fn upload(&self, op: &UploadOp<'_, BufferOf<Self>>) -> Result<()>;

    /// Copies contiguous device memory to contiguous host memory. Does not synchronize: the host
    /// memory is written in stream order.
    ///
    /// # Errors
    ///
    /// Nothing was enqueued: the host memory is not written any more.
    fn download(&self, op: &DownloadOp<'_, BufferOf<Self>>) -> Result<()>;

    /// Captures everything enqueued so far (S3). Does not synchronize.
    ///
    /// # Errors
    ///
    /// No event was made; the stream is unchanged.
    fn record(&self) -> Result<<Self::Device as Device>::Event>;

    /// Makes everything enqueued later run after what `event` captured (S4). Does not synchronize.
    ///
    /// `event` may come from any stream of the device.
    ///
    /// # Errors
    ///
    /// No edge was made; the stream is unchanged.
    fn wait(&self, event: &<Self::Device as Device>::Event) -> Result<()>;

    /// Blocks the calling thread until everything enqueued so far is finished (S6).
    fn synchronize(&self) -> Quiesced;
}

/// The memory of the device that a stream belongs to.
pub type BufferOf<S> = <<S as Stream>::Device as Device>::Buffer;
