//! What each thread of a block loads and stores.

use super::{Layout, place, scale::Vector};
use crate::strided::{kernel::Find, params::FastDiv};

/// Most threads of a block; the kernels are compiled for it.
const MOST_THREADS: u32 = 512;

impl Layout<'_> {
    /// Divides the runs among the threads: neighbours along a run, as far as it has vectors for them.
    pub(super) fn lanes(&mut self, find: Find) {
        let width = self.problem.width;
        let overlapping_words = self.overlapping_words();
        let p = &mut self.params;
        p.run_chunks = if self.scattered {
            p.run
        } else if p.share > 0 {
            p.share
        } else if self.skew > 0 && self.shifted {
            p.b_piece * width / 16
        } else {
            let over = if self.shifted { p.start_mask + 1 - width } else { 0 };
            (p.run * width + over).div_ceil(self.store_bytes)
        };
        let chunks = p.run_chunks;
        p.lanes_log2 = match chunks {
            _ if self.scattered => 5,
            32.. if p.stores < 4 => 5,
            16.. if p.stores < 4 && chunks.is_multiple_of(16) => 5,
            16.. if width >= 4 || self.store_bytes < 16 => 4,
            5.. => 3,
            3.. => 2,
            2 => 1,
            _ => 0,
        };
        // Fewer, if much fewer threads have nothing left in the last pass then. Runs that start anywhere were slower so (`NOTES.md`,
        // version 10).
        if !self.scattered && !self.shifted {
            let slots = |lanes_log2: u32| chunks.next_multiple_of(1 << lanes_log2);
            while p.lanes_log2 > 2 && slots(p.lanes_log2 - 1) * 20 <= slots(p.lanes_log2) * 17 {
                p.lanes_log2 -= 1;
            }
        }
        p.lanes_log2 = p.lanes_log2.min(self.most_lanes_log2);
        p.passes = chunks.div_ceil(1 << p.lanes_log2);
        if overlapping_words {
            p.columns = FastDiv::new(chunks);
        }
        let group = match find {
            Find::Packed => place::group(width),
            Find::Split(runs) => runs,
            _ => 1,
        };
        p.store_groups = FastDiv::new(p.stores / group);
    }

    /// Threads of a block: so many that each does what the scale asks for, and all do about the same.
    pub(super) fn threads(&mut self, find: Find) -> u32 {
        let vector = match find {
            Find::Scatter => return 256,
            Find::Split(runs) => Vector::Split(runs),
            Find::Packed => Vector::Words,
            Find::Table if self.problem.width == 1 => Vector::ByteTable,
            Find::Linear | Find::Periodic if self.problem.width == 1 => Vector::Bytes,
            Find::Table if self.shifted => Vector::Table,
            Find::Table | Find::Linear | Find::Periodic => Vector::Elements,
        };
        let rounds = self.scale.vectors(vector);
        let p = &mut self.params;
        let chunks = p.chunks.divisor;
        let loads = p.rows * chunks;
        let columns = if p.columns.divisor > 0 { p.columns.divisor } else { p.passes << p.lanes_log2 };
        let work = loads.max(columns * p.store_groups.divisor);
        let threads = work.div_ceil(rounds.max(work.div_ceil(MOST_THREADS))).next_multiple_of(32);
        if p.row_axes > 1 || p.pad_chunks.divisor > 0 || chunks > MOST_THREADS {
            return threads;
        }
        // As many whole rows as come near that, if whole warps load whole classes of rows with them.
        let unit = (1 << p.classes_log2).max(32 >> chunks.trailing_zeros().min(5));
        let step = (threads.div_ceil(chunks)).next_multiple_of(unit);
        let step = if step * chunks > MOST_THREADS { step - unit } else { step };
        if step == 0 || step * chunks * 5 < threads * 4 || step * chunks > threads * 5 / 4 {
            return threads;
        }
        p.row_step = step;
        step * chunks
    }
}
