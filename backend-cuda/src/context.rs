//! The primary context of a device: one a process, driver table and ordinal.
#![allow(unsafe_code)] // calls the driver with handles this file keeps alive

use std::{
    collections::BTreeMap,
    ffi::CString,
    fmt,
    num::NonZeroUsize,
    ptr,
    sync::{Arc, Mutex, Weak},
};

use devarray::{
    Error, Result,
    backend::{DeviceInfo, MemoryInfo},
};

use crate::{
    BACKEND,
    device::{Peers, Places},
    driver::{
        Answer, Driver, Failure, INVALID_VALUE, OUT_OF_MEMORY, out_of_memory,
        sys::{self, CUdevice, CUevent, CUmemPool_attribute, CUstream},
    },
    event::Crossing,
    function::Functions,
    gather::Gathers,
    handle::{Handle, locked},
    images::Images,
    kernels::Kernels,
    probe::unavailable,
    stream::{RawStream, free_idle},
    strided::MemorySpeed,
};

/// The contexts open through one driver table, by ordinal.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<BTreeMap<usize, Weak<Context>>>);

/// An open device. Streams, events and memory hold one, so it outlives them.
///
/// The last owner waits for the device, gives the cached memory back and releases the context.
pub(crate) struct Context {
    primary: Primary,
    info: DeviceInfo,
    pool: Handle<sys::CUmemPoolHandle_st>,
    pub(crate) kernels: Kernels,
    pub(crate) functions: Functions,
    pub(crate) gathers: Gathers,
    pub(crate) images: Images,
    /// Host memory that receives a few bytes at a time.
    pub(crate) places: Places,
    streams: Mutex<Vec<Weak<RawStream>>>,
    /// The event that orders streams of other code.
    pub(crate) crossing: Crossing,
    /// The contexts whose memory this one reaches.
    pub(crate) peers: Peers,
    /// Bytes of managed memory alive. Held while more is allocated, so that two threads do not both
    /// take the last.
    pub(crate) managed_bytes: Mutex<usize>,
}

impl Context {
    /// Opens device `ordinal`, or returns its open context.
    pub(crate) fn open(driver: &Arc<Driver>, ordinal: usize) -> Result<Arc<Self>> {
        // Held throughout, so that two threads never open one device twice.
        let mut contexts = locked(&driver.contexts.0);
        if let Some(context) = contexts.get(&ordinal).and_then(Weak::upgrade) {
            return Ok(context);
        }
        let count = driver.start()?;
        if ordinal >= count {
            return Err(unavailable(format_args!("there is no device {ordinal}; there are {count}")));
        }
        let found = driver.find(ordinal)?;
        found.check()?;
        let primary = Primary::retain(driver, found.device)?;
        let pool = primary.pool()?;
        let major = found.info.properties.compute_capability.map_or(0, |(major, _)| major);
        let context = Arc::new(Self {
            primary,
            kernels: Kernels::new(major, MemorySpeed::of(&found.info.properties)),
            info: found.info,
            pool,
            functions: Functions::default(),
            gathers: Gathers::new(major),
            images: Images::default(),
            places: Places::default(),
            streams: Mutex::default(),
            crossing: Crossing::default(),
            peers: Peers::default(),
            managed_bytes: Mutex::default(),
        });
        contexts.insert(ordinal, Arc::downgrade(&context));
        Ok(context)
    }

    pub(crate) fn driver(&self) -> &Arc<Driver> {
        &self.primary.driver
    }

    pub(crate) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// The driver's number of the device.
    pub(crate) fn device(&self) -> CUdevice {
        self.primary.device
    }

    pub(crate) fn raw(&self) -> sys::CUcontext {
        self.primary.raw.raw()
    }

    pub(crate) fn pool(&self) -> Handle<sys::CUmemPoolHandle_st> {
        self.pool
    }

    /// Makes the context current to this thread, as every call on it needs.
    ///
    /// Checked before each call, because other code of the process may have made another context
    /// current meanwhile. The check is one load in the driver. Setting a context takes several
    /// times as long, and is done only if another one is current.
    pub(crate) fn bind(&self) -> Answer<&Driver> {
        self.primary.bind()?;
        Ok(self.driver())
    }

    /// As [`bind`](Self::bind), with the error of an operation.
    pub(crate) fn bound(&self, operation: &'static str) -> Result<&Driver> {
        self.bind().map_err(|failure| self.error(operation, failure))
    }

