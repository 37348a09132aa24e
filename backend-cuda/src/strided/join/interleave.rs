//! Rows of few elements, a few from each source: as in a stack along the last axis.

use std::array;

use devarray::Axes;

use super::{
    super::{
        LAUNCH_BYTES,
        axes::{Axis, Problem, chunks, starts_aligned},
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
const VECTORS: u32 = 4;
const ZIP_VECTORS: u32 = 2;

/// All rows, one after the other without a gap: what the sources have of a row makes it whole.
#[derive(Debug)]
struct Rows {
    /// In the order of a row. Loops: over what each has of a row, over rows, over boxes of rows.
    sources: Vec<Problem>,
    /// Elements of a row.
    row: u32,
}

impl Rows {
    /// The rows that copies make together, if they do.
    fn of(problems: Vec<Problem>) -> Option<Self> {
        let count = u32::try_from(problems.len()).ok()?;
        if !(2..=MAX_SOURCES).contains(&problems.len()) {
            return None;
        }
        let width = problems.iter().map(|problem| problem.width).min()?;
        let mut sources: Vec<_> = problems.into_iter().map(|problem| in_rows(problem, width)).collect();
        sources.sort_by_key(|source| source.at.dst);
        let part_bytes = |source: &Problem| u64::from(source.axes[0].extent) * u64::from(width);
        let follows = |pair: &[Problem]| pair[0].at.dst + part_bytes(&pair[0]) == pair[1].at.dst;
        let sides = |source: &Problem| -> Axes<_> {
            source.axes[1..].iter().map(|axis| (axis.extent, axis.dst)).collect()
        };
        if !sources.windows(2).all(|pair| follows(pair) && sides(&pair[0]) == sides(&pair[1])) {
            return None;
        }
        let row = sources.iter().try_fold(0_u32, |sum, source| sum.checked_add(source.axes[0].extent))?;
        if row as usize > MAX_SHORT_ROW || row * width >= MAX_PART_BYTES * count {
            return None;
        }
        let rows = Self { sources, row };
        let Axis { extent, dst, .. } = rows.sources[0].axes[1];
        let box_bytes = u64::from(extent) * u64::from(rows.row_bytes());
        let boxes = rows.outer().iter().map(|axis| u64::from(axis.extent)).product::<u64>();
        let flat = extent == 1 || dst == i64::from(rows.row_bytes());
        let dense = rows.sources.iter().all(is_dense) || box_bytes * boxes <= FEW_BYTES;
        let worth = rows.outer().len() <= MAX_BOX_LOOPS && box_bytes >= MIN_BOX_BYTES;
        (flat && dense && (worth || rows.outer().is_empty())).then_some(rows)
    }

    fn width(&self) -> u32 {
        self.sources[0].width
    }

    fn row_bytes(&self) -> u32 {
        self.row * self.width()
    }

    /// Loops around boxes of rows.
    fn outer(&self) -> &[Axis] {
        &self.sources[0].axes[2..]
    }

    fn is_aligned(&self) -> bool {
        starts_aligned(self.sources[0].at.dst, self.outer())
    }

    /// Whether each source gives a part of each vector, one element a row.
    fn can_zip(&self) -> bool {
        let count = self.sources.len();
        if !matches!(count, 2 | 4 | 8 | 16) || count * self.width() as usize > 16 {
            return false;
        }
        let part = 16 / count as u64;
        let whole = |source: &Problem| {
            source.axes[0].extent == 1
                && source.axes[1].src == source.step()
                && source.at.src.is_multiple_of(part)
                && source.axes[2..].iter().all(|axis| axis.src.unsigned_abs().is_multiple_of(part))
        };
        let bytes = u64::from(self.sources[0].axes[1].extent) * u64::from(self.row_bytes());
        self.is_aligned() && bytes.is_multiple_of(16) && self.sources.iter().all(whole)
    }

    /// The launch for some rows of each box.
    fn launch(&self, start: u32, rows: u32, zip: bool) -> Option<Launch<JoinParams>> {
        let elements = rows.checked_mul(self.row)?;
        let total = chunks(elements.checked_mul(self.width())?, self.width(), self.is_aligned());
        let blocks = total.div_ceil(THREADS * if zip { ZIP_VECTORS } else { VECTORS });
        let boxes = self.outer().iter().try_fold(1_u32, |all, axis| all.checked_mul(axis.extent))?;
        let mut source = [Source::default(); MAX_SOURCES];
        let mut first = 0;
        for (to, from) in source.iter_mut().zip(&self.sources) {
            let (part, row) = (from.axes[0], from.axes[1].src);
            *to = Source {
                src: from.at.src.wrapping_add_signed(i64::from(start) * row),
                row,
                step: part.src,
                first,
                count: part.extent,
                outer: array::from_fn(|k| from.axes.get(2 + k).map_or(0, |axis| axis.src)),
            };
            first += part.extent;
        }
        let outer = |k| self.outer().get(k).map_or((1, 0), |axis: &Axis| (axis.extent, axis.dst));
        let outer = array::from_fn(|k| Loop::new(outer(k).0, 0, outer(k).1));
        let params = InterleaveParams {
            dst: self.sources[0].at.dst + u64::from(start) * u64::from(self.row_bytes()),
            row: FastDiv::new(self.row),
            elements,
            total,
            sources: u32::try_from(self.sources.len()).ok()?,
            blocks: FastDiv::new(blocks),
            unused: 0,
            outer,
            source,
        };
        let entry = if zip { Entry::JoinZip } else { Entry::JoinInterleave };
        let grid = blocks.checked_mul(boxes).filter(|&grid| grid < 1 << 31)?;
        Some(Launch::new(entry, self.width(), grid, JoinParams::Interleave(params)))
    }
}

/// The same copy of elements of this width, with a loop along each row and one over rows, though of
/// one step.
fn in_rows(problem: Problem, width: u32) -> Problem {
    let mut problem = narrowed(problem, width);
    let step = problem.step();
    if problem.is_scattered() {
        problem.axes.insert(0, Axis::new(1, step, step));
    }
    if problem.axes.len() == 1 {
        problem.axes.push(Axis::new(1, 0, 0));
    }
    problem
}

/// Whether neighbouring rows lie near each other in the source.
fn is_dense(source: &Problem) -> bool {
    let (part, rows) = (source.axes[0], source.axes[1]);
    let most = u64::from(MAX_PART_BYTES.max(4 * part.extent * source.width));
    rows.src.unsigned_abs() <= most && (part.extent == 1 || part.src.unsigned_abs() <= most)
}

/// The launches that carry out all of these copies, if they make rows together: one, up to 1 GiB a
/// box.
pub(super) fn select(problems: Vec<Problem>) -> Option<Vec<Launch<JoinParams>>> {
    let rows = Rows::of(problems)?;
    let zip = rows.can_zip();
    // A multiple of 16, so that all launches begin as aligned as the first.
    let most = u32::try_from(LAUNCH_BYTES).ok()? / rows.row_bytes() / 16 * 16;
    let count = rows.sources[0].axes[1].extent;
    let starts = (0..count).step_by(most as usize);
    starts.map(|start| rows.launch(start, most.min(count - start), zip)).collect()
}
