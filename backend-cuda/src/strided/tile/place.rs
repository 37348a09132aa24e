//! Where rows lie in shared memory, and how the elements of a run are found there.

use devarray::Axes;

use super::{
    draft::Draft,
    periodic,
    pitch::{self, MARGIN},
    rotate,
    sides::Sides,
};
use crate::strided::{
    kernel::Find,
    launch::LINE_BYTES,
    params::{FastDiv, RunLoop, TileParams},
};

/// What a thread copies to shared memory at once.
pub(super) const CHUNK_BYTES: u32 = 16;
/// Words of four bytes of what it stores at once.
pub(super) const VECTOR_WORDS: u32 = 4;

/// Longer tables take every block too long to fill.
pub(super) const MAX_TABLE: u32 = 2048;
/// With fewer rows a permutation does not pay.
pub(super) const FEW_ROWS: u32 = 8;

/// Places the rows.
pub(super) fn place(sides: &Sides<'_>, draft: &mut Draft) -> Option<()> {
    let across_rows = &sides.across_rows;
    let regular =
        across_rows.len() == 1 || across_rows.iter().all(|&axis| sides.shape.axis(axis).src % 16 == 0);
    if !sides.shape.runs_cross_rows() || !regular {
        return nested(sides, draft);
    }
    let one_by_one = sides.scattered || sides.problem.width == 16;
    let few = sides.rows < FEW_ROWS && !sides.shifted;
    if one_by_one || few {
        in_order(sides, pitch::in_order(sides, across_rows[0]), draft);
        return Some(());
    }
    // Elements of one byte: sixteen table entries a vector cost more than the bank conflicts of
    // rows in order.
    if sides.shifted && sides.problem.width == 1 {
        let pitch = pitch::in_order(sides, across_rows[0]);
        if let Some((rotation, most_lanes_log2)) = rotate::best(sides, pitch) {
            rotation.set(&mut draft.params);
            draft.most_lanes_log2 = most_lanes_log2;
            in_order(sides, pitch, draft);
            return Some(());
        }
    }
    permuted(sides, draft)
}

/// Rows one after the other.
fn in_order(sides: &Sides<'_>, pitch: u32, draft: &mut Draft) {
    let p = &mut draft.params;
    let vector = sides.problem.vector();
    let vectors = (vector - 1) * pitch;
    draft.before = if sides.shifted && sides.overlap == 0 { vectors } else { 0 };
    // Tables of rows of several axes count rows by their position.
    draft.bytes = sides.rows * pitch + p.fused_x + MARGIN + if sides.scattered { 0 } else { vectors };
    set_rows(sides, p, |k, before| if k == 0 { pitch } else { before });
    p.row_pitch = pitch;
    p.element_x = pitch.cast_signed();
    p.vector_x = (vector * pitch).cast_signed();
}

/// Rows in as many classes as a vector has elements, each class together: the rows of a vector are
/// then a class apart, and those of neighbouring vectors are neighbours in a class.
fn permuted(sides: &Sides<'_>, draft: &mut Draft) -> Option<()> {
    let p = &mut draft.params;
    let vector = sides.store_bytes / sides.problem.width;
    pitch::in_classes(sides, vector, p);
    p.classes_log2 = vector.ilog2();
    (p.vector_x, p.element_x) = (p.row_pitch.cast_signed(), p.class_pitch.cast_signed());
    draft.bytes = vector * p.class_pitch + MARGIN;
    if sides.shifted {
        draft.before = if sides.overlap == 0 { p.row_pitch } else { 0 };
        draft.bytes += 2 * p.row_pitch;
        let loops = [(vector, p.element_x), (u32::MAX, p.vector_x)];
        tabulated(sides, &loops, draft)?;
    } else if sides.shape.has_words() {
        draft.kernel.find = Find::Packed;
    }
    Some(())
}

/// Describes a run by a table, given its loops as (steps, bytes). If the last loop is long enough,
/// it repeats the table of the others. Returns how many bytes a vector may reach beyond the end of
/// the run.
fn tabulated(sides: &Sides<'_>, loops: &[(u32, i32)], draft: &mut Draft) -> Option<u32> {
    let p = &mut draft.params;
    let vector = sides.problem.vector();
    let (&(_, last_x), inner) = loops.split_last()?;
    let below = inner.iter().try_fold(1_u32, |all, &(steps, _)| all.checked_mul(steps))?;
    // Whole vectors, so that each finds its entries aligned; not if runs start anywhere. The limit
    // is the same for both: a smaller box was faster than a longer table.
    let whole = vector >> below.trailing_zeros().min(vector.trailing_zeros());
    if below.checked_mul(whole)?.min(sides.run) > MAX_TABLE {
        return None;
    }
    let times = if sides.shifted { 1 } else { whole };
    let period = (below * times).min(sides.run);
    draft.kernel.find = Find::Table;
    p.period = FastDiv::new(period);
    p.run_axes = u32::try_from(loops.len()).ok()?;
    for (to, &(steps, x)) in p.run_axis.iter_mut().zip(loops) {
        *to = RunLoop { extent: FastDiv::new(steps.min(sides.run)), x };
    }
    if period == sides.run {
        return Some(0);
    }
    p.period_x = last_x * times.cast_signed();
    Some((vector.div_ceil(below) + 1) * last_x.unsigned_abs())
}

/// Sets the pitch of each axis that counts rows, the innermost first, by `of(k, bytes of the axes
/// before)`. Returns the bytes of all rows.
fn set_rows(sides: &Sides<'_>, p: &mut TileParams, of: impl Fn(usize, u32) -> u32) -> u32 {
    sides.across_rows.iter().zip(&mut p.row).enumerate().fold(0, |before, (k, (&axis, row))| {
        let pitch = of(k, before);
        row.x = pitch.cast_signed();
        pitch * sides.loaded[axis]
    })
}