    /// Binds, then calls.
    pub(crate) fn call(&self, operation: &'static str, call: impl FnOnce(&Driver) -> Answer) -> Result<()> {
        self.bind().and_then(call).map_err(|failure| self.error(operation, failure))
    }

    /// Binds, then calls, where no caller can take the error.
    pub(crate) fn release(&self, operation: &'static str, call: impl FnOnce(&Driver) -> Answer) {
        if let Err(error) = self.call(operation, call) {
            self.driver().report(error);
        }
    }

    /// Makes what is enqueued later on a stream of the context run after an event. Both are alive.
    pub(crate) fn wait(&self, operation: &'static str, stream: CUstream, event: CUevent) -> Result<()> {
        self.call(operation, |driver| {
            // SAFETY: stream and event are alive; the context of the stream is bound.
            unsafe { driver.stream_wait_event(stream, event, 0) }
        })
    }

    /// Refuses another driver's context, whose handles mean nothing to this driver.
    pub(crate) fn check_driver(&self, operation: &'static str, other: &Self) -> Result<()> {
        if Arc::ptr_eq(self.driver(), other.driver()) {
            return Ok(());
        }
        Err(Error::DeviceMismatch { backend: BACKEND, operation })
    }

    pub(crate) fn error(&self, operation: &'static str, failure: Failure) -> Error {
        self.driver().error(operation, failure)
    }

    /// A text for the driver, which wants it ended by a zero. It may bring its own.
    pub(crate) fn text(&self, operation: &'static str, bytes: &[u8]) -> Result<CString> {
        let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
        CString::new(bytes).map_err(|_| self.error(operation, INVALID_VALUE))
    }

    pub(crate) fn remember(&self, stream: &Arc<RawStream>) {
        locked(&self.streams).push(Arc::downgrade(stream));
    }

    /// A stream was closed, and the work that it may still run is known.
    pub(crate) fn forget(&self, stream: &RawStream) {
        locked(&self.streams).retain(|known| !ptr::eq(known.as_ptr(), stream));
    }

    /// The streams that are open.
    pub(crate) fn open_streams(&self) -> Vec<Arc<RawStream>> {
        self.streams().0
    }

    /// The streams that are open, and whether the list is complete: it is not while a stream is
    /// being closed, whose remaining work is not known yet.
    pub(crate) fn streams(&self) -> (Vec<Arc<RawStream>>, bool) {
        let known = locked(&self.streams);
        // Upgraded first: the last owner of a stream must not be dropped under the lock.
        let open: Vec<_> = known.iter().filter_map(Weak::upgrade).collect();
        let are_all = open.len() == known.len();
        (open, are_all)
    }

    /// Waits for the streams that are open and gives memory the pool caches back to the device.
    ///
    /// Not for the whole context: other libraries of the process may have work of their own in it.
    pub(crate) fn reclaim(&self) {
        for stream in &self.open_streams() {
            free_idle(stream);
            self.release("reclaim memory", |driver| {
                // SAFETY: the stream is alive, and its context bound.
                unsafe { driver.stream_synchronize(stream.raw()) }
            });
        }
        self.trim("reclaim memory");
    }

    /// Returns to the pool the memory that streams keep for reuse. Does not synchronize.
    pub(crate) fn free_idle(&self) {
        self.open_streams().iter().for_each(|stream| free_idle(stream));
    }

    /// Allocates memory of the device. Without room, tries again after giving unused memory back.
    pub(crate) fn alloc(
        &self,
        operation: &'static str,
        len_bytes: NonZeroUsize,
        alloc: impl Fn(&Driver, *mut sys::CUdeviceptr) -> Answer,
    ) -> Result<sys::CUdeviceptr> {
        let mut address = 0;
        let mut attempt = || self.bind().and_then(|driver| alloc(driver, &raw mut address));
        let allocated = attempt().or_else(|failure| {
            if failure != OUT_OF_MEMORY {
                return Err(failure);
            }
            self.reclaim();
            attempt()
        });
        allocated.map(|()| address).map_err(|failure| match failure {
            OUT_OF_MEMORY => {
                let room = self.memory(operation).ok();
                let room = room.map(|memory| (memory.free_bytes, memory.total_bytes));
                out_of_memory(operation, len_bytes.get(), room)
            }
            _ => self.error(operation, failure),
        })
    }

