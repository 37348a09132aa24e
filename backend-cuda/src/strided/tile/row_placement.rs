//! The places of rows in shared memory, and how the elements of a run are found there.

use devarray::Axes;

use super::{
    load_and_store::Tile,
    periodic,
    pitch::{self, MARGIN},
    rotate,
    sizes::{CHUNK_BYTES, FEW_ROWS, MAX_TABLE, SECTOR_BYTES},
};
use crate::strided::{
    kernel::Find,
    params::{FastDiv, RunLoop},
    strided_launch::LINE_BYTES,
};

/// For runs that start anywhere, copies with a longer table were slower than copies with a smaller
/// box.
const MAX_SHIFTED_TABLE: u32 = 1024;
/// Chooses where the rows lie in shared memory.
pub(super) fn place(tile: &mut Tile<'_>) -> Option<()> {
    let (shape, across_rows) = (tile.shape, &tile.across_rows);
    let regular = across_rows.len() == 1 || across_rows.iter().all(|&axis| shape.axis(axis).src % 16 == 0);
    if !shape.runs_cross_rows() || !regular {
        return nested(tile);
    }
    let one_by_one = tile.copy.is_scattered() || tile.copy.width == 16;
    let few = tile.p.rows < FEW_ROWS && !tile.kernel.shifted;
    // Sixteen table entries for a vector cost more than the bank conflicts of rows in order.
    let bytes = tile.copy.width == 1 && tile.kernel.shifted;
    if one_by_one || few || bytes {
        let pitch = pitch::in_order(tile, across_rows[0]);
        if !bytes || rotate::set(tile, pitch) {
            in_order(tile, pitch);
            return Some(());
        }
    }
    permuted(tile)
}

/// Places rows one after the other.
fn in_order(tile: &mut Tile<'_>, pitch: u32) {
    let vector = tile.copy.vector();
    // Tables for rows of several axes count rows by their position.
    set_rows(tile, |k, before| if k == 0 { pitch } else { before });
    let p = &mut tile.p;
    let vectors = (vector - 1) * pitch;
    tile.before = if tile.kernel.shifted && p.overlap == 0 { vectors } else { 0 };
    let beyond = if tile.copy.is_scattered() { 0 } else { vectors };
    tile.bytes = p.rows * pitch + p.fused_x + MARGIN + beyond;
    p.row_pitch = pitch;
    p.element_x = pitch.cast_signed();
    p.vector_x = (vector * pitch).cast_signed();
}

/// Places rows in as many classes as a vector has elements, each class together: the rows of a
/// vector are then a class apart, and rows of neighbouring vectors are neighbours in a class.
fn permuted(tile: &mut Tile<'_>) -> Option<()> {
    let vector = tile.kernel.store_bytes / tile.copy.width;
    pitch::in_classes(tile, vector);
    let p = &mut tile.p;
    p.classes_log2 = vector.ilog2();
    (p.vector_x, p.element_x) = (p.row_pitch.cast_signed(), p.class_pitch.cast_signed());
    tile.bytes = vector * p.class_pitch + MARGIN;
    if tile.kernel.shifted {
        tile.before = if p.overlap == 0 { p.row_pitch } else { 0 };
        tile.bytes += 2 * p.row_pitch;
        let loops = [(vector, p.element_x), (u32::MAX, p.vector_x)];
        tabulated(tile, &loops)?;
    } else if tile.shape.has_words() {
        tile.kernel.find = Find::Packed;
    }
    Some(())
}