/// Rows nested as the axes are, each pitch congruent to its stride; runs over rows and along them.
fn nested(sides: &Sides<'_>, draft: &mut Draft) -> Option<()> {
    let (shape, across_rows) = (sides.shape, &sides.across_rows);
    let p = &mut draft.params;
    let bytes = set_rows(sides, p, |k, before| match k {
        0 => pitch::in_order(sides, across_rows[k]),
        _ => pitch::in_sectors(before, shape.axis(across_rows[k]).src),
    });
    draft.bytes = bytes.max(CHUNK_BYTES * sides.chunks) + MARGIN;
    if across_rows.len() == 1 {
        p.row_pitch = p.row[0].x.cast_unsigned();
    }
    if shape.batch.is_some() {
        // Counts rows as it counts runs, after all others.
        p.store[sides.store.len() - 1].x = p.row[across_rows.len() - 1].x;
    }
    // The byte of an element: a sum over the axes of the run, neighbours merged where they continue
    // each other.
    let mut loops: Axes<(u32, i32)> = Axes::new();
    for &axis in &shape.run {
        let x = match across_rows.iter().position(|&other| other == axis) {
            Some(k) => p.row[k].x,
            None => i32::try_from(shape.axis(axis).src).ok()?,
        };
        match loops.last_mut() {
            Some((steps, last)) if i64::from(*steps) * i64::from(*last) == i64::from(x) => {
                *steps *= sides.loaded[axis];
            }
            _ => loops.push((sides.loaded[axis], x)),
        }
    }
    if let [(_, x)] = loops[..] {
        one_step(sides, x, draft);
    } else if !periodic::place(sides, &loops, draft) {
        let room = tabulated(sides, &loops, draft)?;
        part_vectors(sides, draft);
        // If the source runs backwards, the room is needed before the rows.
        draft.before = if draft.params.period_x < 0 { room } else { 0 };
        draft.bytes += room;
    }
    Some(())
}

/// Runs whose elements are one step of `x` bytes apart.
fn one_step(sides: &Sides<'_>, x: i32, draft: &mut Draft) {
    let vector = sides.problem.vector();
    draft.params.element_x = x;
    draft.params.vector_x = x * vector.cast_signed();
    if let Some(runs) = interleaved(sides, x) {
        draft.kernel.find = Find::Split(runs);
        draft.bytes += runs * CHUNK_BYTES;
        return;
    }
    draft.before = (vector - 1) * x.unsigned_abs();
    draft.bytes += draft.before;
    pad(sides, x, draft);
}

/// Leaves 16 bytes free after every vector of rows, if a run begins across rows and its
/// neighbouring vectors would be in one bank or two. 16 bytes, although half of the groups then
/// lose their place in a sector.
fn part_vectors(sides: &Sides<'_>, draft: &mut Draft) {
    let p = &mut draft.params;
    let vector = sides.problem.vector();
    let begins_across = sides.across_rows[..] == sides.shape.run[..1];
    let pitch = p.row_pitch;
    let meet = (vector * pitch).is_multiple_of(LINE_BYTES / 2);
    if vector == 1 || sides.rows <= vector || !begins_across || !meet {
        return;
    }
    p.run_in_classes = 1;
    p.classes_log2 = vector.ilog2();
    (p.class_pitch, p.row_pitch) = (pitch, vector * pitch + CHUNK_BYTES);
    draft.bytes += sides.rows / vector * CHUNK_BYTES;
}

/// How many runs are interleaved in one row of whole vectors, elements of a run `x` bytes apart, if
/// there is a kernel for as many.
fn interleaved(sides: &Sides<'_>, x: i32) -> Option<u32> {
    let width = sides.problem.width;
    let runs = u32::try_from(x).ok()? / width;
    let [store] = sides.store[..] else { return None };
    let alternate = sides.stores == runs && store.x == width.cast_signed();
    (alternate && one_row(sides) && width < 16 && (2..=4).contains(&runs)).then_some(runs)
}

/// Whether tiles are single rows that begin with a chunk, to runs of whole vectors.
fn one_row(sides: &Sides<'_>) -> bool {
    let single = sides.rows == 1 && sides.across_rows.is_empty();
    single && sides.start == Some(0) && !sides.shifted && !sides.scattered
}

/// Leaves 16 bytes free after as many vectors of a strided row as begin in different banks, unless
/// these are eight, so that the next ones begin in other banks. Never within a vector, whose
/// elements are `x` bytes apart.
fn pad(sides: &Sides<'_>, x: i32, draft: &mut Draft) {
    const LINE_CHUNKS: u32 = LINE_BYTES / CHUNK_BYTES;
    let width = sides.problem.width;
    let Ok(step) = u32::try_from(x) else { return };
    if !one_row(sides) || step <= width {
        return;
    }
    let widest = sides.store.iter().map(|store| store.x.unsigned_abs()).max().unwrap_or(0);
    let reach: u32 = sides.across_runs.iter().map(|&axis| (sides.shape.steps[axis] - 1) * widest).sum();
    let vector_chunks = step / width;
    let banks = LINE_CHUNKS >> vector_chunks.trailing_zeros().min(3);
    if reach + width > step || banks == LINE_CHUNKS {
        return;
    }
    let pad_chunks = banks * vector_chunks;
    draft.params.pad_chunks = FastDiv::new(pad_chunks);
    draft.params.pad_log2 = banks.ilog2();
    draft.bytes += sides.chunks.div_ceil(pad_chunks) * CHUNK_BYTES;
}
