//! A plan as the kernels need it: loops innermost first, in elements, at addresses.
//!
//! It does not use core's nest: the plan has merged and sorted these loops, and kernels count them
//! in 32 bits.

use std::array;

use devarray::{Axes, copy::Plan};

use super::{
    Addresses,
    params::{Loop, Operands},
};

/// One loop: its extent, and the bytes by which each side moves in a step. The destination moves
/// forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    pub(super) extent: u32,
    pub(super) src: i64,
    pub(super) dst: i64,
}

impl Axis {
    pub(super) fn new(extent: u32, src: i64, dst: i64) -> Self {
        Self { extent, src, dst }
    }
}

/// The loops as parameters of a launch, which has room for `N`.
pub(super) fn loops<const N: usize>(axes: &[Axis]) -> [Loop; N] {
    let of = |axis: &Axis| Loop::new(axis.extent, axis.src, axis.dst);
    array::from_fn(|k| axes.get(k).map(of).unwrap_or_default())
}

/// One copy of elements of one width, at most `LAUNCH_BYTES` of them.
#[derive(Debug, Clone)]
pub(super) struct StridedCopy {
    /// Loops around single elements, innermost (in the destination) first; at least one.
    pub(super) axes: Axes<Axis>,
    /// Bytes of an element: 1, 2, 4, 8 or 16; divides the addresses and all strides.
    pub(super) width: u32,
    /// The addresses of the first element of each side, of the first byte of the source that is
    /// read, and of the byte after the last one.
    pub(super) at: Operands,
}

impl StridedCopy {
    /// The number of elements that are copied.
    pub(super) fn elements(&self) -> u32 {
        self.axes.iter().map(|axis| axis.extent).product()
    }

    /// The copy of a plan; `None` for an empty plan.
    pub(super) fn of(plan: &Plan, at: Addresses) -> Option<Self> {
        if plan.len_bytes() == 0 {
            return None;
        }
        // Allocations are aligned to more than an element; memory from elsewhere may not be.
        let bits = at.dst | at.src | plan.width_bytes() as u64;
        let width = 1_u32 << bits.trailing_zeros().min(4);
        let step = i64::from(width);
        let run = plan.run_bytes() / width as usize;
        let mut axes = Axes::new();
        if run > 1 || plan.axes().is_empty() {
            axes.push(Axis::new(small(run), step, step));
        }
        axes.extend(plan.axes().iter().rev().map(|axis| {
            Axis::new(small(axis.extent), axis.src_stride_bytes as i64, axis.dst_stride_bytes as i64)
        }));
        let span = plan.src_span();
        Some(Self {
            axes,
            width,
            at: Operands {
                src: at.src + plan.src_offset_bytes() as u64,
                dst: at.dst + plan.dst_offset_bytes() as u64,
                src_begin: at.src + span.start as u64,
                src_end: at.src + span.end as u64,
            },
        })
    }

    /// This copy with narrower elements.
    pub(super) fn narrowed(mut self, width: u32) -> Self {
        let (own, step) = (self.step(), i64::from(width));
        let factor = self.width / width;
        if factor <= 1 {
            return self;
        }
        match self.axes.first_mut() {
            Some(inner) if inner.src == own && inner.dst == own => {
                *inner = Axis::new(inner.extent * factor, step, step);
            }
            _ => self.axes.insert(0, Axis::new(factor, step, step)),
        }
        self.width = width;
        self
    }

    /// Whether there are gaps between elements in the destination.
    pub(super) fn is_scattered(&self) -> bool {
        self.axes[0].dst != self.step()
    }

    /// The width as a stride.
    pub(super) fn step(&self) -> i64 {
        i64::from(self.width)
    }

    /// The number of elements in a 16-byte vector.
    pub(super) fn vector(&self) -> u32 {
        16 / self.width
    }
}

/// Whether rows in such loops all start at multiples of 16 bytes in the destination; the first row
/// starts at `dst`.
pub(super) fn starts_aligned(dst: u64, outer: &[Axis]) -> bool {
    dst.is_multiple_of(16) && outer.iter().all(|axis| axis.dst % 16 == 0)
}

/// The most aligned 16-byte chunks that a row touches, if its elements have `width` bytes.
pub(super) fn chunks(row_bytes: u32, width: u32, aligned: bool) -> u32 {
    (row_bytes + if aligned { 0 } else { 16 - width }).div_ceil(16)
}

/// A number of elements of one launch, which fits 32 bits.
fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
