//! Scans: sums by aligned blocks, in the order of [`Combine`](crate::Combine), and extremes so far.

use super::{
    extremes::{Keyed, better},
    machine::{Machine, Work},
    raw::Raw,
    rows::RowSink,
    sums::{Summed, halved},
};

/// The number of elements that are summed at once: an aligned block.
pub(super) const BLOCK: usize = 1024;

/// Running sums or products of a row.
pub(super) struct RunningSum<T, const PRODUCT: bool> {
    machine: Machine,
    exclusive: bool,
    /// Whether only the total is wanted, and the sums are left out.
    is_total: bool,
    /// The block; the totals of its parts of 2, 4 … elements; and the value before each part.
    totals: Box<[T]>,
    before: Box<[T]>,
    /// The number of elements in the block so far.
    count: usize,
    /// Larger aligned blocks, the largest first: the number of small blocks in each, its total, and
    /// the total of all elements up to its end.
    blocks: Vec<(usize, T, T)>,
}

impl<T: Summed, const PRODUCT: bool> RunningSum<T, PRODUCT> {
    pub(super) fn new(machine: Machine, exclusive: bool) -> Self {
        let slots = || vec![T::zeroed(); 2 * BLOCK].into_boxed_slice();
        let (totals, before) = (slots(), slots());
        Self { machine, exclusive, is_total: false, totals, before, count: 0, blocks: Vec::new() }
    }

    /// Starts after parts of `len` elements with these totals.
    pub(super) fn start_behind(&mut self, len: usize, totals: impl Iterator<Item = T>) {
        totals.for_each(|total| self.push(len / BLOCK, total));
    }

    /// Makes a sum that only gives the total of a part, which is an aligned block whose length is a
    /// power of two.
    pub(super) fn for_total(machine: Machine) -> Self {
        Self { is_total: true, ..Self::new(machine, false) }
    }

    pub(super) fn total(&self) -> T {
        assert!(self.count == 0 && self.blocks.len() == 1, "an aligned block");
        self.blocks[0].1
    }

    fn preceding(&self) -> T {
        self.blocks.last().map_or(T::identity::<PRODUCT>(), |&(.., all)| all)
    }

    /// Sums the elements of a block so far.
    fn end_block(&mut self, values: &mut Vec<T>) {
        let preceding = self.preceding();
        let first = values.len();
        values.resize(first + if self.is_total { 0 } else { BLOCK }, T::zeroed());
        let Self { machine, exclusive, totals, before, count, .. } = self;
        let sums = &mut values[first..];
        machine.run(Swept::<T, PRODUCT> { totals, before, preceding, exclusive: *exclusive, sums });
        values.truncate(first + *count);
        if self.count == BLOCK {
            self.push(1, self.totals[2 * BLOCK - 2]);
        }
        self.count = 0;
    }

    /// Adds the next `len` blocks. Two blocks of one size become one, as in a binary counter.
    fn push(&mut self, mut len: usize, mut total: T) {
        while let Some((_, left, _)) = self.blocks.pop_if(|&mut (left_len, ..)| left_len == len) {
            (len, total) = (2 * len, left.combined::<PRODUCT>(total));
        }
        let all = self.preceding().combined::<PRODUCT>(total);
        self.blocks.push((len, total, all));
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

/// Computes the totals of all parts of a block, smallest first. Then computes the value before each part,
/// largest first; the value before a right half includes its left half. Parts after the last element have
/// arbitrary totals, and nothing comes after them.
///
/// Totals of parts of 2^j elements are stored after totals of parts of 2^(j − 1).
struct Swept<'a, T, const PRODUCT: bool> {
    totals: &'a mut [T],
    before: &'a mut [T],
    preceding: T,
    exclusive: bool,
    sums: &'a mut [T],
}

impl<T: Summed, const PRODUCT: bool> Work for Swept<'_, T, PRODUCT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { totals, before, preceding, exclusive, sums } = self;
        // Each round has a constant length, so that no loop has single elements left over.
        macro_rules! up {
            ($($at:literal $wholes:literal,)*) => {$(
                let (parts, wholes) = totals[$at..].split_at_mut(2 * $wholes);
                halved::<T, PRODUCT, $wholes>(parts, wholes);
            )*};
        }
        up! { 0 512, 1024 256, 1536 128, 1792 64, 1920 32, 1984 16, 2016 8, 2032 4, 2040 2, 2044 1, }
        if sums.is_empty() {
            return;
        }
        before[2046] = preceding;
        macro_rules! down {
            ($($at:literal $wholes:literal,)*) => {$(
                let (parts, wholes) = before[$at..].split_at_mut(2 * $wholes);
                shared::<T, PRODUCT, $wholes>(wholes, &totals[$at..], parts);
            )*};
        }
        down! { 2044 1, 2040 2, 2032 4, 2016 8, 1984 16, 1920 32, 1792 64, 1536 128, 1024 256, }
        shared::<T, PRODUCT, 512>(&before[1024..], totals, sums);
        if !exclusive {
            for (sum, &own) in sums[..BLOCK].iter_mut().zip(&totals[..BLOCK]) {
                *sum = sum.combined::<PRODUCT>(own);
            }
        }
    }
}

