//! Memory and events shared with other processes.
//!
//! They use the driver's inter-process handles, 64 bytes each, for memory of `cuMemAlloc`. Memory
//! of a pool can be shared too, but only through file descriptors, which need a socket of the
//! operating system, and only from pools that were made for it; the device's default pool was not.
//! The 64 bytes of a handle can be sent through any channel.
#![allow(unsafe_code)] // calls the driver with memory and events that it keeps, or that the callers vouch for

use std::{
    collections::hash_map::RandomState,
    ffi::{c_char, c_int},
    hash::{BuildHasher, Hasher},
    num::NonZeroUsize,
    ops::Range,
    sync::{Arc, OnceLock},
};

use devarray::{
    Error, Result,
    backend::{Buffer, Capability, Ipc, IpcMemory, IpcToken},
};

use super::{CudaDevice, CudaStream};
use crate::{
    context::Context,
    driver::{BACKEND, Driver, Failure, INVALID_VALUE, out_of_memory, sys},
    event::{CudaEvent, Kind},
    memory::CudaBuffer,
};
use sys::{CUdeviceptr, CUpointer_attribute};

/// Exportable memory is rounded up to multiples of this. The driver cuts small allocations from
/// blocks of this size and shares whole blocks, so another process would see other allocations of
/// the block (CUDA C++ Programming Guide, "Interprocess Communication").
const BLOCK_BYTES: usize = 2 << 20;

/// Memory that can be exported. Dropping it frees it.
#[derive(Debug)]
pub struct CudaExportable {
    address: CUdeviceptr,
    context: Arc<Context>,
}

impl CudaExportable {
    fn alloc(device: &CudaDevice, len_bytes: NonZeroUsize) -> Result<Self> {
        let operation = "alloc_exportable";
        let rounded = len_bytes.get().checked_next_multiple_of(BLOCK_BYTES);
        let rounded = rounded.ok_or_else(|| out_of_memory(operation, len_bytes.get(), None))?;
        let address =
            device.open.streams.alloc(device.context(), operation, len_bytes, |driver, address| {
                // SAFETY: the pointer is to a local of the right type, and the context is bound.
                unsafe { driver.mem_alloc(address, rounded) }
            })?;
        Ok(Self { address, context: Arc::clone(device.context()) })
    }
}

impl Drop for CudaExportable {
    fn drop(&mut self) {
        self.context.release("free_exportable", |driver| {
            // SAFETY: allocated by `alloc`, freed once; core drops it only when no operation uses
            // it.
            unsafe { driver.mem_free(self.address) }
        });
    }
}

/// Memory of another process. Dropping it closes it; the driver counts how often it was opened.
#[derive(Debug)]
pub struct CudaOpened {
    address: CUdeviceptr,
    context: Arc<Context>,
}

impl Drop for CudaOpened {
    fn drop(&mut self) {
        self.context.release("close", |driver| {
            // SAFETY: opened by `open_memory`, closed once; core drops it only when no operation
            // uses it.
            unsafe { driver.ipc_close_mem_handle(self.address) }
        });
    }
}

/// An event of another process, until the wait for it is enqueued.
struct OpenedEvent<'a>(sys::CUevent, &'a Driver);

impl Drop for OpenedEvent<'_> {
    fn drop(&mut self) {
        // SAFETY: opened by `wait_exported`, destroyed once; a wait holds what it captured at the
        // call.
        if let Err(failure) = unsafe { self.1.event_destroy(self.0) } {
            self.1.report(self.1.error("wait_exported", failure));
        }
    }
}

/// The error of a handle that names nothing, or something that cannot be opened.
fn opening(context: &Context, operation: &'static str, failure: Failure) -> Error {
    let handle = |reason| Error::Handle { backend: BACKEND, operation, reason };
    match failure {
        INVALID_VALUE => handle("the driver does not know it"),
        Failure::Code(201) => handle("the driver says that it is of this process"),
        Failure::Code(400) => handle("what it names is not there"),
        failure => context.error(operation, failure),
    }
}

impl CudaDevice {
    fn can_export(&self, operation: &'static str, address: CUdeviceptr) -> Result<bool> {
        let mut can: c_int = 0;
        self.context().call(operation, |driver| {
            let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE;
            // SAFETY: the attribute is a boolean, which fits an `int`; any address may be asked
            // about.
            unsafe { driver.pointer_get_attribute((&raw mut can).cast(), attribute, address) }
        })?;
        Ok(can & 0xff != 0)
    }
}

// SAFETY: opened memory is the exporter's, mapped; its address is a multiple of the driver's own
// alignment, and the offset is a multiple of 256. An exported event is recorded and waited for like any
// other.
unsafe impl Ipc for CudaDevice {
    type Exportable = CudaExportable;
    type Opened = CudaOpened;

