//! Runs over all rows of a tile and then along them.
//!
//! A matrix that is turned round, whose rows are all in the tile, is one run in the destination: no two tiles write parts of one run, and
//! vectors are whole. Its elements are a step apart for a period, as many as there are rows, and from period to period it is another step.
//! One period at most ends within a vector, so this takes no table.

use super::{
    Layout, SECTOR_BYTES,
    place::{Find, VECTOR_WORDS, in_words},
    scale::Scale,
    shape::{Shape, of_all_rows},
    turn::{Banks, WARP},
};
use crate::strided::{axes::Problem, fast_div::FastDiv};

/// Elements of one byte, of which a vector has as many.
const VECTOR: u32 = 16;
/// Groups of threads of a warp, if each has a part of the run.
const GROUPS: u32 = 4;
/// Threads of such a group, which have neighbouring vectors.
const LANES_LOG2: u32 = 3;

/// Boxes of all rows, the best first, for runs that are cut in `without` and end anywhere. Neighbouring rows share fewer sectors where
/// they are longer; a result that stays in the cache wants more tiles than that (`NOTES.md`, version 14).
pub(super) fn boxes<'a>(
    problem: &'a Problem,
    without: &Shape,
    scale: Scale,
) -> impl Iterator<Item = Shape> + use<'a> {
    const ROWS: std::ops::RangeInclusive<u32> = 96..=512;
    let columns: &[u32] = match scale {
        Scale::Small => &[],
        Scale::Middle => &[80],
        Scale::Large | Scale::Stream | Scale::FastStream => &[112, 80],
    };
    let run = problem.axes[0];
    let cut = without.run[..] == [0] && without.run_unit() < VECTOR && !in_words(problem, without);
    let fits = problem.width == 1 && cut && ROWS.contains(&run.extent) && spreads(run.src);
    columns.iter().filter(move |_| fits).filter_map(move |&columns| of_all_rows(problem, columns))
}

/// Whether rows so many bytes apart are in different banks, if not in each: their distance in a tile is the same modulo 16.
fn spreads(stride: i64) -> bool {
    stride % 8 != 0
}

/// Lays out a run given by its loops as (steps, bytes), if it is of that kind: `bytes` from the first row to the end of the last.
pub(super) fn place(
    layout: &mut Layout<'_>,
    levels: &[(u32, i32)],
    bytes: u32,
) -> Option<(Find, (u32, u32))> {
    let &[(rows, step), (_, next)] = levels else { return None };
    let pitch = u32::try_from(step).ok()?;
    let one_axis = layout.across_rows.len() == 1;
    if layout.problem.width != 1 || layout.scattered || !one_axis || rows < VECTOR || !spreads(step.into()) {
        return None;
    }
    // Vectors are counted from a sector on, so that groups of threads store whole ones.
    layout.shifted |= !layout.shape.runs_keep(SECTOR_BYTES.into());
    let p = &mut layout.params;
    let over = if layout.shifted { SECTOR_BYTES - 1 } else { 0 };
    p.skew_mask = over;
    p.period = FastDiv::new(rows);
    p.period_x = next;
    p.set_step(step);
    p.wrap_x = next.wrapping_sub(step.wrapping_mul(rows.cast_signed())).cast_unsigned();
    if p.stores == 1 && layout.across_runs.is_empty() {
        let run = Run { rows, pitch, next, vectors: (p.run + over).div_ceil(VECTOR) };
        let dealt = run.best();
        (p.turn_by_run, p.turn_by_vector) = (dealt.by_run, dealt.by_vector);
        if dealt.share > 0 {
            p.share = dealt.share;
            p.stores = GROUPS;
            layout.most_lanes_log2 = LANES_LOG2;
        }
    }
    // Of the word in which a period ends, all is gathered from both sides.
    let before = over.max(VECTOR_WORDS - 1) * pitch;
    Some((Find::Periodic, (before, bytes + (VECTOR - 1) * pitch)))
}

/// A run of so many vectors, as its elements lie in shared memory.
struct Run {
    rows: u32,
    pitch: u32,
    next: i32,
    vectors: u32,
}

/// How the vectors of a run are dealt out to the threads of a warp.
#[derive(Clone, Copy)]
struct Dealt {
    /// Vectors of each group of threads; 0: all threads have neighbouring ones.
    share: u32,
    /// As in [`super::params::TileParams`].
    by_run: u32,
    by_vector: u32,
}

impl Run {
    /// What costs least: to be in one bank once more costs about as much as to turn words (`NOTES.md`, version 14).
    fn best(&self) -> Dealt {
        const SAMPLES: u32 = 8;
        let plain = Dealt { share: 0, by_run: 0, by_vector: 0 };
        let share = self.vectors.div_ceil(GROUPS).next_multiple_of(2);
        // Neighbouring vectors are 16 rows apart: in all banks of a kind if the pitch is odd, in fewer if it is even.
        let by_vector = [0, 2, 4][self.pitch.trailing_zeros().min(2) as usize];
        let turned = [(0, 0), (1, 0), (0, by_vector), (1, by_vector)];
        let turned = &turned[..if by_vector == 0 { 2 } else { 4 }];
        let cost = |dealt: &Dealt| {
            let turns = (dealt.by_run | dealt.by_vector) != 0;
            let accesses: u32 = (0..SAMPLES).map(|sample| self.accesses(*dealt, sample, SAMPLES)).sum();
            accesses + if turns { SAMPLES } else { 0 }
        };
        let shared = turned.iter().map(|&(by_run, by_vector)| Dealt { share, by_run, by_vector });
        [plain].into_iter().chain(shared).min_by_key(cost).unwrap_or(plain)
    }

    /// How often a warp accesses banks for the first byte of its vectors' first words: of `samples` warps that are as far from each other,
    /// one.
    fn accesses(&self, dealt: Dealt, sample: u32, samples: u32) -> u32 {
        let Dealt { share, by_run, by_vector } = dealt;
        let (lanes_log2, all) = if share > 0 { (LANES_LOG2, share) } else { (WARP.ilog2(), self.vectors) };
        let first = ((all >> lanes_log2) * sample / samples) << lanes_log2;
        let mut banks = Banks::new();
        for thread in 0..WARP {
            let run = thread >> lanes_log2;
            let vector = run * share + first + thread % (1 << lanes_log2);
            let turned = (run * by_run + ((vector * by_vector) >> 2)) % VECTOR_WORDS;
            let (period, at) = (vector * VECTOR / self.rows, vector * VECTOR % self.rows);
            let row = i64::from(at + turned * 4);
            banks.access(i64::from(period) * i64::from(self.next) + row * i64::from(self.pitch));
        }
        banks.most()
    }
}
