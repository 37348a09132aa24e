//! The parameter of the kernels, as in `order.cuh`, which says what the fields are.

/// The parameter of every kernel.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Params {
    pub(super) a: u64,
    pub(super) b: u64,
    pub(super) c: u64,
    pub(super) y: u64,
    pub(super) z: u64,
    pub(super) offsets: u64,
    pub(super) words: u64,
    pub(super) next: u64,
    pub(super) list: u64,
    pub(super) first: u64,
    pub(super) len: u64,
    pub(super) line_len: u64,
    pub(super) lines: u64,
    pub(super) extent: u64,
    pub(super) inner: u64,
    pub(super) outer: u64,
    pub(super) each: u64,
    pub(super) turn: u64,
    pub(super) infinity: u64,
    pub(super) slot: u64,
    pub(super) key: u64,
    pub(super) part: f64,
    pub(super) pass: u32,
    pub(super) flags: u32,
}

const _: () = assert!(size_of::<Params>() == 8 * 22 + 8, "no padding");

pub(super) const SIGNED: u32 = 1;
pub(super) const TRUTH: u32 = 2;
pub(super) const RIGHT: u32 = 4;
pub(super) const FROM_END: u32 = 8;
pub(super) const ADDS: u32 = 16;
pub(super) const WIDE: u32 = 64;
pub(super) const DROPS: u32 = 128;
pub(super) const EXTREME: u32 = 256;
pub(super) const NARROW: u32 = 512;
pub(super) const FROM_LEAST: u32 = 1024;

// Flags of `sparse.cu`.
pub(super) const OFFSETS_SIGNED: u32 = 1 << 16;
pub(super) const OFFSETS_WIDE: u32 = 1 << 17;
pub(super) const COLUMNS_SIGNED: u32 = 1 << 18;
pub(super) const COLUMNS_WIDE: u32 = 1 << 19;
pub(super) const SHORT_ROWS: u32 = 1 << 20;
