//! The host as a device.
#![allow(unsafe_code)] // implements the unsafe traits over memory of the host

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    collections::HashMap,
    mem::ManuallyDrop,
    num::NonZeroUsize,
    ptr::{self, NonNull},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use devarray::{
    Error, Result,
    backend::{
        Buffer, Capability, CopyOp, Device, DeviceInfo, DownloadOp, Event, FillOp, FreeOp, GatherOp, Gathers,
        HostBuffer, MapOp, Maps, MemoryInfo, Operand, OrderOp, Orders, ProductOp, Products, Quiesced,
        ReduceOp, Reduces, Stream, UploadOp,
    },
    function::interpreter::{InputElements, ResultElements, interpret, interpret_reduction},
    gather::{Finished, GatherMemory, IndexError, gather_on_host},
    order::Alone,
};

const BACKEND: &str = "host";
const MEMORY_BYTES: usize = 1 << 30;

// ---- the device ----

/// The host as a device. Clones are one device.
#[derive(Debug, Clone)]
pub struct HostDevice {
    info: Arc<DeviceInfo>,
    used_bytes: Arc<AtomicUsize>,
    /// Indices out of range that core did not ask for yet, by the number of the gather.
    index_errors: Arc<Mutex<HashMap<u64, IndexError>>>,
}

impl Default for HostDevice {
    fn default() -> Self {
        Self::new()
    }
}

impl HostDevice {
    /// A device of its own.
    pub fn new() -> Self {
        let mut info = DeviceInfo::new(BACKEND, "this host");
        info.capabilities.extras = [
            Capability::Functions,
            Capability::Reductions,
            Capability::Gathers,
            Capability::Orders,
            Capability::Products,
        ]
        .into();
        Self { info: Arc::new(info), used_bytes: Arc::default(), index_errors: Arc::default() }
    }
}

// SAFETY: an operation has run when the call that enqueues it returns. So operations take effect in
// the order of the calls, whatever waits comes after the end, and no work is left that could fail
// to progress. Each touches the bytes of its plan or range.
unsafe impl Device for HostDevice {
    type Buffer = DeviceMemory;
    type HostBuffer = Block;
    type Event = Past;
    type Stream = HostStream;

    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&self) -> Result<MemoryInfo> {
        Ok(MemoryInfo::new(MEMORY_BYTES - self.used_bytes.load(Relaxed), MEMORY_BYTES))
    }

    fn open_stream(&self) -> Result<HostStream> {
        Ok(HostStream { device: self.clone() })
    }

    fn alloc_host(&self, len_bytes: NonZeroUsize) -> Result<Block> {
        Block::alloc(self, len_bytes.get(), "alloc_host")
    }
}

// ---- memory ----

/// Zeroed memory, freed on drop, owned by raw pointer: moving the value leaves the bytes where they
/// are.
#[derive(Debug)]
pub struct Block {
    start: NonNull<u8>,
    layout: Layout,
    used_bytes: Arc<AtomicUsize>,
}

// SAFETY: the value owns the memory and only tells where it lies; access is the `unsafe` of whoever
// does it.
unsafe impl Send for Block {}
// SAFETY: as for `Send`.
unsafe impl Sync for Block {}

impl Block {
    fn alloc(device: &HostDevice, len_bytes: usize, operation: &'static str) -> Result<Self> {
        let out_of_memory = || {
            let used_bytes = device.used_bytes.load(Relaxed);
            let room = MemoryInfo::new(MEMORY_BYTES - used_bytes, MEMORY_BYTES);
            if cfg!(feature = "broken-out-of-memory") {
                return Error::Driver { backend: BACKEND, operation, code: 2, name: "NO_MEMORY".into() };
            }
            Error::out_of_memory(BACKEND, operation, len_bytes, Some(room))
        };
        let layout = Layout::from_size_align(len_bytes, 256).map_err(|_| out_of_memory())?;
        let used_bytes = Arc::clone(&device.used_bytes);
        let more = |used: usize| used.checked_add(len_bytes).filter(|&used| used <= MEMORY_BYTES);
        used_bytes.fetch_update(Relaxed, Relaxed, more).map_err(|_| out_of_memory())?;
        // SAFETY: core never asks for 0 bytes.
        let Some(start) = NonNull::new(unsafe { alloc_zeroed(layout) }) else {
            used_bytes.fetch_sub(len_bytes, Relaxed);
            return Err(out_of_memory());
        };
        Ok(Self { start, layout, used_bytes })
    }

