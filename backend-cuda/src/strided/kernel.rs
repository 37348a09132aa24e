//! Every kernel, listed once: its module, its name, its widths, and the reason to choose it.
//!
//! A launch names a kernel by its [`Entry`]; a launch of tiles finds the entry by what the kernel
//! does. A test compares the list with the images.

use std::ffi::CStr;

pub use super::image::Module;

/// The source file of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Rows,
    Gather,
    Fill,
    Join,
    Tile,
}

/// The way to find the byte of an element of a run in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Find {
    /// Elements are one step apart.
    Linear,
    /// One step within a period, and another step from period to period.
    Periodic,
    /// A table that repeats with a step.
    Table,
    /// One step, between words that hold one element of each of several runs.
    Packed,
    /// The elements are in place: a row interleaves the elements of this many runs.
    Split(u32),
    /// One step; elements are stored one by one.
    Scatter,
}

/// The properties that tell one kernel of tiles from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileKernel {
    /// The way to find elements.
    pub find: Find,
    /// Bytes of a store.
    pub store_bytes: u32,
    /// Whether runs may start at any alignment.
    pub shifted: bool,
    /// Whether tiles overlap along the run, so that each stores whole sectors of it.
    pub overlap: bool,
    /// Whether runs go over two axes as if they were one (a fused axis).
    pub fused: bool,
    /// Whether lines are loaded with evict-last priority, so that they stay in the cache until the
    /// whole line has been read.
    pub evict_last: bool,
    /// Whether entries of the table are read as vectors.
    pub wide: bool,
}

/// One line of the list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    family: Family,
    /// Each width of elements that it is compiled for, with its name for that width; width 0 if the
    /// kernel does not depend on the width.
    pub(super) names: &'static [(u32, &'static CStr)],
    /// The kernel of tiles, if it is one.
    tile: Option<TileKernel>,
    /// The reason to use it for a copy.
    pub(super) why: &'static str,
}

/// A kernel for one width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kernel {
    pub entry: Entry,
    /// Bytes of an element; 0 if the kernel does not depend on it.
    pub width: u32,
}

impl Kernel {
    pub fn new(entry: Entry, width: u32) -> Self {
        let depends = entry.listed().names[0].0 > 0;
        Self { entry, width: if depends { width } else { 0 } }
    }

    /// The module that holds it.
    pub fn module(self) -> Module {
        match (self.entry.family(), self.width) {
            (Family::Rows, _) => Module::Rows,
            (Family::Gather, _) => Module::Gather,
            (Family::Fill, _) => Module::Fill,
            (Family::Join, _) => Module::Join,
            (Family::Tile, 1) => Module::Tile1,
            (Family::Tile, 2) => Module::Tile2,
            (Family::Tile, 4) => Module::Tile4,
            (Family::Tile, 8) => Module::Tile8,
            (Family::Tile, _) => Module::Tile16,
        }
    }

    /// Its name in that module, if it is compiled for the width.
    pub fn name(self) -> Option<&'static CStr> {
        let of_width = |&&(width, _): &&(u32, _)| width == self.width;
        self.entry.listed().names.iter().find(of_width).map(|&(_, name)| name)
    }
}

const fn terminated(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a zero inside a name"),
    }
}

/// Each line is `ENTRY: FAMILY [NAMES] work, if of tiles, reason`. There is one name; one name in
/// the modules of some widths; or a name that ends with the width or contains it.
macro_rules! kernels {
    ($($entry:ident: $family:ident $names:tt $tile:expr, $why:expr;)*) => {
        /// A kernel, for any width.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Entry {
            $($entry),*
        }

        impl Entry {
            pub const ALL: &'static [Self] = &[$(Self::$entry),*];

            /// Its line in the list.
            pub(super) const fn listed(self) -> Listed {
                match self {
                    $(Self::$entry => {
                        const NAMES: &[(u32, &CStr)] = kernels!(@names $names);
                        Listed { family: Family::$family, names: NAMES, tile: $tile, why: $why }
                    })*
                }
            }
        }
    };
    (@names [$name:literal]) => { &[(0, terminated(concat!($name, "\0")))] };
    (@names [$name:literal in $($width:literal)+]) => { &[$(($width, terminated(concat!($name, "\0")))),+] };
    (@names [$name:literal of $($width:literal)+; $rest:literal]) => {
        &[$(($width, terminated(concat!($name, $width, $rest, "\0")))),+]
    };
}

