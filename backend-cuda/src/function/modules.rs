//! The compiled functions of a device: loaded on first use, launched with their parameter by value.
//!
//! They have a cache of their own: a program may write any number of functions, so kernels are
//! evicted here and nowhere else, and are unloaded when nothing runs them any more.
#![allow(unsafe_code)] // loads modules, launches from them, and unloads them when nothing runs them any more

use std::{
    ffi::CString,
    mem, ptr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use devarray::{Error, Result, function::primitive::Program};

use super::{
    class::{Class, Family},
    families::write,
    kernel_cache::KernelCache,
    parameter::Parameter,
    product_kernel::ProductKernel,
    reduce::dynamic_bytes,
    shipped,
};
use crate::{
    context::Context,
    driver::{Answer, DYNAMIC_SHARED, Driver, INVALID_VALUE, sys},
    event::{Kind, RawEvent},
    handle::{Handle, locked},
    stream::{RawStream, Streams},
};

/// A loaded kernel.
#[derive(Debug)]
pub(super) struct LoadedKernel {
    module: Handle<sys::CUmod_st>,
    function: Handle<sys::CUfunc_st>,
}

/// Counts of the kernels of functions, and of their launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FunctionStatistics {
    /// Kernels that are loaded and kept, at most 1,024.
    pub kept: usize,
    /// Kernels that were compiled.
    pub compiled: u64,
    /// Kernels for which the shipped machine code was loaded.
    pub shipped: u64,
    /// Launches. All except the first of each kernel found it loaded.
    pub launches: u64,
    /// Kernels that were evicted to make room for others.
    pub evicted: u64,
}

/// The kernels of one context.
#[derive(Debug)]
pub(crate) struct Functions {
    /// The streams of the context, which may run them.
    streams: Arc<Streams>,
    launches: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    cache: KernelCache<LoadedKernel>,
    /// The statistics, without the numbers of kept kernels and of launches.
    statistics: FunctionStatistics,
    /// Kernels that are evicted but may still run.
    retired: Vec<Arc<LoadedKernel>>,
    /// Evicted kernels that wait for recorded events. They are unloaded as soon as all work
    /// enqueued before the events is done.
    leaving: Vec<Arc<LoadedKernel>>,
    events: Vec<RawEvent>,
    /// The last events of streams that were closed after they launched functions.
    closed: Vec<RawEvent>,
    /// Whether the end of some closed stream is unknown. Then nothing can be unloaded before the
    /// context closes.
    lost: bool,
}

impl Functions {
    pub(crate) fn new(streams: &Arc<Streams>) -> Self {
        Self { streams: Arc::clone(streams), launches: AtomicU64::default(), state: Mutex::default() }
    }

    pub(crate) fn statistics(&self) -> FunctionStatistics {
        let state = locked(&self.state);
        let launches = self.launches.load(Relaxed);
        FunctionStatistics { kept: state.cache.len(), launches, ..state.statistics }
    }

    /// The kernel of a launch, which is compiled if it is not in the cache. The context of the
    /// launch must be bound. Does not synchronize.
    pub(super) fn kernel(
        &self,
        context: &Context,
        driver: &Driver,
        program: &Program,
        class: &Class,
    ) -> Result<Arc<LoadedKernel>> {
        if let Some(loaded) = locked(&self.state).cache.get(program, class) {
            return Ok(loaded);
        }
        // Compiled without the lock, so that threads may compile at one time.
        let text = write(program, class);
        let shipped = load_shipped(driver, &text, self.streams.kernels().major());
        let is_shipped = shipped.is_some();
        let module = shipped.map_or_else(|| compile(context, driver, text), Ok)?;
        let loaded = Arc::new(kernel_of(context, driver, module, class)?);
        // These are dropped after the lock, because the last owner of a stream closes it.
        let streams;
        let mut state = locked(&self.state);
        // The list is read under the lock: a stream that is opened later cannot run a kernel that
        // was evicted before.
        streams = self.streams.open_of_all();
        state.statistics.shipped += u64::from(is_shipped);
        state.statistics.compiled += u64::from(!is_shipped);
        // This comes first, so that kernels retired below wait for the streams that are open next
        // time.
        state.unload_what_ended(context, driver, &streams);
        if let Some(already) = state.cache.get(program, class) {
            state.retired.push(loaded);
            return Ok(already);
        }
        if let Some(evicted) = state.cache.insert(program.clone(), class.clone(), Arc::clone(&loaded)) {
            state.statistics.evicted += 1;
            state.retired.push(evicted);
        }
        Ok(loaded)
    }

    /// Launches a kernel on `stream`, whose context must be bound, given blocks, threads of each, and
    /// bytes of shared memory. Does not synchronize.
    pub(super) fn launch(
        &self,
        driver: &Driver,
        stream: sys::CUstream,
        loaded: &LoadedKernel,
        sizes: [u32; 3],
        parameter: &Parameter,
    ) -> Answer {
        self.launches.fetch_add(1, Relaxed);
        // SAFETY: the kernel was compiled for one parameter of that size; it touches the elements
        // of the operation that the launch was made from, and reads between them; stream and
        // function are of one context, and the function stays loaded while `loaded` is held.
        unsafe { driver.launch(stream, loaded.function.raw(), sizes, parameter.as_ptr().cast()) }
    }

