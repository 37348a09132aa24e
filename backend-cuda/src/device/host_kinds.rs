//! Host memory that the device itself reaches: pinned with flags, mapped, registered, managed.
#![allow(unsafe_code)] // calls the driver with memory that the callers vouch for

use std::{num::NonZeroUsize, ops::Range, ptr};

use devarray::{
    Error, Result,
    backend::{
        Advice, AllocHost, Buffer, Capability, HostBuffer, HostFlags, Location, ManagedMemory, MapHost,
        RegisterHost,
    },
};

use super::{CudaDevice, CudaStream};
use crate::{
    driver::{BACKEND, Failure, OUT_OF_MEMORY, out_of_memory, sys},
    handle::{Handle, locked},
    memory::{CudaBuffer, CudaHostBuffer},
};

/// `CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED`.
const ALREADY_REGISTERED: Failure = Failure::Code(712);

/// The device number that stands for the host (cuda.h, `CU_DEVICE_CPU`).
const HOST: sys::CUdevice = -1;

/// Managed memory any stream and device may use (cuda.h, `CU_MEM_ATTACH_GLOBAL`).
const ATTACH_GLOBAL: u32 = 1;

// SAFETY: memory belongs to `CudaHostBuffer`, whatever the flags.
unsafe impl AllocHost for CudaDevice {
    fn alloc_host_as(&self, len_bytes: NonZeroUsize, flags: HostFlags) -> Result<CudaHostBuffer> {
        if flags.mapped {
            self.check("alloc_host", Capability::MappedMemory)?;
        }
        CudaHostBuffer::alloc(self.context(), len_bytes, flags)
    }
}

// SAFETY: the driver returns another address of the same memory, valid until it is freed. Bytes
// that the device wrote are seen by the host after a wait (CUDA C++ Programming Guide, "Mapped
// Memory"), bytes that the host wrote by work enqueued after.
unsafe impl MapHost for CudaDevice {
    fn map_host(&self, memory: &CudaHostBuffer) -> Result<CudaBuffer> {
        let (operation, capability) = ("map_host", Capability::MappedMemory);
        let len_bytes = NonZeroUsize::new(memory.len_bytes()).filter(|_| memory.flags().mapped);
        let len_bytes = len_bytes.ok_or(Error::Unsupported { backend: BACKEND, operation, capability })?;
        let mut address = 0;
        self.context().call(operation, |driver| {
            // SAFETY: the pointer is to a local of the right type; the memory is alive and was
            // allocated mapped.
            unsafe { driver.mem_host_get_device_pointer(&raw mut address, memory.as_ptr().cast(), 0) }
        })?;
        Ok(CudaBuffer::new(self.context(), address, len_bytes))
    }
}

/// Host memory that the driver has page-locked; empty if it was already.
#[derive(Debug)]
pub struct CudaRegistration(Option<Handle<u8>>);

// SAFETY: page-locking moves no byte. A range that stays locked keeps its pages. Memory that is
// allocated at its address later is other memory, and the driver refuses to lock it again, or
// copies it without the lock.
unsafe impl RegisterHost for CudaDevice {
    type Registration = CudaRegistration;

    unsafe fn register_host(&self, start: *mut u8, len_bytes: NonZeroUsize) -> Result<CudaRegistration> {
        let (operation, flags) = ("register_host", sys::CU_MEMHOSTREGISTER_PORTABLE);
        self.check(operation, Capability::RegisteredMemory)?;
        let registered = self.context().bind().and_then(|driver| {
            // SAFETY: the caller vouches for the memory; the context is bound.
            unsafe { driver.mem_host_register(start.cast(), len_bytes.get(), flags) }
        });
        match registered {
            Ok(()) => Ok(CudaRegistration(Some(Handle::new(start)))),
            Err(ALREADY_REGISTERED) => Ok(CudaRegistration(None)),
            Err(OUT_OF_MEMORY) => Err(out_of_memory(operation, len_bytes.get(), None)),
            Err(failure) => Err(self.context().error(operation, failure)),
        }
    }

    fn unregister_host(&self, registration: CudaRegistration) -> Result<()> {
        let Some(start) = registration.0 else { return Ok(()) };
        let unregister = || {
            self.context().call("unregister_host", |driver| {
                // SAFETY: registered by `register_host`, and not unregistered since; nothing in
                // flight uses the memory.
                unsafe { driver.mem_host_unregister(start.raw().cast()) }
            })
        };
        unregister().or_else(|_| unregister())
    }
}

/// Memory to leave free beside managed memory, which moves in blocks of 2 MiB and needs page
/// tables. A device with hardly any free memory was seen to fail an access to managed memory with
/// an illegal address.
const MANAGED_HEADROOM_BYTES: usize = 64 << 20;

/// Memory that moves automatically between the host and the devices.
#[derive(Debug)]
pub struct CudaManagedBuffer {
    start: Handle<u8>,
    len_bytes: NonZeroUsize,
    device: CudaDevice,
}