/// Describes a run by a table, given its loops as (steps, bytes). If the last loop is long enough,
/// it repeats the table of the others.
fn tabulated(tile: &mut Tile<'_>, loops: &[(u32, i32)]) -> Option<()> {
    let (p, vector) = (&mut tile.p, tile.copy.vector());
    let (&(_, last_x), inner) = loops.split_last()?;
    let below = inner.iter().try_fold(1_u32, |all, &(steps, _)| all.checked_mul(steps))?;
    // The table covers whole vectors, so that each finds its entries aligned; not if runs start
    // anywhere.
    let whole = vector >> below.trailing_zeros().min(vector.trailing_zeros());
    let (times, most) = if tile.kernel.shifted { (1, MAX_SHIFTED_TABLE) } else { (whole, MAX_TABLE) };
    let period = below.checked_mul(times)?.min(p.run);
    if period > most {
        return None;
    }
    tile.kernel.find = Find::Table;
    p.period = FastDiv::new(period);
    p.run_axes = u32::try_from(loops.len()).ok()?;
    for (to, &(steps, x)) in p.run_axis.iter_mut().zip(loops) {
        *to = RunLoop { extent: FastDiv::new(steps.min(p.run)), x };
    }
    if period < p.run {
        p.period_x = last_x * times.cast_signed();
    }
    Some(())
}

/// The last vector of a run gathers 16 bytes even if the run ends within it. Given the loops of the
/// run, returns how many bytes it reads before the first byte of the run, and after the last one.
fn beyond_run(loops: &[(u32, i32)], vector: u32) -> (u32, u32) {
    let reach = |wanted: fn(i32) -> i32| -> i64 {
        loops.iter().map(|&(steps, x)| i64::from(steps - 1) * i64::from(wanted(x))).sum()
    };
    let (low, high) = (reach(|x| x.min(0)), reach(|x| x.max(0)));
    let run: u32 = loops.iter().map(|&(steps, _)| steps).product();
    let (mut before, mut after) = (0, 0);
    for mut element in run..run + vector - 1 {
        let mut at = 0;
        for (k, &(steps, x)) in loops.iter().enumerate() {
            let next = if k + 1 < loops.len() { element / steps } else { 0 };
            at += i64::from(element - next * steps) * i64::from(x);
            element = next;
        }
        (before, after) = (before.max(low - at), after.max(at - high));
    }
    let bytes = |n| u32::try_from(n).unwrap_or(u32::MAX);
    (bytes(before), bytes(after))
}

/// Sets the pitch of each axis that counts rows, the innermost first, to `of(k, bytes of the
/// previous axes)`. Returns the bytes of all rows.
fn set_rows(tile: &mut Tile<'_>, of: impl Fn(usize, u32) -> u32) -> u32 {
    tile.across_rows.iter().zip(&mut tile.p.row).enumerate().fold(0, |before, (k, (&axis, row))| {
        let pitch = of(k, before);
        row.x = pitch.cast_signed();
        pitch * tile.loaded[axis]
    })
}

/// Places rows in nested axes, each pitch congruent to its stride. Runs go over rows and along
/// them.
fn nested(tile: &mut Tile<'_>) -> Option<()> {
    let (shape, across_rows) = (tile.shape, tile.across_rows.clone());
    let first = across_rows.first().map_or(0, |&axis| pitch::in_order(tile, axis));
    let bytes = set_rows(tile, |k, before| match k {
        0 => first,
        // The rows keep their place in a sector.
        _ => pitch::at_least(before, shape.axis(across_rows[k]).src, SECTOR_BYTES),
    });
    let p = &mut tile.p;
    tile.bytes = bytes.max(CHUNK_BYTES * p.chunks.divisor) + MARGIN;
    if across_rows.len() == 1 {
        p.row_pitch = p.row[0].x.cast_unsigned();
    }
    if shape.batch.is_some() {
        // The last axis of runs is also the last axis of rows, and has its pitch.
        p.store[tile.across_runs.len() - 1].x = p.row[across_rows.len() - 1].x;
    }
    // The byte of an element is a sum over the axes of the run. Neighbouring axes are merged if one
    // continues the other.
    let mut loops: Axes<(u32, i32)> = Axes::new();
    for &axis in &shape.run {
        let x = match across_rows.iter().position(|&other| other == axis) {
            Some(k) => p.row[k].x,
            None => i32::try_from(shape.axis(axis).src).ok()?,
        };
        match loops.last_mut() {
            Some((steps, last)) if i64::from(*steps) * i64::from(*last) == i64::from(x) => {
                *steps *= tile.loaded[axis];
            }
            _ => loops.push((tile.loaded[axis], x)),
        }
    }
    if let [(_, x)] = loops[..] {
        one_step(tile, x);
    } else if !periodic::place(tile, &loops) {
        tabulated(tile, &loops)?;
        part_vectors(tile);
        // A table for a whole run repeats its last entry. But a piece that is cut short and whose
        // run goes backwards along the row needs places below the row.
        let below = tile.p.a_in_run > 0 && tile.p.a_src < 0;
        if tile.p.period.divisor < tile.p.run || below {
            let (before, after) = beyond_run(&loops, tile.copy.vector());
            tile.before = before;
            tile.bytes += before + after;
        }
    }
    Some(())
}