use Find::{Linear, Packed, Periodic, Scatter, Split, Table};

/// The work of a kernel of tiles besides storing whole vectors.
macro_rules! tile {
    ($find:expr $(, $does:ident: $value:expr)*) => {
        Some(TileKernel { $($does: $value,)* ..TileKernel::plain($find) })
    };
}

const REPEATED: &str = "the source repeats along the axis of the destination: only writing counts";
const ALIGNED: &str = "every run starts at a multiple of 16 B, its elements one step apart";
const STREAMED: &str = "every run starts at a multiple of 16 B, its elements one step apart; so much streams through that whole lines \
     stay in the cache until read";
const TABULATED: &str = "runs start anywhere, and a table finds their elements";
const FUSED: &str =
    "runs start anywhere, and go on over the ends of an axis, which lie within sectors of memory";
const ALL_ROWS: &str = "one run goes over all rows of a tile and then along them";
const NARROW: &str = "runs start at multiples of 8 or 4 B, and so do the source's rows: elements of neighbouring runs are fetched \
     together";
const OVERLAPPING: &str = "elements of neighbouring runs are fetched together, and tiles overlap so that each run is stored from one \
     sector of memory to another";
const PACKED_FUSED: &str = "elements of neighbouring runs are fetched together, and runs go on over the ends of an axis, which lie \
     within sectors of memory";
const INTERLEAVED: &str =
    "elements of a few runs are interleaved in the source: vectors of them are picked apart in registers";

