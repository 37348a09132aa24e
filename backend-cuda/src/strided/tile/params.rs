//! Parameters of the tile kernels, as `tile.cuh` declares and explains them.

use std::fmt;

use super::super::{
    fast_div::FastDiv,
    launch::{Loop, Operands},
};

/// Loops around tiles a launch can have.
pub(in crate::strided) const MAX_OUTER: usize = 20;
/// Loops around rows, around runs, and along a run that a tile can have.
pub(in crate::strided) const MAX_INNER: usize = 8;
/// "No axis" for the counters of pieces.
pub(in crate::strided) const NO_AXIS: u32 = u32::MAX;

/// A loop around rows or runs: its byte step in the tile, and in global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(in crate::strided) struct Step {
    pub(in crate::strided) extent: FastDiv,
    pub(in crate::strided) x: i32,
    pub(in crate::strided) global: i64,
}

impl Step {
    pub(super) const NONE: Self = Self { extent: FastDiv::NONE, x: 0, global: 0 };
}

/// A loop along a run: its byte step in the tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(in crate::strided) struct RunStep {
    pub(in crate::strided) extent: FastDiv,
    pub(in crate::strided) x: i32,
}

impl RunStep {
    pub(super) const NONE: Self = Self { extent: FastDiv::NONE, x: 0 };
}

/// Parameters of the kernels of `tile.cu`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[repr(C)]
pub(in crate::strided) struct TileParams {
    pub(in crate::strided) at: Operands,
    pub(in crate::strided) tiles: u32,
    pub(in crate::strided) outer_axes: u32,
    pub(in crate::strided) a_outer: u32,
    pub(in crate::strided) b_outer: u32,
    pub(in crate::strided) outer: [Loop; MAX_OUTER],
    pub(in crate::strided) c_outer: u32,
    pub(in crate::strided) c_extent: u32,
    pub(in crate::strided) c_piece: u32,
    pub(in crate::strided) ahead: u32,
    pub(in crate::strided) a_extent: u32,
    pub(in crate::strided) a_piece: u32,
    pub(in crate::strided) b_extent: u32,
    pub(in crate::strided) b_piece: u32,
    pub(in crate::strided) a_src: i64,
    pub(in crate::strided) a_in_run: u32,
    pub(in crate::strided) b_in_rows: u32,
    pub(in crate::strided) skew: u32,
    pub(in crate::strided) skew_mask: u32,
    pub(in crate::strided) low: i64,
    pub(in crate::strided) high: i64,
    pub(in crate::strided) span: u32,
    pub(in crate::strided) span_inner: u32,
    pub(in crate::strided) rows: u32,
    pub(in crate::strided) rows_inner: u32,
    pub(in crate::strided) row_step: u32,
    pub(in crate::strided) swizzle_shift: u32,
    pub(in crate::strided) swizzle_mask: u32,
    pub(in crate::strided) run_in_classes: u32,
    pub(in crate::strided) chunks: FastDiv,
    pub(in crate::strided) pad_chunks: FastDiv,
    pub(in crate::strided) pad_log2: u32,
    pub(in crate::strided) row_axes: u32,
    pub(in crate::strided) classes_log2: u32,
    pub(in crate::strided) row_pitch: u32,
    pub(in crate::strided) class_pitch: u32,
    unused_after_class_pitch: u32,
    pub(in crate::strided) row: [Step; MAX_INNER],
    pub(in crate::strided) run: u32,
    pub(in crate::strided) run_inner: u32,
    pub(in crate::strided) stores: u32,
    pub(in crate::strided) stores_inner: u32,
    pub(in crate::strided) store_groups: FastDiv,
    pub(in crate::strided) run_chunks: u32,
    pub(in crate::strided) lanes_log2: u32,
    pub(in crate::strided) passes: u32,
    pub(in crate::strided) columns: FastDiv,
    pub(in crate::strided) store_axes: u32,
    pub(in crate::strided) store_x: i32,
    unused_after_store_x: u32,
    pub(in crate::strided) run_dst: i64,
    pub(in crate::strided) store: [Step; MAX_INNER],
    pub(in crate::strided) wrap: FastDiv,
    pub(in crate::strided) wrap_x: u32,
    pub(in crate::strided) wrap_src: i64,
    pub(in crate::strided) vector_x: i32,
    pub(in crate::strided) element_x: i32,
    pub(in crate::strided) period: FastDiv,
    pub(in crate::strided) period_x: i32,
    pub(in crate::strided) run_axes: u32,
    pub(in crate::strided) run_axis: [RunStep; MAX_INNER],
    pub(in crate::strided) element_at: [i32; 8],
    pub(in crate::strided) turn_by_run: u32,
    pub(in crate::strided) turn_by_vector: u32,
    pub(in crate::strided) row_table: u32,
    pub(in crate::strided) store_table: u32,
    pub(in crate::strided) run_table: u32,
    pub(in crate::strided) data: u32,
    pub(in crate::strided) turn_bytes: u32,
    pub(in crate::strided) share: u32,
    unused_at_end: u32,
}

