//! A box of the copy that becomes a tile.

use devarray::Axes;

use super::sizes::{FEW_ROWS, SECTOR_BYTES};
use crate::strided::strided_copy::{Axis, StridedCopy};

/// The end of the first of two fused axes: after `extent` steps, the source moves `src` bytes further than in
/// one step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fused {
    pub(super) extent: u32,
    pub(super) src: i64,
}

/// A box of the copy: how many steps it has along each axis, and which axes make rows and runs.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// The copy. Loops along a row go forward in the source, unless they are also along a run.
    pub(super) copy: StridedCopy,
    /// Steps of a tile along each axis.
    pub(super) steps: Axes<u32>,
    /// The axes along which a row lies in the source, fastest first.
    pub(super) row: Axes<usize>,
    /// The axes along which a run lies in the destination, fastest first.
    pub(super) run: Axes<usize>,
    /// An axis in neither row nor run. The tile takes several steps of it because it would be small
    /// otherwise. No other axis is cut then.
    pub(super) batch: Option<usize>,
    /// The jump of the source past the end of a run's first axis, if that axis is fused with the next.
    pub(super) fused: Option<Fused>,
    /// Whether rows end although they could go on along the run.
    pub(super) ended: bool,
    /// Whether tiles overlap although their length is not a whole number of sectors: each tile stores its
    /// runs up to the last sector before the next tile's.
    pub(super) reaches_back: bool,
}

impl Shape {
    pub(super) fn axis(&self, axis: usize) -> Axis {
        self.copy.axes[axis]
    }

    pub(super) fn in_row(&self, axis: usize) -> bool {
        self.row.contains(&axis)
    }

    pub(super) fn in_run(&self, axis: usize) -> bool {
        self.run.contains(&axis)
    }

    /// Whether a step along an axis of a run or of the batch leads to another row: not along the same row,
    /// and not to the same elements again.
    pub(super) fn counts_rows(&self, axis: usize) -> bool {
        !self.in_row(axis) && self.axis(axis).src != 0
    }

    /// Returns this shape with axes reversed so that the source runs forward along a row, except axes along
    /// which the destination has to run forward.
    pub(super) fn forward(mut self) -> Self {
        for axis in self.row.clone() {
            let of = self.axis(axis);
            if of.src < 0 && !self.in_run(axis) {
                let last = i64::from(of.extent - 1);
                let copy = &mut self.copy;
                copy.at.src = copy.at.src.wrapping_add_signed(last * of.src);
                copy.at.dst = copy.at.dst.wrapping_add_signed(last * of.dst);
                copy.axes[axis] = Axis::new(of.extent, -of.src, -of.dst);
            }
        }
        self
    }

    /// Whether each element of a run is in another row, so that rows may be placed in any order.
    pub(super) fn runs_cross_rows(&self) -> bool {
        self.batch.is_none() && self.run.iter().all(|&axis| self.counts_rows(axis))
    }

    /// Whether a tile covers only part of the axis.
    pub(super) fn is_cut(&self, axis: usize) -> bool {
        self.steps[axis] < self.axis(axis).extent
    }

    /// The axis in a list that is cut, if any; it is always the last one.
    pub(super) fn split(&self, list: &[usize]) -> Option<usize> {
        list.iter().copied().find(|&axis| self.is_cut(axis))
    }

    /// The bytes of a row, with its gaps.
    pub(super) fn span_bytes(&self) -> u64 {
        let reach = |&axis: &usize| u64::from(self.steps[axis] - 1) * self.axis(axis).src.unsigned_abs();
        u64::from(self.copy.width) + self.row.iter().map(reach).sum::<u64>()
    }

    /// The bytes of shared memory: rows with their gaps and their alignment, or the elements if these need
    /// more.
    pub(super) fn tile_bytes(&self) -> u64 {
        let elements: u64 = self.steps.iter().map(|&steps| u64::from(steps)).product();
        let rows = self.run.iter().filter(|&&axis| self.counts_rows(axis)).chain(&self.batch);
        let rows: u64 = rows.map(|&axis| u64::from(self.steps[axis])).product();
        (elements * u64::from(self.copy.width)).max((self.span_bytes() + 16) * rows)
    }

    /// The bitwise OR of the starts of all runs: a power of two that divides it divides each start.
    fn run_starts(&self) -> u64 {
        (0..self.copy.axes.len()).fold(self.copy.at.dst, |bits, axis| {
            let (of, steps) = (self.axis(axis), self.steps[axis]);
            let cut = if self.is_cut(axis) { i64::from(steps) * of.dst } else { 0 };
            let across = (self.in_row(axis) || self.batch == Some(axis)) && !self.in_run(axis);
            bits | cut.unsigned_abs() | if across { of.dst.unsigned_abs() } else { 0 }
        })
    }

    /// The largest of 16, 8, 4, 2 and 1 bytes that divides the start of every run.
    pub(super) fn run_unit(&self) -> u32 {
        1 << self.run_starts().trailing_zeros().min(4)
    }

