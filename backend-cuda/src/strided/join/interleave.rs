//! Rows of few elements that come from several sources, as in a stack along the last axis.

use std::array;

use devarray::Axes;

use super::{
    super::{
        kernel::Entry,
        params::{FastDiv, InterleaveParams, Loop, MAX_BOX_LOOPS, MAX_SHORT_ROW, MAX_SOURCES, Source},
        strided_copy::{Axis, StridedCopy, chunks, starts_aligned},
        strided_launch::{LAUNCH_BYTES, StridedLaunch, THREADS},
    },
    JoinParams,
};

/// Copies of at most this size count as small, however scattered their source is.
pub(super) const FEW_BYTES: usize = 256 << 10;
/// Sources with more bytes of each row, on average, are copied side by side.
const MAX_PART_BYTES: u32 = 64;
/// Shorter boxes are not worth blocks of their own.
const MIN_BOX_BYTES: u64 = 4096;
/// The number of vectors that a thread makes; `VECTORS` and `ZIP_VECTORS` in `join.cu`.
pub(in crate::strided) const VECTORS: u32 = 4;
pub(in crate::strided) const ZIP_VECTORS: u32 = 2;

/// The launches that carry out all of these copies, if their parts follow each other in every row
/// without a gap: one launch, or one for each 1 GiB of a box.
pub(super) fn select(copies: Vec<StridedCopy>) -> Option<Vec<StridedLaunch<JoinParams>>> {
    let count = u32::try_from(copies.len()).ok()?;
    let parts = parts_of_rows(copies)?;
    let row = parts.iter().try_fold(0_u32, |sum, part| sum.checked_add(part.axes[0].extent))?;
    let StridedCopy { width, at, axes, .. } = &parts[0];
    let (width, rows, outer) = (*width, axes[1], &axes[2..]);
    if row as usize > MAX_SHORT_ROW || row * width >= MAX_PART_BYTES * count {
        return None;
    }
    let row_bytes = row * width;
    let box_bytes = u64::from(rows.extent) * u64::from(row_bytes);
    let boxes = outer.iter().map(|axis| u64::from(axis.extent)).product::<u64>();
    let flat = rows.extent == 1 || rows.dst == i64::from(row_bytes);
    let dense = parts.iter().all(is_dense) || box_bytes * boxes <= FEW_BYTES as u64;
    let worth = outer.is_empty() || (outer.len() <= MAX_BOX_LOOPS && box_bytes >= MIN_BOX_BYTES);
    if !flat || !dense || !worth {
        return None;
    }
    let aligned = starts_aligned(at.dst, outer);
    let zip = aligned && box_bytes.is_multiple_of(16) && can_zip(&parts);
    let (entry, vectors) = if zip { (Entry::JoinZip, ZIP_VECTORS) } else { (Entry::JoinInterleave, VECTORS) };
    let outer_loop = |axis: &Axis| Loop::new(axis.extent, 0, axis.dst);
    let loops = array::from_fn(|k| outer.get(k).map_or(Loop::new(1, 0, 0), outer_loop));
    let launch = |start: u32, rows: u32| {
        let elements = rows.checked_mul(row)?;
        let total = chunks(elements.checked_mul(width)?, width, aligned);
        let blocks = total.div_ceil(THREADS * vectors);
        let params = InterleaveParams {
            dst: at.dst + u64::from(start) * u64::from(row_bytes),
            row: FastDiv::new(row),
            elements,
            total,
            sources: count,
            blocks: FastDiv::new(blocks),
            unused: 0,
            outer: loops,
            source: sources(&parts, start),
        };
        let grid = u32::try_from(boxes.checked_mul(blocks.into())?).ok().filter(|&grid| grid < 1 << 31)?;
        Some(StridedLaunch::new(entry, width, grid, JoinParams::Interleave(params)))
    };
    // A multiple of 16, so that every launch begins with the same alignment as the first.
    let most = u32::try_from(LAUNCH_BYTES).ok()? / row_bytes / 16 * 16;
    let starts = (0..rows.extent).step_by(most as usize);
    starts.map(|start| launch(start, most.min(rows.extent - start))).collect()
}

/// The part that each copy has in the rows, in the order of a row, if these parts fill the rows.
/// Loops: over the elements of a part, over rows, and over boxes of rows.
fn parts_of_rows(copies: Vec<StridedCopy>) -> Option<Vec<StridedCopy>> {
    if !(2..=MAX_SOURCES).contains(&copies.len()) {
        return None;
    }
    let width = copies.iter().map(|copy| copy.width).min()?;
    let in_rows = |copy: StridedCopy| {
        let mut part = copy.narrowed(width);
        if part.is_scattered() {
            part.axes.insert(0, Axis::new(1, part.step(), part.step()));
        }
        if part.axes.len() == 1 {
            part.axes.push(Axis::new(1, 0, 0));
        }
        part
    };
    let mut parts: Vec<StridedCopy> = copies.into_iter().map(in_rows).collect();
    parts.sort_by_key(|part| part.at.dst);
    let end = |part: &StridedCopy| part.at.dst + u64::from(part.axes[0].extent) * u64::from(width);
    let sides = |part: &StridedCopy| -> Axes<_> {
        part.axes[1..].iter().map(|axis| (axis.extent, axis.dst)).collect()
    };
    let whole =
        parts.windows(2).all(|pair| end(&pair[0]) == pair[1].at.dst && sides(&pair[0]) == sides(&pair[1]));
    whole.then_some(parts)
}

/// Whether neighbouring rows lie near each other in the source.
fn is_dense(part: &StridedCopy) -> bool {
    let (elements, rows) = (part.axes[0], part.axes[1]);
    let most = u64::from(MAX_PART_BYTES.max(4 * elements.extent * part.width));
    [elements, rows].iter().all(|axis| axis.src.unsigned_abs() <= most)
}

/// Whether each copy gives an aligned part of each vector, one element for each row.
fn can_zip(parts: &[StridedCopy]) -> bool {
    let count = parts.len();
    if !matches!(count, 2 | 4 | 8 | 16) || count * parts[0].width as usize > 16 {
        return false;
    }
    let bytes = 16 / count as u64;
    parts.iter().all(|part| {
        part.axes[0].extent == 1
            && part.axes[1].src == part.step()
            && part.at.src.is_multiple_of(bytes)
            && part.axes[2..].iter().all(|axis| axis.src.unsigned_abs().is_multiple_of(bytes))
    })
}

/// The sources of the parts of each row, beginning at row `start`.
fn sources(parts: &[StridedCopy], start: u32) -> [Source; MAX_SOURCES] {
    let mut sources = [Source::default(); MAX_SOURCES];
    let mut first = 0;
    for (to, part) in sources.iter_mut().zip(parts) {
        let (elements, row) = (part.axes[0], part.axes[1].src);
        *to = Source {
            src: part.at.src.wrapping_add_signed(i64::from(start) * row),
            row,
            step: elements.src,
            first,
            count: elements.extent,
            outer: array::from_fn(|k| part.axes.get(2 + k).map_or(0, |axis| axis.src)),
        };
        first += elements.extent;
    }
    sources
}
