//! Streams. Every operation is one driver call, which is enqueued.
#![allow(unsafe_code)] // calls the driver with the stream it owns

mod branches;
mod call_memory;
mod capturing;
mod copy;
mod fill;
mod held;
mod idle;
mod open;
mod reports;
mod room;
mod scratch;
mod workspace;

pub(crate) use call_memory::CallMemory;
pub(crate) use held::CapturedReports;
use held::Purpose;
use idle::free_idle;
pub(crate) use open::Streams;
pub(crate) use reports::{PAGE_REPORTS, ReportPlace, SLOT_BYTES, STATE_BYTES};
pub(crate) use scratch::COUNTERS_BYTES;

use std::{
    fmt,
    num::NonZeroUsize,
    ptr,
    sync::{Arc, Mutex},
};

use devarray::{
    Result,
    backend::{Buffer, CopyOp, DownloadOp, FillOp, FreeOp, UploadOp},
};

use crate::{
    context::Context,
    driver::{Answer, Driver, sys},
    event::{CudaEvent, Kind},
    handle::{Handle, locked},
    kernels::Queue,
    memory::CudaBuffer,
    strided::LaunchCache,
};

/// The driver's stream: non-blocking, so it is ordered neither with the default stream nor with any
/// other. Destroyed with its last owner, which neither blocks nor cancels.
pub(crate) struct RawStream {
    context: Arc<Context>,
    streams: Arc<Streams>,
    raw: Handle<sys::CUstream_st>,
    strided: Mutex<StridedState>,
    scratch: Mutex<scratch::Scratch>,
    workspace: Mutex<workspace::Workspace>,
    idle: Mutex<idle::Idle>,
    /// Memory and kernels of the captured operations; `None` on a stream that captures nothing.
    held: Option<Mutex<held::Held>>,
}

/// State of a stream for strided copies. Locked during a launch, which relies on it.
#[derive(Debug, Default)]
struct StridedState {
    /// Whether code outside this library got the handle, and may have put kernels of its own into
    /// the stream.
    shared: bool,
    /// The launches of the last copies.
    cache: LaunchCache,
}

impl RawStream {
    /// Opens a stream of a context, with what the streams of the context share.
    pub(crate) fn open(context: &Arc<Context>, streams: &Arc<Streams>) -> Result<Arc<Self>> {
        Self::open_holding(context, streams, None)
    }

    fn open_holding(
        context: &Arc<Context>,
        streams: &Arc<Streams>,
        held: Option<Mutex<held::Held>>,
    ) -> Result<Arc<Self>> {
        let mut raw = ptr::null_mut();
        context.call("open_stream", |driver| {
            // SAFETY: the pointer is to a local of the right type, and the context is bound.
            unsafe { driver.stream_create(&raw mut raw, sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32) }
        })?;
        let stream = Arc::new(Self {
            context: Arc::clone(context),
            streams: Arc::clone(streams),
            raw: Handle::new(raw),
            strided: Mutex::default(),
            scratch: Mutex::default(),
            workspace: Mutex::default(),
            idle: Mutex::default(),
            held,
        });
        streams.remember(&stream);
        Ok(stream)
    }

    /// The driver's handle, for calls of this crate, which put no kernel of other code there.
    pub(crate) fn raw(&self) -> sys::CUstream {
        self.raw.raw()
    }