    /// Whether every run starts at a multiple of `bytes`, a power of two.
    pub(super) fn runs_keep(&self, bytes: u64) -> bool {
        self.run_starts().is_multiple_of(bytes)
    }

    /// Whether all rows of all tiles start at the same address modulo `bytes`, a power of two.
    pub(super) fn rows_keep(&self, bytes: i64) -> bool {
        let rows = |&axis: &usize| self.in_row(axis) || self.axis(axis).src % bytes == 0;
        let tiles = |&axis: &usize| {
            !self.is_cut(axis) || i64::from(self.steps[axis]) * self.axis(axis).src % bytes == 0
        };
        // A row that runs backwards starts at its last step.
        let rest = self.split(&self.row).is_none_or(|axis| {
            let (of, steps) = (self.axis(axis), self.steps[axis]);
            of.src > 0 || i64::from(of.extent % steps) * of.src % bytes == 0
        });
        let fused = self.fused.is_none_or(|fused| fused.src % bytes == 0);
        rest && fused
            && self.run.iter().chain(&self.batch).all(rows)
            && (0..self.copy.axes.len()).all(|axis| tiles(&axis))
    }

    /// The lowest address of the first tile.
    pub(super) fn first_row(&self) -> u64 {
        self.row.iter().fold(self.copy.at.src, |at, &axis| {
            at.wrapping_add_signed((i64::from(self.steps[axis] - 1) * self.axis(axis).src).min(0))
        })
    }

    /// Whether tiles may overlap along the run, so that each run can start at an aligned address.
    pub(super) fn can_overlap(&self) -> bool {
        match self.run[..] {
            [axis] => self.copy.width < 16 && self.is_cut(axis) && !self.in_row(axis),
            _ => false,
        }
    }

    /// Returns the same box for tiles that reach back, if runs start anywhere and continue in other rows.
    pub(super) fn reaching_back(&self) -> Option<Self> {
        let next = self.split(&self.run).is_some_and(|axis| self.counts_rows(axis));
        let can = next && self.fused.is_none() && self.run_unit() < 16 && !self.can_overlap_in_sectors();
        (can && !self.copy.is_scattered()).then(|| Self { reaches_back: true, ..self.clone() })
    }

    /// Returns the same tile with runs that end before their last axis, which makes tables shorter.
    pub(super) fn with_shorter_runs(&self) -> Option<Self> {
        let mut shape = self.clone();
        let axis = shape.run.pop().filter(|_| !shape.run.is_empty() && shape.fused.is_none())?;
        if !shape.in_row(axis) {
            let cut = shape.row.iter().chain(&shape.run).any(|&other| shape.is_cut(other));
            if cut || shape.batch.is_some() || shape.axis(axis).src == 0 {
                return None;
            }
            shape.batch = Some(axis);
        }
        Some(shape.forward())
    }

    /// Whether tiles that overlap consist of whole sectors.
    pub(super) fn can_overlap_in_sectors(&self) -> bool {
        let whole = |axis: usize| (self.steps[axis] * self.copy.width).is_multiple_of(SECTOR_BYTES);
        self.can_overlap() && self.split(&self.run).is_some_and(whole)
    }

    /// Whether elements of neighbouring runs can be fetched as one word: they lie next to each other in a
    /// row, and all words are aligned.
    pub(super) fn has_words(&self) -> bool {
        let (step, group) = (self.copy.step(), group(self.copy.width));
        let word = step * i64::from(group);
        let mut across_runs = self.row.iter().filter(|&&axis| !self.in_run(axis));
        let Some(&first) = across_runs.next() else { return false };
        self.copy.width < 16
            && self.axis(first).src == step
            && self.steps[first].is_multiple_of(group)
            && across_runs.all(|&axis| self.axis(axis).src % word == 0)
            && self.rows_keep(word)
            && self.first_row().is_multiple_of(word.unsigned_abs())
    }

    /// Whether elements along one axis are fetched as words (packed). Elements of one byte are packed even if
    /// runs start only at multiples of 4 or 8 bytes, and are then stored in pieces of that size: shifting
    /// them into place is slower. For elements of two bytes shifting is as fast.
    pub(super) fn in_words(&self) -> bool {
        let (width, unit) = (self.copy.width, self.run_unit());
        let [axis] = self.run[..] else { return false };
        // Neighbouring vectors are then a whole number of chunks apart.
        let chunks = u64::from(unit / width) * self.axis(axis).src.unsigned_abs();
        unit >= if width == 1 { 4 } else { 16 }
            && !self.copy.is_scattered()
            && self.runs_cross_rows()
            && chunks.is_multiple_of(16)
            && self.steps[axis] >= FEW_ROWS
            && self.has_words()
    }
}

/// The number of neighbouring runs whose elements make a word of at least 4 bytes.
pub(super) fn group(width: u32) -> u32 {
    if width == 1 { 4 } else { 2 }
}
