//! The parameter of the kernels, and their reports to the host, as `by_index.cu` declares them.

use crate::{
    stream::{PAGE_REPORTS, SLOT_BYTES, STATE_BYTES},
    strided::params::FastDiv,
};

/// The most axes of a launch.
pub const MAX_AXES: usize = 24;
/// Axes of two elements or more that indices can count along: 64 bits count no more elements.
pub const MAX_INDEXED_AXES: usize = 64;
/// Axes of the kernels for few axes.
const NEAR_AXES: usize = 2;
/// Elements of a block.
pub const BLOCK_ELEMENTS: u32 = 1024;
/// Threads of a block.
pub const THREADS: u32 = 256;
/// Slots for reports that are allocated at a time.
pub const PAGE_SLOTS: usize = 1024;

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
    pub state: u64,
    pub key: u64,
    pub position: u64,
    pub bound: i64,
    pub total: u32,
    pub axes: u32,
    pub indexed_axes: u32,
    pub index_type: u32,
    pub mode: u32,
    /// The pieces of an element of a selection.
    pub pieces: u32,
    pub indexed_axis: [IndexedAxis; MAX_INDEXED_AXES],
    pub at: [Axis; MAX_AXES],
}

impl Params {
    /// Whether the kernels for few axes and short steps can do it. They take at most two axes,
    /// steps and indices that fit 32 bits, indices along one axis, and no winners.
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

const _: () = assert!(size_of::<Params>() == 104 + 16 * MAX_INDEXED_AXES + 64 * MAX_AXES, "no padding");

/// The first index of a gather that is out of range, in memory of the host; in a graph, in memory of the device.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Slot {
    pub key: u64,
    pub position: u64,
    pub value: i64,
    /// The key again, if it is the second of the mistakes that the call may find. Gathers do not write it.
    pub second: u64,
}

/// State of the threads that find such an index, in memory of the device.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct State {
    /// The key of the gather, if one was found; one more while it is being reported.
    pub key: u64,
    pub position: u64,
}

const _: () = assert!(size_of::<Slot>() == SLOT_BYTES && size_of::<State>() == STATE_BYTES, "no padding");

/// Where a report of a graph is sent: a slot in memory of the host, and the key of the operation in this launch.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Sent {
    pub slot: u64,
    pub key: u64,
}

/// The parameter of the kernel that sends the first `count` reports of a page.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SendParams {
    /// The address of 64 slots, and of as many states behind them, in memory of the device.
    pub page: u64,
    pub count: u64,
    pub to: [Sent; PAGE_REPORTS],
}

impl SendParams {
    /// Sends the first reports of a page to these slots.
    pub(crate) fn new(page: u64, slots: &[Sent]) -> Self {
        let mut to = [Sent::default(); PAGE_REPORTS];
        to[..slots.len()].copy_from_slice(slots);
        Self { page, count: slots.len() as u64, to }
    }
}

const _: () = assert!(size_of::<SendParams>() == 16 + 16 * PAGE_REPORTS, "no padding");
