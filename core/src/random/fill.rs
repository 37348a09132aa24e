//! Fills elements with random numbers. Neighbouring elements that share a counter are computed
//! together.

use std::ops::{Bound, Range, RangeBounds};

use crate::{
    Array, ArrayViewMut, LayoutError, Result,
    backend::Compute,
    function::{Computable, Expression, FunctionError, FunctionErrorKind, Operands, WholeNumber},
    layout::{NdLayout, Order},
    stream::StreamHandle,
};

use super::{Draw, Key};

/// Fewer elements are computed one by one, in one launch, which takes less time than three launches
/// that share counters.
const MANY: usize = 1 << 14;

/// A function of a draw and of two arguments, whose values fill elements.
pub(super) struct Filling<T> {
    pub(super) key: Key,
    /// The number of elements that share a counter.
    pub(super) shared: usize,
    pub(super) arguments: [u64; 2],
    pub(super) number: fn(Draw, [Expression<u64>; 2]) -> Expression<T>,
}

impl<T: Computable> Filling<T> {
    #[track_caller]
    pub(super) fn fill<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        result: &mut ArrayViewMut<'_, T, D>,
    ) -> Result<()> {
        let len = result.len();
        if len == 0 {
            return Ok(());
        }
        self.key.position.checked_add(len as u64 - 1).ok_or(LayoutError::Overflow)?;
        if !result.is_contiguous(Order::C) {
            let mut dense = Array::uninit(stream, result.shape())?;
            self.fill(stream, &mut dense.view_mut())?;
            return result.copy_from(stream, &dense);
        }
        let mut flat = result.reborrow().reshape(&[len], Order::C)?;
        if self.shared == 1 || len < MANY {
            return self.one_by_one(stream, &mut flat, 0..len);
        }
        // The position modulo the number of elements that share a counter, which is a power of two.
        let first = self.key.position & (self.shared as u64 - 1);
        let before = (self.shared - usize::try_from(first).unwrap_or(0)) % self.shared;
        let end = len - (len - before) % self.shared;
        self.one_by_one(stream, &mut flat, 0..before)?;
        self.together(stream, &mut flat, before..end)?;
        self.one_by_one(stream, &mut flat, end..len)
    }

    #[track_caller]
    fn one_by_one<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        flat: &mut ArrayViewMut<'_, T, D>,
        range: Range<usize>,
    ) -> Result<()> {
        let Key { seed, sequence, position } = self.key;
        let first = position.wrapping_add(range.start as u64);
        let [a, b] = self.arguments;
        let mut part = flat.reborrow().slice_axis(0, range)?;
        (seed, sequence, first, a, b).map_into(stream, &mut part, |(seed, sequence, first, a, b)| {
            let position = first + Expression::position(0).cast::<u64>();
            (self.number)(Draw::new(seed, position).sequence(sequence), [a, b])
        })
    }

    /// Fills a range that begins and ends with a counter.
    #[track_caller]
    fn together<D: Compute>(
        &self,
        stream: &StreamHandle<D>,
        flat: &mut ArrayViewMut<'_, T, D>,
        range: Range<usize>,
    ) -> Result<()> {
        let Key { seed, sequence, position } = self.key;
        let first = position.wrapping_add(range.start as u64) / self.shared as u64;
        let [a, b] = self.arguments;
        let rows = range.len() / self.shared;
        let mut part = flat.reborrow().slice_axis(0, range)?.reshape(&[rows, self.shared], Order::C)?;
        (seed, sequence, first, a, b).map_into(stream, &mut part, |(seed, sequence, first, a, b)| {
            let counter = first + Expression::position(0).cast::<u64>();
            let part = Expression::position(1).cast::<u64>();
            (self.number)(Draw::split(seed, counter, part).sequence(sequence), [a, b])
        })
    }
}

/// The lowest number of a range, in 64 bits, and how many numbers it has; 0 stands for 2^64.
#[track_caller]
pub(super) fn numbers_of<T: WholeNumber>(range: &impl RangeBounds<T>) -> Result<[u64; 2]> {
    let width = T::TYPE.len_bytes() * 8;
    let signed = T::TYPE.is_signed();
    let (least, after) =
        if signed { (-1_i128 << (width - 1), 1_i128 << (width - 1)) } else { (0, 1_i128 << width) };
    let number = |value: T| {
        let unsigned = i128::from(value.to_bits());
        if unsigned < after { unsigned } else { unsigned - (1 << width) }
    };
    let low = match range.start_bound() {
        Bound::Included(&value) => number(value),
        Bound::Excluded(&value) => number(value) + 1,
        Bound::Unbounded => least,
    };
    let end = match range.end_bound() {
        Bound::Included(&value) => number(value) + 1,
        Bound::Excluded(&value) => number(value),
        Bound::Unbounded => after,
    };
    if low >= end {
        let message = "there is no number in the range";
        return Err(FunctionError::new(FunctionErrorKind::Empty, message).into());
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "both modulo 2^64")]
    let numbers = [low as u64, (end - low) as u64];
    Ok(numbers)
}