    /// The byte so far from the start.
    fn at(&self, offset_bytes: usize) -> *mut u8 {
        self.start.as_ptr().wrapping_add(offset_bytes)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.used_bytes.fetch_sub(self.layout.size(), Relaxed);
        // SAFETY: from `alloc_zeroed` with this layout, and freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

// SAFETY: zeroed, aligned to 256, owned by raw pointer.
unsafe impl HostBuffer for Block {
    fn len_bytes(&self) -> usize {
        self.layout.size()
    }

    fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }
}

/// "Device" memory. Dropping it frees nothing: only [`Stream::free`] does.
#[derive(Debug)]
pub struct DeviceMemory(ManuallyDrop<Block>);

// SAFETY: size and address belong to a block that lives until its free; blocks do not overlap
// and are aligned to 256.
unsafe impl Buffer for DeviceMemory {
    fn len_bytes(&self) -> usize {
        self.0.layout.size()
    }

    fn address(&self) -> u64 {
        self.0.start.addr().get() as u64 + if cfg!(feature = "broken-alignment") { 64 } else { 0 }
    }
}

// ---- order ----

/// An event: what it captured has run.
#[derive(Debug)]
pub struct Past;

// SAFETY: what was enqueued before the event was recorded has run.
unsafe impl Event for Past {
    fn query(&self) -> Result<bool> {
        Ok(true)
    }

    fn synchronize(&self) -> Quiesced {
        Quiesced::Done
    }
}

/// A queue that is always empty.
#[derive(Debug)]
pub struct HostStream {
    device: HostDevice,
}

// SAFETY: S1 and S3 to S8 hold because every operation has run when its call returns; S2 asks for
// nothing.
unsafe impl Stream for HostStream {
    type Device = HostDevice;

    fn alloc(&self, len_bytes: NonZeroUsize) -> Result<DeviceMemory> {
        Block::alloc(&self.device, len_bytes.get(), "alloc")
            .map(|block| DeviceMemory(ManuallyDrop::new(block)))
    }

    fn free(&self, op: FreeOp<DeviceMemory>) -> Result<()> {
        let memory = op.into_buffer().0;
        if !cfg!(feature = "broken-free") {
            drop(ManuallyDrop::into_inner(memory));
        }
        Ok(())
    }

    fn copy(&self, op: &CopyOp<'_, DeviceMemory>) -> Result<()> {
        for (src, dst, len_bytes) in op.plan().runs() {
            let len_bytes = len_bytes - usize::from(cfg!(feature = "broken-copy"));
            // SAFETY: the operation proves that both runs lie inside their buffers and share no
            // byte.
            unsafe { ptr::copy_nonoverlapping(op.src().0.at(src), op.dst().0.at(dst), len_bytes) }
        }
        Ok(())
    }

    fn fill(&self, op: &FillOp<'_, DeviceMemory>) -> Result<()> {
        let pattern = op.pattern();
        let pattern = if cfg!(feature = "broken-fill") { &[0; 16][..pattern.len()] } else { pattern };
        for (_, dst, len_bytes) in op.plan().runs() {
            for item in (0..len_bytes).step_by(pattern.len()) {
                let to = op.dst().0.at(dst + item);
                // SAFETY: the operation proves that the run lies inside the buffer and is a whole
                // number of patterns.
                unsafe { ptr::copy_nonoverlapping(pattern.as_ptr(), to, pattern.len()) }
            }
        }
        Ok(())
    }

    fn upload(&self, op: &UploadOp<'_, DeviceMemory>) -> Result<()> {
        let to = op.dst().0.at(op.dst_range_bytes().start);
        // SAFETY: the operation proves that the range lies inside the buffer and that the host
        // memory may be read.
        unsafe { ptr::copy_nonoverlapping(op.src(), to, op.len_bytes()) }
        Ok(())
    }

