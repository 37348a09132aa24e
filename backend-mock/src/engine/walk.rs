//! Strided copies and fills in the engine's memory.
//!
//! These loops are separate from core's on purpose: the results of core's loops are compared with theirs.
//!
//! They are loops over words and indices, with no call inside, so that builds without optimization, in which
//! tests run, are fast as well.

use std::ops::Range;

use devarray::copy::Plan;
use smallvec::SmallVec;

use crate::poison::repeat;

/// Longer runs are copied by the system's `memcpy`, with one call each.
const LONG_RUN_BYTES: usize = 64;

/// The number of steps along each side of a tile, so that cache lines reached at a long stride are used up
/// before they are evicted.
const TILE: usize = 16;

/// The runs of a plan, or of a part of it, as nested loops.
#[derive(Debug, Clone)]
pub(super) struct Nest {
    /// The last axis is the fastest.
    axes: SmallVec<[Axis; 6]>,
    run_bytes: usize,
    dst: usize,
    src: usize,
    /// The number of bytes of the run that come before, if this is only a part of one run.
    skipped: usize,
}

/// One loop. Strides are in bytes; the destination's is positive.
#[derive(Debug, Clone, Copy)]
struct Axis {
    count: usize,
    dst: usize,
    src: isize,
}

impl Nest {
    pub(super) fn of(plan: &Plan) -> Self {
        let axis = |axis: &devarray::copy::Axis| Axis {
            count: axis.extent,
            dst: axis.dst_stride_bytes.unsigned_abs(),
            src: axis.src_stride_bytes,
        };
        Self {
            axes: plan.axes().iter().map(axis).collect(),
            run_bytes: plan.run_bytes(),
            dst: plan.dst_offset_bytes(),
            src: plan.src_offset_bytes(),
            skipped: 0,
        }
    }

    /// The parts whose bytes, in the concatenation of all runs, lie in a piece. They are in that order, and
    /// there are at most two for each axis and one more.
    pub(super) fn parts(&self, piece: &Range<usize>) -> SmallVec<[Self; 4]> {
        let mut parts = SmallVec::new();
        if !piece.is_empty() {
            self.cut(piece, &mut parts);
        }
        parts
    }

    fn cut(&self, piece: &Range<usize>, parts: &mut SmallVec<[Self; 4]>) {
        let Some((first, inner)) = self.axes.split_first() else {
            let mut part = self.clone();
            (part.dst, part.src) = (part.dst + piece.start, part.src + piece.start);
            (part.skipped, part.run_bytes) = (piece.start, piece.len());
            return parts.push(part);
        };
        let each = self.run_bytes * inner.iter().map(|axis| axis.count).product::<usize>();
        if *piece == (0..each * first.count) {
            return parts.push(self.clone());
        }
        let inside = piece.start.div_ceil(each)..piece.end / each;
        let one = |index: usize, bytes: Range<usize>, parts: &mut _| {
            self.some(index..index + 1).cut(&(bytes.start - index * each..bytes.end - index * each), parts);
        };
        if inside.start > inside.end {
            // The whole piece lies in one step.
            return one(inside.end, piece.clone(), parts);
        }
        if piece.start < inside.start * each {
            one(inside.start - 1, piece.start..inside.start * each, parts);
        }
        if !inside.is_empty() {
            parts.push(self.some(inside.clone()));
        }
        if inside.end * each < piece.end {
            one(inside.end, inside.end * each..piece.end, parts);
        }
    }

    /// The part with these steps of the first axis.
    fn some(&self, steps: Range<usize>) -> Self {
        let mut part = self.clone();
        part.dst += steps.start * part.axes[0].dst;
        part.src = part.src.wrapping_add_signed(steps.start.cast_signed() * part.axes[0].src);
        part.axes[0].count = steps.len();
        if steps.len() == 1 {
            part.axes.remove(0);
        }
        part
    }

    /// Copies from one memory to another. All runs lie in both.
    pub(super) fn copy(&self, width_bytes: usize, src: &[u8], dst: &mut [u8]) {
        if self.axes.is_empty() || self.run_bytes > LONG_RUN_BYTES {
            let run = self.run_bytes;
            return self.each_run(|from, to| dst[to..to + run].copy_from_slice(&src[from..from + run]));
        }
        let walk = match width_bytes {
            1 => copy_words::<1>,
            2 => copy_words::<2>,
            4 => copy_words::<4>,
            8 => copy_words::<8>,
            _ => copy_words::<16>,
        };
        self.tiled().iter().for_each(|nest| walk(nest, src, dst));
    }

    /// Copies within one memory, in which all runs lie. Goes in the order of the runs, because they may
    /// overlap by mistake.
    pub(super) fn copy_within(&self, bytes: &mut [u8]) {
        let run = self.run_bytes;
        self.each_run(|from, to| bytes.copy_within(from..from + run, to));
    }