impl CudaManagedBuffer {
    fn alloc(device: &CudaDevice, len_bytes: NonZeroUsize) -> Result<Self> {
        let (operation, context) = ("alloc_managed", device.context());
        let mut managed_bytes = locked(&device.open.managed_bytes);
        let mut room = context.free_bytes(operation)?;
        let needed = managed_bytes.saturating_add(len_bytes.get());
        if needed.saturating_add(MANAGED_HEADROOM_BYTES) > room.0 {
            // The pool may hold memory that nobody uses, so it is trimmed.
            device.open.streams.reclaim(context);
            room = context.free_bytes(operation)?;
        }
        if needed > room.0 {
            return Err(out_of_memory(operation, len_bytes.get(), Some(room)));
        }
        let mut address = 0;
        let allocated = context.bind().and_then(|driver| {
            // SAFETY: the pointer is to a local of the right type, and the context is bound.
            unsafe { driver.mem_alloc_managed(&raw mut address, len_bytes.get(), ATTACH_GLOBAL) }
        });
        allocated.map_err(|failure| match failure {
            OUT_OF_MEMORY => out_of_memory(operation, len_bytes.get(), Some(room)),
            _ => context.error(operation, failure),
        })?;
        *managed_bytes = needed;
        drop(managed_bytes);
        let at = usize::try_from(address).expect("a managed address is one of the host");
        let start: *mut u8 = ptr::with_exposed_provenance_mut(at);
        // SAFETY: the driver allocated that many bytes only for this; their address is the same on
        // the host.
        unsafe { start.write_bytes(0, len_bytes.get()) };
        Ok(Self { start: Handle::new(start), len_bytes, device: device.clone() })
    }
}

// SAFETY: it is zeroed when allocated, page-aligned, only reached through a raw pointer, and only
// freed by drop.
unsafe impl HostBuffer for CudaManagedBuffer {
    fn len_bytes(&self) -> usize {
        self.len_bytes.get()
    }

    fn as_ptr(&self) -> *mut u8 {
        self.start.raw()
    }
}

impl Drop for CudaManagedBuffer {
    fn drop(&mut self) {
        self.device.context().release("free_managed", |driver| {
            // SAFETY: allocated by `alloc`, freed once; core drops it only when no operation uses
            // it.
            unsafe { driver.mem_free(self.start.raw().addr() as u64) }
        });
        *locked(&self.device.open.managed_bytes) -= self.len_bytes.get();
    }
}

// SAFETY: host and device share the address. The capability is declared only where both may use
// managed memory at a time (cuda.h, `CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS`); a wait makes
// what the device wrote visible to the host.
unsafe impl ManagedMemory for CudaDevice {
    type ManagedBuffer = CudaManagedBuffer;

    fn alloc_managed(&self, len_bytes: NonZeroUsize) -> Result<CudaManagedBuffer> {
        self.check("alloc_managed", Capability::ManagedMemory)?;
        CudaManagedBuffer::alloc(self, len_bytes)
    }

    fn managed_buffer(&self, memory: &CudaManagedBuffer) -> Result<CudaBuffer> {
        Ok(CudaBuffer::new(self.context(), memory.start.raw().addr() as u64, memory.len_bytes))
    }

    unsafe fn prefetch(
        &self,
        stream: &CudaStream,
        buffer: &CudaBuffer,
        bytes: Range<usize>,
        to: Location,
    ) -> Result<()> {
        let operation = "prefetch";
        self.context().check_driver(operation, stream.context())?;
        let (address, to) = (buffer.address() + bytes.start as u64, self.number(to));
        self.context().call(operation, |driver| {
            // SAFETY: the caller's promise; the stream is alive.
            unsafe { driver.mem_prefetch_async(address, bytes.len(), to, stream.raw.raw()) }
        })
    }

    unsafe fn advise(&self, buffer: &CudaBuffer, bytes: Range<usize>, advice: Advice) -> Result<()> {
        let capability = Capability::ManagedMemory;
        let unknown = Error::Unsupported { backend: BACKEND, operation: "advise", capability };
        // The numbers of `CUmem_advise` in cuda.h.
        let (what, of) = match advice {
            Advice::ReadMostly => (1, Location::Host),
            Advice::NotReadMostly => (2, Location::Host),
            Advice::Prefer(location) => (3, location),
            Advice::NoPreference => (4, Location::Host),
            Advice::AccessedBy(location) => (5, location),
            Advice::NotAccessedBy(location) => (6, location),
            _ => return Err(unknown),
        };
        let (address, of) = (buffer.address() + bytes.start as u64, self.number(of));
        self.context().call("advise", |driver| {
            // SAFETY: as the caller promises
            unsafe { driver.mem_advise(address, bytes.len(), what, of) }
        })
    }
}

impl CudaDevice {
    fn number(&self, location: Location) -> sys::CUdevice {
        match location {
            Location::Device => self.context().device(),
            _ => HOST,
        }
    }
}
