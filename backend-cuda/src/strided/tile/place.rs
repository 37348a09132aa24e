//! Where rows lie in shared memory, and how the elements of a run are found there.

use devarray::Axes;

use super::{
    fused::Fused,
    periodic,
    pitch::{self, MARGIN},
    rotate::{self, Rotation},
    shape::Shape,
    sides::Sides,
};
use crate::strided::{
    axes::Problem,
    kernel::Find,
    launch::LINE_BYTES,
    params::{MAX_INNER, StoreLoop},
};

/// What a thread copies to shared memory at once.
pub(super) const CHUNK_BYTES: u32 = 16;
/// Words of four bytes of what it stores at once.
pub(super) const VECTOR_WORDS: u32 = 4;

/// Longer tables take every block too long to fill.
pub(super) const MAX_TABLE: u32 = 2048;
/// With fewer rows a permutation does not pay.
const FEW_ROWS: u32 = 8;

/// Where a tile lies in shared memory. A field that is 0 is unused.
#[derive(Default)]
pub(super) struct Placement {
    pub(super) find: Find,
    /// Bytes before the first row, and from it to the end.
    pub(super) before: u32,
    pub(super) bytes: u32,
    /// Bytes from step to step of each loop around rows.
    pub(super) row_x: [i32; MAX_INNER],
    /// Rows are permuted into, or gaps left after, as many classes of rows; from row to row of one,
    /// and from class to class.
    pub(super) classes_log2: u32,
    pub(super) row_pitch: u32,
    pub(super) class_pitch: u32,
    /// Whether the first loop of a run counts rows in classes.
    pub(super) run_in_classes: bool,
    pub(super) swizzle_shift: u32,
    pub(super) swizzle_mask: u32,
    /// Chunks after which 16 bytes are left free, those of so many vectors.
    pub(super) pad_chunks: u32,
    pub(super) pad_log2: u32,
    /// Bytes from vector to vector of a run, and from element to element.
    pub(super) vector_x: i32,
    pub(super) element_x: i32,
    /// Elements after which what finds them repeats, and bytes from there to there.
    pub(super) period: u32,
    pub(super) period_x: i32,
    /// Loops along a run that is tabulated: steps, and bytes of each.
    pub(super) run_loops: Axes<(u32, i32)>,
    /// Bytes further than a step, after the end of the first of two axes or of a period.
    pub(super) fused_x: u32,
    pub(super) rotation: Rotation,
    /// Taken from the sides, and changed by some placements: where runs start, loops around runs,
    /// their number, and most threads along each.
    pub(super) shifted: bool,
    pub(super) start_mask: u32,
    pub(super) store: Axes<StoreLoop>,
    pub(super) stores: u32,
    /// Vectors of each part of a run.
    pub(super) share: u32,
    pub(super) most_lanes_log2: u32,
}

impl Placement {
    /// As the sides say.
    fn of(sides: &Sides<'_>) -> Self {
        Self {
            fused_x: sides.shape.fused.map_or(0, Fused::x),
            shifted: sides.shifted,
            start_mask: sides.start_mask,
            store: sides.store.clone(),
            stores: sides.stores,
            most_lanes_log2: 5,
            ..Self::default()
        }
    }
}

/// Places the rows.
pub(super) fn place(sides: &Sides<'_>) -> Option<Placement> {
    let axes = &sides.shape.axes;
    let across_rows = &sides.across_rows;
    let regular = across_rows.len() == 1 || across_rows.iter().all(|&axis| axes[axis].src % 16 == 0);
    if !sides.shape.runs_cross_rows() || !regular {
        return nested(sides);
    }
    let one_by_one = sides.scattered || sides.problem.width == 16;
    let few = sides.rows < FEW_ROWS && !sides.shifted;
    let pitch = || pitch::in_order(sides, across_rows[0]);
    if one_by_one || few {
        return Some(linear(sides, pitch()));
    }
    // Elements of one byte: sixteen table entries a vector cost more than the bank conflicts of
    // rows in order.
    if sides.shifted && sides.problem.width == 1 {
        let pitch = pitch();
        if let Some((rotation, most_lanes_log2)) = rotate::best(sides, pitch) {
            return Some(Placement { rotation, most_lanes_log2, ..linear(sides, pitch) });
        }
    }
    permuted(sides)
}

