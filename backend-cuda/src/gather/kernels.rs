//! The kernels, loaded on first use and launched with their parameter by value.
//!
//! They are kept apart from the kernels of copies, so that a program without gathers never unpacks
//! them.
#![allow(unsafe_code)] // loads a module and launches from it

use std::{ffi::CStr, ptr, sync::Mutex};

use super::{
    index_reports::IndexReports,
    params::{BLOCK_ELEMENTS, Params, SendParams, THREADS},
};
use crate::{
    driver::{Answer, Driver, sys},
    handle::{Handle, locked},
    kernels::LoadedModules,
    packed::packed,
    stream::PAGE_REPORTS,
};

/// The image that the driver loads for a device of generation `major.x`: machine code, or text that
/// ends with a zero.
pub fn image(major: u32) -> Answer<&'static [u8]> {
    packed!(major code "gathers/" "by_index").image()
}

/// Notes the last of the indices that name one place.
pub const LAST_OF_EACH: &CStr = c"last_of_each";

/// The kernels that move elements of 1, 2, 4, 8 and 16 bytes: that pick, with any parameter and with
/// a near one, and that put, likewise.
const MOVES: [[&CStr; 4]; 5] = [
    [c"take_1", c"take_near_1", c"put_1", c"put_near_1"],
    [c"take_2", c"take_near_2", c"put_2", c"put_near_2"],
    [c"take_4", c"take_near_4", c"put_4", c"put_near_4"],
    [c"take_8", c"take_near_8", c"put_8", c"put_near_8"],
    [c"take_16", c"take_near_16", c"put_16", c"put_near_16"],
];

/// The kernel that picks elements of this many bytes; `near` says whether the parameter is near.
pub fn take(width: u32, near: bool) -> &'static CStr {
    MOVES[width.ilog2() as usize][usize::from(near)]
}

/// The kernel that puts elements of this many bytes; `near` says whether the parameter is near.
pub fn put(width: u32, near: bool) -> &'static CStr {
    MOVES[width.ilog2() as usize][2 + usize::from(near)]
}

/// The kernels that select elements of such widths: of any layouts, and along one axis.
const SELECTS: [[&CStr; 2]; 5] = [
    [c"select_1", c"select_line_1"],
    [c"select_2", c"select_line_2"],
    [c"select_4", c"select_line_4"],
    [c"select_8", c"select_line_8"],
    [c"select_16", c"select_line_16"],
];

/// Selects elements in pieces of this many bytes, along one axis if it is a `line`.
pub fn select(width: u32, line: bool) -> &'static CStr {
    SELECTS[width.ilog2() as usize][usize::from(line)]
}

/// The number of elements in a tile of a selection, which `select.cuh` determines. A tile of a line
/// has at most 16 KiB.
pub fn select_elements(width: u32, line: bool) -> u32 {
    if line { THREADS * (64 / width).min(16) } else { BLOCK_ELEMENTS }
}

/// Sends the reports of a page to the host.
const SEND: &CStr = c"send_reports";

/// Blocks, threads of each, and bytes of shared memory of the kernel that sends the reports of a page.
#[expect(clippy::cast_possible_truncation, reason = "64")]
const SEND_SIZES: [u32; 3] = [1, PAGE_REPORTS as u32, 0];

/// The kernels of gathers on a context, and the errors that they reported.
#[derive(Debug)]
pub(crate) struct Gathers {
    /// The first number of the device's generation.
    major: u32,
    /// Receives the device's reports of indices out of range.
    pub(crate) index_reports: IndexReports,
    loaded: Mutex<LoadedModules<(), &'static CStr>>,
}

impl Gathers {
    pub(crate) fn new(major: u32) -> Self {
        Self { major, index_reports: IndexReports::default(), loaded: Mutex::default() }
    }

    /// Launches the kernel of a name on a stream, whose context is bound. Does not synchronize.
    pub(super) fn launch(
        &self,
        driver: &Driver,
        stream: sys::CUstream,
        (kernel, block_elements): (&'static CStr, u32),
        params: &Params,
    ) -> Answer {
        let function = self.function(driver, kernel)?;
        let sizes = [params.total.div_ceil(block_elements), THREADS, 0];
        // SAFETY: the kernel has one parameter, of the size of the block. It touches what the
        // operation proves that it may, and the memory of winners or tiles; stream and function are of one
        // context.
        unsafe { driver.launch(stream, function.raw(), sizes, ptr::from_ref(params).cast()) }
    }

    /// Loads the kernel of [`send`](Self::send).
    pub(crate) fn load_send(&self, driver: &Driver) -> Answer {
        self.function(driver, SEND).map(drop)
    }

    /// Sends the reports of a page to the host and clears them, on a stream whose context is bound. Does not
    /// synchronize.
    pub(crate) fn send(&self, driver: &Driver, stream: sys::CUstream, params: &SendParams) -> Answer {
        let function = self.function(driver, SEND)?;
        // SAFETY: the kernel has one parameter, of the size of the block. It touches the page, which no other
        // operation uses meanwhile, and slots that it alone writes; stream and function are of one context.
        unsafe { driver.launch(stream, function.raw(), SEND_SIZES, ptr::from_ref(params).cast()) }
    }

    /// The kernel of a name, whose module is loaded on first use.
    fn function(&self, driver: &Driver, kernel: &'static CStr) -> Answer<Handle<sys::CUfunc_st>> {
        let image = image(self.major)?;
        // SAFETY: all images are of these two kinds.
        unsafe { locked(&self.loaded).function(driver, ((), image), (kernel, kernel)) }
    }

    /// Gives everything back. No work of the context runs any more.
    pub(crate) fn close(&self, driver: &Driver) -> Answer {
        let module = locked(&self.loaded).modules.remove(&());
        let unloaded = module.map_or(Ok(()), |module| driver.unload(module));
        unloaded.and(self.index_reports.close(driver))
    }
}
