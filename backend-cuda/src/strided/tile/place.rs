//! Where rows lie in shared memory, and how the elements of a run are found there.

use devarray::Axes;

use super::{
    Layout, periodic,
    pitch::{self, MARGIN},
    shape::Shape,
    turn::Turn,
    wrap::Wrap,
};
use crate::strided::{
    axes::Problem,
    kernel::Find,
    launch::LINE_BYTES,
    params::{FastDiv, RowLoop, RunLoop},
};

/// What a thread copies to shared memory at once.
pub(super) const CHUNK_BYTES: u32 = 16;
/// Words of four bytes of what it stores at once.
pub(super) const VECTOR_WORDS: u32 = 4;

/// Longer tables cost too much to fill, in every block.
pub(super) const MAX_TABLE: u32 = 2048;
/// Fewer rows are not worth a permutation.
const FEW_ROWS: u32 = 8;

/// Places the rows. Returns how elements are found, and bytes before and from the first row.
pub(super) fn place(layout: &mut Layout<'_>) -> Option<(Find, (u32, u32))> {
    let axes = &layout.shape.axes;
    let one_by_one = layout.scattered || layout.problem.width == 16;
    let regular =
        layout.across_rows.len() == 1 || layout.across_rows.iter().all(|&axis| axes[axis].src % 16 == 0);
    for (to, &axis) in layout.params.row.iter_mut().zip(&layout.across_rows) {
        *to = RowLoop { extent: FastDiv::new(layout.loaded[axis]), x: 0, src: axes[axis].src };
    }
    layout.params.row_axes = u32::try_from(layout.across_rows.len()).ok()?;
    if !layout.shape.runs_cross_rows() || !regular {
        return nested(layout);
    }
    let few = layout.params.rows < FEW_ROWS && !layout.shifted;
    let pitch = || pitch::in_order(layout, layout.across_rows[0]);
    if one_by_one || few {
        let pitch = pitch();
        return Some(linear(layout, pitch));
    }
    // Elements of one byte: sixteen look-ups a vector cost more than the bank conflicts of rows in order.
    if layout.shifted && layout.problem.width == 1 {
        let pitch = pitch();
        if let Some(turn) = Turn::best(layout, pitch) {
            (layout.params.rotate_by_run, layout.params.rotate_by_vector) = (turn.by_run, turn.by_vector);
            layout.most_lanes_log2 = turn.lanes_log2;
            return Some(linear(layout, pitch));
        }
    }
    permuted(layout)
}

/// Rows one after the other.
fn linear(layout: &mut Layout<'_>, pitch: u32) -> (Find, (u32, u32)) {
    let vector = layout.problem.vector();
    let p = &mut layout.params;
    p.row_pitch = pitch;
    p.set_step(pitch.cast_signed());
    p.vector_x = (vector * pitch).cast_signed();
    // Tables of rows of several axes count rows by their position.
    let bytes = p.rows * pitch + layout.shape.wrap.map_or(0, Wrap::x) + MARGIN;
    let room = if layout.shifted && layout.skew == 0 { (vector - 1) * pitch } else { 0 };
    let after = if layout.scattered { 0 } else { (vector - 1) * pitch };
    row_positions(layout, |k, before| if k == 0 { pitch } else { before });
    let find = if layout.scattered { Find::Scatter } else { Find::Linear };
    (find, (room, bytes + after))
}

/// Rows in as many classes as a vector has elements, each class together: the rows of a vector are then a class apart, and
/// those of neighbouring vectors are neighbours in a class.
fn permuted(layout: &mut Layout<'_>) -> Option<(Find, (u32, u32))> {
    let vector = layout.store_bytes / layout.problem.width;
    let pitches = pitch::in_classes(layout, vector);
    let p = &mut layout.params;
    p.classes_log2 = vector.ilog2();
    (p.row_pitch, p.class_pitch) = (pitches.row, pitches.class);
    (p.swizzle_shift, p.swizzle_mask) = (pitches.swizzle_shift, pitches.swizzle_mask);
    p.vector_x = p.row_pitch.cast_signed();
    p.set_step(p.class_pitch.cast_signed());
    let bytes = vector * p.class_pitch + MARGIN;
    if !layout.shifted {
        let find = if words(layout.problem, layout.shape) { Find::Packed } else { Find::Linear };
        return Some((find, (0, bytes)));
    }
    let room = if layout.skew == 0 { layout.params.row_pitch } else { 0 };
    let after = 2 * layout.params.row_pitch;
    let (class, row) = (layout.params.class_pitch.cast_signed(), layout.params.row_pitch.cast_signed());
    tabulate(layout, &[(vector, class), (u32::MAX, row)]).map(|_| (Find::Table, (room, bytes + after)))
}

