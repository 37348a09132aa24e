//! The state of the fake driver, and how a thread reaches it.
#![allow(unsafe_code)] // vouches for the fake's functions

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::c_int,
    ops::Range,
    ptr,
    sync::{Arc, Mutex, PoisonError},
};

use devarray_cuda::{
    driver::{Driver, Function, Table, sys::CUstream},
    strided::kernel::{Kernel, Module},
};

use super::ptx::Text;

pub(crate) const INVALID: i32 = 1;
pub(crate) const NO_MEMORY: i32 = 2;

/// 512 bytes at a multiple of 512, as the driver's pool allocates.
#[derive(Debug, Clone)]
#[repr(align(512))]
struct Chunk(#[expect(dead_code, reason = "reached by address alone")] [u8; 512]);

/// An allocation.
#[derive(Debug)]
pub(crate) struct Block {
    chunks: Vec<Chunk>,
    pub(crate) len_bytes: usize,
    /// The device whose context was current.
    pub(crate) device: c_int,
}

impl Block {
    /// Memory whose bytes are not 0, so that nobody relies on that.
    pub(crate) fn new(len_bytes: usize) -> Self {
        let device = c_int::try_from(CURRENT.get()).unwrap() - 1;
        Self { chunks: vec![Chunk([0xa5; 512]); len_bytes.div_ceil(512)], len_bytes, device }
    }

    pub(crate) fn zeroed(len_bytes: usize) -> Self {
        let mut block = Self::new(len_bytes);
        block.chunks.fill(Chunk([0; 512]));
        block
    }

    pub(crate) fn address(&mut self) -> usize {
        self.chunks.as_mut_ptr().expose_provenance()
    }
}

/// The fake driver.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) version: c_int,
    pub(crate) devices: c_int,
    pub(crate) generation: (c_int, c_int),
    pub(crate) pools: c_int,
    /// Whether host memory can be registered, mapped and managed.
    pub(crate) host_kinds: c_int,
    /// The answer of `cuInit`.
    pub(crate) init: i32,
    /// The answer of `cuDevicePrimaryCtxRetain`.
    pub(crate) retain: i32,
    /// The answer of `cuEventQuery`.
    pub(crate) query: i32,
    /// With the clocks that the fake tells of, how fast memory is.
    pub(crate) memory_bus_bits: c_int,
    /// Most shared memory of a block.
    pub(crate) block_bytes: c_int,
    pub(crate) total_bytes: usize,
    /// Bytes the pool keeps after frees, until it is trimmed.
    pub(crate) cached_bytes: usize,
    /// Most bytes allocated, and most bytes allocated or kept, since each was reset.
    pub(crate) pool_peaks: (usize, usize),
    pub(crate) memory: BTreeMap<usize, Block>,
    pub(crate) pinned: BTreeMap<usize, Block>,
    /// Flags of each allocation of pinned memory, and addresses and lengths of registered memory.
    pub(crate) pinned_flags: BTreeMap<usize, u32>,
    pub(crate) registered: BTreeMap<usize, usize>,
    pub(crate) managed: BTreeMap<usize, Block>,
    /// Addresses of device memory that is not of a pool.
    pub(crate) plain: BTreeSet<usize>,
    /// Memory opened by handles, with how often.
    pub(crate) opened: BTreeMap<usize, usize>,
    /// Prefetches and advice, with bytes and device.
    pub(crate) hints: Vec<(Function, usize, c_int)>,
    pub(crate) threshold: u64,
    /// Devices that cannot reach each other.
    pub(crate) apart: bool,
    /// (context's device, peer), (pool's device, who may), as enabled.
    pub(crate) peers: BTreeSet<(c_int, c_int)>,
    pub(crate) pool_access: BTreeSet<(c_int, c_int)>,
    pub(crate) contexts: HashMap<c_int, usize>,
    /// Streams, events and modules alive, by handle.
    pub(crate) live: BTreeMap<usize, &'static str>,
    /// Events with timing.
    pub(crate) timed: BTreeSet<usize>,
    /// Address and bytes of variables, by module and name.
    pub(crate) globals: BTreeMap<(usize, String), (usize, usize)>,
    /// Events for other processes.
    pub(crate) exported: BTreeSet<usize>,
    /// Modules of the library, by handle, and functions of them.
    pub(crate) modules: HashMap<usize, Module>,
    pub(crate) kernels: HashMap<usize, Kernel>,
    /// Functions that were written as text: by module and name, and by function.
    pub(crate) texts: HashMap<usize, HashMap<String, Arc<Text>>>,
    /// Dynamic shared memory that functions are allowed.
    pub(crate) dynamic_bytes: HashMap<usize, u32>,
    pub(crate) functions: HashMap<usize, (usize, Arc<Text>)>,
    /// Images of programs.
    pub(crate) programs: super::programs_of::Programs,
    /// The library for products.
    pub(crate) cublaslt: super::cublaslt::Library,
    pub(crate) nccl: super::nccl::Library,
    /// Kernels of gathers.
    pub(crate) gathers: super::gathers::Gathers,
    /// Graphs, and what streams capture.
    pub(crate) graphs: super::graphs::Graphs,
    /// Launches of functions since somebody looked.
    pub(crate) launched: super::frozen::Digest,
    /// Every text that was loaded.
    pub(crate) written: Vec<String>,
    /// Whether machine code of functions is loaded. Its kernels do nothing.
    pub(crate) machine_code: bool,
    /// The driver's message about every text, which it refuses.
    pub(crate) refusal: Option<String>,
    /// Every kernel asked for, by name.
    pub(crate) asked: Vec<String>,
    /// Whether kernels and fills do nothing, because what they would do takes long.
    pub(crate) idle: bool,
    /// Calls on default streams, and which.
    pub(crate) defaults: Vec<(Function, usize)>,
    /// Every call that reached the driver.
    pub(crate) log: Vec<Function>,
    pub(crate) misuse: Vec<String>,
    pub(crate) next: usize,
}

