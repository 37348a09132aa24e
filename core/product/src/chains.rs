//! The chains of a product, and the order in which their results are added.

use devarray_function::Combine;

use crate::number::Number;

/// The longest chain of fused multiply-adds, in k.
pub const CHAIN: usize = 4096;

const LANES: usize = Combine::LANES;
const SEGMENT: usize = Combine::SEGMENT;

/// Adds the results of chains, for many elements at once, in the order that [`Combine`] defines for a sum
/// of as many elements.
#[derive(Debug)]
pub(crate) struct Sums<N> {
    width: usize,
    /// Sums of 2^level lanes that wait for their partners, one row per level.
    pending: Vec<N>,
    /// A result that is being added to its lane.
    next: Vec<N>,
}

impl<N: Number> Sums<N> {
    pub(crate) fn new() -> Self {
        Self { width: 0, pending: Vec::new(), next: Vec::new() }
    }

    /// Computes the elements of a row: one chain each, or the sum of several chains' results. `chain` writes
    /// the results of one chain into a row.
    pub(crate) fn chains(&mut self, depth: usize, row: &mut [N], mut chain: impl FnMut(usize, &mut [N])) {
        if depth <= CHAIN {
            chain(0, row);
        } else {
            self.sum(depth.div_ceil(CHAIN), row, chain);
        }
    }

    /// Sums `count` rows, at least two, into `row`.
    fn sum(&mut self, count: usize, row: &mut [N], mut chain: impl FnMut(usize, &mut [N])) {
        self.width = row.len();
        if count <= SEGMENT {
            self.segment(0..count, row, &mut chain);
        } else {
            // Segments are summed by the same rule. More segments than one segment has elements would
            // need 2^40 k.
            let mut segments = Self::new();
            segments.width = self.width;
            segments.segment(0..count.div_ceil(SEGMENT), row, &mut |number, row| {
                let start = number * SEGMENT;
                self.segment(start..count.min(start + SEGMENT), row, &mut chain);
            });
        }
        row.iter_mut().for_each(|sum| *sum = N::ZERO.add(*sum));
    }

    fn segment(
        &mut self,
        chains: std::ops::Range<usize>,
        row: &mut [N],
        chain: &mut dyn FnMut(usize, &mut [N]),
    ) {
        let (start, count, width) = (chains.start, chains.len(), self.width);
        let lanes = count.min(LANES);
        for lane in 0..lanes {
            chain(start + lane, row);
            for k in (lane + LANES..count).step_by(LANES) {
                self.next.resize(width, N::ZERO);
                chain(start + k, &mut self.next);
                row.iter_mut().zip(&self.next).for_each(|(sum, &next)| *sum = sum.add(next));
            }
            // Carries like a binary counter: each level that is full is combined with the row.
            let mut level = 0;
            while lane >> level & 1 == 1 {
                self.join(level, row);
                level += 1;
            }
            if lane + 1 < lanes {
                if self.pending.len() < (level + 1) * width {
                    self.pending.resize((level + 1) * width, N::ZERO);
                }
                self.pending[level * width..][..width].copy_from_slice(row);
            } else {
                // A value without a partner goes to the next round alone, so the higher levels that
                // still wait are combined now.
                for above in (level + 1..=LANES.ilog2() as usize).filter(|above| lane >> above & 1 == 1) {
                    self.join(above, row);
                }
            }
        }
    }

    /// Adds a level, which is earlier, to a row.
    fn join(&self, level: usize, row: &mut [N]) {
        let before = &self.pending[level * self.width..][..self.width];
        row.iter_mut().zip(before).for_each(|(sum, &before)| *sum = before.add(*sum));
    }
}
