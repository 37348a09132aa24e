//! Tiles: the sides are fastest along different axes, so the data turns round in shared memory.
//!
//! ```text
//! shape     which box of the copy becomes a tile: rows along the source, runs along the destination
//! ends      where rows end although they could go on along the run
//! periodic  runs over all rows and then along them
//! wrap      runs that go over two axes as one
//! outer     in which order tiles are worked on
//! scale     how much one block and one thread do
//! deal      what each thread loads and stores
//! place     where the rows lie in shared memory, and how the elements of a run are found there
//! pitch     how far apart they lie
//! turn      with which word of its vector a thread begins
//! ```

mod deal;
mod ends;
mod outer;
mod periodic;
mod pitch;
mod place;
mod scale;
mod shape;
mod turn;
mod wrap;

use devarray::Axes;

pub(super) use self::scale::Scale;
use self::{place::place, shape::Shape, wrap::over_ends};
use super::{
    axes::Problem,
    kernel::{Find, Kernel, Tile},
    launch::{LINE_BYTES, Launch, Params},
    params::{FastDiv, Loop, MAX_INNER, MAX_OUTER, NO_AXIS, Operands, StoreLoop, TileParams},
};

/// Shared memory a block may use without asking the driver for more, less what the kernels declare themselves.
const SHARED_BYTES: u32 = (48 << 10) - 128;
/// Runs start on a boundary of a memory sector, where tiles may overlap to make that so.
const SECTOR_BYTES: u32 = 32;

/// How often the box is made smaller, if memory is short or its table too long, before single elements are copied.
const ATTEMPTS: u32 = 6;
/// Runs of a tile from which on tables are read entry by entry: few threads then share a run, and its part of the table.
const MANY_RUNS: u32 = 4;

/// A tile being laid out.
struct Layout<'a> {
    problem: &'a Problem,
    shape: &'a Shape,
    scale: Scale,
    /// The axis cut along the row, and the one cut along the run.
    row_split: Option<usize>,
    run_split: Option<usize>,
    /// Steps of each axis that are loaded: those of the tile and the skew.
    loaded: Axes<u32>,
    /// Axes that count rows, along the run; axes that count runs, along the row.
    across_rows: Axes<usize>,
    across_runs: Axes<usize>,
    /// Whether runs start at any alignment; how far back a tile reaches to let each start at an aligned address.
    shifted: bool,
    skew: u32,
    /// Bytes of a store.
    store_bytes: u32,
    /// Whether elements of a run are apart in the destination.
    scattered: bool,
    /// Where every tile starts modulo 16, if that is the same for all.
    start: Option<u32>,
    /// Most threads along a run.
    most_lanes_log2: u32,
    params: TileParams,
}

/// The launch that copies tile by tile, if a tile is what the problem wants.
pub(super) fn select(problem: &Problem, scale: Scale) -> Option<Launch> {
    if stands_alone(problem) {
        return None;
    }
    let size = scale.size(problem.width);
    (0..ATTEMPTS).find_map(|shrink| {
        let shape = shape::choose(problem, size, shrink)?;
        if shrink == 0
            && let Some(launch) = better(problem, &shape, scale)
        {
            return Some(launch);
        }
        // Narrow stores are faster from smaller tiles.
        let smaller = match scale {
            Scale::Large | Scale::Stream | Scale::FastStream
                if narrow(problem, &shape) && !tears_sectors(problem, &shape, scale) =>
            {
                Scale::Middle
            }
            _ => return lay_out(problem, &shape, scale, shrink),
        };
        lay_out(problem, &shape::choose(problem, smaller.size(problem.width), shrink)?, smaller, shrink)
    })
}

/// The launch for a copy whose tiles, those `without`, tear runs or sectors, if others tear less.
fn better(problem: &Problem, without: &Shape, scale: Scale) -> Option<Launch> {
    let mut boxes = periodic::boxes(problem, without, scale);
    boxes.find_map(|shape| lay_out(problem, &shape, scale, 0)).or_else(|| {
        let (problem, shapes) = over_ends(problem, without, scale)?;
        shapes.iter().find_map(|shape| lay_out(&problem, shape, scale, 0))
    })
}

/// Whether the elements, or the short pieces of a few of them, are alone in their memory sectors on the source side:
/// rows of a tile would be mostly gaps.
fn stands_alone(problem: &Problem) -> bool {
    let [inner, outer] = problem.axes[..] else { return false };
    let piece = inner.extent.saturating_mul(problem.width);
    let distance = outer.src.unsigned_abs();
    inner.src == problem.step() && inner.dst == inner.src && distance >= 64 && distance > 2 * u64::from(piece)
}

/// Whether runs are stored in pieces of 4 or 8 bytes.
fn narrow(problem: &Problem, shape: &Shape) -> bool {
    shape.run_unit() < 16 && place::in_words(problem, shape)
}

