//! Rows of few elements, a few from each source: as in a stack along the last axis.

use devarray::Axes;

use super::{
    super::{
        LAUNCH_BYTES,
        axes::{Axis, Problem},
        kernel::Entry,
        launch::{Launch, THREADS},
        params::{FastDiv, InterleaveParams, Loop, MAX_BOX_LOOPS, MAX_SHORT_ROW, MAX_SOURCES, Source},
    },
    JoinParams, narrowed,
};

/// Sources with more bytes of each row, on average, are copied side by side.
const MAX_PART_BYTES: u32 = 64;
/// Shorter boxes are not worth blocks of their own.
const MIN_BOX_BYTES: u64 = 4096;
/// Copies that are small in any case, however far apart what is read lies.
const FEW_BYTES: u64 = 256 << 10;
/// Vectors of a thread; `VECTORS` and `ZIP_VECTORS` in `join.cu`.
pub const VECTORS: u32 = 4;
pub const ZIP_VECTORS: u32 = 2;

/// What one source has of each row, and the loops around it.
#[derive(Debug)]
struct Given {
    src: u64,
    dst: u64,
    count: u32,
    step: i64,
    loops: Axes<Axis>,
}

impl Given {
    fn of(problem: Problem, width: u32) -> Self {
        let problem = narrowed(problem, width);
        let (src, dst, step) = (problem.src, problem.dst, problem.step());
        let mut loops = problem.axes;
        let inner = loops.first().copied().filter(|inner| inner.dst == step);
        if inner.is_some() {
            loops.remove(0);
        }
        let inner = inner.unwrap_or(Axis::new(1, step, step));
        Self { src, dst, count: inner.extent, step: inner.src, loops }
    }

    /// Bytes from row to row of the source.
    fn row(&self) -> i64 {
        self.loops.first().map_or(0, |rows| rows.src)
    }

    /// Whether neighbouring rows lie near each other in the source.
    fn is_dense(&self, width: u32) -> bool {
        let most = u64::from(MAX_PART_BYTES.max(4 * self.count * width));
        self.row().unsigned_abs() <= most && (self.count == 1 || self.step.unsigned_abs() <= most)
    }
}

/// All rows, one after the other without a gap: what the sources have of a row makes it whole.
#[derive(Debug)]
struct Rows {
    given: Vec<Given>,
    width: u32,
    /// Elements of a row.
    row: u32,
    rows: u32,
    /// Loops around boxes of rows.
    outer: Axes<Axis>,
}

impl Rows {
    /// The rows that copies make together, if they do.
    fn of(problems: Vec<Problem>) -> Option<Self> {
        let count = u32::try_from(problems.len()).ok()?;
        if !(2..=MAX_SOURCES).contains(&problems.len()) {
            return None;
        }
        let width = problems.iter().map(|problem| problem.width).min()?;
        let mut given: Vec<_> = problems.into_iter().map(|problem| Given::of(problem, width)).collect();
        given.sort_by_key(|given| given.dst);
        let follows =
            |pair: &[Given]| pair[0].dst + u64::from(pair[0].count) * u64::from(width) == pair[1].dst;
        let sides =
            |given: &Given| -> Axes<_> { given.loops.iter().map(|axis| (axis.extent, axis.dst)).collect() };
        if !given.windows(2).all(|pair| follows(pair) && sides(&pair[0]) == sides(&pair[1])) {
            return None;
        }
        let row = given.iter().try_fold(0_u32, |sum, given| sum.checked_add(given.count))?;
        if row as usize > MAX_SHORT_ROW || row * width >= MAX_PART_BYTES * count {
            return None;
        }
        let loops = &given[0].loops;
        let (rows, pitch) = loops.first().map_or((1, 0), |rows| (rows.extent, rows.dst));
        let outer: Axes<Axis> = loops.iter().skip(1).copied().collect();
        let box_bytes = u64::from(rows) * u64::from(row * width);
        let boxes = outer.iter().map(|axis| u64::from(axis.extent)).product::<u64>();
        let flat = rows == 1 || pitch == i64::from(row * width);
        let dense = given.iter().all(|given| given.is_dense(width)) || box_bytes * boxes <= FEW_BYTES;
        let worth = outer.is_empty() || (outer.len() <= MAX_BOX_LOOPS && box_bytes >= MIN_BOX_BYTES);
        (flat && dense && worth).then_some(Self { given, width, row, rows, outer })
    }