    fn download(&self, op: &DownloadOp<'_, DeviceMemory>) -> Result<()> {
        let from = op.src().0.at(op.src_range_bytes().start);
        // SAFETY: the operation proves that the range lies inside the buffer and that the host
        // memory may be written.
        unsafe { ptr::copy_nonoverlapping(from, op.dst(), op.len_bytes()) }
        Ok(())
    }

    fn record(&self) -> Result<Past> {
        Ok(Past)
    }

    fn wait(&self, _: &Past) -> Result<()> {
        Ok(())
    }

    fn synchronize(&self) -> Quiesced {
        Quiesced::Done
    }
}

// ---- functions ----

// SAFETY: as for the stream; the interpreter reads and writes the elements of the operands and no
// other byte.
unsafe impl Maps for HostDevice {
    fn map(&self, _: &HostStream, op: &MapOp<'_, DeviceMemory>) -> Result<()> {
        let inputs: Vec<_> = op.inputs().iter().map(elements).collect();
        // SAFETY: the operation proves that the elements lie inside their buffers, and that nothing
        // else uses them.
        unsafe { interpret(op.program(), &inputs, op.scalars(), written(op.result())) }
        Ok(())
    }
}

// SAFETY: as for functions.
unsafe impl Reduces for HostDevice {
    fn reduce(&self, _: &HostStream, op: &ReduceOp<'_, DeviceMemory>) -> Result<()> {
        let inputs: Vec<_> = op.inputs().iter().map(elements).collect();
        let (result, rows) = (written(op.result()), op.rows());
        // SAFETY: as for `map`.
        unsafe { interpret_reduction(op.work(), op.form(), &inputs, op.shape(), result, rows) }
        Ok(())
    }
}

// SAFETY: as for functions.
unsafe impl Gathers for HostDevice {
    fn gather(&self, _: &HostStream, op: &GatherOp<'_, DeviceMemory>) -> Result<()> {
        let start = |memory: &DeviceMemory| memory.0.at(0);
        let memory = GatherMemory {
            indexed: start(op.indexed()),
            indices: start(op.indices()),
            mask: op.mask().map_or(ptr::null(), |mask| start(mask)),
            elements: start(op.elements()),
        };
        // SAFETY: as for `map`.
        let error = unsafe { gather_on_host(op.work(), memory) };
        let found = error.map(|error| (op.number(), error));
        self.index_errors.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        Ok(())
    }

    fn take_index_error(&self, gather: Finished) -> Option<IndexError> {
        self.index_errors.lock().unwrap_or_else(PoisonError::into_inner).remove(&gather.number())
    }
}

// SAFETY: as for functions.
unsafe impl Orders for HostDevice {
    fn order(&self, _: &HostStream, op: &OrderOp<'_, DeviceMemory>) -> Result<()> {
        // SAFETY: as for `map`.
        let error = unsafe { op.run_on_host(|memory| memory.0.at(0), &Alone) };
        let found = error.map(|error| (op.number(), error));
        self.index_errors.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        Ok(())
    }
}

// SAFETY: as for functions.
unsafe impl Products for HostDevice {
    fn product(&self, _: &HostStream, op: &ProductOp<'_, DeviceMemory>) -> Result<()> {
        // SAFETY: as for `map`.
        unsafe { op.run_on_host(|memory| memory.0.at(0), &Alone) };
        Ok(())
    }
}

// ---- what it does not have ----

devarray::capabilities!(impl[] HostDevice: without Fuses);
devarray::capabilities!(impl[] HostStream: without Fetches, ChecksForeign, RunsAtOnce, Captures);

fn elements<'a>(of: &Operand<'a, DeviceMemory>) -> InputElements<'a> {
    InputElements { start: of.buffer().0.at(0), layout: of.layout() }
}

fn written<'a>(to: &Operand<'a, DeviceMemory>) -> ResultElements<'a> {
    ResultElements { start: to.buffer().0.at(0), layout: to.layout() }
}