const _: () = assert!(size_of::<TileParams>() == 1544, "the size tile.cuh asserts too");

impl TileParams {
    /// Everything absent.
    pub(super) fn new(at: Operands) -> Self {
        Self {
            at,
            tiles: 1,
            outer_axes: 0,
            a_outer: NO_AXIS,
            b_outer: NO_AXIS,
            outer: std::array::from_fn(|_| Loop::new(1, 0, 0)),
            c_outer: NO_AXIS,
            c_extent: 0,
            c_piece: 0,
            ahead: 0,
            a_extent: 0,
            a_piece: 0,
            b_extent: 0,
            b_piece: 0,
            a_src: 0,
            a_in_run: 0,
            b_in_rows: 0,
            skew: 0,
            skew_mask: 15,
            low: 0,
            high: 0,
            span: 0,
            span_inner: 0,
            rows: 1,
            rows_inner: 1,
            row_step: 0,
            swizzle_shift: 0,
            swizzle_mask: 0,
            run_in_classes: 0,
            chunks: FastDiv::NONE,
            pad_chunks: FastDiv::NONE,
            pad_log2: 0,
            row_axes: 0,
            classes_log2: 0,
            row_pitch: 0,
            class_pitch: 0,
            unused_after_class_pitch: 0,
            row: [Step::NONE; MAX_INNER],
            run: 1,
            run_inner: 1,
            stores: 1,
            stores_inner: 1,
            store_groups: FastDiv::NONE,
            run_chunks: 0,
            lanes_log2: 0,
            passes: 0,
            columns: FastDiv::NONE,
            store_axes: 0,
            store_x: 0,
            unused_after_store_x: 0,
            run_dst: 0,
            store: [Step::NONE; MAX_INNER],
            wrap: FastDiv::NONE,
            wrap_x: 0,
            wrap_src: 0,
            vector_x: 0,
            element_x: 0,
            period: FastDiv::NONE,
            period_x: 0,
            run_axes: 0,
            run_axis: [RunStep::NONE; MAX_INNER],
            element_at: [0; 8],
            turn_by_run: 0,
            turn_by_vector: 0,
            row_table: 0,
            store_table: 0,
            run_table: 0,
            data: 0,
            turn_bytes: 0,
            share: 0,
            unused_at_end: 0,
        }
    }

    /// Sets how many bytes of shared memory are from element to element of a run.
    pub(in crate::strided) fn set_step(&mut self, element_x: i32) {
        self.element_x = element_x;
        self.element_at = [0, 1, 2, 3, 4, 5, 6, 7].map(|times| element_x.wrapping_mul(times));
    }

    pub(in crate::strided) fn explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} rows of {} B to {} runs of {} elements, {} threads along a run",
            self.rows,
            self.span,
            self.stores,
            self.run,
            if self.columns.divisor > 0 { self.columns.divisor } else { 1 << self.lanes_log2 }
        )?;
        if self.c_extent > 0 {
            write!(f, ", {} boxes a tile", self.c_piece)?;
        }
        if self.skew > 0 {
            write!(f, ", skewed by up to {}", self.skew)?;
        }
        if self.wrap.divisor != 0 {
            write!(f, ", over the ends of {} steps", self.wrap.divisor)?;
        }
        if self.period.divisor != 0 && self.run_axes == 0 {
            write!(f, ", in periods of {}", self.period.divisor)?;
        } else if self.period.divisor != 0 {
            write!(f, ", tabulated for {}", self.period.divisor)?;
        }
        if self.run_in_classes != 0 {
            write!(f, ", rows in groups of {}", 1 << self.classes_log2)?;
        } else if self.classes_log2 != 0 {
            write!(f, ", rows permuted")?;
        }
        if self.swizzle_mask != 0 {
            write!(f, ", swizzled")?;
        }
        if (self.turn_by_run, self.turn_by_vector) != (0, 0) {
            let (run, vector) = (self.turn_by_run, self.turn_by_vector);
            write!(f, ", words turned by {run} a run and {vector} a vector")?;
        }
        if self.turn_bytes != 0 {
            write!(f, ", bytes by 1 a vector")?;
        }
        if self.pad_chunks.divisor != 0 {
            write!(f, ", padded")?;
        }
        Ok(())
    }
}
