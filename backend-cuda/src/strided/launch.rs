//! What is launched: a kernel, its grid, and its parameters by value.

use std::{
    ffi::{CStr, c_void},
    fmt, ptr,
};

use super::{fast_div::FastDiv, gather::GatherParams, rows::RowsParams, tile::TileParams};

/// Threads of a block of the kernels that have as many in every launch.
pub(super) const THREADS: u32 = 256;

/// What the cache keeps or drops at a time; `LINE` in `common.cuh`.
pub(super) const LINE_BYTES: u32 = 128;

/// A module of kernels, loaded when one of them is first needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Module {
    /// Rows of any width.
    Rows,
    /// Single elements of any width.
    Gather,
    /// Tiles of elements of 1 byte.
    Tile1,
    /// Tiles of elements of 2 bytes.
    Tile2,
    /// Tiles of elements of 4 bytes.
    Tile4,
    /// Tiles of elements of 8 bytes.
    Tile8,
    /// Tiles of elements of 16 bytes.
    Tile16,
}

impl Module {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::Rows, Self::Gather, Self::Tile1, Self::Tile2, Self::Tile4, Self::Tile8, Self::Tile16];

    /// The tiles of one width.
    pub(super) fn tile(width: u32) -> Self {
        match width {
            1 => Self::Tile1,
            2 => Self::Tile2,
            4 => Self::Tile4,
            8 => Self::Tile8,
            _ => Self::Tile16,
        }
    }

    /// The name of its file, without suffix.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Gather => "gather",
            Self::Tile1 => "tile_1",
            Self::Tile2 => "tile_2",
            Self::Tile4 => "tile_4",
            Self::Tile8 => "tile_8",
            Self::Tile16 => "tile_16",
        }
    }
}

/// A kernel by module and name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// Where it is.
    pub module: Module,
    /// What it is called there.
    pub name: &'static CStr,
}

/// One loop of a copy as a parameter; `Axis` in `common.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Loop {
    pub(super) extent: FastDiv,
    unused: u32,
    pub(super) src: i64,
    pub(super) dst: i64,
}

impl Loop {
    pub(super) const NONE: Self = Self { extent: FastDiv::NONE, unused: 0, src: 0, dst: 0 };

    pub(super) fn new(extent: u32, src: i64, dst: i64) -> Self {
        Self { extent: FastDiv::new(extent), unused: 0, src, dst }
    }
}

/// What every parameter block starts with; `Operands` in `common.cuh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Operands {
    pub(super) src: u64,
    pub(super) dst: u64,
    pub(super) src_begin: u64,
    pub(super) src_end: u64,
}

/// The parameter block of a kernel, passed by value: one launch needs no memory on the device.
#[derive(Clone, PartialEq, Eq)]
pub struct Params(pub(super) Block);

/// The blocks there are.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "few are kept, none in a collection of its own")]
pub(super) enum Block {
    Rows(RowsParams),
    Tile(TileParams),
    Gather(GatherParams),
}

impl Params {
    /// Address of the block, valid as long as this value is neither moved nor dropped.
    #[must_use]
    pub fn as_ptr(&self) -> *const c_void {
        match &self.0 {
            Block::Rows(params) => ptr::from_ref(params).cast(),
            Block::Tile(params) => ptr::from_ref(params).cast(),
            Block::Gather(params) => ptr::from_ref(params).cast(),
        }
    }

    /// Where both sides are, with which every block starts.
    pub(super) fn operands_mut(&mut self) -> &mut Operands {
        match &mut self.0 {
            Block::Rows(params) => &mut params.at,
            Block::Tile(params) => &mut params.at,
            Block::Gather(params) => &mut params.at,
        }
    }

    /// Size of the block.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        match &self.0 {
            Block::Rows(params) => size_of_val(params),
            Block::Tile(params) => size_of_val(params),
            Block::Gather(params) => size_of_val(params),
        }
    }
}

/// One kernel launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// What runs.
    pub kernel: Kernel,
    /// Blocks, along x.
    pub grid: u32,
    /// Threads of a block, along x.
    pub threads: u32,
    /// Dynamic shared memory of a block; at most 48 KiB, which needs no permission.
    pub shared_bytes: u32,
    /// The one parameter.
    pub params: Params,
}

impl Launch {
    /// Why this kernel, and in what pieces, in one line.
    #[must_use]
    pub fn explain(&self) -> impl fmt::Display + '_ {
        Explanation(self)
    }
}

struct Explanation<'a>(&'a Launch);

impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Launch { kernel, grid, threads, shared_bytes, params } = self.0;
        write!(f, "{}:{} ", kernel.module.name(), kernel.name.to_string_lossy())?;
        match &params.0 {
            Block::Rows(params) => params.explain(f)?,
            Block::Tile(params) => params.explain(f)?,
            Block::Gather(params) => params.explain(f)?,
        }
        write!(f, "; {grid} blocks of {threads} threads, {shared_bytes} B shared")
    }
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match &self.0 {
            Block::Rows(_) => "rows",
            Block::Tile(_) => "tile",
            Block::Gather(_) => "gather",
        };
        write!(f, "Params({} bytes for {family})", self.len_bytes())
    }
}
