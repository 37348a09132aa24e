//! A tile as the kernels take it. `tile.cuh` explains each field.

use super::{SHARED_BYTES, order::Order, place::Placement, sides::Sides, threads::Threads};
use crate::strided::{
    kernel::Find,
    params::{FastDiv, Loop, MAX_INNER, MAX_OUTER, Operands, RowLoop, RunLoop, StoreLoop, TileParams},
};

/// How shared memory is divided: tables first, data last, from these bytes on.
pub(super) struct SharedMemory {
    store_table: u32,
    run_table: u32,
    data: u32,
    /// All of it.
    pub(super) bytes: u32,
}

impl SharedMemory {
    pub(super) fn of(sides: &Sides<'_>, placement: &Placement) -> Option<Self> {
        const ENTRY_BYTES: u32 = 16;
        let entries = if sides.across_rows.len() > 1 { sides.rows } else { 0 };
        let store_table = entries * ENTRY_BYTES;
        let entries = if placement.store.len() > 1 { placement.stores } else { 0 };
        let run_table = store_table + entries.checked_mul(ENTRY_BYTES)?;
        let tabulated = placement.find == Find::Table;
        let entries = if tabulated { placement.period + 2 * sides.problem.vector() } else { 0 };
        let data = (run_table + entries * 2 + placement.before).next_multiple_of(128);
        let bytes = data + placement.bytes;
        (bytes <= SHARED_BYTES).then_some(Self { store_table, run_table, data, bytes })
    }
}

/// Division by `divisor`, or "not used".
fn division(divisor: u32) -> FastDiv {
    if divisor == 0 { FastDiv::default() } else { FastDiv::new(divisor) }
}

/// The parameters of a launch.
pub(super) fn of(
    sides: &Sides<'_>,
    order: &Order,
    placement: &Placement,
    threads: &Threads,
    memory: &SharedMemory,
) -> Option<TileParams> {
    let Sides { problem, shape, row_split, run_split, .. } = *sides;
    let axis = |axis: Option<usize>| axis.map(|axis| (shape.axes[axis], shape.steps[axis]));
    let batch = shape.batch.filter(|&axis| shape.is_cut(axis));
    let (a, b, c) = (axis(row_split), axis(run_split), axis(batch));
    let span_inner = a.map_or(Some(sides.span), |(of, steps)| {
        let cut = u64::from(steps - 1) * of.src.unsigned_abs();
        Some(sides.span - u32::try_from(cut).ok()?)
    })?;
    let (mut low, mut high) = (0, i64::from(sides.span));
    let mut row = [RowLoop::default(); MAX_INNER];
    for (k, &axis) in sides.across_rows.iter().enumerate() {
        let (src, steps) = (shape.axes[axis].src, sides.loaded[axis]);
        row[k] = RowLoop { extent: FastDiv::new(steps), x: placement.row_x[k], src };
        let reach = i64::from(steps - 1) * src;
        low += reach.min(0);
        high += reach.max(0);
    }
    let mut outer = [Loop::new(1, 0, 0); MAX_OUTER];
    outer[..order.outer.len()].copy_from_slice(&order.outer);
    let mut store = [StoreLoop::default(); MAX_INNER];
    store[..placement.store.len()].copy_from_slice(&placement.store);
    let mut run_axis = [RunLoop::default(); MAX_INNER];
    for (to, &(steps, x)) in run_axis.iter_mut().zip(&placement.run_loops) {
        *to = RunLoop { extent: FastDiv::new(steps.min(sides.run)), x };
    }
    let step = placement.element_x;
    Some(TileParams {
        at: Operands { src: sides.src, dst: shape.dst, ..problem.operands() },
        // Order.
        tiles: order.tiles,
        outer_axes: u32::try_from(order.outer.len()).ok()?,
        outer,
        a_outer: order.number_of(row_split),
        b_outer: order.number_of(run_split),
        c_outer: order.number_of(shape.batch),
        ahead: order.ahead,
        // What of the last tile along an axis is not there.
        a_extent: a.map_or(0, |(of, _)| of.extent),
        a_piece: a.map_or(0, |(_, steps)| steps),
        a_src: a.map_or(0, |(of, _)| of.src),
        a_in_run: u32::from(run_split.is_some() && row_split == run_split),
        b_extent: b.map_or(0, |(of, _)| of.extent),
        b_piece: b.map_or(0, |(_, steps)| steps),
        b_in_rows: u32::from(run_split.is_some_and(|axis| sides.across_rows.contains(&axis))),
        c_extent: c.map_or(0, |(of, _)| of.extent),
        c_piece: c.map_or(0, |(_, steps)| steps),
        // Rows.
        low,
        high,
        span: sides.span,
        span_inner,
        rows: sides.rows,
        rows_inner: sides.steps(&sides.across_rows, run_split.or(shape.batch)),
        row_step: threads.row_step,
        chunks: FastDiv::new(sides.chunks),
        row_axes: u32::try_from(sides.across_rows.len()).ok()?,
        row,
        classes_log2: placement.classes_log2,
        row_pitch: placement.row_pitch,
        class_pitch: placement.class_pitch,
        swizzle_shift: placement.swizzle_shift,
        swizzle_mask: placement.swizzle_mask,
        pad_chunks: division(placement.pad_chunks),
        pad_log2: placement.pad_log2,
        // Runs.
        overlap: sides.overlap,
        start_mask: placement.start_mask,
        run: sides.run,
        run_inner: sides.steps(&shape.run, run_split),
        run_dst: shape.axes[0].dst,
        stores: placement.stores,
        stores_inner: sides.steps(&sides.across_runs, row_split.or(shape.batch)),
        store_axes: u32::try_from(placement.store.len()).ok()?,
        // Along a run the source may go backwards: the first element is then the last of the row.
        store_x: i32::try_from(shape.src.wrapping_sub(shape.first_row())).ok()?,
        store,
        fused: division(shape.fused.map_or(0, |fused| fused.extent)),
        fused_x: placement.fused_x,
        fused_src: shape.fused.map_or(0, |fused| fused.src),
        store_groups: FastDiv::new(threads.store_groups),
        run_chunks: threads.run_chunks,
        lanes_log2: threads.lanes_log2,
        passes: threads.passes,
        columns: division(threads.columns),
        share: placement.share,
        // Elements of a run.
        vector_x: placement.vector_x,
        element_x: step,
        element_at: [0, 1, 2, 3, 4, 5, 6, 7].map(|times| step.wrapping_mul(times)),
        period: division(placement.period),
        period_x: placement.period_x,
        run_axes: u32::try_from(placement.run_loops.len()).ok()?,
        run_axis,
        run_in_classes: u32::from(placement.run_in_classes),
        rotate_by_run: placement.rotation.by_run,
        rotate_by_vector: placement.rotation.by_vector,
        rotate_bytes: u32::from(placement.rotation.bytes),
        // Shared memory.
        row_table: 0,
        store_table: memory.store_table,
        run_table: memory.run_table,
        data: memory.data,
        ..TileParams::default()
    })
}
