//! The kernels of the library on the fake driver: images known by their bytes, functions by their
//! names, and launches emulated.
#![allow(unsafe_code)] // reads images and parameters, and moves the bytes that a kernel would

use std::{
    cell::Cell,
    collections::BTreeMap,
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{Mutex, PoisonError},
};

use devarray_cuda::strided::{
    JoinParams, Params, StridedLaunch,
    kernel::{Entry, Family, Kernel, Module},
    params::{FillParams, GatherParams, InterleaveParams, PiecesParams, RowsParams, TileParams},
};

use super::{
    emulate::{self, Memory},
    state::{INVALID, State},
};

/// The images of the library that were compared, by address: the program keeps them where they are.
static KNOWN: Mutex<BTreeMap<usize, Module>> = Mutex::new(BTreeMap::new());

/// The library module whose image, for a compute capability `major`, is at `image`; none if it is another
/// image.
pub(crate) fn known(image: *const c_void, major: u32) -> Option<Module> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(module) = known.get(&image.addr()) {
        return Some(*module);
    }
    let same = |(at, &byte): (usize, &u8)| {
        // SAFETY: all before it was as in an image of the library, so that this byte is there too:
        // machine code says in the beginning how long it is, and text ends with a zero.
        unsafe { image.cast::<u8>().wrapping_add(at).read() == byte }
    };
    let is_it = |module: &Module| module.image(major).unwrap().iter().enumerate().all(same);
    let found = Module::ALL.iter().copied().find(is_it);
    known.extend(found.map(|module| (image.addr(), module)));
    found
}

/// The kernel of that name in a module.
pub(crate) fn named(module: Module, name: &str) -> Option<Kernel> {
    let widths = [1, 2, 4, 8, 16];
    let all = Entry::ALL.iter().flat_map(|&entry| widths.map(|width| Kernel::new(entry, width)));
    all.into_iter().find(|kernel| {
        kernel.module() == module && kernel.name().is_some_and(|found| found.to_str() == Ok(name))
    })
}

/// The grid, and the parameters' address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) grid: u32,
    pub(crate) threads: u32,
    pub(crate) shared_bytes: u32,
    pub(crate) params: *const c_void,
}

/// A launch with its parameters, which the driver copies.
pub(crate) enum Launch {
    Copy(Box<StridedLaunch>),
    Join(Box<StridedLaunch<JoinParams>>),
    Fill(Box<StridedLaunch<FillParams>>),
}

/// Reads the parameters of a launch of a kernel.
pub(crate) fn launch(kernel: Kernel, call: Call) -> Launch {
    let Call { grid, threads, shared_bytes, params } = call;
    let params = match kernel.entry.family() {
        // SAFETY: kernels of rows are launched with `RowsParams`, and `params` points to them.
        Family::Rows => Params::Rows(unsafe { params.cast::<RowsParams>().read() }),
        // SAFETY: kernels of tiles are launched with `TileParams`, and `params` points to them.
        Family::Tile => Params::Tile(unsafe { params.cast::<TileParams>().read() }),
        // SAFETY: kernels of single elements are launched with `GatherParams`, and `params` points to them.
        Family::Gather => Params::Gather(unsafe { params.cast::<GatherParams>().read() }),
        Family::Join => {
            let params = match kernel.entry {
                // SAFETY: kernels of copies side by side are launched with `PiecesParams`, and `params`
                // points to them.
                Entry::JoinPieces => JoinParams::Pieces(unsafe { params.cast::<PiecesParams>().read() }),
                // SAFETY: kernels of short rows are launched with `InterleaveParams`, and `params` points
                // to them.
                _ => JoinParams::Interleave(unsafe { params.cast::<InterleaveParams>().read() }),
            };
            return Launch::Join(Box::new(StridedLaunch { kernel, grid, threads, shared_bytes, params }));
        }
        Family::Fill => {
            // SAFETY: kernels of fills are launched with `FillParams`, and `params` points to them.
            let params = unsafe { params.cast::<FillParams>().read() };
            return Launch::Fill(Box::new(StridedLaunch { kernel, grid, threads, shared_bytes, params }));
        }
    };
    Launch::Copy(Box::new(StridedLaunch { kernel, grid, threads, shared_bytes, params }))
}

/// Carries out a launch.
pub(crate) fn run(launch: &Launch, state: &mut State) -> i32 {
    let mut device = Device { state, near: Cell::default() };
    let done = catch_unwind(AssertUnwindSafe(|| match launch {
        Launch::Copy(launch) => emulate::run(launch, &mut device),
        Launch::Join(launch) => emulate::join::join(launch, &mut device),
        Launch::Fill(launch) => emulate::fill(launch, &mut device),
    }));
    if done.is_err() {
        let kernel = match launch {
            Launch::Copy(launch) => launch.kernel,
            Launch::Join(launch) => launch.kernel,
            Launch::Fill(launch) => launch.kernel,
        };
        device.state.misuse.push(format!("{kernel:?} does what it must not"));
        return INVALID;
    }
    0
}

/// The memory of the fake driver.
struct Device<'a> {
    state: &'a mut State,
    /// The last allocations that were touched: one read, and one written.
    near: Cell<[(usize, usize); 2]>,
}

impl Device<'_> {
    /// The bytes at an address, which must be allocated.
    fn at(&self, at: u64, len_bytes: usize, side: usize) -> *mut u8 {
        let at = usize::try_from(at).unwrap();
        let mut near = self.near.get();
        if at < near[side].0 || at + len_bytes > near[side].1 {
            let found = self.state.allocation(at).expect("allocated memory");
            assert!(at + len_bytes <= found.end, "inside an allocation");
            near[side] = (found.start, found.end);
            self.near.set(near);
        }
        ptr::with_exposed_provenance_mut(at)
    }
}

impl Memory for Device<'_> {
    fn read(&self, at: u64) -> u8 {
        // SAFETY: allocated.
        unsafe { self.at(at, 1, 0).read() }
    }

    fn write(&mut self, at: u64, bytes: &[u8]) {
        // SAFETY: allocated, and apart from what is on this side.
        unsafe { self.at(at, bytes.len(), 1).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
}
