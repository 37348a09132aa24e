//! The parameter of the kernels, as in `product.cu`.
#![allow(unsafe_code)] // sees a structure as the words that it is made of

use crate::strided::params::FastDiv;

/// Axes that a batch can have, the chains' included.
pub(super) const MAX_BATCH_AXES: usize = 16;
/// The most `k` of a chain.
pub(super) const CHAIN: usize = devarray::product::CHAIN;
/// Chains that one pass sums.
pub(super) const MAX_CHAINS: usize = 1024;

/// An axis of the batch, and the step of each side along it, in elements.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct BatchAxis {
    pub(super) by: FastDiv,
    pub(super) unused: u32,
    pub(super) a: i64,
    pub(super) b: i64,
    pub(super) y: i64,
}

/// The parameter of every kernel.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Params {
    pub(super) a: u64,
    pub(super) b: u64,
    pub(super) y: u64,
    pub(super) sums: u64,
    pub(super) a_row: i64,
    pub(super) a_k: i64,
    pub(super) b_k: i64,
    pub(super) b_column: i64,
    pub(super) y_row: i64,
    pub(super) y_column: i64,
    pub(super) m: u32,
    pub(super) n: u32,
    pub(super) k: u32,
    pub(super) chain: u32,
    pub(super) chains: u32,
    pub(super) batch_axes: u32,
    pub(super) tiles: FastDiv,
    pub(super) tiles_down: FastDiv,
    pub(super) at: [BatchAxis; MAX_BATCH_AXES],
}

impl Params {
    /// The parameter as words.
    pub(super) fn words(&self) -> &[u64] {
        // SAFETY: it has no padding, is made of whole words, and is aligned to them.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast(), size_of::<Self>() / 8) }
    }
}

const _: () = assert!(align_of::<Params>() == 8);
const _: () = assert!(size_of::<Params>() == 80 + 24 + 24 + 40 * MAX_BATCH_AXES, "no padding");
