//! The parameter of the kernels, and their reports to the host; as in `by_index.cu`.

use crate::strided::params::FastDiv;

/// Axes that a launch can have.
pub const MAX_AXES: usize = 24;
/// Axes of the kernels for few axes.
const NEAR_AXES: usize = 2;
/// Elements of a block.
pub const BLOCK_ELEMENTS: u32 = 1024;
/// Threads of a block.
pub const THREADS: u32 = 256;
/// Operations that can be reported between two looks of the host.
pub const SLOTS: usize = 256;

/// An axis, and the step of each side along it: in bytes, for positions and winners in counts.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Axis {
    pub by: FastDiv,
    pub unused: u32,
    pub indexed: i64,
    pub elements: i64,
    pub indices: i64,
    pub mask: i64,
    pub position: i64,
    pub winner: i64,
}

/// An axis that indices count along, in bytes.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct IndexedAxis {
    pub extent: u64,
    pub stride: i64,
}

/// The parameter of every kernel.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Params {
    pub indexed: u64,
    pub elements: u64,
    pub indices: u64,
    pub mask: u64,
    pub winners: u64,
    pub told: u64,
    pub number: u64,
    pub position: u64,
    pub bound: i64,
    pub total: u32,
    pub axes: u32,
    pub indexed_axes: u32,
    pub index_type: u32,
    pub mode: u32,
    pub operation: u32,
    pub axis: i32,
    /// Of an element of a selection.
    pub pieces: u32,
    pub indexed_axis: [IndexedAxis; MAX_AXES],
    pub at: [Axis; MAX_AXES],
}

impl Params {
    /// Whether the kernels for few axes and short steps do it: two axes at most, steps and indices
    /// that 32 bits hold, indices along one axis, and no winners.
    pub fn is_near(&self) -> bool {
        let axes = &self.at[..NEAR_AXES];
        let strides = axes.iter().flat_map(|axis| [axis.indexed, axis.elements, axis.indices, axis.mask]);
        let mut all = strides.chain([self.indexed_axis[0].stride, self.bound]);
        self.axes as usize <= NEAR_AXES
            && self.indexed_axes == 1
            && self.winners == 0
            && all.all(|number| i32::try_from(number).is_ok())
    }
}

const _: () = assert!(size_of::<Params>() == 104 + 16 * MAX_AXES + 64 * MAX_AXES, "no padding");

/// The first index of an operation that is out of range.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Slot {
    /// Odd while it is written.
    pub sequence: u64,
    pub number: u64,
    pub position: u64,
    pub value: i64,
    pub bound: u64,
    pub operation: u32,
    pub axis: i32,
    pub unused: [u64; 2],
}

/// What the device writes to memory of the host.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Told {
    /// How often something was written.
    pub changes: u64,
    pub unused: [u64; 7],
    pub slot: [Slot; SLOTS],
}

const _: () = assert!(size_of::<Slot>() == 64 && size_of::<Told>() == 64 * (SLOTS + 1), "no padding");
