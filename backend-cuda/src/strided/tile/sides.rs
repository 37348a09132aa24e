//! The two sides of a tile: the rows that are loaded, and the runs that are stored.

use devarray::Axes;

use super::{SECTOR_BYTES, Scale, shape::Shape};
use crate::strided::{
    axes::Problem,
    launch::LINE_BYTES,
    params::{FastDiv, MAX_INNER, StoreLoop},
};

/// What a tile loads and stores.
pub(super) struct Sides<'a> {
    pub(super) problem: &'a Problem,
    pub(super) shape: &'a Shape,
    pub(super) scale: Scale,
    /// The axis cut along the row, and the one cut along the run.
    pub(super) row_split: Option<usize>,
    pub(super) run_split: Option<usize>,
    /// Steps of each axis that are loaded: those of the tile and the overlap.
    pub(super) loaded: Axes<u32>,
    /// Axes that count rows, along the run; axes that count runs, along the row.
    pub(super) across_rows: Axes<usize>,
    pub(super) across_runs: Axes<usize>,
    /// Whether runs start at any alignment.
    pub(super) shifted: bool,
    /// Elements that a tile reaches back along the run, so that each run can start at an aligned
    /// address.
    pub(super) overlap: u32,
    /// Alignment of a run's start, in bytes, less one; 0: as it is.
    pub(super) start_mask: u32,
    /// Bytes of a store.
    pub(super) store_bytes: u32,
    /// Whether elements of a run are apart in the destination.
    pub(super) scattered: bool,
    /// Where the first tile begins.
    pub(super) src: u64,
    /// Where every tile starts modulo 16, if that is the same for all.
    pub(super) start: Option<u32>,
    /// Bytes of a row, and chunks of 16 bytes.
    pub(super) span: u32,
    pub(super) chunks: u32,
    /// Rows and runs of a tile, and elements of a run.
    pub(super) rows: u32,
    pub(super) stores: u32,
    pub(super) run: u32,
    /// The loops around runs. The step of a batch in the tile is set later, with the placement.
    pub(super) store: Axes<StoreLoop>,
}

impl<'a> Sides<'a> {
    pub(super) fn of(shape: &'a Shape, scale: Scale) -> Option<Self> {
        let problem = &shape.problem;
        let (scattered, unit, words) = (problem.is_scattered(), shape.run_unit(), shape.in_words());
        // Not for wide elements, of which a vector has few: shifting costs more there.
        let torn = !scattered && (words || problem.width <= 2) && tears_sectors(shape, scale);
        let shifted = !scattered && !words && (unit < 16 || torn || shape.fused.is_some());
        let overlaps = torn || (shifted && shape.can_overlap_in_sectors());
        let overlap = if overlaps { (SECTOR_BYTES - unit) / problem.width } else { 0 };
        let start_mask = match (overlap, shifted) {
            (1.., _) => SECTOR_BYTES - 1,
            (0, true) => 15,
            (0, false) => 0,
        };
        let run_split = shape.split(&shape.run);
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
        let mut store = Axes::new();
        for &axis in &across_runs {
            let of = shape.axis(axis);
            let extent = FastDiv::new(shape.steps[axis]);
            store.push(StoreLoop { extent, x: i32::try_from(of.src).ok()?, dst: of.dst });
        }
        let span = u32::try_from(shape.span_bytes()).ok()?;
        let start = if shape.rows_keep(16) { Some(u32::try_from(src % 16).ok()?) } else { None };
        let steps = |list: &[usize]| list.iter().map(|&axis| loaded[axis]).product();
        Some(Self {
            problem,
            shape,
            scale,
            row_split: shape.split(&shape.row),
            run_split,
            shifted,
            overlap,
            start_mask,
            store_bytes: if words { unit } else { 16 },
            scattered,
            src,
            start,
            span,
            chunks: (span + start.unwrap_or(16 - problem.width)).div_ceil(16),
            rows: steps(&across_rows),
            stores: steps(&across_runs),
            run: steps(&shape.run),
            store,
            loaded,
            across_rows,
            across_runs,
        })
    }

    /// Whether every row consists of whole lines of the cache.
    pub(super) fn whole_lines(&self) -> bool {
        self.span.is_multiple_of(LINE_BYTES) && self.begins_lines()
    }

    /// Whether every row begins with a line.
    pub(super) fn begins_lines(&self) -> bool {
        self.src.is_multiple_of(LINE_BYTES.into()) && self.shape.rows_keep(LINE_BYTES.into())
    }
}

/// Whether tiles should overlap although runs are aligned to what is stored at once: a sector that
/// two tiles write in part is also read from memory. Not if results stay in the cache.
fn tears_sectors(shape: &Shape, scale: Scale) -> bool {
    let cached = matches!(scale, Scale::Small | Scale::Middle);
    !cached && !shape.runs_keep(SECTOR_BYTES.into()) && shape.can_overlap_in_sectors()
}
