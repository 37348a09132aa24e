//! Runs over all rows of a tile and then along them.
//!
//! A tile that has all rows of a transposed matrix is one run in the destination: no two tiles
//! write parts of one run, and vectors are whole. Within a period, which has as many elements as
//! there are rows, elements are one step apart; from period to period it is another step. Elements
//! of one byte need no table, because at most one period ends within a vector. For wider elements a
//! table is as fast.

use devarray::Axes;

use super::{
    SECTOR_BYTES,
    boxes::of_all_rows,
    place::{MAX_TABLE, Placement, VECTOR_WORDS, in_words},
    rotate::{Banks, Rotation, WARP},
    scale::Scale,
    shape::Shape,
    sides::Sides,
};
use crate::strided::{
    axes::{Axis, Problem},
    kernel::Find,
};

/// Bytes of a vector, and how many elements of one byte it has.
const VECTOR: u32 = 16;
/// Groups of threads of a warp, if each has a part of the run.
const GROUPS: u32 = 4;
/// Threads of such a group, as a logarithm; they have neighbouring vectors.
const LANES_LOG2: u32 = 3;

/// Warps of a tile whose bank conflicts are counted before it is laid out.
const SAMPLES: u32 = 8;
/// Most that bank conflicts may cost those warps; a table is cheaper than more.
const MUCH: u32 = 5 * SAMPLES;

/// Boxes of all rows, the best first, for runs that end anywhere, if the tiles `without` cut the
/// runs or would read them from one bank. Where runs are cut, tiles overlap, so rows are loaded
/// twice and the last piece of a run may be short. Tiles of all rows share sectors only at the ends
/// of rows.
pub(super) fn boxes<'a>(
    problem: &'a Problem,
    without: &Shape,
    scale: Scale,
) -> impl Iterator<Item = Shape> + use<'a> {
    /// With more rows there is room for few columns only.
    const MOST_ROWS: u32 = 512;
    /// With fewer rows, bank conflicts cost less than this.
    const LEAST_ROWS: u32 = 96;
    let row_bytes: &[u32] = match (scale, problem.width) {
        (Scale::Small, _) => &[],
        (Scale::Middle, 1) => &[80, 64],
        (_, 1) => &[112, 80, 64],
        _ => &[160, 128],
    };
    let Axis { extent: rows, src, .. } = problem.axes[0];
    // Packed words are as fast for middle sizes.
    let words = scale == Scale::Middle && without.run_unit() == VECTOR / 2 && in_words(problem, without);
    let cut = without.run[..] == [0] && without.run_unit() < VECTOR && !words;
    // Groups of threads, a quarter of the columns apart, then read from different banks, not from
    // one as with a power of two.
    let apart = problem.width == 1 && src % 16 == 0 && rows % 8 != 0 && rows > LEAST_ROWS;
    let apart = apart && without.split(&without.row).is_some();
    let fits = (cut || apart) && rows <= MOST_ROWS;
    let columns = row_bytes.iter().filter(move |_| fits).map(|bytes| bytes / problem.width);
    columns.filter_map(|columns| of_all_rows(problem, columns))
}

/// The placement of a run given by its loops as (steps, bytes), if it is periodic. `bytes`: from
/// the first row to the end of the last.
pub(super) fn place(
    sides: &Sides<'_>,
    nested: &Placement,
    loops: &[(u32, i32)],
    bytes: u32,
) -> Option<Placement> {
    let &[(rows, step), (_, next)] = loops else { return None };
    let pitch = u32::try_from(step).ok()?;
    let across = sides.across_rows[..] == sides.shape.run[..1];
    if sides.problem.width != 1 || sides.scattered || !across || rows < VECTOR {
        return None;
    }
    // If vectors begin in one bank, a table is as fast if it is short, or if the tile is the whole
    // matrix.
    let meet = pitch.is_multiple_of(8);
    let short = rows.is_multiple_of(8) && rows < 128;
    if meet && (short || sides.row_split.is_none()) {
        return None;
    }
    // Rows whose distance is an odd multiple of 16 bytes are in different banks.
    let apart = if pitch.is_multiple_of(2 * VECTOR) { VECTOR } else { 0 };
    let (pitch, bytes) = (pitch + apart, bytes + rows * apart);
    let step = pitch.cast_signed();
    let shifted = !sides.shape.runs_keep(SECTOR_BYTES.into());
    let over = if shifted { SECTOR_BYTES - 1 } else { 0 };
    let mut placement = Placement {
        find: Find::Periodic,
        // The word in which a period ends is gathered from both sides.
        before: over.max(VECTOR_WORDS - 1) * pitch,
        bytes: bytes + (VECTOR - 1) * pitch,
        row_pitch: pitch,
        period: rows,
        period_x: next,
        element_x: step,
        fused_x: next.wrapping_sub(step.wrapping_mul(rows.cast_signed())).cast_unsigned(),
        // Vectors are counted from a sector on, so that groups of threads store whole ones.
        shifted,
        start_mask: over,
        store: nested.store.clone(),
        run_loops: Axes::new(),
        ..*nested
    };
    placement.row_x[0] = step;
    if sides.stores == 1 && sides.across_runs.is_empty() {
        let run = Run { rows, pitch, next, vectors: (sides.run + over).div_ceil(VECTOR) };
        let ((share, rotation), cost) = run.best(meet);
        let table = rows.checked_mul(VECTOR >> rows.trailing_zeros().min(VECTOR.ilog2()));
        if meet && cost >= MUCH && table.is_some_and(|entries| entries <= MAX_TABLE) {
            return None;
        }
        placement.rotation = rotation;
        if share > 0 {
            (placement.share, placement.stores) = (share, GROUPS);
            placement.most_lanes_log2 = LANES_LOG2;
        }
    }
    Some(placement)
}