    /// The number is random, because process numbers repeat, between containers and over time.
    fn process(&self) -> u64 {
        static PROCESS: OnceLock<u64> = OnceLock::new();
        *PROCESS.get_or_init(|| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u32(std::process::id());
            hasher.finish()
        })
    }

    fn alloc_exportable(&self, len_bytes: NonZeroUsize) -> Result<(CudaBuffer, CudaExportable)> {
        self.check("alloc_exportable", Capability::Ipc)?;
        let exportable = CudaExportable::alloc(self, len_bytes)?;
        Ok((CudaBuffer::new(self.context(), exportable.address, len_bytes), exportable))
    }

    fn export_memory(&self, buffer: &CudaBuffer, bytes: Range<usize>) -> Result<IpcMemory> {
        let (operation, capability) = ("export", Capability::Ipc);
        self.check(operation, capability)?;
        let inside = buffer.address() + bytes.start as u64;
        if !self.can_export(operation, inside)? {
            return Err(Error::Unsupported { backend: BACKEND, operation, capability });
        }
        let (mut base, mut len_bytes) = (0, 0);
        self.context().call(operation, |driver| {
            // SAFETY: the pointers are to locals of the right types; the driver knows the address.
            unsafe { driver.mem_get_address_range(&raw mut base, &raw mut len_bytes, inside) }
        })?;
        let mut handle = sys::CUipcMemHandle { reserved: [0; 64] };
        self.context().call(operation, |driver| {
            // SAFETY: the pointer is to a local of the right type; the address begins an
            // allocation.
            unsafe { driver.ipc_get_mem_handle(&raw mut handle, base) }
        })?;
        Ok(IpcMemory {
            token: IpcToken(handle.reserved.map(|byte| byte.to_ne_bytes()[0])),
            offset_bytes: buffer.address().wrapping_sub(base).cast_signed(),
            len_bytes: buffer.len_bytes() as u64,
        })
    }

    unsafe fn open_memory(&self, memory: &IpcMemory) -> Result<(CudaBuffer, CudaOpened)> {
        /// Enables peer access between the two devices when it is needed (cuda.h; the only flag that the
        /// driver accepts).
        const LAZY_ENABLE_PEER_ACCESS: u32 = 1;
        let operation = "open";
        self.check(operation, Capability::Ipc)?;
        let len_bytes = usize::try_from(memory.len_bytes).ok().and_then(NonZeroUsize::new);
        let reason = "it names more memory than there is";
        let len_bytes = len_bytes.ok_or(Error::Handle { backend: BACKEND, operation, reason })?;
        let handle =
            sys::CUipcMemHandle { reserved: memory.token.0.map(|byte| c_char::from_ne_bytes([byte])) };
        let mut address = 0;
        let driver = self.context().bound(operation)?;
        // SAFETY: the pointer is to a local of the right type; the caller vouches for the handle.
        unsafe { driver.ipc_open_mem_handle(&raw mut address, handle, LAZY_ENABLE_PEER_ACCESS) }
            .map_err(|failure| opening(self.context(), operation, failure))?;
        let opened = CudaOpened { address, context: Arc::clone(self.context()) };
        let start = address.wrapping_add_signed(memory.offset_bytes);
        Ok((CudaBuffer::new(self.context(), start, len_bytes), opened))
    }

    fn record_exported(&self, stream: &CudaStream) -> Result<(CudaEvent, IpcToken)> {
        let operation = "record_exported";
        self.check(operation, Capability::Ipc)?;
        let event = stream.raw.record_as(Kind::Exported)?;
        let mut handle = sys::CUipcEventHandle { reserved: [0; 64] };
        self.context().call(operation, |driver| {
            // SAFETY: the pointer is to a local of the right type; the event was made for other
            // processes.
            unsafe { driver.ipc_get_event_handle(&raw mut handle, event.raw()) }
        })?;
        Ok((event, IpcToken(handle.reserved.map(|byte| byte.to_ne_bytes()[0]))))
    }

    unsafe fn wait_exported(&self, stream: &CudaStream, event: &IpcToken) -> Result<()> {
        let operation = "wait_exported";
        self.check(operation, Capability::Ipc)?;
        let handle = sys::CUipcEventHandle { reserved: event.0.map(|byte| c_char::from_ne_bytes([byte])) };
        let mut raw = std::ptr::null_mut();
        let driver = self.context().bound(operation)?;
        // SAFETY: the pointer is to a local of the right type; the caller vouches for the handle.
        unsafe { driver.ipc_open_event_handle(&raw mut raw, handle) }
            .map_err(|failure| opening(self.context(), operation, failure))?;
        let event = OpenedEvent(raw, driver);
        stream.raw.wait_on(operation, event.0)
    }
}
