//! A launch: a kernel, its grid, and its parameters by value.

use std::{ffi::c_void, fmt, ptr};

use super::{
    kernel::{Entry, Kernel},
    params::{GatherParams, Operands, RowsParams, TileParams},
};

/// The threads of a block, for kernels whose number of threads is fixed.
pub(super) const THREADS: u32 = 256;

/// The bytes that the cache keeps or drops at a time; `LINE` in `common.cuh`.
pub const LINE_BYTES: u32 = 128;

/// The most bytes that one launch moves, so that 32 bits can count its elements and its threads.
pub(super) const LAUNCH_BYTES: usize = 1 << 30;

/// One kernel launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StridedLaunch<P = Params> {
    /// The kernel that runs.
    pub kernel: Kernel,
    /// The number of blocks, along x.
    pub grid: u32,
    /// The number of threads of a block, along x.
    pub threads: u32,
    /// The dynamic shared memory of a block, in bytes; at most 48 KiB, which needs no permission.
    pub shared_bytes: u32,
    /// The one parameter.
    pub params: P,
}

impl<P> StridedLaunch<P> {
    /// A launch with blocks of [`THREADS`] threads, without dynamic shared memory.
    pub(super) fn new(entry: Entry, width: u32, grid: u32, params: P) -> Self {
        Self { kernel: Kernel::new(entry, width), grid, threads: THREADS, shared_bytes: 0, params }
    }
}

/// Address and size of a parameter block.
pub(super) fn block<P>(params: &P) -> (*const c_void, usize) {
    (ptr::from_ref(params).cast(), size_of::<P>())
}

/// The parameter block of a copy.
#[derive(Clone, PartialEq, Eq)]
pub enum Params {
    Rows(RowsParams),
    Tile(TileParams),
    Gather(GatherParams),
}

impl Params {
    /// Address of the block, valid as long as this value is neither moved nor dropped, and its
    /// size.
    pub fn as_ptr(&self) -> (*const c_void, usize) {
        match self {
            Self::Rows(params) => block(params),
            Self::Tile(params) => block(params),
            Self::Gather(params) => block(params),
        }
    }

    /// The addresses of both sides, with which every parameter block of a copy starts.
    pub(super) fn operands_mut(&mut self) -> &mut Operands {
        match self {
            Self::Rows(params) => &mut params.at,
            Self::Tile(params) => &mut params.at,
            Self::Gather(params) => &mut params.at,
        }
    }
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self {
            Self::Rows(_) => "rows",
            Self::Tile(_) => "tile",
            Self::Gather(_) => "gather",
        };
        write!(f, "Params({} bytes for {family})", self.as_ptr().1)
    }
}