/// Rows one after the other.
fn linear(sides: &Sides<'_>, pitch: u32) -> Placement {
    let vector = sides.problem.vector();
    let vectors = (vector - 1) * pitch;
    // Tables of rows of several axes count rows by their position.
    let bytes = sides.rows * pitch + sides.shape.fused.map_or(0, Fused::x) + MARGIN;
    Placement {
        find: if sides.scattered { Find::Scatter } else { Find::Linear },
        before: if sides.shifted && sides.overlap == 0 { vectors } else { 0 },
        bytes: bytes + if sides.scattered { 0 } else { vectors },
        row_x: row_positions(sides, |k, before| if k == 0 { pitch } else { before }).0,
        row_pitch: pitch,
        element_x: pitch.cast_signed(),
        vector_x: (vector * pitch).cast_signed(),
        ..Placement::of(sides)
    }
}

/// Rows in as many classes as a vector has elements, each class together: the rows of a vector are
/// then a class apart, and those of neighbouring vectors are neighbours in a class.
fn permuted(sides: &Sides<'_>) -> Option<Placement> {
    let vector = sides.store_bytes / sides.problem.width;
    let pitches = pitch::in_classes(sides, vector);
    let (row, class) = (pitches.row.cast_signed(), pitches.class.cast_signed());
    let bytes = vector * pitches.class + MARGIN;
    let placement = Placement {
        find: if words(sides.problem, sides.shape) { Find::Packed } else { Find::Linear },
        bytes,
        classes_log2: vector.ilog2(),
        row_pitch: pitches.row,
        class_pitch: pitches.class,
        swizzle_shift: pitches.swizzle_shift,
        swizzle_mask: pitches.swizzle_mask,
        vector_x: row,
        element_x: class,
        ..Placement::of(sides)
    };
    if !sides.shifted {
        return Some(placement);
    }
    let (placement, _) = tabulated(sides, placement, &[(vector, class), (u32::MAX, row)])?;
    let before = if sides.overlap == 0 { pitches.row } else { 0 };
    Some(Placement { before, bytes: bytes + 2 * pitches.row, ..placement })
}

/// Describes a run by a table, given its loops as (steps, bytes). If the last loop is long enough,
/// it repeats the table of the others. Also returns how many bytes a vector may reach beyond the
/// end of the run.
fn tabulated(sides: &Sides<'_>, placement: Placement, loops: &[(u32, i32)]) -> Option<(Placement, u32)> {
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
    let repeats = period < sides.run;
    let room = if repeats { (vector.div_ceil(below) + 1) * last_x.unsigned_abs() } else { 0 };
    let period_x = if repeats { last_x * times.cast_signed() } else { 0 };
    Some((Placement { find: Find::Table, period, period_x, run_loops: loops.into(), ..placement }, room))
}

/// Neighbouring runs whose elements make a word of at least 4 bytes.
pub(super) fn group(width: u32) -> u32 {
    if width == 1 { 4 } else { 2 }
}

/// Whether elements of neighbouring runs can be fetched as one word: they lie next to each other in
/// a row, and all words are aligned.
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

/// Whether elements along one axis are fetched as words, [`Find::Packed`]. Elements of one byte are
/// packed even if runs start at multiples of only 4 or 8 bytes, and then stored in such: shifting
/// them into place is slower. For two bytes it is as fast.
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

/// The pitch of each axis that counts rows, the innermost first, by `of(k, bytes of the axes
/// before)`; and the bytes of all rows.
fn row_positions(sides: &Sides<'_>, of: impl Fn(usize, u32) -> u32) -> ([i32; MAX_INNER], u32) {
    let (mut row_x, mut bytes) = ([0; MAX_INNER], 0);
    for (k, &axis) in sides.across_rows.iter().enumerate() {
        let pitch = of(k, bytes);
        row_x[k] = pitch.cast_signed();
        bytes = pitch * sides.loaded[axis];
    }
    (row_x, bytes)
}

/// Rows nested as the axes are, each pitch congruent to its stride; runs over rows and along them.
fn nested(sides: &Sides<'_>) -> Option<Placement> {
    let (shape, vector, across_rows) = (sides.shape, sides.problem.vector(), &sides.across_rows);
    let first = across_rows.first().map(|&axis| pitch::in_order(sides, axis));
    let (row_x, rows_bytes) = row_positions(sides, |k, before| match first {
        Some(pitch) if k == 0 => pitch,
        _ => pitch::in_sectors(before, shape.axes[across_rows[k]].src),
    });
    let mut placement = Placement { row_x, ..Placement::of(sides) };
    if across_rows.len() == 1 {
        placement.row_pitch = first?;
    }
    if shape.batch.is_some() {
        // Counts rows as it counts runs, after all others.
        placement.store.last_mut()?.x = row_x[across_rows.len() - 1];
    }
    // The byte of an element: a sum over the axes of the run, neighbours merged where they continue
    // each other.
    let mut loops: Axes<(u32, i32)> = Axes::new();
    for &axis in &shape.run {
        let x = match across_rows.iter().position(|&other| other == axis) {
            Some(k) => row_x[k],
            None => i32::try_from(shape.axes[axis].src).ok()?,
        };
        match loops.last_mut() {
            Some((steps, last)) if i64::from(*steps) * i64::from(*last) == i64::from(x) => {
                *steps *= sides.loaded[axis];
            }
            _ => loops.push((sides.loaded[axis], x)),
        }
    }
    let bytes = rows_bytes.max(CHUNK_BYTES * sides.chunks) + MARGIN;
    if let [(_, x)] = loops[..] {
        let placement = Placement { element_x: x, vector_x: x * vector.cast_signed(), ..placement };
        return Some(one_step(sides, placement, bytes));
    }
    if let Some(all) = periodic::place(sides, &placement, &loops, bytes) {
        return Some(all);
    }
    let (placement, room) = tabulated(sides, placement, &loops)?;
    let (placement, gaps) = part_vectors(sides, placement);
    // If the source runs backwards, the room is needed before the rows.
    let before = if placement.period_x < 0 { room } else { 0 };
    Some(Placement { before, bytes: bytes + gaps + room, ..placement })
}