    /// Repeats a pattern over all runs. Each run lies in the memory and begins with the pattern.
    pub(super) fn fill(&self, width_bytes: usize, pattern: &[u8], dst: &mut [u8]) {
        let is_word = width_bytes.is_multiple_of(pattern.len().max(1));
        if self.axes.is_empty() || self.run_bytes > LONG_RUN_BYTES || !is_word {
            return self.each_run(|_, to| repeat(&mut dst[to..to + self.run_bytes], pattern, self.skipped));
        }
        match width_bytes {
            1 => fill_words::<1>(self, pattern, dst),
            2 => fill_words::<2>(self, pattern, dst),
            4 => fill_words::<4>(self, pattern, dst),
            8 => fill_words::<8>(self, pattern, dst),
            _ => fill_words::<16>(self, pattern, dst),
        }
    }

    /// Calls `run` with the start of each run, in the source and in the destination.
    fn each_run(&self, mut run: impl FnMut(usize, usize)) {
        let mut steps = Steps::new(self);
        loop {
            run(steps.src, steps.dst);
            if !steps.next(&self.axes) {
                return;
            }
        }
    }

    /// Returns the same runs in a cache-friendly order, if the two sides are fastest along different axes.
    fn tiled(&self) -> SmallVec<[Self; 4]> {
        let mut nests = SmallVec::new();
        let last = self.axes.len() - 1;
        let fastest = (0..=last).rev().min_by_key(|&at| self.axes[at].src.unsigned_abs()).unwrap_or(last);
        if fastest == last || self.axes[last].count < 2 * TILE || self.axes[fastest].count < 2 * TILE {
            nests.push(self.clone());
            return nests;
        }
        let whole = |at: usize| self.axes[at].count - self.axes[at].count % TILE;
        for rows in [0..whole(fastest), whole(fastest)..self.axes[fastest].count] {
            for columns in [0..whole(last), whole(last)..self.axes[last].count] {
                if rows.is_empty() || columns.is_empty() {
                    continue;
                }
                let mut nest = self.clone();
                let (mut outer, mut inner) = (SmallVec::<[Axis; 2]>::new(), SmallVec::<[Axis; 2]>::new());
                for (at, steps) in [(fastest, &rows), (last, &columns)] {
                    let axis = self.axes[at];
                    nest.dst += steps.start * axis.dst;
                    nest.src = nest.src.wrapping_add_signed(steps.start.cast_signed() * axis.src);
                    let within = steps.len().min(TILE);
                    outer.push(Axis {
                        count: steps.len() / within,
                        dst: axis.dst * within,
                        src: axis.src * within.cast_signed(),
                    });
                    inner.push(Axis { count: within, ..axis });
                }
                nest.axes.remove(last);
                nest.axes.remove(fastest);
                nest.axes.extend(outer.into_iter().chain(inner));
                nests.push(nest);
            }
        }
        nests
    }

    /// These runs with strides in words of `width_bytes`, and with the words of a run as the last axis.
    /// All numbers must be multiples.
    fn in_words(&self, width_bytes: usize) -> Self {
        let mut words = self.clone();
        for axis in &mut words.axes {
            axis.dst /= width_bytes;
            axis.src /= width_bytes.cast_signed();
        }
        words.dst /= width_bytes;
        words.src /= width_bytes;
        words.run_bytes = 1;
        let run = self.run_bytes / width_bytes;
        if run > 1 {
            words.axes.push(Axis { count: run, dst: 1, src: 1 });
        }
        words
    }
}

/// The state of a walk over loops.
struct Steps {
    taken: SmallVec<[usize; 10]>,
    src: usize,
    dst: usize,
}

impl Steps {
    fn new(nest: &Nest) -> Self {
        Self { taken: SmallVec::from_elem(0, nest.axes.len()), src: nest.src, dst: nest.dst }
    }

    /// Takes the next step along these axes, which are the outer ones of the nest; returns false after the
    /// last.
    fn next(&mut self, axes: &[Axis]) -> bool {
        for (axis, taken) in axes.iter().zip(&mut self.taken).rev() {
            *taken += 1;
            if *taken < axis.count {
                self.dst += axis.dst;
                self.src = self.src.wrapping_add_signed(axis.src);
                return true;
            }
            *taken = 0;
            self.dst -= axis.dst * (axis.count - 1);
            self.src = self.src.wrapping_add_signed(-(axis.src * (axis.count - 1).cast_signed()));
        }
        false
    }
}

