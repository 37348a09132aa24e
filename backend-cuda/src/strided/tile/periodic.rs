//! Runs that go over all rows of a tile and then along them.
//!
//! A tile that has all rows of a transposed matrix is one run in the destination: no two tiles
//! write parts of one run, and vectors are whole. Within a period, which has one element for each
//! row, elements are one step apart; another step leads from period to period. Elements of one byte
//! need no table, because at most one period ends within a vector. For wider elements a table is as
//! fast.

use std::iter;

use super::{
    boxes::of_all_rows,
    load_and_store::Tile,
    rotate::{Rotation, WARP, bank_accesses},
    scale::Scale,
    shape::Shape,
    sizes::{MAX_TABLE, SECTOR_BYTES, VECTOR_WORDS},
};
use crate::strided::{
    kernel::Find,
    params::FastDiv,
    strided_copy::{Axis, StridedCopy},
};

/// The bytes of a vector, which is also its number of one-byte elements.
const VECTOR: u32 = 16;
/// The groups of threads of a warp, if each group has a part of the run.
const GROUPS: u32 = 4;
/// The threads of such a group, as a logarithm; they have neighbouring vectors.
const LANES_LOG2: u32 = 3;

/// The number of warps of a tile whose bank conflicts are counted before it is laid out.
const SAMPLES: u32 = 8;
/// The most that bank conflicts may cost those warps; beyond it a table is cheaper.
const MUCH: u32 = 5 * SAMPLES;

/// Boxes of all rows, the best first, for runs that end anywhere, if tiles of the shape `without`
/// cut the runs or would read them from one bank. If runs are cut, tiles overlap, so rows are
/// loaded twice and the last piece of a run may be short. Tiles of all rows share sectors only at
/// the ends of rows.
pub(super) fn boxes<'a>(
    copy: &'a StridedCopy,
    without: &Shape,
    scale: Scale,
) -> impl Iterator<Item = Shape> + use<'a> {
    /// With more rows, only few columns fit.
    const MOST_ROWS: u32 = 512;
    /// With fewer rows, bank conflicts cost less than these boxes.
    const LEAST_ROWS: u32 = 96;
    let Axis { extent: rows, src, .. } = copy.axes[0];
    // Packed words are as fast for copies of middle size.
    let words = scale == Scale::Middle && without.run_unit() == VECTOR / 2 && without.in_words();
    let cut = without.run[..] == [0];
    // With these columns, groups of threads a quarter of the columns apart read from different
    // banks; with a power of two they would read from one.
    let apart = copy.width == 1 && src % 16 == 0 && rows > LEAST_ROWS;
    let apart = apart && without.split(&without.row).is_some();
    let fits = (cut || apart) && !words && rows <= MOST_ROWS;
    let row_bytes: &[u32] = match (scale, copy.width) {
        _ if !fits => &[],
        (Scale::Middle, 1) => &[80, 64],
        (_, 1) => &[112, 80, 64],
        _ => &[160, 128],
    };
    row_bytes.iter().filter_map(|bytes| of_all_rows(copy, bytes / copy.width))
}

