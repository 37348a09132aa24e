//! A tile while it is laid out, and its two sides: the rows that are loaded, and the runs that are
//! stored.

use devarray::Axes;

use super::{scale::Scale, shape::Shape, sizes::SECTOR_BYTES};
use crate::strided::{
    kernel::{Find, TileKernel},
    params::{FastDiv, MAX_INNER, Operands, RowLoop, StoreLoop, TileParams},
    strided_copy::StridedCopy,
    strided_launch::LINE_BYTES,
};

/// The decisions about a tile so far; each step sets its own fields.
#[derive(Clone)]
pub(super) struct Tile<'a> {
    pub(super) shape: &'a Shape,
    pub(super) copy: &'a StridedCopy,
    pub(super) scale: Scale,
    /// The axis cut along the row, and the one cut along the run.
    pub(super) row_split: Option<usize>,
    pub(super) run_split: Option<usize>,
    /// Steps of each axis that are loaded: the steps of the tile and the overlap.
    pub(super) loaded: Axes<u32>,
    /// The axes that count rows, along the run; and the axes that count runs, along the row.
    pub(super) across_rows: Axes<usize>,
    pub(super) across_runs: Axes<usize>,
    /// The start of every tile modulo 16, if that is the same for all.
    pub(super) start: Option<u32>,
    /// The properties of the kernel.
    pub(super) kernel: TileKernel,
    /// The parameters of the kernel; `tile.cuh` explains each field. A field that no step sets is
    /// unused.
    pub(super) p: TileParams,
    /// Bytes of shared memory before the first row, and from the first row to the end.
    pub(super) before: u32,
    pub(super) bytes: u32,
    /// The most neighbouring threads along a run (a logarithm).
    pub(super) most_lanes_log2: u32,
}

impl<'a> Tile<'a> {
    /// The fields that the two sides decide.
    pub(super) fn of(shape: &'a Shape, scale: Scale) -> Option<Self> {
        let copy = &shape.copy;
        let (scattered, unit, words) = (copy.is_scattered(), shape.run_unit(), shape.in_words());
        // Wide elements are excluded: shifting costs more if a vector has few elements.
        let torn = !scattered && (words || copy.width <= 2) && tears_sectors(shape, scale);
        let shifted = !scattered && !words && (unit < 16 || torn || shape.fused.is_some());
        let overlaps = torn || (shifted && (shape.can_overlap_in_sectors() || shape.reaches_back));
        let (row_split, run_split) = (shape.split(&shape.row), shape.split(&shape.run));
        let others = shape.run.iter().filter(|&&axis| Some(axis) != run_split);
        let run_inner: u32 = others.map(|&axis| shape.steps[axis]).product();
        let overlap = if overlaps { ((SECTOR_BYTES - unit) / copy.width).div_ceil(run_inner) } else { 0 };
        let (mut loaded, mut src) = (shape.steps.clone(), shape.first_row());
        if let Some(axis) = run_split {
            loaded[axis] += overlap;
            src = src.wrapping_add_signed(-i64::from(overlap) * shape.axis(axis).src);
        }
        let across_rows = shape.run.iter().copied().filter(|&axis| shape.counts_rows(axis));
        let across_rows: Axes<usize> = across_rows.chain(shape.batch).collect();
        let across_runs = shape.row.iter().copied().filter(|&axis| !shape.in_run(axis));
        let across_runs: Axes<usize> = across_runs.chain(shape.batch).collect();
        if across_rows.len().max(across_runs.len()).max(shape.run.len()) > MAX_INNER {
            return None;
        }
        let span = u32::try_from(shape.span_bytes()).ok()?;
        let start = if shape.rows_keep(16) { Some(u32::try_from(src % 16).ok()?) } else { None };
        let chunks = (span + start.unwrap_or(16 - copy.width)).div_ceil(16);
        let steps = |list: &[usize], without| -> u32 {
            list.iter().filter(|&&axis| Some(axis) != without).map(|&axis| loaded[axis]).product()
        };
        let mut p = TileParams {
            at: Operands { src, ..copy.at },
            // Fields for rows.
            high: span.into(),
            span,
            span_inner: span,
            rows: steps(&across_rows, None),
            rows_inner: steps(&across_rows, run_split.or(shape.batch)),
            chunks: FastDiv::new(chunks),
            row_axes: u32::try_from(across_rows.len()).ok()?,
            // Fields for runs.
            overlap,
            start_mask: match (overlap, shifted) {
                (1.., _) => SECTOR_BYTES - 1,
                (0, true) => 15,
                (0, false) => 0,
            },
            run: steps(&shape.run, None),
            run_inner,
            run_dst: shape.axis(0).dst,
            stores: steps(&across_runs, None),
            stores_inner: steps(&across_runs, row_split.or(shape.batch)),
            store_axes: u32::try_from(across_runs.len()).ok()?,
            // The source may go backwards along a run that is also along the row: the first element
            // is then the last of the row.
            store_x: i32::try_from(copy.at.src.wrapping_sub(shape.first_row())).ok()?,
            ..TileParams::default()
        };
        for (row, &axis) in p.row.iter_mut().zip(&across_rows) {
            let (src, steps) = (shape.axis(axis).src, loaded[axis]);
            *row = RowLoop { extent: FastDiv::new(steps), x: 0, src };
            let reach = i64::from(steps - 1) * src;
            p.low += reach.min(0);
            p.high += reach.max(0);
        }
        for (store, &axis) in p.store.iter_mut().zip(&across_runs) {
            let (of, extent) = (shape.axis(axis), FastDiv::new(shape.steps[axis]));
            *store = StoreLoop { extent, x: i32::try_from(of.src).ok()?, dst: of.dst };
        }
        if let Some(fused) = shape.fused {
            (p.fused, p.fused_src) = (FastDiv::new(fused.extent), fused.src);
            // The rows after the jump keep their place in a sector.
            p.fused_x = u32::try_from(fused.src.rem_euclid(SECTOR_BYTES.into())).ok()?;
        }
        let kernel = TileKernel {
            store_bytes: if words { unit } else { 16 },
            shifted,
            // Kernels for fused axes always overlap, and kernels for runs that start anywhere find
            // the overlap out themselves.
            overlap: overlap > 0 && !shifted && shape.fused.is_none(),
            fused: shape.fused.is_some(),
            ..TileKernel::plain(if scattered { Find::Scatter } else { Find::Linear })
        };
        let tile = Self {
            shape,
            copy,
            scale,
            row_split,
            run_split,
            loaded,
            across_rows,
            across_runs,
            start,
            kernel,
            p,
            before: 0,
            bytes: 0,
            most_lanes_log2: 5,
        };
        tile.with_pieces()
    }