    fn row_bytes(&self) -> u32 {
        self.row * self.width
    }

    fn is_aligned(&self) -> bool {
        self.given[0].dst.is_multiple_of(16) && self.outer.iter().all(|axis| axis.dst % 16 == 0)
    }

    /// Whether each source gives a part of each vector, one element a row.
    fn can_zip(&self) -> bool {
        let count = self.given.len();
        if !matches!(count, 2 | 4 | 8 | 16) || count * self.width as usize > 16 {
            return false;
        }
        let part = 16 / count as u64;
        let whole = |given: &Given| {
            let mut outer = given.loops.iter().skip(1).map(|axis| axis.src.unsigned_abs());
            given.count == 1
                && given.row() == i64::from(self.width)
                && given.src.is_multiple_of(part)
                && outer.all(|stride| stride.is_multiple_of(part))
        };
        let bytes = u64::from(self.rows) * u64::from(self.row_bytes());
        self.is_aligned() && bytes.is_multiple_of(16) && self.given.iter().all(whole)
    }

    /// The launch for some rows of each box.
    fn launch(&self, start: u32, rows: u32, zip: bool) -> Option<Launch<JoinParams>> {
        let elements = rows.checked_mul(self.row)?;
        let over = if self.is_aligned() { 0 } else { 16 - self.width };
        let total = (elements.checked_mul(self.width)? + over).div_ceil(16);
        let blocks = total.div_ceil(THREADS * if zip { ZIP_VECTORS } else { VECTORS });
        let boxes = self.outer.iter().try_fold(1_u32, |product, axis| product.checked_mul(axis.extent))?;
        let mut outer = [Loop::new(1, 0, 0); MAX_BOX_LOOPS];
        for (to, axis) in outer.iter_mut().zip(&self.outer) {
            *to = Loop::new(axis.extent, 0, axis.dst);
        }
        let mut source = [Source::default(); MAX_SOURCES];
        let mut first = 0;
        for (to, given) in source.iter_mut().zip(&self.given) {
            let mut outer = [0; MAX_BOX_LOOPS];
            for (to, axis) in outer.iter_mut().zip(given.loops.iter().skip(1)) {
                *to = axis.src;
            }
            let src = given.src.wrapping_add_signed(i64::from(start) * given.row());
            *to = Source { src, row: given.row(), step: given.step, first, count: given.count, outer };
            first += given.count;
        }
        let params = InterleaveParams {
            dst: self.given[0].dst + u64::from(start) * u64::from(self.row_bytes()),
            row: FastDiv::new(self.row),
            elements,
            total,
            sources: u32::try_from(self.given.len()).ok()?,
            blocks: FastDiv::new(blocks),
            unused: 0,
            outer,
            source,
        };
        let entry = if zip { Entry::JoinZip } else { Entry::JoinInterleave };
        let grid = blocks.checked_mul(boxes).filter(|&grid| grid < 1 << 31)?;
        Some(Launch::new(entry, self.width, grid, JoinParams::Interleave(params)))
    }
}

/// The launches that carry out all of these copies, if they make rows together: one, up to 1 GiB a
/// box.
pub(super) fn select(problems: Vec<Problem>) -> Option<Vec<Launch<JoinParams>>> {
    let rows = Rows::of(problems)?;
    let zip = rows.can_zip();
    // A multiple of 16, so that all launches begin as aligned as the first.
    let most = u32::try_from(LAUNCH_BYTES).ok()? / rows.row_bytes() / 16 * 16;
    let starts = (0..rows.rows).step_by(most as usize);
    starts.map(|start| rows.launch(start, most.min(rows.rows - start), zip)).collect()
}