/// A run of so many vectors, as its elements lie in shared memory.
struct Run {
    rows: u32,
    pitch: u32,
    next: i32,
    vectors: u32,
}

/// Vectors of each group of threads, or 0 if all threads have neighbouring ones, and with which
/// word they begin.
type Share = (u32, Rotation);

impl Run {
    /// The cheapest way and its cost: accesses that a warp needs for one byte of each vector, one
    /// more to rotate words, two to rotate bytes as well. `meet`: whether vectors of neighbouring
    /// threads begin in one bank.
    fn best(&self, meet: bool) -> (Share, u32) {
        let share = self.vectors.div_ceil(GROUPS).next_multiple_of(2);
        // Neighbouring vectors are 16 rows apart: spread over the banks if the pitch is odd, less
        // so if it is even.
        let by_vector = [0, 2, 4][self.pitch.trailing_zeros().min(2) as usize];
        let words = Rotation::new;
        let bytes = |by_run, by_vector| Rotation { bytes: true, ..words(by_run, by_vector) };
        let all = if meet {
            [
                (0, words(0, 2)),
                (0, words(0, 4)),
                (0, bytes(0, 1)),
                (0, bytes(0, 2)),
                (share, bytes(0, 1)),
                (share, bytes(1, 1)),
            ]
        } else {
            [(0, 0), (1, 0), (0, by_vector), (1, by_vector), (2, by_vector), (3, by_vector)]
                .map(|(by_run, by_vector)| (share, words(by_run, by_vector)))
        };
        let cost = |&(share, rotation): &Share| {
            let instructions = match (rotation.by_run | rotation.by_vector, rotation.bytes) {
                (0, _) => 0,
                (_, false) => SAMPLES,
                (_, true) => 2 * SAMPLES,
            };
            instructions + (0..SAMPLES).map(|sample| self.accesses(share, rotation, sample)).sum::<u32>()
        };
        let plain = (0, words(0, 0));
        let costs = [plain].into_iter().chain(all).map(|way| (way, cost(&way)));
        costs.min_by_key(|&(_, cost)| cost).unwrap_or((plain, u32::MAX))
    }

    /// Bank accesses of a warp for the first byte of its vectors' first words. `sample` is one of
    /// [`SAMPLES`] warps at equal distances.
    fn accesses(&self, share: u32, rotation: Rotation, sample: u32) -> u32 {
        let (lanes_log2, all) = if share > 0 { (LANES_LOG2, share) } else { (WARP.ilog2(), self.vectors) };
        let first = ((all >> lanes_log2) * sample / SAMPLES) << lanes_log2;
        let mut banks = Banks::new();
        for thread in 0..WARP {
            let run = thread >> lanes_log2;
            let vector = run * share + first + thread % (1 << lanes_log2);
            let word = (run * rotation.by_run + ((vector * rotation.by_vector) >> 2)) % VECTOR_WORDS;
            let element = vector * VECTOR + word * 4 + if rotation.bytes { vector % 4 } else { 0 };
            let (period, row) = (element / self.rows, element % self.rows);
            banks.access(i64::from(period) * i64::from(self.next) + i64::from(row * self.pitch));
        }
        banks.most()
    }
}