/// Sets up runs whose elements are one step of `x` bytes apart.
fn one_step(tile: &mut Tile<'_>, x: i32) {
    let vector = tile.copy.vector();
    tile.p.element_x = x;
    tile.p.vector_x = x * vector.cast_signed();
    if let Some(runs) = interleaved(tile, x) {
        tile.kernel.find = Find::Split(runs);
        tile.bytes += runs * CHUNK_BYTES;
        return;
    }
    tile.before = (vector - 1) * x.unsigned_abs();
    tile.bytes += tile.before;
    pad(tile, x);
}

/// Leaves 16 bytes free after every vector of rows, if a run begins across rows and its
/// neighbouring vectors would begin in one bank or two. 16 bytes are used although half of the
/// groups then lose their place in a sector.
fn part_vectors(tile: &mut Tile<'_>) {
    let p = &mut tile.p;
    let vector = tile.copy.vector();
    let begins_across = tile.across_rows[..] == tile.shape.run[..1];
    let pitch = p.row_pitch;
    let meet = (vector * pitch).is_multiple_of(LINE_BYTES / 2);
    if vector == 1 || p.rows <= vector || !begins_across || !meet {
        return;
    }
    p.run_in_classes = 1;
    p.classes_log2 = vector.ilog2();
    (p.class_pitch, p.row_pitch) = (pitch, vector * pitch + CHUNK_BYTES);
    tile.bytes += p.rows / vector * CHUNK_BYTES;
}

/// The number of runs that are interleaved in one row of whole vectors, with the elements of a run
/// `x` bytes apart, if there is a kernel for that number.
fn interleaved(tile: &Tile<'_>, x: i32) -> Option<u32> {
    let width = tile.copy.width;
    let runs = u32::try_from(x).ok()? / width;
    let &[store] = tile.stores() else { return None };
    let alternate = tile.p.stores == runs && store.x == width.cast_signed();
    (alternate && one_row(tile) && width < 16 && (2..=4).contains(&runs)).then_some(runs)
}

/// Whether each tile is a single row that begins with a chunk, and runs have whole vectors.
fn one_row(tile: &Tile<'_>) -> bool {
    tile.across_rows.is_empty() && tile.start == Some(0) && !tile.kernel.shifted && !tile.copy.is_scattered()
}

/// Leaves 16 bytes free in a strided row after as many vectors as begin in different banks (unless
/// these are eight), so that the next vectors begin in other banks. The gap is never within a
/// vector, whose elements are `x` bytes apart.
fn pad(tile: &mut Tile<'_>, x: i32) {
    const LINE_CHUNKS: u32 = LINE_BYTES / CHUNK_BYTES;
    let width = tile.copy.width;
    let Ok(step) = u32::try_from(x) else { return };
    if !one_row(tile) {
        return;
    }
    let widest = tile.stores().iter().map(|store| store.x.unsigned_abs()).max().unwrap_or(0);
    let reach: u32 = tile.across_runs.iter().map(|&axis| (tile.shape.steps[axis] - 1) * widest).sum();
    let vector_chunks = step / width;
    let banks = LINE_CHUNKS >> vector_chunks.trailing_zeros().min(3);
    if reach + width > step || banks == LINE_CHUNKS {
        return;
    }
    let pad_chunks = banks * vector_chunks;
    tile.p.pad_chunks = FastDiv::new(pad_chunks);
    tile.p.pad_log2 = banks.ilog2();
    tile.bytes += tile.p.chunks.divisor.div_ceil(pad_chunks) * CHUNK_BYTES;
}
