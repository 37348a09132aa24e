//! Combines neighbouring slices, from offset to offset.
#![allow(unsafe_code)] // writes each group from one thread only

use std::ops::Range;

use crate::{
    Alone, Combining, IndexFault, WrongIndex,
    extreme::extreme,
    kind::{FloatKind, Kind, WholeKind},
    sums::{Rows, long_sum, put},
    word::Word,
    workers::{Cut, Shared, Workers, each},
};

/// Summands: each slice has one, or a row of several.
pub(crate) trait Terms<T>: Sync {
    /// One term of each of several neighbouring slices, in place or in `room`.
    fn line<'a>(&'a self, slices: Range<usize>, room: &'a mut Vec<T>) -> &'a [T];

    /// Writes the terms of a slice into a row of sums, or adds them to it.
    fn row(&self, slice: usize, first: bool, sums: &mut [T]);
}

/// Elements of type K. Each slice is a row of them.
struct Elements<'a, K: FloatKind>(&'a [K::Bits]);

impl<K: FloatKind> Terms<K::Sum> for Elements<'_, K> {
    fn line<'a>(&'a self, slices: Range<usize>, room: &'a mut Vec<K::Sum>) -> &'a [K::Sum] {
        let elements = &self.0[slices];
        if size_of::<K::Bits>() == size_of::<K::Sum>() {
            return bytemuck::cast_slice(elements);
        }
        room.clear();
        room.extend(elements.iter().map(|&bits| K::load(bits)));
        room
    }

    fn row(&self, slice: usize, first: bool, sums: &mut [K::Sum]) {
        let from = &self.0[slice * sums.len()..][..sums.len()];
        put(first, sums, from.iter().map(|&bits| K::load(bits)));
    }
}

/// Groups of slices, given by offsets along the first axis.
#[derive(Debug)]
pub(crate) struct Segments {
    offsets: Vec<i64>,
    extent: usize,
    /// The number of elements in a slice.
    inner: usize,
}

impl Segments {
    pub(crate) fn new(offsets: Vec<i64>, extent: usize, inner: usize) -> Self {
        Self { offsets, extent, inner }
    }

    /// The slices of a group; `None` if its offsets are wrong.
    fn group(&self, number: usize) -> Option<Range<usize>> {
        let end = |offset: i64| usize::try_from(offset).ok().filter(|&offset| offset <= self.extent);
        let range = end(self.offsets[number])?..end(self.offsets[number + 1])?;
        (range.start <= range.end).then_some(range)
    }

    /// The first offset that has no place or is below the one before it. If there is none, and
    /// groups need an element, the end of the first empty group.
    pub(crate) fn wrong(&self, operation: Combining) -> Option<WrongIndex> {
        let report = |fault, position: usize| {
            Some(WrongIndex { fault, position, index: self.offsets[position], extent: self.extent })
        };
        let (mut least, mut empty) = (0, None);
        for (position, &offset) in self.offsets.iter().enumerate() {
            let inside = usize::try_from(offset).is_ok_and(|offset| offset <= self.extent);
            if !inside || offset < least {
                return report(IndexFault::Outside, position);
            }
            if position > 0 && offset == least {
                empty = empty.or(Some(position));
            }
            least = offset;
        }
        empty
            .filter(|_| operation != Combining::Sum)
            .and_then(|position| report(IndexFault::EmptyGroup, position))
    }

    /// Passes each group and its slice of the result to `work`, with memory that `work` may use.
    pub(crate) fn each<T: Send, M: Default>(
        &self,
        result: &mut [T],
        workers: &dyn Workers,
        work: impl Fn(&mut M, Option<Range<usize>>, &mut [T]) + Sync,
    ) {
        let number = self.offsets.len() - 1;
        let mean = (self.extent * self.inner) / number.max(1);
        let cut = Cut::fine(number, workers, (1 << 14) / (1 + mean));
        let shared = Shared::new(result);
        each(workers, cut.pieces, |piece| {
            let mut room = M::default();
            for at in cut.range(piece) {
                // SAFETY: each group is done once
                let to = unsafe { shared.part(at * self.inner..(at + 1) * self.inner) };
                work(&mut room, self.group(at), to);
            }
        });
    }

    /// Sums integers or truth values, in 64 bits.
    pub(crate) fn sum_whole<K: WholeKind>(&self, x: &[K::Bits], result: &mut [u64], workers: &dyn Workers) {
        let inner = self.inner;
        self.each(result, workers, |(), group, to| {
            to.fill(0);
            let Some(group) = group else { return };
            if let [to] = to {
                *to = x[group].iter().fold(0, |sum, &bits| sum.wrapping_add(K::summand(bits)));
                return;
            }
            for row in group {
                for (to, &bits) in to.iter_mut().zip(&x[row * inner..]) {
                    *to = to.wrapping_add(K::summand(bits));
                }
            }
        });
    }

    /// Sums floats.
    pub(crate) fn sum_floats<K: FloatKind>(
        &self,
        x: &[K::Bits],
        result: &mut [K::Bits],
        workers: &dyn Workers,
    ) {
        self.sum_terms::<K>(&Elements::<K>(x), result, workers);
    }

    /// Sums floats, or terms that are made from floats.
    pub(crate) fn sum_terms<K: FloatKind>(
        &self,
        terms: &impl Terms<K::Sum>,
        result: &mut [K::Bits],
        workers: &dyn Workers,
    ) {
        let few = self.offsets.len() <= 2 * workers.count();
        // If there are only a few groups, threads share a long group.
        let (of_groups, of_sum): (&dyn Workers, &dyn Workers) =
            if few { (&Alone, workers) } else { (workers, &Alone) };
        self.each(result, of_groups, |room, group, to| {
            let group = group.unwrap_or(0..0);
            if let [to] = to {
                *to = K::store(long_sum(terms.line(group, room), of_sum));
                return;
            }
            let mut rows = Rows::new(self.inner);
            let sums = rows.sum(group.len(), |k, first, row| terms.row(group.start + k, first, row));
            to.iter_mut().zip(sums).for_each(|(to, &sum)| *to = K::store(sum));
        });
    }

    /// Takes the least or greatest; zero if there is none.
    pub(crate) fn extremes<K: Kind>(
        &self,
        x: &[K::Bits],
        result: &mut [K::Bits],
        operation: Combining,
        workers: &dyn Workers,
    ) {
        if operation == Combining::Maximum {
            self.extreme::<K, true>(x, result, workers);
        } else {
            self.extreme::<K, false>(x, result, workers);
        }
    }

    fn extreme<K: Kind, const GREATER: bool>(
        &self,
        x: &[K::Bits],
        result: &mut [K::Bits],
        workers: &dyn Workers,
    ) {
        let inner = self.inner;
        self.each(result, workers, |(), group, to| {
            let group = group.unwrap_or(0..0);
            if group.is_empty() {
                return to.fill(K::Bits::ZERO);
            }
            to.copy_from_slice(&x[group.start * inner..][..inner]);
            for row in group {
                for (to, &bits) in to.iter_mut().zip(&x[row * inner..]) {
                    *to = extreme::<K>(GREATER, *to, bits);
                }
            }
        });
    }
}
