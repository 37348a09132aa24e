//! Streams: every operation is one driver call, enqueued.
#![allow(unsafe_code)] // calls the driver with the stream it owns; vouches for the contract of the trait

mod copy;
mod fill;
mod idle;
mod parts;

pub(crate) use idle::free_idle;
pub(crate) use parts::COUNTERS_BYTES;

use std::{
    fmt,
    num::NonZeroUsize,
    ptr,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use devarray::{
    Result,
    backend::{Buffer, CopyOp, DownloadOp, Fetch, FillOp, FreeOp, Quiesced, Stream, UploadOp},
};

use crate::{
    context::Context,
    device::CudaDevice,
    driver::{Answer, Driver, sys},
    event::{CudaEvent, Kind},
    function::Recent,
    handle::{Handle, locked},
    kernels::Queue,
    memory::CudaBuffer,
    strided::Chosen,
};

/// A stream of a device: non-blocking, so it is ordered neither with the default stream nor with
/// any other.
///
/// A wait ends in [`Quiesced::Done`] or [`Quiesced::Unknown`]; [`CudaEvent`] says why.
pub struct CudaStream {
    raw: Arc<RawStream>,
}

/// The driver's stream; destroyed with its last owner, which neither blocks nor cancels.
pub(crate) struct RawStream {
    context: Arc<Context>,
    raw: Handle<sys::CUstream_st>,
    strided: Mutex<StridedState>,
    /// Whether it ever computed functions, so that their kernels may run until it ends.
    computes: AtomicBool,
    recent: Mutex<Recent>,
    parts: Mutex<parts::Parts>,
    idle: Mutex<idle::Idle>,
}

/// State of a stream for strided copies. Locked during a launch, which relies on it.
#[derive(Debug, Default)]
struct StridedState {
    /// Whether code outside this library got the handle, and may have put kernels of its own into
    /// the stream.
    shared: bool,
    /// The launches of the last copies.
    chosen: Chosen,
}

impl RawStream {
    pub(crate) fn raw(&self) -> sys::CUstream {
        self.raw.raw()
    }
}

impl CudaStream {
    pub(crate) fn open(context: &Arc<Context>) -> Result<Self> {
        let mut raw = ptr::null_mut();
        context.call("open_stream", |driver| {
            // SAFETY: the pointer is to a local of the right type, and the context is bound.
            unsafe { driver.stream_create(&raw mut raw, sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32) }
        })?;
        let raw = Arc::new(RawStream {
            context: Arc::clone(context),
            raw: Handle::new(raw),
            strided: Mutex::default(),
            computes: AtomicBool::new(false),
            recent: Mutex::default(),
            parts: Mutex::default(),
            idle: Mutex::default(),
        });
        context.remember(&raw);
        Ok(Self { raw })
    }

    /// The driver's handle, for code outside this library. It dies with the stream.
    ///
    /// From then on strided copies of this stream begin only when all before them is done, which
    /// costs each a microsecond or two. Until then a copy begins while the launch in front of it
    /// still works, and its kernel waits for that launch before it touches memory. It waits for no
    /// earlier launch, and a kernel of other code in front of it may not have waited for those
    /// either (CUDA C++ Programming Guide, "Programmatic Dependent Launch"). A kernel of other code
    /// that is launched in this way behind a copy may begin before the copy is done, and has to
    /// wait itself, as the guide says.
    ///
    /// While other code captures the stream into a graph, nobody asks for, resets or trims the pool
    /// of its context: that frees small memory on every stream that keeps some, and the free would
    /// become part of the graph.
    #[must_use]
    pub fn raw(&self) -> sys::CUstream {
        locked(&self.raw.strided).shared = true;
        self.raw.raw()
    }

    /// The same, for calls of this crate, which put no kernel there.
    pub(crate) fn handle(&self) -> sys::CUstream {
        self.raw.raw()
    }

    /// The same, to compute a function; with the last functions of the stream.
    pub(crate) fn computing(&self) -> (sys::CUstream, MutexGuard<'_, Recent>) {
        self.raw.computes.store(true, Relaxed);
        (self.raw.raw(), locked(&self.raw.recent))
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.raw.context
    }

    /// Records an event.
    pub(crate) fn record_as(&self, kind: Kind) -> Result<CudaEvent> {
        CudaEvent::record(self.context(), self.handle(), kind)
    }

    /// Makes what is enqueued later run after an event that is there.
    pub(crate) fn wait_on(&self, operation: &'static str, event: sys::CUevent) -> Result<()> {
        self.context().wait(operation, self.handle(), event)
    }

    /// Binds and enqueues.
    ///
    /// A failed call is documented to have no effect. But a driver may split a transfer and fail
    /// after the first part, so this waits for the stream before it returns the error.
    pub(crate) fn enqueue(
        &self,
        operation: &'static str,
        call: impl FnOnce(&Driver, sys::CUstream) -> Answer,
    ) -> Result<()> {
        let driver = self.context().bound(operation)?;
        call(driver, self.handle()).map_err(|failure| {
            // SAFETY: the stream is alive, and its context bound.
            if let Err(also) = unsafe { driver.stream_synchronize(self.handle()) } {
                driver.report(driver.error(operation, also));
            }
            driver.error(operation, failure)
        })
    }

    /// Enqueues a copy between memories that the device reaches.
    pub(crate) fn copy_reachable(&self, operation: &'static str, op: &CopyOp<'_, CudaBuffer>) -> Result<()> {
        self.enqueue(operation, |driver, _| self.raw.copy(driver, &copy::part(op)))
    }
}

// SAFETY: each operation is enqueued on this one stream of the driver, which keeps S1 to S8 (CUDA
// C++ Programming Guide, "Streams" and "Stream Ordered Memory Allocator"; cuda.h,
// `cuStreamWaitEvent`, `cuStreamDestroy`). The stream is non-blocking, so no order beyond events is
// implied.
unsafe impl Stream for CudaStream {
    type Device = CudaDevice;

    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<CudaBuffer> {
        if let Some(address) = locked(&self.raw.idle).take(len_bytes) {
            return Ok(CudaBuffer::new(self.context(), address, len_bytes));
        }
        let pool = self.context().pool().raw();
        let address = self.context().alloc("alloc", len_bytes, |driver, address| {
            // SAFETY: the pointer is to a local of the right type; pool and stream are of the bound
            // context.
            unsafe { driver.mem_alloc_from_pool_async(address, len_bytes.get(), pool, self.handle()) }
        })?;
        Ok(CudaBuffer::new(self.context(), address, len_bytes))
    }

    fn free(&self, op: FreeOp<CudaBuffer>) -> Result<()> {
        let buffer = op.into_buffer();
        let freed = locked(&self.raw.idle).keep(buffer.address(), buffer.nonzero_len_bytes());
        let Some(address) = freed else { return Ok(()) };
        let freed = self.context().call("free", |driver| {
            // SAFETY: the address is of an allocation that this stream was told to free, freed
            // once, and everything that uses it is ordered before.
            unsafe { driver.mem_free_async(address, self.handle()) }
        });
        match freed {
            // The error of another block, not of this buffer, which is kept.
            Err(error) if address != buffer.address() => self.context().driver().report(error),
            freed => return freed,
        }
        Ok(())
    }

    fn copy(&self, op: &CopyOp<'_, CudaBuffer>) -> Result<()> {
        self.copy_reachable("copy", op)
    }

    fn copy_all(&self, ops: &[CopyOp<'_, CudaBuffer>]) -> Result<()> {
        self.enqueue("copy", |driver, _| self.raw.copy_all(driver, ops))
    }

    fn fill(&self, op: &FillOp<'_, CudaBuffer>) -> Result<()> {
        let dst = op.dst().address();
        self.enqueue("fill", |driver, stream| {
            let to = Queue { driver, stream, overlap: false };
            fill::enqueue(to, &self.context().kernels, op.plan(), dst, op.pattern())
        })
    }

    fn upload(&self, op: &UploadOp<'_, CudaBuffer>) -> Result<()> {
        let dst = op.dst().address() + op.dst_range_bytes().start as u64;
        self.enqueue("upload", |driver, stream| {
            // SAFETY: the bytes lie inside the buffer; the host memory is valid until a wait that
            // covers this.
            unsafe { driver.memcpy_htod_async(dst, op.src().cast(), op.len_bytes(), stream) }
        })
    }

    fn download(&self, op: &DownloadOp<'_, CudaBuffer>) -> Result<()> {
        let src = op.src().address() + op.src_range_bytes().start as u64;
        self.enqueue("download", |driver, stream| {
            // SAFETY: the bytes lie inside the buffer; the host memory is valid until a wait that
            // covers this.
            unsafe { driver.memcpy_dtoh_async(op.dst().cast(), src, op.len_bytes(), stream) }
        })
    }

    /// Only on a stream that computes functions: other streams need no kernel for this.
    fn fetching(&self) -> Option<&dyn Fetch<CudaBuffer>> {
        self.raw.computes.load(Relaxed).then_some(self)
    }

    fn record(&self) -> Result<CudaEvent> {
        self.record_as(Kind::Plain)
    }

    fn wait(&self, event: &CudaEvent) -> Result<()> {
        self.context().check_driver("wait", event.context())?;
        self.wait_on("wait", event.raw())
    }

    fn synchronize(&self) -> Quiesced {
        let waited = self.context().call("synchronize", |driver| {
            // SAFETY: the stream is alive, and its context bound.
            unsafe { driver.stream_synchronize(self.handle()) }
        });
        waited.map_or_else(Quiesced::Unknown, |()| Quiesced::Done)
    }
}

impl Drop for RawStream {
    fn drop(&mut self) {
        if self.computes.load(Relaxed) {
            self.context.release("destroy stream", |driver| self.context.functions.close(driver, self.raw()));
        }
        self.context.forget(self);
        free_idle(self);
        parts::free(self, &mut locked(&self.parts));
        self.context.release("destroy stream", |driver| {
            // SAFETY: created by `CudaStream::open`, destroyed once.
            unsafe { driver.stream_destroy(self.raw()) }
        });
    }
}

impl fmt::Debug for CudaStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CudaStream({:?} on {:?})", self.raw.raw, self.raw.context)
    }
}
