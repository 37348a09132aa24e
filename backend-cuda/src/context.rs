//! The primary context of a device, one per process: the driver table and the ordinal. It is bound,
//! names errors, and is released by its last owner.
//!
//! Streams, events and memory hold the context, so it outlives them. Objects that higher floors
//! make for it and use with it (kernels, the list of open streams, memory of the host) must live as
//! long. Whoever opens the device while anything of it is alive finds these objects again. So the
//! context owns them, as [`Resources`], without knowing their type.
#![allow(unsafe_code)] // calls the driver with handles this file keeps alive

use std::{
    any::Any,
    ffi::CString,
    fmt, ptr,
    sync::{Arc, Weak},
};

use devarray::{Error, Result, backend::DeviceInfo};

use crate::{
    driver::{
        Answer, BACKEND, Driver, Failure, INVALID_VALUE,
        sys::{self, CUdevice, CUevent, CUmemPool_attribute, CUstream},
        unavailable,
    },
    handle::{Handle, locked},
};

/// Objects that higher floors keep for a context, until its last owner is gone.
pub(crate) trait Resources: Any + Send + Sync {
    /// Gives everything back to the driver, and reports failures. No work of the context runs any
    /// more.
    fn close(&self, context: &Context);
}

/// An open device. Streams, events and memory hold one, so it outlives them.
///
/// The last owner waits for the device, closes the objects kept for the context, and releases it.
pub(crate) struct Context {
    primary: Primary,
    info: DeviceInfo,
    pool: Handle<sys::CUmemPoolHandle_st>,
    resources: Arc<dyn Resources>,
}

impl Context {
    /// Opens device `ordinal`, or returns its open context, with the objects that are kept for it.
    /// They are made when the device is opened, and always have one type.
    pub(crate) fn open<R: Resources>(
        driver: &Arc<Driver>,
        ordinal: usize,
        make: impl FnOnce(&DeviceInfo) -> R,
    ) -> Result<(Arc<Self>, Arc<R>)> {
        // The lock is held throughout, so that two threads never open one device twice.
        let mut contexts = locked(&driver.contexts);
        let known = contexts.get(&ordinal).and_then(Weak::upgrade);
        if let Some(context) = known.and_then(|context| context.downcast::<Self>().ok()) {
            let resources: Arc<dyn Any + Send + Sync> = Arc::clone(&context.resources) as _;
            return Ok((context, resources.downcast().expect("one type of resources")));
        }
        let count = driver.start()?;
        if ordinal >= count {
            return Err(unavailable(format_args!("there is no device {ordinal}; there are {count}")));
        }
        let found = driver.find(ordinal)?;
        found.check()?;
        let primary = Primary::retain(driver, found.device)?;
        let pool = primary.pool()?;
        let resources = Arc::new(make(&found.info));
        let context =
            Arc::new(Self { primary, info: found.info, pool, resources: Arc::clone(&resources) as _ });
        let weak: Weak<Self> = Arc::downgrade(&context);
        contexts.insert(ordinal, weak);
        Ok((context, resources))
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

    /// Makes the context current to this thread, which every call on it needs.
    ///
    /// Checked before each call, because other code of the process may have made another context
    /// current meanwhile. The check is one load in the driver. Setting a context takes several
    /// times as long, and is done only if another one is current.
    pub(crate) fn bind(&self) -> Answer<&Driver> {
        self.primary.bind()?;
        Ok(self.driver())
    }

    /// Like [`bind`](Self::bind), with the error in the form of an operation's.
    pub(crate) fn bound(&self, operation: &'static str) -> Result<&Driver> {
        self.bind().map_err(|failure| self.error(operation, failure))
    }

    /// Binds, then calls.
    pub(crate) fn call(&self, operation: &'static str, call: impl FnOnce(&Driver) -> Answer) -> Result<()> {
        self.bind().and_then(call).map_err(|failure| self.error(operation, failure))
    }

    /// Binds, then calls, in places where no caller can take the error.
    pub(crate) fn release(&self, operation: &'static str, call: impl FnOnce(&Driver) -> Answer) {
        if let Err(error) = self.call(operation, call) {
            self.driver().report(error);
        }
    }

    /// Makes later work on a stream of the context run after an event. Both are alive.
    pub(crate) fn wait(&self, operation: &'static str, stream: CUstream, event: CUevent) -> Result<()> {
        self.call(operation, |driver| {
            // SAFETY: stream and event are alive; the context of the stream is bound.
            unsafe { driver.stream_wait_event(stream, event, 0) }
        })
    }

    /// Returns an error for another driver's context, whose handles mean nothing to this driver.
    pub(crate) fn check_driver(&self, operation: &'static str, other: &Self) -> Result<()> {
        if Arc::ptr_eq(self.driver(), other.driver()) {
            return Ok(());
        }
        Err(Error::DeviceMismatch { backend: BACKEND, operation })
    }

    pub(crate) fn error(&self, operation: &'static str, failure: Failure) -> Error {
        self.driver().error(operation, failure)
    }

    /// Makes a text for the driver, which expects a zero at the end. The text may have one already.
    pub(crate) fn text(&self, operation: &'static str, bytes: &[u8]) -> Result<CString> {
        let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
        CString::new(bytes).map_err(|_| self.error(operation, INVALID_VALUE))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // This blocks because it must: releasing the context may cancel work of dropped streams
        // that still runs.
        self.release("close", |driver| {
            // SAFETY: the context is bound.
            unsafe { driver.ctx_synchronize() }
        });
        self.resources.close(self);
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

    /// The default pool of the device, configured to keep freed memory. By default a pool gives all
    /// of it back at the next wait, which makes the next allocation a thousand times slower.
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
        // Releasing a context does not unbind it (cuda.h), and a dead one must not stay bound.
        // SAFETY: having no current context is allowed.
        let unbound = unsafe { self.driver.ctx_set_current(ptr::null_mut()) };
        // SAFETY: `retain` retained it once; everything made from it holds its owner and is gone.
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
