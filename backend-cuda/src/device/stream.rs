//! The stream of a device, and its promises.
#![allow(unsafe_code)] // vouches for the contracts of the traits

use std::{fmt, num::NonZeroUsize, sync::Arc};

use devarray::{
    Result,
    backend::{CopyOp, DownloadOp, FetchOp, Fetches, Fetching, FillOp, FreeOp, Quiesced, Stream, UploadOp},
};

use super::{CudaDevice, OpenDevice};
use crate::{
    context::Context,
    driver::sys,
    event::{CudaEvent, Kind},
    fetch::{self, HostSlots},
    function::{Computing, StreamFunctions},
    gather::Gathers,
    memory::CudaBuffer,
    stream::RawStream,
};

/// A stream of a device. It is non-blocking, so it is ordered neither with the default stream nor
/// with any other.
///
/// A wait ends in [`Quiesced::Done`] or [`Quiesced::Unknown`]; [`CudaEvent`] says why.
pub struct CudaStream {
    pub(crate) raw: Arc<RawStream>,
    /// The functions that it computes, whose kernels may run until the stream ends.
    pub(super) computed: StreamFunctions,
    pub(super) open: Arc<OpenDevice>,
}

impl CudaStream {
    pub(super) fn open(device: &CudaDevice) -> Result<Self> {
        let raw = RawStream::open(&device.context, &device.open.streams)?;
        Ok(Self { raw, computed: StreamFunctions::default(), open: Arc::clone(&device.open) })
    }

    /// Opens a stream whose operations are captured. Memory that they need is allocated on this
    /// stream.
    pub(crate) fn open_to_capture(&self) -> Result<Self> {
        let raw = self.raw.open_to_capture()?;
        Ok(Self { raw, computed: StreamFunctions::default(), open: Arc::clone(&self.open) })
    }

    /// The driver's handle, for code outside this library. It is valid as long as the stream.
    ///
    /// After this call, strided copies of this stream begin only when all earlier work is done,
    /// which costs each a microsecond or two. Before it, a copy begins while the launch before it
    /// still runs, and the copy's kernel waits for that launch before it touches memory. It waits
    /// for no earlier launch, and a kernel of other code between them may not have waited for those
    /// either (CUDA C++ Programming Guide, "Programmatic Dependent Launch"). If other code launches
    /// a kernel in this way after a copy, the kernel may begin before the copy is done, and must
    /// itself wait, as the guide says.
    ///
    /// While other code captures the stream into a graph, nobody may query, reset or trim the pool
    /// of its context: that frees small memory on every stream that keeps some, and the free would
    /// become part of the graph.
    #[must_use]
    pub fn raw(&self) -> sys::CUstream {
        self.raw.share()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        self.raw.context()
    }

    fn computing(&self) -> Computing<'_> {
        self.open.functions.computing(self.context(), &self.raw, &self.computed)
    }

    /// The kernels of gathers, and their reports.
    pub(crate) fn gathers(&self) -> &Gathers {
        &self.open.gathers
    }

    fn host_slots(&self) -> &HostSlots {
        &self.open.host_slots
    }
}

// SAFETY: each operation is enqueued on this one stream of the driver, which keeps S1 to S8 (CUDA
// C++ Programming Guide, "Streams" and "Stream Ordered Memory Allocator"; cuda.h,
// `cuStreamWaitEvent`, `cuStreamDestroy`). The stream is non-blocking, so no order beyond events is
// implied.
unsafe impl Stream for CudaStream {
    type Device = CudaDevice;

    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<CudaBuffer> {
        self.raw.alloc(len_bytes)
    }

    fn free(&self, op: FreeOp<CudaBuffer>) -> Result<()> {
        self.raw.free(op)
    }

    fn copy(&self, op: &CopyOp<'_, CudaBuffer>) -> Result<()> {
        self.raw.copy("copy", op)
    }

    fn copy_all(&self, ops: &[CopyOp<'_, CudaBuffer>]) -> Result<()> {
        self.raw.copy_all(ops)
    }

    fn fill(&self, op: &FillOp<'_, CudaBuffer>) -> Result<()> {
        self.raw.fill(op)
    }

    fn upload(&self, op: &UploadOp<'_, CudaBuffer>) -> Result<()> {
        self.raw.upload(op)
    }

    fn download(&self, op: &DownloadOp<'_, CudaBuffer>) -> Result<()> {
        self.raw.download(op)
    }

    fn record(&self) -> Result<CudaEvent> {
        self.raw.record_as(Kind::Plain)
    }

    fn wait(&self, event: &CudaEvent) -> Result<()> {
        self.context().check_driver("wait", event.context())?;
        self.raw.wait_on("wait", event.raw())
    }

    fn synchronize(&self) -> Quiesced {
        self.raw.synchronize().map_or_else(Quiesced::Unknown, |()| Quiesced::Done)
    }
}

// SAFETY: the kernel is enqueued on the stream, so a mark of it is there only when everything in
// front of it is finished; a thread stores it after it has read what it was asked for, and the
// host looks for the marks of all threads. A reduction stores its one element, at once, when it has
// read all elements and whatever parts of them it stored; no other store of it comes later.
unsafe impl Fetches<CudaBuffer> for CudaStream {
    /// 0 on a stream that computes no functions, which then needs no kernel for this.
    fn most_fetched_bytes(&self) -> usize {
        if self.computed.is_begun() { fetch::MOST_BYTES } else { 0 }
    }

    fn fetch(&self, op: &FetchOp<'_, CudaBuffer>) -> Result<Fetching> {
        self.host_slots().fetch(self.computing(), op)
    }

    fn fetched(&self, begun: Fetching, bytes: &mut [u8]) -> Quiesced {
        self.host_slots().fetched(&self.raw, &begun, bytes)
    }
}

devarray::capabilities!(impl[] CudaStream: without ChecksForeign, RunsAtOnce);

impl Drop for CudaStream {
    /// This comes before the driver's stream goes, so that it is known when the kernels of its
    /// functions end.
    fn drop(&mut self) {
        // Captured operations run on another stream, and are over when this stream goes.
        if self.computed.is_begun() && !self.raw.captures() {
            let close = |driver: &_| self.open.functions.close(driver, self.raw.raw());
            self.context().release("destroy stream", close);
        }
    }
}

impl fmt::Debug for CudaStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaStream({:?})", self.raw)
    }
}
