//! CUDA devices: their own clock, and the driver's own calls.
#![allow(unsafe_code)] // calls the driver directly, which is what is measured

use std::{
    ffi::{c_int, c_uint, c_void},
    ptr,
};

use anyhow::{Context as _, Result, ensure};
use cudarc::driver::sys::{self, CUdeviceptr, CUevent, CUevent_flags, CUstream};
use devarray::{Device as _, ErasedArray, StreamHandle, copy::Plan};
use devarray_cuda::{CudaDevice, MemorySpeed, explain_copy};

use super::{
    RawCalls, Target, Work,
    target::{Reference, explain_plan},
};

/// The functions of the driver library, which was loaded when the device was opened.
macro_rules! driver {
    ($($name:ident = $symbol:literal ($($arg:ident: $type:ty),*);)*) => {
        #[derive(Debug, Clone, Copy)]
        struct Driver {
            $($name: unsafe extern "C" fn($($type),*) -> i32,)*
        }

        impl Driver {
            fn load() -> Result<Self> {
                // SAFETY: a device is open, so the library is there.
                let library = unsafe { sys::culib() };
                Ok(Self {
                    // SAFETY: the signature matches the symbol in `cuda.h`; a `CUresult` is
                    // returned like an `i32`.
                    $($name: *unsafe { library.get($symbol.as_bytes()) }.context($symbol)?,)*
                })
            }
        }
    };
}

driver! {
    event_create = "cuEventCreate" (event: *mut CUevent, flags: c_uint);
    event_destroy = "cuEventDestroy_v2" (event: CUevent);
    event_record = "cuEventRecord" (event: CUevent, stream: CUstream);
    stream_wait_event = "cuStreamWaitEvent" (stream: CUstream, event: CUevent, flags: c_uint);
    stream_synchronize = "cuStreamSynchronize" (stream: CUstream);
    alloc = "cuMemAllocAsync" (address: *mut CUdeviceptr, len_bytes: usize, stream: CUstream);
    free = "cuMemFreeAsync" (address: CUdeviceptr, stream: CUstream);
    copy = "cuMemcpyDtoDAsync_v2" (dst: CUdeviceptr, src: CUdeviceptr, len_bytes: usize, stream: CUstream);
    upload = "cuMemcpyHtoDAsync_v2" (dst: CUdeviceptr, src: *const c_void, len_bytes: usize, stream: CUstream);
    download = "cuMemcpyDtoHAsync_v2" (dst: *mut c_void, src: CUdeviceptr, len_bytes: usize, stream: CUstream);
}

fn check(call: &str, code: c_int) -> Result<()> {
    ensure!(code == 0, "{call} answered {code}");
    Ok(())
}

/// An event of the driver, destroyed with its owner.
struct Event {
    driver: Driver,
    raw: CUevent,
}

impl Event {
    fn record(driver: Driver, stream: CUstream) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is to a local of the right type; the library left its context
        // current.
        check("cuEventCreate", unsafe {
            (driver.event_create)(&raw mut raw, CUevent_flags::CU_EVENT_DISABLE_TIMING as c_uint)
        })?;
        let event = Self { driver, raw };
        // SAFETY: event and stream are alive and belong to one context.
        check("cuEventRecord", unsafe { (driver.event_record)(raw, stream) })?;
        Ok(event)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: made by `record`, and destroyed once. The library does not need the event, so a
        // failure changes nothing.
        unsafe { (self.driver.event_destroy)(self.raw) };
    }
}

impl Target for CudaDevice {
    fn seconds(stream: &StreamHandle<Self>, work: Work<'_>) -> Result<f64> {
        let start = stream.record_timed()?;
        work()?;
        let end = stream.record_timed()?;
        end.event().synchronize()?;
        let elapsed = end.elapsed_since(&start)?.context("events that were waited for have a time")?;
        Ok(elapsed.as_secs_f64())
    }

    fn reference(stream: &StreamHandle<Self>, len_bytes: usize, sets: usize) -> Result<Reference> {
        let array = || ErasedArray::zeros(stream, &[len_bytes], 1);
        let mut pairs = (0..sets).map(|_| Ok((array()?, array()?))).collect::<Result<Vec<_>>>()?;
        let stream = stream.clone();
        Ok(Box::new(move |set| {
            let (dst, src) = &mut pairs[set];
            Ok(dst.view_mut().copy_from(&stream, &src.view())?)
        }))
    }

    fn explain(stream: &StreamHandle<Self>, plan: &Plan, dst: u64, src: u64) -> Vec<String> {
        let mut lines = vec![explain_plan(plan)];
        let memory = MemorySpeed::of(&stream.context().device().info().properties);
        lines.extend(explain_copy(memory, plan, dst, src));
        lines
    }

    fn raw_calls(
        stream: &StreamHandle<Self>,
        waiter: &StreamHandle<Self>,
    ) -> Result<Option<Box<dyn RawCalls>>> {
        let (stream, waiter) = (stream.clone(), waiter.clone());
        Ok(Some(Box::new(Calls { driver: Driver::load()?, stream, waiter })))
    }
}

/// The driver's calls on the stream of a handle.
struct Calls {
    driver: Driver,
    stream: StreamHandle<CudaDevice>,
    waiter: StreamHandle<CudaDevice>,
}

impl Calls {
    fn stream(&self) -> CUstream {
        self.stream.raw().raw()
    }

    fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream is alive.
        check("cuStreamSynchronize", unsafe { (self.driver.stream_synchronize)(self.stream()) })
    }
}

impl RawCalls for Calls {
    fn copy(&self, dst: u64, src: u64, len_bytes: usize) -> Result<()> {
        // SAFETY: the driver checks addresses that it has given out; the caller keeps the arrays
        // alive and waits.
        let code = unsafe { (self.driver.copy)(dst, src, len_bytes, self.stream()) };
        check("cuMemcpyDtoDAsync", code)
    }

    fn alloc_free(&self, len_bytes: usize) -> Result<()> {
        let mut address = 0;
        // SAFETY: the pointer is to a local of the right type, and the stream is alive.
        let code = unsafe { (self.driver.alloc)(&raw mut address, len_bytes, self.stream()) };
        check("cuMemAllocAsync", code)?;
        // SAFETY: just allocated, freed once, and used by nothing.
        check("cuMemFreeAsync", unsafe { (self.driver.free)(address, self.stream()) })
    }

    fn record(&self, and_wait: bool) -> Result<()> {
        let event = Event::record(self.driver, self.stream())?;
        if !and_wait {
            return Ok(());
        }
        // SAFETY: event and stream are alive; destroying the event does not cancel the wait.
        let code = unsafe { (self.driver.stream_wait_event)(self.waiter.raw().raw(), event.raw, 0) };
        check("cuStreamWaitEvent", code)
    }

    fn upload(&self, dst: u64, src: &[u8]) -> Result<()> {
        // SAFETY: the slice is borrowed until the wait below; the driver checks the address.
        let code = unsafe { (self.driver.upload)(dst, src.as_ptr().cast(), src.len(), self.stream()) };
        check("cuMemcpyHtoDAsync", code).and(self.synchronize())
    }

    fn download(&self, src: u64, dst: &mut [u8]) -> Result<()> {
        // SAFETY: the slice is borrowed until the wait below; the driver checks the address.
        let code = unsafe { (self.driver.download)(dst.as_mut_ptr().cast(), src, dst.len(), self.stream()) };
        check("cuMemcpyDtoHAsync", code).and(self.synchronize())
    }
}