/// Describes a run by a table, given its loops as (steps, bytes). The last one repeats what the others tabulate, if it is long
/// enough. Returns the bytes a vector that reaches over the end of the run
/// may be away from it.
fn tabulate(layout: &mut Layout<'_>, levels: &[(u32, i32)]) -> Option<u32> {
    let vector = layout.problem.vector();
    let p = &mut layout.params;
    let (&(_, last_x), inner) = levels.split_last()?;
    let below = inner.iter().try_fold(1_u32, |all, &(steps, _)| all.checked_mul(steps))?;
    // Whole vectors, if each finds its entries aligned; those that start anywhere do not. The limit is the same for both: a smaller
    // box was faster than a longer table.
    let whole = vector >> below.trailing_zeros().min(vector.trailing_zeros());
    if below.checked_mul(whole)?.min(p.run) > MAX_TABLE {
        return None;
    }
    let times = if layout.shifted { 1 } else { whole };
    let period = (below * times).min(p.run);
    p.period = FastDiv::new(period);
    p.period_x = if period < p.run { last_x * times.cast_signed() } else { 0 };
    p.run_axes = u32::try_from(levels.len()).ok()?;
    for (to, &(steps, x)) in p.run_axis.iter_mut().zip(levels) {
        *to = RunLoop { extent: FastDiv::new(steps.min(p.run)), x };
    }
    Some(if period < p.run { (vector.div_ceil(below) + 1) * last_x.unsigned_abs() } else { 0 })
}

/// Neighbouring runs whose elements make a word of at least 4 bytes.
pub(super) fn group(width: u32) -> u32 {
    if width == 1 { 4 } else { 2 }
}

/// Whether elements of neighbouring runs can be fetched as one word: they lie next to each other in a row, and all words
/// are aligned.
fn words(problem: &Problem, shape: &Shape) -> bool {
    let width = problem.width;
    let word = i64::from(width * group(width));
    let across_rows = || shape.run.iter().filter(|&&axis| !shape.in_row(axis));
    let mut across_runs = shape.row.iter().filter(|&&axis| !shape.in_run(axis));
    let Some(&first) = across_runs.next() else { return false };
    width < 16
        && shape.axes[first].src == problem.step()
        && shape.steps[first].is_multiple_of(group(width))
        && across_runs.all(|&axis| shape.axes[axis].src % word == 0)
        && across_rows().all(|&axis| shape.axes[axis].src % word == 0)
        && shape.rows_keep(word)
        && shape.first_row().is_multiple_of(word.unsigned_abs())
}

/// Whether elements along one axis are fetched as words, [`Find::Packed`]. Of one byte they are where runs start at multiples of 4
/// or 8 bytes only, too, and are stored in such: that is faster than to shift them into place, which for two is as fast.
pub(super) fn in_words(problem: &Problem, shape: &Shape) -> bool {
    let unit = shape.run_unit();
    let [axis] = shape.run[..] else { return false };
    // Neighbouring vectors are then whole chunks apart.
    let chunks = u64::from(unit / problem.width) * shape.axes[axis].src.unsigned_abs();
    let dense = problem.axes[0].dst == problem.step();
    unit >= if problem.width == 1 { 4 } else { 16 }
        && dense
        && shape.runs_cross_rows()
        && chunks.is_multiple_of(16)
        && shape.steps[axis] >= FEW_ROWS
        && words(problem, shape)
}

/// Gives each axis that counts rows its pitch, the innermost first; `of(k, bytes of the axes before)`.
fn row_positions(layout: &mut Layout<'_>, of: impl Fn(usize, u32) -> u32) -> u32 {
    let mut bytes = 0;
    for (k, &axis) in layout.across_rows.iter().enumerate() {
        let pitch = of(k, bytes);
        layout.params.row[k].x = pitch.cast_signed();
        bytes = pitch * layout.loaded[axis];
    }
    bytes
}