/// Places a run, given by its loops as (steps, bytes), if it is periodic and a table is not
/// cheaper.
pub(super) fn place(tile: &mut Tile<'_>, loops: &[(u32, i32)]) -> bool {
    let &[(rows, step), (_, next)] = loops else { return false };
    let Ok(pitch) = u32::try_from(step) else { return false };
    let across = tile.across_rows[..] == tile.shape.run[..1];
    if tile.copy.width != 1 || !across || rows < VECTOR {
        return false;
    }
    // If all vectors begin in one bank, a table is as fast if it is short or if the tile is the
    // whole matrix.
    let meet = pitch.is_multiple_of(8);
    let short = rows.is_multiple_of(8) && rows < 128;
    if meet && (short || tile.row_split.is_none()) {
        return false;
    }
    // Rows whose distance is an odd multiple of 16 bytes begin in different banks.
    let apart = if pitch.is_multiple_of(2 * VECTOR) { VECTOR } else { 0 };
    let pitch = pitch + apart;
    // Vectors are counted from a sector on, so that groups of threads store whole sectors.
    let shifted = !tile.shape.runs_keep(SECTOR_BYTES.into());
    let over = if shifted { SECTOR_BYTES - 1 } else { 0 };
    let p = &mut tile.p;
    if tile.across_runs.is_empty() {
        let vectors = (p.run + over).div_ceil(VECTOR);
        let byte =
            |element: u32| i64::from(element / rows) * i64::from(next) + i64::from(element % rows * pitch);
        let Some((cost, rotation)) = cheapest(vectors, pitch, meet, byte) else { return false };
        let table = rows.checked_mul(VECTOR >> rows.trailing_zeros().min(VECTOR.ilog2()));
        if meet && cost >= MUCH && table.is_some_and(|entries| entries <= MAX_TABLE) {
            return false;
        }
        rotation.set(p);
        if rotation.share > 0 {
            p.stores = GROUPS;
            tile.most_lanes_log2 = LANES_LOG2;
        }
    }
    tile.kernel.find = Find::Periodic;
    tile.kernel.shifted = shifted;
    p.start_mask = over;
    p.row_pitch = pitch;
    p.row[0].x = pitch.cast_signed();
    p.element_x = pitch.cast_signed();
    p.period = FastDiv::new(rows);
    p.period_x = next;
    p.fused_x = next.cast_unsigned().wrapping_sub(pitch.wrapping_mul(rows));
    // The word in which a period ends is gathered from both sides of the end.
    tile.before = over.max(VECTOR_WORDS - 1) * pitch;
    tile.bytes += rows * apart + (VECTOR - 1) * pitch;
    true
}

/// The rotation with which a run of `vectors` is read at the lowest cost, and that cost: the
/// accesses that a warp needs for one byte of each vector, plus one to rotate words, or two to
/// rotate bytes as well. `byte` says where elements are; `meet` says whether vectors of
/// neighbouring threads begin in one bank.
fn cheapest(vectors: u32, pitch: u32, meet: bool, byte: impl Fn(u32) -> i64) -> Option<(u32, Rotation)> {
    let parts = vectors.div_ceil(GROUPS).next_multiple_of(2);
    // Neighbouring vectors are 16 rows apart: an odd pitch spreads them over the banks, an even one
    // less so.
    let by_vector = [0, 2, 4][pitch.trailing_zeros().min(2) as usize];
    let words = |by_run, by_vector| Rotation { by_run, by_vector, ..Rotation::default() };
    let bytes = |share, by_run, by_vector| Rotation { share, bytes: true, ..words(by_run, by_vector) };
    let parted = |(by_run, by_vector)| Rotation { share: parts, ..words(by_run, by_vector) };
    let ways = if meet {
        [words(0, 2), words(0, 4), bytes(0, 0, 1), bytes(0, 0, 2), bytes(parts, 0, 1), bytes(parts, 1, 1)]
    } else {
        [(0, 0), (1, 0), (0, by_vector), (1, by_vector), (2, by_vector), (3, by_vector)].map(parted)
    };
    let cost = |way: Rotation| {
        let instructions = match (way.by_run | way.by_vector, way.bytes) {
            (0, _) => 0,
            (_, false) => SAMPLES,
            (_, true) => 2 * SAMPLES,
        };
        instructions + (0..SAMPLES).map(|sample| accesses(vectors, way, sample, &byte)).sum::<u32>()
    };
    let all = iter::once(Rotation::default()).chain(ways);
    all.map(|way| (cost(way), way)).min_by_key(|&(cost, _)| cost)
}

/// Bank accesses of a warp for the first byte of its vectors' first words. `sample` is one of
/// [`SAMPLES`] warps at equal distances.
fn accesses(vectors: u32, way: Rotation, sample: u32, byte: impl Fn(u32) -> i64) -> u32 {
    let (lanes_log2, all) = if way.share > 0 { (LANES_LOG2, way.share) } else { (WARP.ilog2(), vectors) };
    let first = ((all >> lanes_log2) * sample / SAMPLES) << lanes_log2;
    bank_accesses((0..WARP).map(|thread| {
        let run = thread >> lanes_log2;
        let vector = run * way.share + first + thread % (1 << lanes_log2);
        let word = (run * way.by_run + ((vector * way.by_vector) >> 2)) % VECTOR_WORDS;
        byte(vector * VECTOR + word * 4 + if way.bytes { vector % 4 } else { 0 })
    }))
}