    /// Notes a stream that is closed and may still run functions. Its context must be bound.
    pub(crate) fn close(&self, driver: &Driver, stream: sys::CUstream) -> Answer {
        let mut state = locked(&self.state);
        state.closed.retain(|event| !ended(driver, event));
        let event = RawEvent::record(driver, stream, Kind::Plain);
        state.lost |= event.is_err();
        state.closed.push(event?);
        Ok(())
    }

    /// Unloads everything. No work may be left on the context, which must be bound.
    pub(crate) fn unload(&self, driver: &Driver) -> Answer {
        let mut state = locked(&self.state);
        let mut all = state.cache.take();
        all.append(&mut state.retired);
        all.append(&mut state.leaving);
        let mut answer = Ok(());
        for event in mem::take(&mut state.events).into_iter().chain(mem::take(&mut state.closed)) {
            answer = event.destroy(driver).and(answer);
        }
        for loaded in all {
            answer = driver.unload(loaded.module).and(answer);
        }
        answer
    }
}

impl State {
    /// Unloads evicted kernels that no stream can run any more. It works in rounds: it records
    /// events after everything that may run some of them, and unloads those kernels once the events
    /// are over. `streams` are the open streams, and whether they are all.
    fn unload_what_ended(
        &mut self,
        context: &Context,
        driver: &Driver,
        (streams, are_all): &(Vec<Arc<RawStream>>, bool),
    ) {
        if self.lost || !are_all {
            return;
        }
        self.events.retain(|event| !ended(driver, event));
        if self.events.is_empty() {
            for loaded in self.leaving.drain(..) {
                context.release("map", |driver| driver.unload(loaded.module));
            }
        }
        // If another thread is about to launch a kernel, that thread owns it too.
        let mut idle = self.retired.extract_if(.., |loaded| Arc::strong_count(loaded) == 1).peekable();
        if !self.leaving.is_empty() || idle.peek().is_none() {
            return;
        }
        self.leaving.extend(idle);
        self.events.append(&mut self.closed);
        // The stream that captured a graph keeps the graph's kernels.
        for stream in streams.iter().filter(|stream| !stream.captures()) {
            match RawEvent::record(driver, stream.raw(), Kind::Plain) {
                Ok(event) => self.events.push(event),
                Err(failure) => {
                    // Without the event the end of these kernels is unknown, so the next round
                    // tries again.
                    driver.report(context.error("map", failure));
                    self.retired.append(&mut self.leaving);
                    self.closed.append(&mut self.events);
                    return;
                }
            }
        }
    }
}

/// Whether an event is over; if so, destroys it. After an error of the device nothing ends any
/// more.
fn ended(driver: &Driver, event: &RawEvent) -> bool {
    event.query(driver).and_then(|()| event.destroy(driver)).is_ok()
}

/// Loads the machine code that is shipped for a text. If the driver refuses it, the text is
/// compiled instead.
fn load_shipped(driver: &Driver, text: &str, major: u32) -> Option<Handle<sys::CUmod_st>> {
    let code = shipped::machine_code(text, major)?;
    let mut module = ptr::null_mut();
    // SAFETY: the image is an ELF file, whose header says how long it is; the pointer is to a
    // local.
    unsafe { driver.module_load_data(&raw mut module, code.bytes().as_ptr().cast()) }.ok()?;
    Some(Handle::new(module))
}

/// Compiles and loads a text. The error holds the driver's log, and the text.
fn compile(context: &Context, driver: &Driver, text: String) -> Result<Handle<sys::CUmod_st>> {
    let text = CString::new(text).map_err(|_| context.error("map", INVALID_VALUE))?;
    // SAFETY: the image is text that ends with a zero.
    let loaded = unsafe { driver.load_logged(text.as_ptr().cast()) };
    loaded.map_err(|(failure, log)| match context.error("map", failure) {
        Error::Driver { backend, operation, code, name } => {
            let name = format!("{name}: {log}\nin the text:\n{}", text.to_string_lossy());
            Error::Driver { backend, operation, code, name }
        }
        error => error,
    })
}

/// The kernel of a module that was just loaded. Its launches may ask for all shared memory of the
/// device.
fn kernel_of(
    context: &Context,
    driver: &Driver,
    module: Handle<sys::CUmod_st>,
    class: &Class,
) -> Result<LoadedKernel> {
    let found = driver.function(module, c"map").and_then(|function| {
        if matches!(&class.family, Family::Reduce(kernel) if kernel.has_dynamic()) {
            let most = i32::try_from(dynamic_bytes(&context.info().properties)).unwrap_or(i32::MAX);
            // SAFETY: the function is of the module, and its context is bound.
            unsafe { driver.func_set_attribute(function.raw(), DYNAMIC_SHARED, most) }?;
        }
        if let Family::Product(ProductKernel { shared_bytes: bytes @ 1.., .. }) = class.family {
            let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
            // SAFETY: as above.
            unsafe { driver.func_set_attribute(function.raw(), DYNAMIC_SHARED, bytes) }?;
        }
        Ok(LoadedKernel { module, function })
    });
    found.map_err(|failure| {
        context.release("map", |driver| driver.unload(module));
        context.error("map", failure)
    })
}
