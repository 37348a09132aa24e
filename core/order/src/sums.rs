//! Sums of floats in the order that follows from the number of elements ([`Combine`]): sums of
//! slices, and sums of rows element by element.

use devarray_function::Combine;

use crate::{
    kind::Real,
    workers::{Workers, collect},
};

const LANES: usize = Combine::LANES;
const SEGMENT: usize = Combine::SEGMENT;

/// The sum of a slice: +0 plus its elements.
pub(crate) fn sum<T: Real>(x: &[T]) -> T {
    match x.len() {
        0 => T::ZERO,
        1..=SEGMENT => T::ZERO + segment(x),
        _ => T::ZERO + of_segments(x.chunks(SEGMENT).map(segment).collect()),
    }
}

/// Like [`sum`], for a long slice, which several threads share.
pub(crate) fn long_sum<T: Real>(x: &[T], workers: &dyn Workers) -> T {
    let each = 16 * SEGMENT;
    if x.len() <= each || workers.count() == 1 {
        return sum(x);
    }
    let sums = collect(workers, x.len().div_ceil(each), |piece| {
        let part = &x[piece * each..x.len().min((piece + 1) * each)];
        part.chunks(SEGMENT).map(segment).collect::<Vec<_>>()
    });
    T::ZERO + of_segments(sums.concat())
}

/// The sum of the results of segments.
pub(crate) fn of_segments<T: Real>(mut sums: Vec<T>) -> T {
    while sums.len() > 1 {
        sums = sums.chunks(SEGMENT).map(segment).collect();
    }
    sums.first().copied().unwrap_or(T::ZERO)
}

/// Sums the elements of a segment: lanes, which are then added in pairs. There is at least one
/// element.
fn segment<T: Real>(x: &[T]) -> T {
    if x.len() <= 16 {
        return padded::<T, 16>(x);
    }
    if x.len() <= LANES {
        return pairs(x);
    }
    let (first, rest) = x.split_at(LANES);
    let mut lanes = [T::ZERO; LANES];
    lanes.copy_from_slice(first);
    for row in rest.chunks(LANES) {
        for (lane, &element) in lanes.iter_mut().zip(row) {
            *lane = *lane + element;
        }
    }
    pairs(&lanes)
}

/// Adds lanes in pairs, and the results in pairs again; blocks of 64 come first. A lane without a
/// partner goes to the next round alone, so it may as well be added to 0.
pub(crate) fn pairs<T: Real>(lanes: &[T]) -> T {
    const BLOCK: usize = 64;
    let mut blocks = [T::NOTHING; LANES / BLOCK];
    let mut whole = lanes.chunks_exact(BLOCK);
    let mut number = 0;
    for (block, sum) in (&mut whole).zip(&mut blocks) {
        let block: &[T; BLOCK] = block.try_into().expect("exact");
        *sum = block_of(*block);
        number += 1;
    }
    let rest = whole.remainder();
    if !rest.is_empty() {
        blocks[number] = padded::<T, BLOCK>(rest);
    }
    if lanes.len() <= BLOCK { blocks[0] } else { block_of(blocks) }
}

fn padded<T: Real, const N: usize>(x: &[T]) -> T {
    let mut block = [T::NOTHING; N];
    block[..x.len()].copy_from_slice(x);
    block_of(block)
}

/// Sums a power of two of elements, in pairs.
#[inline(always)]
fn block_of<T: Real, const N: usize>(mut block: [T; N]) -> T {
    let mut len = N;
    while len > 1 {
        len /= 2;
        for pair in 0..len {
            block[pair] = block[2 * pair] + block[2 * pair + 1];
        }
    }
    block[0]
}

/// Memory for sums of rows.
#[derive(Debug)]
pub(crate) struct Rows<T> {
    width: usize,
    /// Sums of 2^level lanes that wait for their partners, one row per level.
    pending: Vec<T>,
    /// Sums of segments.
    segments: Vec<T>,
    row: Vec<T>,
}

impl<T: Real> Rows<T> {
    pub(crate) fn new(width: usize) -> Self {
        let levels = LANES.ilog2() as usize + 1;
        Self {
            width,
            pending: vec![T::ZERO; levels * width],
            segments: Vec::new(),
            row: vec![T::ZERO; width],
        }
    }

    /// Sums `count` rows. `add` adds row k to the given row, or writes it there if it is the first
    /// of its lane.
    pub(crate) fn sum(&mut self, count: usize, add: impl Fn(usize, bool, &mut [T])) -> &[T] {
        self.segments.clear();
        let width = self.width;
        for start in (0..count).step_by(SEGMENT) {
            self.segment(SEGMENT.min(count - start), |k, first, row| add(start + k, first, row));
            self.segments.extend_from_slice(&self.row);
        }
        while self.segments.len() > width {
            let sums = std::mem::take(&mut self.segments);
            let number = sums.len() / width;
            for start in (0..number).step_by(SEGMENT) {
                self.segment(SEGMENT.min(number - start), |k, first, row| {
                    let from = &sums[(start + k) * width..][..width];
                    put(first, row, from.iter().copied());
                });
                self.segments.extend_from_slice(&self.row);
            }
        }
        if count == 0 {
            self.row.fill(T::ZERO);
        }
        self.row.iter_mut().for_each(|sum| *sum = T::ZERO + *sum);
        &self.row
    }

    /// Sums rows of a segment, lane by lane, into `row`. There is at least one row.
    fn segment(&mut self, count: usize, add: impl Fn(usize, bool, &mut [T])) {
        let (width, row) = (self.width, &mut self.row);
        let lanes = count.min(LANES);
        for lane in 0..lanes {
            add(lane, true, row);
            for k in (lane + LANES..count).step_by(LANES) {
                add(k, false, row);
            }
            // Carries like a binary counter: each level that is full is combined with the row.
            let mut level = 0;
            while lane >> level & 1 == 1 {
                join(&self.pending[level * width..][..width], row);
                level += 1;
            }
            if lane + 1 < lanes {
                self.pending[level * width..][..width].copy_from_slice(row);
            } else {
                // A sum without a partner goes to the next round alone, so the higher levels that
                // still wait are combined now.
                for above in level + 1..=LANES.ilog2() as usize {
                    if lane >> above & 1 == 1 {
                        join(&self.pending[above * width..][..width], row);
                    }
                }
            }
        }
    }
}

/// Adds an earlier row to a row.
fn join<T: Real>(before: &[T], row: &mut [T]) {
    for (sum, &before) in row.iter_mut().zip(before) {
        *sum = before + *sum;
    }
}

/// Writes elements into a row, or adds them to it.
#[inline(always)]
pub(crate) fn put<T: Real>(first: bool, row: &mut [T], elements: impl Iterator<Item = T>) {
    if first {
        row.iter_mut().zip(elements).for_each(|(sum, element)| *sum = element);
    } else {
        row.iter_mut().zip(elements).for_each(|(sum, element)| *sum = *sum + element);
    }
}