    /// Memory of the device. Memory cached by the pool counts as free, since any allocation here
    /// can use it.
    pub(crate) fn memory(&self, operation: &'static str) -> Result<MemoryInfo> {
        self.free_idle();
        let (free, total) = self.free_bytes(operation)?;
        let reserved =
            self.pool_bytes(operation, CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        let used = self.pool_bytes(operation, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?;
        Ok(MemoryInfo::new(free.saturating_add(reserved.saturating_sub(used)).min(total), total))
    }

    /// Free bytes of the driver, without the pool's cache, and total bytes.
    pub(crate) fn free_bytes(&self, operation: &'static str) -> Result<(usize, usize)> {
        let (mut free, mut total) = (0, 0);
        self.call(operation, |driver| {
            // SAFETY: the pointers are to locals of the right type, and the context is bound.
            unsafe { driver.mem_get_info(&raw mut free, &raw mut total) }
        })?;
        Ok((free, total))
    }

    pub(crate) fn pool_bytes(
        &self,
        operation: &'static str,
        attribute: CUmemPool_attribute,
    ) -> Result<usize> {
        let mut bytes = 0_u64;
        self.call(operation, |driver| {
            // SAFETY: every attribute asked for here is a `cuuint64_t`, and the pool is the
            // device's own.
            unsafe { driver.mem_pool_get_attribute(self.pool.raw(), attribute, (&raw mut bytes).cast()) }
        })?;
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    fn trim(&self, operation: &'static str) {
        if let Err(error) = self.trim_to(operation, 0) {
            self.driver().report(error);
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Blocks, because it must: releasing the context may cancel what a dropped stream still
        // runs.
        self.release("close", |driver| {
            // SAFETY: the context is bound.
            unsafe { driver.ctx_synchronize() }
        });
        // Pool memory belongs to the device, not to the context, and would stay reserved (cuda.h,
        // `cuCtxDestroy`).
        self.trim("close");
        self.release("close", |driver| self.functions.unload(driver));
        self.release("close", |driver| self.gathers.close(driver));
        self.release("close", |driver| self.images.unload(driver));
        self.release("close", |driver| self.places.free(driver));
        self.release("close", |driver| self.crossing.close(driver));
        for module in self.kernels.modules() {
            self.release("close", |driver| driver.unload(module));
        }
    }
}

/// A retained primary context.
#[derive(Debug)]
struct Primary {
    driver: Arc<Driver>,
    device: CUdevice,
    raw: Handle<sys::CUctx_st>,
}

impl Primary {
    fn retain(driver: &Arc<Driver>, device: CUdevice) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is to a local of the right type, and the driver named the device.
        unsafe { driver.primary_ctx_retain(&raw mut raw, device) }.map_err(|failure| match failure {
            Failure::Code(46) => driver.refused("cuDevicePrimaryCtxRetain", failure),
            _ => driver.error("open", failure),
        })?;
        Ok(Self { driver: Arc::clone(driver), device, raw: Handle::new(raw) })
    }

    fn bind(&self) -> Answer {
        let mut current = ptr::null_mut();
        // SAFETY: the pointer is to a local of the right type.
        unsafe { self.driver.ctx_get_current(&raw mut current) }?;
        if current == self.raw.raw() {
            return Ok(());
        }
        // SAFETY: the context is retained until `self` is dropped.
        unsafe { self.driver.ctx_set_current(self.raw.raw()) }
    }

    /// The default pool of the device, told to keep freed memory: its default is to give all of it
    /// back at the next wait, which makes the allocation after that a thousand times slower.
    fn pool(&self) -> Result<Handle<sys::CUmemPoolHandle_st>> {
        let error = |failure| self.driver.error("open", failure);
        self.bind().map_err(error)?;
        let mut pool = ptr::null_mut();
        // SAFETY: the pointer is to a local of the right type.
        unsafe { self.driver.device_get_default_mem_pool(&raw mut pool, self.device) }.map_err(error)?;
        let mut threshold = u64::MAX;
        let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the attribute is a `cuuint64_t`.
        unsafe { self.driver.mem_pool_set_attribute(pool, attribute, (&raw mut threshold).cast()) }
            .map_err(error)?;
        Ok(Handle::new(pool))
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // Releasing does not make the context not current (cuda.h), and a dead one must not stay
        // so.
        // SAFETY: no context may be current.
        let unbound = unsafe { self.driver.ctx_set_current(ptr::null_mut()) };
        // SAFETY: retained once by `retain`; everything made from it holds its owner and is gone.
        let released = unsafe { self.driver.primary_ctx_release(self.device) };
        for failure in [unbound, released].into_iter().filter_map(Answer::err) {
            self.driver.report(self.driver.error("close", failure));
        }
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.info.backend, self.info.ordinal)
    }
}
