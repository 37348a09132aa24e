//! What each thread of a block loads and stores.

use super::{
    place::{self, Placement},
    sides::Sides,
};
use crate::strided::kernel::Find;

/// Most threads of a block; the kernels are compiled for it.
const MOST_THREADS: u32 = 512;

/// How loads and stores are divided among the threads of a block.
pub(super) struct Threads {
    /// Threads of a block.
    pub(super) count: u32,
    /// Rows that the block loads at once, each thread always the same chunk; 0: threads take chunks
    /// in order.
    pub(super) row_step: u32,
    /// Stores of a run.
    pub(super) run_chunks: u32,
    /// Neighbouring threads along a run (a logarithm), passes over the run, and runs or groups of
    /// runs.
    pub(super) lanes_log2: u32,
    pub(super) passes: u32,
    pub(super) store_groups: u32,
    /// Stores of a run of packed words whose tiles overlap; 0 otherwise.
    pub(super) columns: u32,
}

impl Threads {
    pub(super) fn of(sides: &Sides<'_>, placement: &Placement) -> Self {
        let mut threads = Self::along_runs(sides, placement);
        (threads.count, threads.row_step) = threads.of_block(sides, placement);
        threads
    }

    /// Divides the runs: neighbouring threads along a run, as many as it has vectors.
    fn along_runs(sides: &Sides<'_>, placement: &Placement) -> Self {
        let &Sides { shape, overlap, scattered, store_bytes, run, .. } = sides;
        let &Placement { shifted, stores, .. } = placement;
        let width = sides.problem.width;
        let chunks = match sides.run_split {
            _ if scattered => run,
            _ if placement.share > 0 => placement.share,
            Some(axis) if overlap > 0 && shifted => shape.steps[axis] * width / 16,
            _ => {
                let over = if shifted { placement.start_mask + 1 - width } else { 0 };
                (run * width + over).div_ceil(store_bytes)
            }
        };
        let lanes_log2 = match chunks {
            _ if scattered => 5,
            32.. if stores < 4 => 5,
            16.. if stores < 4 && chunks.is_multiple_of(16) => 5,
            16.. if width >= 4 || store_bytes < 16 => 4,
            5.. => 3,
            3.. => 2,
            2 => 1,
            _ => 0,
        };
        let lanes_log2 = lanes_log2.min(placement.most_lanes_log2);
        let group = match placement.find {
            Find::Packed => place::group(width),
            Find::Split(runs) => runs,
            _ => 1,
        };
        // A run's part of a tile then begins with its sector.
        let overlapping_words = (overlap > 0 || shape.fuses()) && !shifted;
        Self {
            count: 0,
            row_step: 0,
            run_chunks: chunks,
            lanes_log2,
            passes: chunks.div_ceil(1 << lanes_log2),
            store_groups: stores / group,
            columns: if overlapping_words { chunks } else { 0 },
        }
    }

    /// Threads of a block, so that each has the vectors that the scale asks for and all have about
    /// the same work; and rows that they load at once.
    fn of_block(&self, sides: &Sides<'_>, placement: &Placement) -> (u32, u32) {
        if placement.find == Find::Scatter {
            return (256, 0);
        }
        let rounds = sides.scale.vectors(placement.find, sides.problem.width == 1, placement.shifted);
        let chunks = sides.chunks;
        let columns = if self.columns > 0 { self.columns } else { self.passes << self.lanes_log2 };
        let work = (sides.rows * chunks).max(columns * self.store_groups);
        let threads = work.div_ceil(rounds.max(work.div_ceil(MOST_THREADS))).next_multiple_of(32);
        if sides.across_rows.len() > 1 || placement.pad_chunks > 0 || chunks > MOST_THREADS {
            return (threads, 0);
        }
        // The number of whole rows nearest to that, if whole warps then load whole classes of rows.
        let unit = (1 << placement.classes_log2).max(32 >> chunks.trailing_zeros().min(5));
        let step = (threads.div_ceil(chunks)).next_multiple_of(unit);
        let step = if step * chunks > MOST_THREADS { step - unit } else { step };
        if step == 0 || step * chunks * 5 < threads * 4 || step * chunks > threads * 5 / 4 {
            return (threads, 0);
        }
        (step * chunks, step)
    }
}