kernels! {
    RowsAligned: Rows ["rows_aligned"] None,
        "both sides run along the same axis, every row from a multiple of 16 B to another";
    RowsAgain: Rows ["rows_again"] None,
        "both sides run along the same axis, every row from a multiple of 16 B to another, and rows of the source \
         come back: only writing counts";
    RowsRealign: Rows ["rows_realign"] None,
        "both sides run along the same axis, but rows start at different places of 16 B: two aligned loads are \
         shifted into each store";
    RowsJoin: Rows ["rows_join"] None,
        "both sides run along the same axis, and short rows follow each other in the destination: joined, so that \
         stores are whole";
    RowsTable: Rows ["rows_table_" of 2 4 8; ""] None,
        "both sides run along the same axis, and many rows follow each other in the destination: a block writes a piece \
         of it, and looks up where its rows begin";
    RowsReverse: Rows ["rows_reverse_" of 1 2 4 8; ""] None,
        "the source runs backwards along the axis of the destination";
    RowsStride: Rows ["rows_stride_" of 1 2 4 8 16; ""] None,
        "the source skips along the axis of the destination and has no faster axis: elements are picked into whole stores";
    RowsRepeat: Rows ["rows_repeat_" of 1 2 4 8 16; ""] None, REPEATED;
    Gather: Gather ["gather_" of 1 2 4 8 16; ""] None,
        "pieces are too short, or too far apart, for rows and tiles";
    Fill32: Fill ["fill_w" of 1 2 4 8 16; "_n32"] None, "at most 2^31 elements";
    Fill64: Fill ["fill_w" of 1 2 4 8 16; "_n64"] None, "more than 2^31 elements";
    JoinPieces: Join ["join_pieces_" of 1 2 4 8 16; ""] None,
        "several copies to one destination: what lies side by side is written at about the same time";
    JoinInterleave: Join ["join_interleave_" of 1 2 4 8 16; ""] None,
        "several sources have a few elements of each row: rows are put together in shared memory";
    JoinZip: Join ["join_zip_" of 1 2 4 8; ""] None,
        "2, 4, 8 or 16 sources have one element of each row: parts of vectors are put together";
    Linear: Tile ["tile_linear" in 1 2 4 8 16] tile!(Linear), ALIGNED;
    LinearEvictLast: Tile ["tile_linear_evict_last" in 1 2 4 8 16] tile!(Linear, evict_last: true), STREAMED;
    LinearShifted: Tile ["tile_linear_shifted" in 1 2 4 8] tile!(Linear, shifted: true),
        "runs start anywhere, their elements one step apart";
    LinearShiftedFused: Tile ["tile_linear_shifted_fused" in 1]
        tile!(Linear, shifted: true, fused: true), FUSED;
    Periodic: Tile ["tile_periodic" in 1] tile!(Periodic), ALL_ROWS;
    PeriodicShifted: Tile ["tile_periodic_shifted" in 1] tile!(Periodic, shifted: true), ALL_ROWS;
    Table: Tile ["tile_table" in 1 2 4 8 16] tile!(Table), "a table finds the elements of runs over several axes";
    TableShifted: Tile ["tile_table_shifted" in 1 2 4 8] tile!(Table, shifted: true), TABULATED;
    TableShiftedFused: Tile ["tile_table_shifted_fused" in 2 4 8]
        tile!(Table, shifted: true, fused: true), FUSED;
    TableWide: Tile ["tile_table_shifted_wide" in 1] tile!(Table, shifted: true, wide: true), TABULATED;
    TableWideFused: Tile ["tile_table_shifted_wide_fused" in 1]
        tile!(Table, shifted: true, wide: true, fused: true), FUSED;
    Packed: Tile ["tile_packed" in 1 2 4 8] tile!(Packed), ALIGNED;
    Packed8: Tile ["tile_packed_8" in 1] tile!(Packed, store_bytes: 8), NARROW;
    Packed4: Tile ["tile_packed_4" in 1] tile!(Packed, store_bytes: 4), NARROW;
    PackedEvictLast: Tile ["tile_packed_evict_last" in 1 2 4 8] tile!(Packed, evict_last: true), STREAMED;
    PackedOverlap: Tile ["tile_packed_overlap" in 1 2 4 8] tile!(Packed, overlap: true), OVERLAPPING;
    PackedOverlap8: Tile ["tile_packed_overlap_8" in 1]
        tile!(Packed, overlap: true, store_bytes: 8), OVERLAPPING;
    PackedOverlap4: Tile ["tile_packed_overlap_4" in 1]
        tile!(Packed, overlap: true, store_bytes: 4), OVERLAPPING;
    PackedFused: Tile ["tile_packed_fused" in 1 2 4 8] tile!(Packed, fused: true), PACKED_FUSED;
    PackedFused8: Tile ["tile_packed_fused_8" in 1] tile!(Packed, fused: true, store_bytes: 8), PACKED_FUSED;
    PackedFused4: Tile ["tile_packed_fused_4" in 1] tile!(Packed, fused: true, store_bytes: 4), PACKED_FUSED;
    Split2: Tile ["tile_split_2" in 1 2 4 8] tile!(Split(2)), INTERLEAVED;
    Split3: Tile ["tile_split_3" in 1 2 4 8] tile!(Split(3)), INTERLEAVED;
    Split4: Tile ["tile_split_4" in 1 2 4 8] tile!(Split(4)), INTERLEAVED;
    Scatter: Tile ["tile_scatter" in 1 2 4 8 16] tile!(Scatter),
        "the source has dense rows, but elements of the destination lie apart";
}

impl Entry {
    pub fn family(self) -> Family {
        self.listed().family
    }

    /// The kernel of tiles, if it is one.
    pub fn tile(self) -> Option<TileKernel> {
        self.listed().tile
    }
}

impl TileKernel {
    /// A kernel that stores whole vectors and does nothing more.
    pub(super) const fn plain(find: Find) -> Self {
        Self {
            find,
            store_bytes: 16,
            shifted: false,
            overlap: false,
            fused: false,
            evict_last: false,
            wide: false,
        }
    }

    /// The kernel that does this, for any width, if there is one.
    pub fn entry(self) -> Option<Entry> {
        Entry::ALL.iter().copied().find(|entry| entry.tile() == Some(self))
    }
}