/// Rows nested as the axes are, each pitch congruent to its stride; runs over rows and along them.
fn nested(layout: &mut Layout<'_>) -> Option<(Find, (u32, u32))> {
    let shape = layout.shape;
    let vector = layout.problem.vector();
    let row_bytes = CHUNK_BYTES * layout.params.chunks.divisor;
    let strides: Axes<i64> = layout.across_rows.iter().map(|&axis| shape.axes[axis].src).collect();
    let first = layout.across_rows.first().map(|&axis| pitch::in_order(layout, axis));
    let rows_bytes = row_positions(layout, |k, before| match first {
        Some(pitch) if k == 0 => pitch,
        _ => pitch::in_sectors(before, strides[k]),
    });
    if layout.across_rows.len() == 1 {
        layout.params.row_pitch = first?;
    }
    if shape.batch.is_some() {
        // Counts rows as it counts runs, after all others.
        let (row, run) = (layout.across_rows.len() - 1, layout.across_runs.len() - 1);
        layout.params.store[run].x = layout.params.row[row].x;
    }
    // The byte of an element: a sum over the axes of the run, neighbours merged where they continue each other.
    let mut levels: Axes<(u32, i32)> = Axes::new();
    for &axis in &shape.run {
        let across = layout.across_rows.iter().position(|&other| other == axis);
        let x = match across {
            Some(k) => layout.params.row[k].x,
            None => i32::try_from(shape.axes[axis].src).ok()?,
        };
        match levels.last_mut() {
            Some(last) if i64::from(last.0) * i64::from(last.1) == i64::from(x) => {
                last.0 *= layout.loaded[axis]
            }
            _ => levels.push((layout.loaded[axis], x)),
        }
    }
    let widest = levels.iter().map(|&(_, x)| x.unsigned_abs()).max()?;
    let p = &mut layout.params;
    let bytes = rows_bytes.max(row_bytes) + MARGIN;
    let steps = (vector - 1) * widest;
    if let [(_, x)] = levels[..] {
        p.set_step(x);
        p.vector_x = x * vector.cast_signed();
        if let Some(runs) = turns(layout) {
            return Some((Find::Split(runs), (0, bytes + runs * CHUNK_BYTES)));
        }
        let pad = padding(layout);
        let find = if layout.scattered { Find::Scatter } else { Find::Linear };
        return Some((find, (steps, bytes + steps + pad)));
    }
    if let Some(all) = periodic::place(layout, &levels, bytes) {
        return Some(all);
    }
    let room = tabulate(layout, &levels)?;
    let bytes = bytes + part_vectors(layout);
    // On the side it goes to: a source that runs backwards leads to lower bytes.
    let before = if layout.params.period_x < 0 { room } else { 0 };
    Some((Find::Table, (before, bytes + room)))
}

/// Leaves 16 bytes free after every vector of rows, where a run begins across them and neighbouring vectors of it would meet in one
/// bank or two: sixteen, although half of the groups then tear their sectors (`NOTES.md`, versions 10 and 14). Returns the bytes that adds.
fn part_vectors(layout: &mut Layout<'_>) -> u32 {
    let vector = layout.problem.vector();
    let p = &mut layout.params;
    let begins_across = layout.across_rows[..] == layout.shape.run[..1];
    let meet = (vector * p.row_pitch).is_multiple_of(LINE_BYTES / 2);
    if vector == 1 || p.rows <= vector || !begins_across || !meet {
        return 0;
    }
    p.run_in_classes = 1;
    p.classes_log2 = vector.ilog2();
    p.class_pitch = p.row_pitch;
    p.row_pitch = vector * p.class_pitch + CHUNK_BYTES;
    p.rows / vector * CHUNK_BYTES
}

/// How many runs take turns in one row of whole vectors, if there is a kernel for as many.
fn turns(layout: &Layout<'_>) -> Option<u32> {
    let (p, width) = (&layout.params, layout.problem.width);
    let runs = u32::try_from(p.element_x).ok()? / width;
    let take_turns = p.store_axes == 1 && p.stores == runs && p.store[0].x == width.cast_signed();
    (take_turns && one_row(layout) && width < 16 && (2..=4).contains(&runs)).then_some(runs)
}

/// Whether tiles are single rows that begin with a chunk, to runs of whole vectors.
fn one_row(layout: &Layout<'_>) -> bool {
    let single = layout.params.rows == 1 && layout.params.row_axes == 0;
    single && layout.start == Some(0) && !layout.shifted && !layout.scattered
}

/// Leaves 16 bytes free after as many vectors of a strided row as begin in different banks, unless eight do, so that the next ones begin
/// in others. No vector is torn. Returns the bytes that adds.
fn padding(layout: &mut Layout<'_>) -> u32 {
    let width = layout.problem.width;
    let p = &layout.params;
    let Ok(step) = u32::try_from(p.element_x) else { return 0 };
    let reach: u32 = layout
        .across_runs
        .iter()
        .map(|&axis| {
            (layout.shape.steps[axis] - 1) * p.store.iter().map(|s| s.x.unsigned_abs()).max().unwrap_or(0)
        })
        .sum();
    let vector_chunks = step / width;
    let banks = (LINE_BYTES / CHUNK_BYTES) >> vector_chunks.trailing_zeros().min(3);
    if !one_row(layout) || step <= width || reach + width > step || banks == LINE_BYTES / CHUNK_BYTES {
        return 0;
    }
    let chunks = banks * vector_chunks;
    layout.params.pad_log2 = banks.ilog2();
    layout.params.pad_chunks = FastDiv::new(chunks);
    layout.params.chunks.divisor.div_ceil(chunks) * 16
}