impl Default for State {
    fn default() -> Self {
        Self {
            version: 13_000,
            devices: 2,
            generation: (9, 0),
            pools: 1,
            host_kinds: 1,
            init: 0,
            retain: 0,
            query: 0,
            memory_bus_bits: 10,
            block_bytes: 232_448,
            total_bytes: 1 << 24,
            cached_bytes: 0,
            pool_peaks: (0, 0),
            memory: BTreeMap::new(),
            pinned: BTreeMap::new(),
            pinned_flags: BTreeMap::new(),
            registered: BTreeMap::new(),
            managed: BTreeMap::new(),
            plain: BTreeSet::new(),
            opened: BTreeMap::new(),
            hints: Vec::new(),
            threshold: 0,
            apart: false,
            peers: BTreeSet::new(),
            pool_access: BTreeSet::new(),
            contexts: HashMap::new(),
            live: BTreeMap::new(),
            timed: BTreeSet::new(),
            globals: BTreeMap::new(),
            exported: BTreeSet::new(),
            modules: HashMap::new(),
            kernels: HashMap::new(),
            texts: HashMap::new(),
            dynamic_bytes: HashMap::new(),
            functions: HashMap::new(),
            programs: super::programs_of::Programs::default(),
            cublaslt: super::cublaslt::Library::default(),
            nccl: super::nccl::Library::default(),
            gathers: super::gathers::Gathers::default(),
            graphs: super::graphs::Graphs::default(),
            launched: super::frozen::Digest::default(),
            written: Vec::new(),
            machine_code: false,
            refusal: None,
            asked: Vec::new(),
            idle: false,
            defaults: Vec::new(),
            log: Vec::new(),
            misuse: Vec::new(),
            next: 0x1000,
        }
    }
}

impl State {
    pub(crate) fn used_bytes(&self) -> usize {
        self.memory.values().map(|block| block.len_bytes).sum()
    }

    /// Everything allocated, open or retained, in words.
    pub(crate) fn leaks(&self) -> Vec<String> {
        let memory = self.memory.keys().map(|at| format!("device memory at {at:#x}"));
        let pinned = self.pinned.keys().map(|at| format!("pinned memory at {at:#x}"));
        let contexts = self.contexts.iter().filter(|(_, count)| **count > 0);
        memory
            .chain(pinned)
            .chain(self.registered.keys().map(|at| format!("registered memory at {at:#x}")))
            .chain(self.managed.keys().map(|at| format!("managed memory at {at:#x}")))
            .chain(self.opened.keys().map(|at| format!("open memory at {at:#x}")))
            .chain(contexts.map(|(device, count)| format!("context of {device}, {count} times")))
            .chain(self.live.values().map(|&kind| kind.to_owned()))
            .collect()
    }

    /// Whether the bytes lie inside one allocation of `memory`.
    fn inside(memory: &BTreeMap<usize, Block>, at: usize, len_bytes: usize) -> bool {
        memory
            .range(..=at)
            .next_back()
            .is_some_and(|(start, block)| at + len_bytes <= start + block.len_bytes)
    }

    /// The block of device memory in which an address lies.
    pub(crate) fn block(&self, at: usize) -> Option<(usize, &Block)> {
        let (&start, block) = self.memory.range(..=at).next_back()?;
        (at < start + block.len_bytes).then_some((start, block))
    }

    /// Whether the device whose context is current may touch an address.
    pub(crate) fn reaches(&self, at: usize) -> bool {
        let device = c_int::try_from(CURRENT.get()).unwrap() - 1;
        let Some((start, block)) = self.block(at) else { return true };
        let owner = block.device;
        let open = if self.plain.contains(&start) {
            self.peers.contains(&(device, owner))
        } else {
            self.pool_access.contains(&(owner, device))
        };
        owner == device || open
    }

