//! A launch of tiles in the making.

use super::{SHARED_BYTES, sides::Sides};
use crate::strided::{
    kernel::{Find, TileKernel},
    params::{FastDiv, Operands, RowLoop, TileParams},
};

/// What was decided so far: each step sets what it decides.
pub(super) struct Draft {
    /// What the kernel has to do.
    pub(super) kernel: TileKernel,
    /// As the kernel takes it; `tile.cuh` explains each field. What no step sets is unused.
    pub(super) params: TileParams,
    /// Bytes of shared memory before the first row, and from it to the end.
    pub(super) before: u32,
    pub(super) bytes: u32,
    /// Most neighbouring threads along a run (a logarithm).
    pub(super) most_lanes_log2: u32,
}

impl Draft {
    /// What the sides decide.
    pub(super) fn of(sides: &Sides<'_>) -> Option<Self> {
        let Sides { problem, shape, row_split, run_split, span, overlap, shifted, .. } = *sides;
        let inner = |list: &[usize], split| {
            list.iter().filter(|&&axis| Some(axis) != split).map(|&axis| sides.loaded[axis]).product()
        };
        let mut p = TileParams {
            at: Operands { src: sides.src, ..problem.at },
            // Rows.
            high: span.into(),
            span,
            span_inner: span,
            rows: sides.rows,
            rows_inner: inner(&sides.across_rows, run_split.or(shape.batch)),
            chunks: FastDiv::new(sides.chunks),
            row_axes: u32::try_from(sides.across_rows.len()).ok()?,
            // Runs.
            overlap,
            start_mask: sides.start_mask,
            run: sides.run,
            run_inner: inner(&shape.run, run_split),
            run_dst: shape.axis(0).dst,
            stores: sides.stores,
            stores_inner: inner(&sides.across_runs, row_split.or(shape.batch)),
            store_axes: u32::try_from(sides.store.len()).ok()?,
            // Along a run the source may go backwards: the first element is then the last of the row.
            store_x: i32::try_from(shape.problem.at.src.wrapping_sub(shape.first_row())).ok()?,
            ..TileParams::default()
        };
        p.store[..sides.store.len()].copy_from_slice(&sides.store);
        for (row, &axis) in p.row.iter_mut().zip(&sides.across_rows) {
            let (src, steps) = (shape.axis(axis).src, sides.loaded[axis]);
            *row = RowLoop { extent: FastDiv::new(steps), x: 0, src };
            let reach = i64::from(steps - 1) * src;
            p.low += reach.min(0);
            p.high += reach.max(0);
        }
        // What of the last tile along an axis is not there.
        if let Some(axis) = row_split {
            let (of, steps) = (shape.axis(axis), shape.steps[axis]);
            (p.a_extent, p.a_piece, p.a_src) = (of.extent, steps, of.src);
            p.a_in_run = u32::from(run_split == Some(axis));
            p.span_inner -= u32::try_from(u64::from(steps - 1) * of.src.unsigned_abs()).ok()?;
        }
        if let Some(axis) = run_split {
            (p.b_extent, p.b_piece) = (shape.axis(axis).extent, shape.steps[axis]);
            p.b_in_rows = u32::from(sides.across_rows.contains(&axis));
        }
        if let Some(axis) = shape.batch.filter(|&axis| shape.is_cut(axis)) {
            (p.c_extent, p.c_piece) = (shape.axis(axis).extent, shape.steps[axis]);
        }
        if let Some(fused) = shape.fused {
            (p.fused, p.fused_x, p.fused_src) = (FastDiv::new(fused.extent), fused.x(), fused.src);
        }
        let kernel = TileKernel {
            store_bytes: sides.store_bytes,
            shifted,
            // One for fused axes overlaps as well, and one for runs that start anywhere finds it out.
            overlap: overlap > 0 && !shifted && shape.fused.is_none(),
            fused: shape.fused.is_some(),
            ..TileKernel::plain(if sides.scattered { Find::Scatter } else { Find::Linear })
        };
        Some(Self { kernel, params: p, before: 0, bytes: 0, most_lanes_log2: 5 })
    }

    /// Divides shared memory: tables first, data last. Returns the bytes of all of it, if a block may
    /// use as many.
    pub(super) fn divide_memory(&mut self, sides: &Sides<'_>) -> Option<u32> {
        const ENTRY_BYTES: u32 = 16;
        let p = &mut self.params;
        let rows = if p.row_axes > 1 { p.rows } else { 0 };
        let stores = if p.store_axes > 1 { p.stores } else { 0 };
        let tabulated = self.kernel.find == Find::Table;
        let elements = if tabulated { p.period.divisor + 2 * sides.problem.vector() } else { 0 };
        p.store_table = rows * ENTRY_BYTES;
        p.run_table = p.store_table + stores.checked_mul(ENTRY_BYTES)?;
        p.data = (p.run_table + elements * 2 + self.before).next_multiple_of(128);
        let bytes = p.data + self.bytes;
        (bytes <= SHARED_BYTES).then_some(bytes)
    }
}