    /// Adds the axes that tiles cut. The last tile along such an axis has only the rest of it.
    fn with_pieces(mut self) -> Option<Self> {
        let (shape, p) = (self.shape, &mut self.p);
        if let Some(axis) = self.row_split {
            let (of, steps) = (shape.axis(axis), shape.steps[axis]);
            (p.a_extent, p.a_piece, p.a_src) = (of.extent, steps, of.src);
            p.a_in_run = u32::from(self.run_split == Some(axis));
            p.span_inner -= u32::try_from(u64::from(steps - 1) * of.src.unsigned_abs()).ok()?;
        }
        if let Some(axis) = self.run_split {
            (p.b_extent, p.b_piece) = (shape.axis(axis).extent, shape.steps[axis]);
            p.b_in_rows = u32::from(self.across_rows.contains(&axis));
        }
        if let Some(axis) = shape.batch.filter(|&axis| shape.is_cut(axis)) {
            (p.c_extent, p.c_piece) = (shape.axis(axis).extent, shape.steps[axis]);
        }
        Some(self)
    }

    /// The loops around runs.
    pub(super) fn stores(&self) -> &[StoreLoop] {
        &self.p.store[..self.across_runs.len()]
    }

    /// Whether every row consists of whole lines of the cache.
    pub(super) fn whole_lines(&self) -> bool {
        self.p.span.is_multiple_of(LINE_BYTES) && self.begins_lines()
    }

    /// Whether every row begins with a line of the cache.
    pub(super) fn begins_lines(&self) -> bool {
        self.p.at.src.is_multiple_of(LINE_BYTES.into()) && self.shape.rows_keep(LINE_BYTES.into())
    }
}

/// Whether tiles should overlap although runs are aligned to vectors: a sector that two tiles write
/// in part is also read from memory. Not needed if results stay in the cache.
fn tears_sectors(shape: &Shape, scale: Scale) -> bool {
    let cached = matches!(scale, Scale::Small | Scale::Middle);
    !cached && !shape.runs_keep(SECTOR_BYTES.into()) && shape.can_overlap_in_sectors()
}