/// Whether tiles may overlap along the run, and consist of whole sectors.
fn can_skew(problem: &Problem, shape: &Shape) -> bool {
    let whole = |axis: usize| (shape.steps[axis] * problem.width).is_multiple_of(SECTOR_BYTES);
    shape.can_skew(problem.width) && shape.split(&shape.run).is_some_and(whole)
}

/// Whether tiles should overlap although runs start at vectors, or at what is stored of words at once: a sector of which two tiles
/// write a part each is read from memory as well. Not if results stay in the cache (`NOTES.md`, version 11).
fn tears_sectors(problem: &Problem, shape: &Shape, scale: Scale) -> bool {
    let cached = matches!(scale, Scale::Small | Scale::Middle);
    !cached && !shape.runs_keep(SECTOR_BYTES.into()) && can_skew(problem, shape)
}

fn lay_out(problem: &Problem, shape: &Shape, scale: Scale, shrink: u32) -> Option<Launch> {
    let scattered = problem.axes[0].dst != problem.step();
    let unit = shape.run_unit();
    let words = place::in_words(problem, shape);
    // Shifting them, too, is not worth it for elements of which a vector has few.
    let torn = !scattered && (words || problem.width <= 2) && tears_sectors(problem, shape, scale);
    let wraps = shape.wrap.is_some();
    let shifted = !scattered && !words && (unit < 16 || torn || wraps);
    let (row_split, run_split) = (shape.split(&shape.row), shape.split(&shape.run));
    let skewed = torn || (shifted && can_skew(problem, shape));
    let skew = if skewed { (SECTOR_BYTES - unit) / problem.width } else { 0 };
    let mut loaded = shape.steps.clone();
    if let Some(axis) = run_split {
        loaded[axis] += skew;
    }
    let whole_rows = |&axis: &usize| shape.counts_rows(axis);
    let whole_runs = |&axis: &usize| !shape.in_run(axis);
    let mut layout = Layout {
        problem,
        shape,
        scale,
        row_split,
        run_split,
        loaded,
        across_rows: shape.run.iter().copied().filter(whole_rows).chain(shape.batch).collect(),
        across_runs: shape.row.iter().copied().filter(whole_runs).chain(shape.batch).collect(),
        shifted,
        skew,
        store_bytes: if words { unit } else { 16 },
        scattered,
        start: None,
        most_lanes_log2: 5,
        params: TileParams {
            at: Operands { src: shape.src, dst: shape.dst, ..problem.operands() },
            a_outer: NO_AXIS,
            b_outer: NO_AXIS,
            c_outer: NO_AXIS,
            outer: [Loop::new(1, 0, 0); MAX_OUTER],
            ..TileParams::default()
        },
    };
    if layout.across_rows.len().max(layout.across_runs.len()).max(shape.run.len()) > MAX_INNER {
        return None;
    }
    layout.sides()?;
    outer::lower(&mut layout)?;
    let (find, data_bytes) = place(&mut layout)?;
    debug_assert!(!words || find == Find::Packed, "elements are fetched as words");
    debug_assert!(
        !wraps || words || (shifted && matches!(find, Find::Linear | Find::Table)),
        "a kernel that wraps"
    );
    // A small box is not worth a table as long as itself; a smaller one that repeats has a shorter one.
    let elements: u32 = shape.steps.iter().product();
    if shrink >= 3 && find == Find::Table && 4 * layout.params.period.divisor > elements {
        return None;
    }
    layout.lanes(find);
    let threads = layout.threads(find);
    let shared_bytes = layout.shared(find, data_bytes).filter(|&bytes| bytes <= SHARED_BYTES)?;
    let evict_last = layout.held(find);
    let (store_bytes, skewed, shifted) = (layout.store_bytes, layout.skew > 0, layout.shifted);
    let params = layout.params;
    // The table of permuted rows is so short that all threads share it.
    let permuted = params.classes_log2 > 0 && params.run_in_classes == 0;
    let wide = problem.width == 1 && (params.stores < MANY_RUNS || permuted);
    Some(Launch {
        kernel: Kernel::new(
            Tile { find, store_bytes, shifted, overlap: skewed, fused: wraps, evict_last, wide }.entry(),
            problem.width,
        ),
        grid: params.tiles,
        threads,
        shared_bytes,
        params: Params::Tile(params),
    })
}