fn copy_words<const WIDTH: usize>(nest: &Nest, src: &[u8], dst: &mut [u8]) {
    let nest = nest.in_words(WIDTH);
    let Some((&inner, outer)) = nest.axes.split_last() else { return };
    let (src, dst) = (src.as_chunks::<WIDTH>().0, dst.as_chunks_mut::<WIDTH>().0);
    let mut steps = Steps::new(&nest);
    let (count, dst_step, src_step) = (inner.count, inner.dst, inner.src.unsigned_abs());
    loop {
        let (to, from, mut k) = (steps.dst, steps.src, 0);
        if inner.src < 0 {
            while k < count {
                dst[to + k * dst_step] = src[from - k * src_step];
                k += 1;
            }
        } else {
            while k < count {
                dst[to + k * dst_step] = src[from + k * src_step];
                k += 1;
            }
        }
        if !steps.next(outer) {
            return;
        }
    }
}

fn fill_words<const WIDTH: usize>(nest: &Nest, pattern: &[u8], dst: &mut [u8]) {
    let nest = nest.in_words(WIDTH);
    let Some((&inner, outer)) = nest.axes.split_last() else { return };
    let mut word = [0; WIDTH];
    repeat(&mut word, pattern, 0);
    let dst = dst.as_chunks_mut::<WIDTH>().0;
    let mut steps = Steps::new(&nest);
    loop {
        let (to, mut k) = (steps.dst, 0);
        while k < inner.count {
            dst[to + k * inner.dst] = word;
            k += 1;
        }
        if !steps.next(outer) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use devarray::{Layout, Order, backend::Capabilities};

    use super::*;
    use crate::rng::SplitMix64;

    fn random_plan(rng: &mut SplitMix64, item_bytes: usize) -> Plan {
        let shape = [1 + rng.below(5), 1 + rng.below(60), 1 + rng.below(40)];
        let turned = Layout::contiguous(&[shape[2], shape[0], shape[1]], Order::C).unwrap();
        let mut src = turned.permute(&[1, 2, 0]).unwrap();
        if rng.below(2) == 0 {
            src = src.flip(&[isize::try_from(rng.below(3)).unwrap()]).unwrap();
        }
        let every = devarray::layout::Slice::FULL.step_by(1 + isize::try_from(rng.below(3)).unwrap());
        let src = if rng.below(2) == 0 { src.slice_axis(1, every).unwrap() } else { src };
        let order = if rng.below(2) == 0 { Order::C } else { Order::F };
        let dst = Layout::contiguous(src.shape(), order).unwrap();
        Plan::new(&dst, &src, item_bytes, &Capabilities::default()).unwrap()
    }

    /// Compares whole plans, and pieces of them, with a walk over each byte of each run.
    #[test]
    fn pieces_move_the_bytes_that_lie_in_them_and_no_others() {
        let mut rng = SplitMix64::new(11);
        for case in 0..300 {
            let item_bytes = [1, 2, 3, 4, 8, 12, 16, 32][case % 8];
            let plan = random_plan(&mut rng, item_bytes);
            let len_bytes = plan.len_bytes();
            let src: Vec<u8> =
                (0..plan.src_span().end).map(|at| (at * 7 % 251).to_le_bytes()[0] | 1).collect();
            let piece = match rng.below(3) {
                0 => 0..len_bytes,
                1 => 0..rng.below(len_bytes + 1),
                _ => rng.below(len_bytes)..len_bytes,
            };
            let pattern: Vec<u8> = (0..item_bytes.min(16)).map(|k| 100 + k.to_le_bytes()[0]).collect();
            let (mut copied, mut filled) = (vec![0; plan.dst_span().end], vec![0; plan.dst_span().end]);
            let (mut wanted, mut painted, mut position) = (copied.clone(), filled.clone(), 0);
            for (from, to, run) in plan.runs() {
                for k in 0..run {
                    if piece.contains(&(position + k)) {
                        wanted[to + k] = src[from + k];
                        painted[to + k] = pattern[k % pattern.len()];
                    }
                }
                position += run;
            }
            for part in Nest::of(&plan).parts(&piece) {
                part.copy(plan.width_bytes(), &src, &mut copied);
                part.fill(plan.width_bytes(), &pattern, &mut filled);
            }
            assert_eq!(copied, wanted, "{plan:?} {piece:?}");
            assert_eq!(filled, painted, "{plan:?} {piece:?}");
        }
    }

    #[test]
    fn copies_within_a_memory_go_run_by_run() {
        let layout = Layout::new(&[4, 6], &[20, 3], 0).unwrap();
        let moved = Layout::new(&[4, 6], &[20, 3], 3).unwrap();
        let plan = Plan::new(&moved, &layout, 1, &Capabilities::default()).unwrap();
        let mut bytes: Vec<u8> = (0..100).collect();
        let mut wanted = bytes.clone();
        plan.runs().for_each(|(from, to, run)| wanted.copy_within(from..from + run, to));
        Nest::of(&plan).parts(&(0..plan.len_bytes())).iter().for_each(|part| part.copy_within(&mut bytes));
        assert_eq!(bytes, wanted);
    }
}
