//! Scans: sums by aligned blocks as [`Combine`](crate::Combine) says, and extremes so far.

use super::{
    extremes::{Keyed, better},
    machine::{Machine, Work},
    raw::Raw,
    rows::RowSink,
    sums::Summed,
};

/// Elements that are summed up at once: an aligned block.
const BLOCK: usize = 1024;
const LEVELS: usize = BLOCK.ilog2() as usize;

/// Running sums or products of a row.
pub(super) struct RunningSum<T, const PRODUCT: bool> {
    machine: Machine,
    exclusive: bool,
    /// The block, the totals of its parts of 2, 4 …, and what precedes each of them.
    totals: Box<[T]>,
    before: Box<[T]>,
    /// Elements of the block so far.
    count: usize,
    /// Larger aligned blocks, the largest first: how many blocks each has, its total, and the total
    /// of all elements up to its end.
    blocks: Vec<(usize, T, T)>,
}

impl<T: Summed, const PRODUCT: bool> RunningSum<T, PRODUCT> {
    pub(super) fn new(machine: Machine, exclusive: bool) -> Self {
        let slots = || vec![T::zeroed(); 2 * BLOCK].into_boxed_slice();
        Self { machine, exclusive, totals: slots(), before: slots(), count: 0, blocks: Vec::new() }
    }

    fn preceding(&self) -> T {
        self.blocks.last().map_or(T::identity::<PRODUCT>(), |&(.., all)| all)
    }

    /// Sums up what there is of a block.
    fn end_block(&mut self, values: &mut Vec<T>) {
        let (totals, before) = (&mut self.totals[..], &mut self.before[..]);
        let preceding = self.blocks.last().map_or(T::identity::<PRODUCT>(), |&(.., all)| all);
        let exclusive = self.exclusive;
        self.machine.run(Swept::<T, PRODUCT> { totals, before, preceding, exclusive });
        values.extend_from_slice(&self.before[..self.count]);
        if self.count == BLOCK {
            // Two blocks of one size become one, as in a binary counter.
            let (mut len, mut total) = (1, self.totals[2 * BLOCK - 2]);
            while let Some((_, left, _)) = self.blocks.pop_if(|&mut (left_len, ..)| left_len == len) {
                (len, total) = (2 * len, left.combined::<PRODUCT>(total));
            }
            let all = self.preceding().combined::<PRODUCT>(total);
            self.blocks.push((len, total, all));
        }
        self.count = 0;
    }
}

impl<T: Summed, const PRODUCT: bool> RowSink<T> for RunningSum<T, PRODUCT> {
    type Element = T;

    fn add(&mut self, mut elements: &[Raw<T>], values: &mut Vec<T>) {
        while !elements.is_empty() {
            let (next, rest) = elements.split_at(elements.len().min(BLOCK - self.count));
            let slots = &mut self.totals[self.count..][..next.len()];
            bytemuck::cast_slice_mut::<T, Raw<T>>(slots).copy_from_slice(next);
            self.count += next.len();
            if self.count == BLOCK {
                self.end_block(values);
            }
            elements = rest;
        }
    }

    fn end(&mut self, values: &mut Vec<T>) {
        if self.count > 0 {
            self.end_block(values);
        }
        self.blocks.clear();
    }
}

/// The totals of all parts of a block, from the smallest up; then what precedes each part, from the
/// largest down: to the right half its left half comes in addition. Parts behind the last element
/// have any totals, and precede none.
///
/// Parts of 2^j elements lie behind those of 2^(j − 1).
struct Swept<'a, T, const PRODUCT: bool> {
    totals: &'a mut [T],
    before: &'a mut [T],
    preceding: T,
    exclusive: bool,
}

impl<T: Summed, const PRODUCT: bool> Work for Swept<'_, T, PRODUCT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { totals, before, preceding, exclusive } = self;
        let mut at = 0;
        for level in 0..LEVELS {
            let len = BLOCK >> level;
            let (parts, wholes) = totals[at..].split_at_mut(len);
            for (whole, &[left, right]) in wholes.iter_mut().zip(parts.as_chunks::<2>().0) {
                *whole = left.combined::<PRODUCT>(right);
            }
            at += len;
        }
        before[at] = preceding;
        for level in (0..LEVELS).rev() {
            let len = BLOCK >> level;
            at -= len;
            let (parts, wholes) = before[at..].split_at_mut(len);
            let lefts = totals[at..][..len].as_chunks::<2>().0;
            for ((part, &whole), &[left, _]) in
                parts.as_chunks_mut::<2>().0.iter_mut().zip(&*wholes).zip(lefts)
            {
                *part = [whole, whole.combined::<PRODUCT>(left)];
            }
        }
        if !exclusive {
            for (before, &own) in before[..BLOCK].iter_mut().zip(&totals[..BLOCK]) {
                *before = before.combined::<PRODUCT>(own);
            }
        }
    }
}

/// The least or the greatest so far.
pub(super) struct RunningExtreme<T: Keyed, const GREATER: bool> {
    found: Option<T::Key>,
    nan: bool,
}

impl<T: Keyed, const GREATER: bool> RunningExtreme<T, GREATER> {
    pub(super) fn new() -> Self {
        Self { found: None, nan: false }
    }
}

impl<T: Keyed, const GREATER: bool> RowSink<T> for RunningExtreme<T, GREATER> {
    type Element = T;

    fn add(&mut self, elements: &[Raw<T>], values: &mut Vec<T>) {
        let Some(first) = elements.first() else { return };
        let (mut best, mut nan) = (self.found.unwrap_or(first.get().key()), self.nan);
        values.extend(elements.iter().map(|element| {
            best = better::<GREATER, _>(best, element.get().key());
            nan |= element.get().is_nan();
            if nan { T::NAN } else { T::of_key(best) }
        }));
        (self.found, self.nan) = (Some(best), nan);
    }

    fn end(&mut self, _values: &mut Vec<T>) {
        (self.found, self.nan) = (None, false);
    }
}