    /// Like `raw`, for code outside this library: from now on no strided copy begins before all in
    /// front of it is done.
    pub(crate) fn share(&self) -> sys::CUstream {
        locked(&self.strided).shared = true;
        self.raw()
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Records an event.
    pub(crate) fn record_as(&self, kind: Kind) -> Result<CudaEvent> {
        CudaEvent::record(self.context(), self.raw(), kind)
    }

    /// Makes later work run after an event that exists.
    pub(crate) fn wait_on(&self, operation: &'static str, event: sys::CUevent) -> Result<()> {
        self.context().wait(operation, self.raw(), event)
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
        let called =
            |driver: &Driver| call(driver, self.raw()).map_err(|failure| driver.error(operation, failure));
        self.enqueue_or_wait(operation, called)
    }

    /// Like [`enqueue`](Self::enqueue), of calls that bring their own errors.
    pub(crate) fn enqueue_or_wait(
        &self,
        operation: &'static str,
        call: impl FnOnce(&Driver) -> Result<()>,
    ) -> Result<()> {
        let driver = self.context().bound(operation)?;
        call(driver).inspect_err(|_| {
            // Nothing of a capture has begun, and the driver refuses waits for a stream that captures.
            if self.captures() {
                return;
            }
            // SAFETY: the stream is alive, and its context bound.
            if let Err(also) = unsafe { driver.stream_synchronize(self.raw()) } {
                driver.report(driver.error(operation, also));
            }
        })
    }

    /// Allocates memory in order of the stream: memory that it keeps, or of the pool.
    pub(crate) fn alloc(&self, len_bytes: NonZeroUsize) -> Result<CudaBuffer> {
        if let Some(held) = &self.held {
            let address = locked(held).alloc(self, (Purpose::Operation, len_bytes), |_, _| Ok(()))?;
            return Ok(CudaBuffer::new(self.context(), address, len_bytes));
        }
        if let Some(address) = locked(&self.idle).take(len_bytes) {
            return Ok(CudaBuffer::of_pool(self.context(), address, len_bytes));
        }
        let pool = self.context().pool().raw();
        let address = self.streams.alloc(self.context(), "alloc", len_bytes, |driver, address| {
            // SAFETY: the pointer is to a local of the right type; pool and stream are of the bound
            // context.
            unsafe { driver.mem_alloc_from_pool_async(address, len_bytes.get(), pool, self.raw()) }
        })?;
        Ok(CudaBuffer::of_pool(self.context(), address, len_bytes))
    }

    /// Frees memory, or keeps it for a later allocation.
    pub(crate) fn free(&self, op: FreeOp<CudaBuffer>) -> Result<()> {
        let buffer = op.into_buffer();
        if let Some(held) = &self.held {
            locked(held).free(buffer.address());
            return Ok(());
        }
        let freed = locked(&self.idle).keep(buffer.address(), buffer.nonzero_len_bytes());
        let Some(address) = freed else { return Ok(()) };
        let freed = self.context().call("free", |driver| {
            // SAFETY: the address is of an allocation that this stream was told to free, freed
            // once, and everything that uses it is ordered before.
            unsafe { driver.mem_free_async(address, self.raw()) }
        });
        match freed {
            // The error of another block, not of this buffer, which is kept.
            Err(error) if address != buffer.address() => self.context().driver().report(error),
            freed => return freed,
        }
        Ok(())
    }

    /// Frees memory that operations used, at an address that [`alloc`](Self::alloc) answered, behind all that
    /// is enqueued. What was enqueued stays so, so an error goes to the driver's list.
    ///
    /// # Safety
    ///
    /// The memory was allocated on this stream and is freed once, behind all that uses it. The context is bound.
    pub(crate) unsafe fn free_scratch(
        &self,
        (driver, operation): (&Driver, &'static str),
        address: sys::CUdeviceptr,
    ) {
        if let Some(held) = &self.held {
            return locked(held).free(address);
        }
        // SAFETY: passed on to the caller.
        let freed = unsafe { driver.mem_free_async(address, self.raw()) };
        freed.unwrap_or_else(|failure| driver.report(driver.error(operation, failure)));
    }

    /// Enqueues a copy between memories that the device reaches.
    pub(crate) fn copy(&self, operation: &'static str, op: &CopyOp<'_, CudaBuffer>) -> Result<()> {
        self.enqueue(operation, |driver, _| self.copy_part(driver, &copy::part(op)))
    }

    /// Enqueues several, together where that is faster.
    pub(crate) fn copy_all(&self, ops: &[CopyOp<'_, CudaBuffer>]) -> Result<()> {
        let parts: Vec<_> = ops.iter().map(copy::part).collect();
        self.enqueue("copy", |driver, _| self.copy_parts(driver, &parts))
    }

    pub(crate) fn fill(&self, op: &FillOp<'_, CudaBuffer>) -> Result<()> {
        let dst = op.dst().address();
        self.enqueue("fill", |driver, stream| {
            let to = Queue { driver, stream, overlap: false };
            fill::enqueue(to, self.streams.kernels(), op.plan(), dst, op.pattern())
        })
    }

    pub(crate) fn upload(&self, op: &UploadOp<'_, CudaBuffer>) -> Result<()> {
        let dst = op.dst().address() + op.dst_range_bytes().start as u64;
        self.enqueue("upload", |driver, stream| {
            // SAFETY: the bytes lie inside the buffer; the host memory is valid until a wait that
            // covers this.
            unsafe { driver.memcpy_htod_async(dst, op.src().cast(), op.len_bytes(), stream) }
        })
    }

    pub(crate) fn download(&self, op: &DownloadOp<'_, CudaBuffer>) -> Result<()> {
        let src = op.src().address() + op.src_range_bytes().start as u64;
        self.enqueue("download", |driver, stream| {
            // SAFETY: the bytes lie inside the buffer; the host memory is valid until a wait that
            // covers this.
            unsafe { driver.memcpy_dtoh_async(op.dst().cast(), src, op.len_bytes(), stream) }
        })
    }

    /// Waits until everything enqueued so far is done.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.context().call("synchronize", |driver| {
            // SAFETY: the stream is alive, and its context bound.
            unsafe { driver.stream_synchronize(self.raw()) }
        })
    }
}

impl Drop for RawStream {
    fn drop(&mut self) {
        self.streams.forget(self);
        free_idle(self);
        if self.held.is_none() {
            scratch::free(self, &mut locked(&self.scratch));
            workspace::free(self);
        }
        self.context.release("destroy stream", |driver| {
            // SAFETY: created by `open`, destroyed once.
            unsafe { driver.stream_destroy(self.raw()) }
        });
    }
}

impl fmt::Debug for RawStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} on {:?}", self.raw, self.context)
    }
}