/// The value before each half of `LEN` parts: the value before the part, and for the right half
/// combined with the left half's total.
#[inline(always)]
fn shared<T: Summed, const PRODUCT: bool, const LEN: usize>(wholes: &[T], totals: &[T], parts: &mut [T]) {
    let parts = &mut parts[..2 * LEN].as_chunks_mut::<2>().0[..LEN];
    let lefts = &totals[..2 * LEN].as_chunks::<2>().0[..LEN];
    for ((part, &whole), &[left, _]) in parts.iter_mut().zip(&wholes[..LEN]).zip(lefts) {
        *part = [whole, whole.combined::<PRODUCT>(left)];
    }
}

/// The least or the greatest element so far.
pub(super) struct RunningExtreme<T: Keyed, const GREATER: bool> {
    machine: Machine,
    found: Option<T::Key>,
}

impl<T: Keyed, const GREATER: bool> RunningExtreme<T, GREATER> {
    pub(super) fn new(machine: Machine) -> Self {
        Self { machine, found: None }
    }

    /// Starts after parts with these extremes.
    pub(super) fn start_behind(&mut self, extremes: impl Iterator<Item = T>) {
        self.found = extremes.map(T::extreme_key::<GREATER>).reduce(better::<GREATER, _>);
    }

    /// The extreme of the elements so far.
    pub(super) fn total(&self) -> T {
        T::of_extreme(self.found.expect("a part has an element"))
    }
}

impl<T: Keyed, const GREATER: bool> RowSink<T> for RunningExtreme<T, GREATER> {
    type Element = T;

    fn add(&mut self, elements: &[Raw<T>], values: &mut Vec<T>) {
        let Some(first) = elements.first() else { return };
        let start = self.found.unwrap_or(first.get().extreme_key::<GREATER>());
        let begin = values.len();
        values.resize(begin + elements.len(), T::zeroed());
        let found = &mut values[begin..];
        self.found = Some(self.machine.run(SoFar::<T, GREATER> { elements, start, found }));
    }

    fn end(&mut self, _values: &mut Vec<T>) {
        self.found = None;
    }
}

/// Computes the least or greatest up to each element, and the last one's key.
struct SoFar<'a, T: Keyed, const GREATER: bool> {
    elements: &'a [Raw<T>],
    start: T::Key,
    found: &'a mut [T],
}

impl<T: Keyed, const GREATER: bool> Work for SoFar<'_, T, GREATER> {
    type Output = T::Key;

    #[inline(always)]
    fn run(self) -> T::Key {
        /// The number of elements that are compared at once with the elements 1, 2, 4 and 8 before
        /// them.
        const TOGETHER: usize = 16;
        let Self { elements, start: mut best, found } = self;
        let (chunks, rest) = elements.as_chunks::<TOGETHER>();
        let (of_chunks, of_rest) = found.split_at_mut(chunks.len() * TOGETHER);
        for (found, chunk) in of_chunks.as_chunks_mut::<TOGETHER>().0.iter_mut().zip(chunks) {
            let mut keys = [best; TOGETHER];
            for (key, element) in keys.iter_mut().zip(chunk) {
                *key = element.get().extreme_key::<GREATER>();
            }
            before::<_, GREATER, 1>(&mut keys);
            before::<_, GREATER, 2>(&mut keys);
            before::<_, GREATER, 4>(&mut keys);
            before::<_, GREATER, 8>(&mut keys);
            for (found, key) in found.iter_mut().zip(&mut keys) {
                *key = better::<GREATER, _>(best, *key);
                *found = T::of_extreme(*key);
            }
            best = keys[TOGETHER - 1];
        }
        for (found, element) in of_rest.iter_mut().zip(rest) {
            best = better::<GREATER, _>(best, element.get().extreme_key::<GREATER>());
            *found = T::of_extreme(best);
        }
        best
    }
}

/// Combines each key with the key some places before it.
#[inline(always)]
fn before<K: Ord + Copy, const GREATER: bool, const BY: usize>(keys: &mut [K; 16]) {
    let from = *keys;
    for at in BY..16 {
        keys[at] = better::<GREATER, _>(from[at - BY], from[at]);
    }
}
