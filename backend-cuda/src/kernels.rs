//! The compiled kernels of a device: loaded on first use, launched with their parameters by value.
//!
//! `kernels/gather.ptx` is generated from `kernels/gather.cu` by `kernels/build.py`; the driver compiles it for the
//! device when the first strided copy or fill needs it, and keeps the result in its own cache on disk.
#![allow(unsafe_code)] // loads the module and launches from it

mod divide;
mod params;
mod strided;

use std::{
    ffi::CStr,
    ptr,
    sync::{Mutex, OnceLock},
};

use crate::{
    driver::{Answer, Driver, INVALID_VALUE, sys},
    handle::{Handle, locked},
};

pub(crate) use divide::Divider;
pub(crate) use params::Params;
pub(crate) use strided::Strided;

/// The module, ended by the zero that the driver needs.
const GATHER_PTX: &CStr =
    match CStr::from_bytes_with_nul(concat!(include_str!("../kernels/gather.ptx"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the PTX holds a zero byte"),
    };

/// Threads of a block; the kernels are compiled for it.
const BLOCK: u32 = 256;

/// Most blocks of a grid along x (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const MAX_GRID: u64 = (1 << 31) - 1;

/// What a kernel does with each element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Copies it from the source.
    Gather,
    /// Writes the pattern.
    Fill,
}

/// Kernel names, by kind, by the logarithm of the width, and whether indices need 64 bits.
const NAMES: [[[&CStr; 2]; 5]; 2] = [
    [
        [c"gather_w1_n32", c"gather_w1_n64"],
        [c"gather_w2_n32", c"gather_w2_n64"],
        [c"gather_w4_n32", c"gather_w4_n64"],
        [c"gather_w8_n32", c"gather_w8_n64"],
        [c"gather_w16_n32", c"gather_w16_n64"],
    ],
    [
        [c"fill_w1_n32", c"fill_w1_n64"],
        [c"fill_w2_n32", c"fill_w2_n64"],
        [c"fill_w4_n32", c"fill_w4_n64"],
        [c"fill_w8_n32", c"fill_w8_n64"],
        [c"fill_w16_n32", c"fill_w16_n64"],
    ],
];

type Slot = OnceLock<Handle<sys::CUfunc_st>>;

/// The module of one context, as far as it was needed.
#[derive(Debug, Default)]
pub(crate) struct Kernels {
    loading: Mutex<()>,
    module: OnceLock<Handle<sys::CUmod_st>>,
    functions: [[[Slot; 2]; 5]; 2],
}

impl Kernels {
    /// The module, if it was loaded.
    pub(crate) fn module(&self) -> Option<Handle<sys::CUmod_st>> {
        self.module.get().copied()
    }

    /// Launches a kernel over `params` on `stream`, whose context is bound. Does not synchronize.
    pub(crate) fn launch(
        &self,
        driver: &Driver,
        stream: sys::CUstream,
        kind: Kind,
        params: &Params,
    ) -> Answer {
        let wide = params.needs_64_bits();
        let function = self.function(driver, kind, params.width_bytes(), wide)?;
        // At most MAX_GRID, which fits: the 32-bit kernels need one thread an element, and at most 2^31 / BLOCK blocks;
        // the 64-bit kernels loop.
        let blocks = u32::try_from(params.count().div_ceil(BLOCK.into()).min(MAX_GRID)).unwrap_or(u32::MAX);
        let mut arguments = [ptr::from_ref(params.by_value()).cast_mut().cast()];
        // SAFETY: the function was compiled for one parameter of that type, which the driver copies before it returns; it
        // touches the bytes of the operation that the parameters were made from; stream and function are of one context.
        unsafe {
            driver.launch_kernel(
                function.raw(),
                blocks,
                1,
                1,
                BLOCK,
                1,
                1,
                0,
                stream,
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        }
    }

    fn function(
        &self,
        driver: &Driver,
        kind: Kind,
        width_bytes: usize,
        wide: bool,
    ) -> Answer<Handle<sys::CUfunc_st>> {
        // The width is a power of two up to 16.
        let (row, column) = (width_bytes.trailing_zeros() as usize, usize::from(wide));
        let (Some(slot), Some(name)) = (
            self.functions[kind as usize].get(row).map(|pair| &pair[column]),
            NAMES[kind as usize].get(row).map(|pair| pair[column]),
        ) else {
            return Err(INVALID_VALUE);
        };
        if let Some(function) = slot.get() {
            return Ok(*function);
        }
        let module = self.load(driver)?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is of the bound context; the name ends with a zero; the pointer is to a local.
        unsafe { driver.module_get_function(&raw mut function, module.raw(), name.as_ptr()) }?;
        // Two threads may get here; they found the same function.
        Ok(*slot.get_or_init(|| Handle::new(function)))
    }

    fn load(&self, driver: &Driver) -> Answer<Handle<sys::CUmod_st>> {
        let _loading = locked(&self.loading);
        if let Some(module) = self.module.get() {
            return Ok(*module);
        }
        let mut module = ptr::null_mut();
        // SAFETY: the image is PTX text that ends with a zero; the pointer is to a local.
        unsafe { driver.module_load_data(&raw mut module, GATHER_PTX.as_ptr().cast()) }?;
        Ok(*self.module.get_or_init(|| Handle::new(module)))
    }
}