/// Runs whose elements are one step apart, in rows of so many bytes.
fn one_step(sides: &Sides<'_>, placement: Placement, bytes: u32) -> Placement {
    if let Some(runs) = interleaved(sides, &placement) {
        return Placement { find: Find::Split(runs), bytes: bytes + runs * CHUNK_BYTES, ..placement };
    }
    let before = (sides.problem.vector() - 1) * placement.element_x.unsigned_abs();
    let find = if sides.scattered { Find::Scatter } else { Find::Linear };
    let (placement, pad) = padded(sides, placement);
    Placement { find, before, bytes: bytes + before + pad, ..placement }
}

/// Leaves 16 bytes free after every vector of rows, if a run begins across rows and its
/// neighbouring vectors would be in one bank or two. 16 bytes, although half of the groups then
/// lose their place in a sector. Also returns how many bytes that adds.
fn part_vectors(sides: &Sides<'_>, placement: Placement) -> (Placement, u32) {
    let vector = sides.problem.vector();
    let begins_across = sides.across_rows[..] == sides.shape.run[..1];
    let pitch = placement.row_pitch;
    let meet = (vector * pitch).is_multiple_of(LINE_BYTES / 2);
    if vector == 1 || sides.rows <= vector || !begins_across || !meet {
        return (placement, 0);
    }
    let placement = Placement {
        run_in_classes: true,
        classes_log2: vector.ilog2(),
        class_pitch: pitch,
        row_pitch: vector * pitch + CHUNK_BYTES,
        ..placement
    };
    (placement, sides.rows / vector * CHUNK_BYTES)
}

/// How many runs are interleaved in one row of whole vectors, if there is a kernel for as many.
fn interleaved(sides: &Sides<'_>, placement: &Placement) -> Option<u32> {
    let width = sides.problem.width;
    let runs = u32::try_from(placement.element_x).ok()? / width;
    let [store] = placement.store[..] else { return None };
    let alternate = sides.stores == runs && store.x == width.cast_signed();
    (alternate && one_row(sides) && width < 16 && (2..=4).contains(&runs)).then_some(runs)
}

/// Whether tiles are single rows that begin with a chunk, to runs of whole vectors.
fn one_row(sides: &Sides<'_>) -> bool {
    let single = sides.rows == 1 && sides.across_rows.is_empty();
    single && sides.start == Some(0) && !sides.shifted && !sides.scattered
}

/// Leaves 16 bytes free after as many vectors of a strided row as begin in different banks, unless
/// these are eight, so that the next ones begin in other banks. Never within a vector. Also returns
/// how many bytes that adds.
fn padded(sides: &Sides<'_>, placement: Placement) -> (Placement, u32) {
    const LINE_CHUNKS: u32 = LINE_BYTES / CHUNK_BYTES;
    let width = sides.problem.width;
    let Ok(step) = u32::try_from(placement.element_x) else { return (placement, 0) };
    let widest = placement.store.iter().map(|store| store.x.unsigned_abs()).max().unwrap_or(0);
    let reach: u32 = sides.across_runs.iter().map(|&axis| (sides.shape.steps[axis] - 1) * widest).sum();
    let vector_chunks = step / width;
    let banks = LINE_CHUNKS >> vector_chunks.trailing_zeros().min(3);
    if !one_row(sides) || step <= width || reach + width > step || banks == LINE_CHUNKS {
        return (placement, 0);
    }
    let pad_chunks = banks * vector_chunks;
    let bytes = sides.chunks.div_ceil(pad_chunks) * CHUNK_BYTES;
    (Placement { pad_log2: banks.ilog2(), pad_chunks, ..placement }, bytes)
}