impl Layout<'_> {
    /// Fills in rows and runs: what is loaded, what is stored, what is cut.
    fn sides(&mut self) -> Option<()> {
        let Self { shape, row_split, run_split, .. } = *self;
        let width = self.problem.width;
        let p = &mut self.params;
        p.at.src = shape.first_row();
        // Along a run the source may go backwards: the first element is then the last of the row.
        p.store_x = i32::try_from(shape.src.wrapping_sub(p.at.src)).ok()?;
        p.span = u32::try_from(shape.span_bytes(width)).ok()?;
        p.span_inner = p.span;
        if let Some(axis) = row_split {
            let of = shape.axes[axis];
            p.a_extent = of.extent;
            p.a_piece = shape.steps[axis];
            p.a_src = of.src;
            p.span_inner -= u32::try_from(u64::from(shape.steps[axis] - 1) * of.src.unsigned_abs()).ok()?;
        }
        if let Some(axis) = run_split {
            p.b_extent = shape.axes[axis].extent;
            p.b_piece = shape.steps[axis];
            p.a_in_run = u32::from(row_split == run_split);
            p.b_in_rows = u32::from(self.across_rows.contains(&axis));
            p.at.src = p.at.src.wrapping_add_signed(-i64::from(self.skew) * shape.axes[axis].src);
        }
        if let Some(axis) = shape.batch.filter(|&axis| shape.is_cut(axis)) {
            p.c_extent = shape.axes[axis].extent;
            p.c_piece = shape.steps[axis];
        }
        p.overlap = self.skew;
        p.start_mask = match (self.skew, self.shifted) {
            (1.., _) => SECTOR_BYTES - 1,
            (0, true) => 15,
            (0, false) => 0,
        };
        if let Some(wrap) = shape.wrap {
            p.fused = FastDiv::new(wrap.extent);
            p.fused_src = wrap.src;
            p.fused_x = wrap.x();
        }
        let steps = |list: &[usize], without: Option<usize>| -> u32 {
            list.iter().filter(|&&axis| Some(axis) != without).map(|&axis| self.loaded[axis]).product()
        };
        p.rows = steps(&self.across_rows, None);
        p.rows_inner = steps(&self.across_rows, run_split.or(shape.batch));
        p.stores = steps(&self.across_runs, None);
        p.stores_inner = steps(&self.across_runs, row_split.or(shape.batch));
        p.run = steps(&shape.run, None);
        p.run_inner = steps(&shape.run, run_split);
        p.run_dst = shape.axes[0].dst;
        for (to, &axis) in p.store.iter_mut().zip(&self.across_runs) {
            let of = shape.axes[axis];
            *to = StoreLoop {
                extent: FastDiv::new(shape.steps[axis]),
                x: i32::try_from(of.src).ok()?,
                dst: of.dst,
            };
        }
        p.store_axes = u32::try_from(self.across_runs.len()).ok()?;
        p.high = i64::from(p.span);
        for &axis in &self.across_rows {
            let reach = i64::from(self.loaded[axis] - 1) * shape.axes[axis].src;
            p.low += reach.min(0);
            p.high += reach.max(0);
        }
        self.start = self.common_start();
        self.params.chunks = FastDiv::new((self.params.span + self.start.unwrap_or(16 - width)).div_ceil(16));
        Some(())
    }

    /// Where every row of every tile starts modulo 16, if that is the same for all.
    fn common_start(&self) -> Option<u32> {
        let first = u32::try_from(self.params.at.src % 16).ok()?;
        self.shape.rows_keep(16).then_some(first)
    }

    /// Whether words are stored from tiles that may overlap: a run's part of one then begins where its sector does, if they do.
    fn overlapping_words(&self) -> bool {
        self.may_overlap() && !self.shifted
    }

    /// Whether tiles may overlap along the run.
    fn may_overlap(&self) -> bool {
        self.skew > 0 || self.shape.wrap.is_some()
    }

    /// The kernel that holds rows in the cache until they were read, if that helps: lines that tiles share are better left alone.
    fn held(&self, find: Find) -> bool {
        let even = self.params.row_step > 0 && self.whole_lines();
        if self.scale != Scale::Stream || !even || self.may_overlap() || self.shifted || self.store_bytes < 16
        {
            return false;
        }
        matches!(find, Find::Linear | Find::Packed)
    }

    /// Whether every row consists of whole lines of the cache.
    fn whole_lines(&self) -> bool {
        let p = &self.params;
        p.at.src.is_multiple_of(LINE_BYTES.into())
            && p.span.is_multiple_of(LINE_BYTES)
            && self.shape.rows_keep(LINE_BYTES.into())
    }

    /// Divides shared memory: tables first, data last. Returns the bytes of it.
    fn shared(&mut self, find: Find, (before, data_bytes): (u32, u32)) -> Option<u32> {
        const ENTRY_BYTES: u32 = 16;
        let p = &mut self.params;
        let mut at = 0;
        p.row_table = at;
        at += if p.row_axes > 1 { p.rows * ENTRY_BYTES } else { 0 };
        p.store_table = at;
        at += if p.store_axes > 1 { p.stores.checked_mul(ENTRY_BYTES)? } else { 0 };
        p.run_table = at;
        at += if find == Find::Table { (p.period.divisor + 2 * self.problem.vector()) * 2 } else { 0 };
        p.data = (at + before).next_multiple_of(128);
        Some(p.data + data_bytes)
    }
}