    /// The device bytes at an address, if they are allocated and aligned.
    pub(crate) fn device(&mut self, at: u64, len_bytes: usize, align: usize) -> Option<*mut u8> {
        let at = usize::try_from(at).ok()?;
        let mapped = Self::inside(&self.pinned, at, len_bytes) || Self::inside(&self.managed, at, len_bytes);
        if !(mapped || Self::inside(&self.memory, at, len_bytes)) || !at.is_multiple_of(align) {
            self.misuse.push(format!("{len_bytes} bytes at {at:#x} are not allocated, or not aligned"));
            return None;
        }
        if !self.reaches(at) {
            self.misuse.push(format!("{at:#x} is memory of another device, which is not open to this one"));
            return None;
        }
        Some(ptr::with_exposed_provenance_mut(at))
    }

    /// The allocation around an address that kernels of the current context may touch.
    pub(crate) fn allocation(&self, at: usize) -> Option<Range<usize>> {
        let around = |memory: &BTreeMap<usize, Block>| {
            let (&start, block) = memory.range(..=at).next_back()?;
            (at < start + block.len_bytes).then(|| start..start + block.len_bytes)
        };
        let found = [&self.pinned, &self.managed, &self.memory].into_iter().find_map(around)?;
        self.reaches(at).then_some(found)
    }

    /// Whether a handle is alive and of this kind.
    pub(crate) fn alive(&mut self, handle: usize, kind: &'static str) -> bool {
        let alive = self.live.get(&handle) == Some(&kind);
        if !alive {
            self.misuse.push(format!("{handle:#x} is no {kind}"));
        }
        alive
    }

    pub(crate) fn create(&mut self, kind: &'static str) -> usize {
        self.next += 0x10;
        self.live.insert(self.next, kind);
        self.next
    }

    pub(crate) fn destroy(&mut self, handle: usize, kind: &'static str) -> i32 {
        if self.alive(handle, kind) {
            self.live.remove(&handle);
            return 0;
        }
        INVALID
    }
}

/// A fake driver, and the table of the backend over it.
#[derive(Debug, Clone)]
pub(crate) struct Fake(pub(crate) Arc<Mutex<State>>);

thread_local! {
    static INSTALLED: RefCell<Option<Fake>> = const { RefCell::new(None) };
    pub(crate) static CURRENT: Cell<usize> = const { Cell::new(0) };
}

impl Fake {
    /// A fake for this thread.
    pub(crate) fn new() -> Self {
        let fake = Self(Arc::default());
        fake.install();
        fake
    }

    /// Makes this thread's driver calls reach the fake.
    pub(crate) fn install(&self) {
        INSTALLED.set(Some(self.clone()));
        CURRENT.set(0);
    }

    /// The fake of this thread.
    pub(crate) fn installed() -> Self {
        INSTALLED.with_borrow(Clone::clone).expect("a fake is installed")
    }

    pub(crate) fn state<R>(&self, use_state: impl FnOnce(&mut State) -> R) -> R {
        use_state(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A driver over the whole table.
    pub(crate) fn driver(&self) -> Arc<Driver> {
        self.driver_of(super::driver::table())
    }

    pub(crate) fn driver_of(&self, table: Table) -> Arc<Driver> {
        // SAFETY: the functions do what the driver's do, at once.
        unsafe { Driver::new(table) }
    }

    /// Panics if the backend did what the driver's documentation forbids.
    pub(crate) fn assert_proper(&self) {
        self.state(|state| assert_eq!(state.misuse, Vec::<String>::new()));
    }
}

/// Runs a call that needs no context.
pub(crate) fn with(function: Function, call: impl FnOnce(&mut State) -> i32) -> i32 {
    let fake = INSTALLED.with_borrow(Clone::clone);
    let Some(fake) = fake else { return 3 };
    // A failed assertion must not make the calls that clean up panic behind the C interface.
    let mut state = fake.0.lock().unwrap_or_else(PoisonError::into_inner);
    state.log.push(function);
    call(&mut state)
}

/// Runs a call that needs the context of a device to be current.
pub(crate) fn within(function: Function, call: impl FnOnce(&mut State) -> i32) -> i32 {
    with(function, |state| {
        let device = c_int::try_from(CURRENT.get()).unwrap() - 1;
        if state.contexts.get(&device).is_none_or(|&count| count == 0) {
            state.misuse.push(format!("{} without a context", function.symbol()));
            return 201;
        }
        call(state)
    })
}

/// Runs a call on a live stream, which may not capture.
pub(crate) fn on(stream: CUstream, function: Function, call: impl FnOnce(&mut State) -> i32) -> i32 {
    within(function, |state| match state.alive(stream.addr(), "stream") {
        true if state.graphs.captures(stream.addr()) => super::graphs::refuse(state, function),
        true => call(state),
        false => 400,
    })
}

/// Like [`on`], also on the default streams, which are noted: 1 and 2.
pub(crate) fn on_any(stream: CUstream, function: Function, call: impl FnOnce(&mut State) -> i32) -> i32 {
    if !matches!(stream.addr(), 1 | 2) {
        return on(stream, function, call);
    }
    within(function, |state| {
        state.defaults.push((function, stream.addr()));
        call(state)
    })
}
