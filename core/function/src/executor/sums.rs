//! Sums and products in the order of [`Combine`]: 1,024 lanes of a segment, then pairs.

use bytemuck::Pod;

use super::{
    machine::{Machine, Work},
    raw::Raw,
    rows::RowSink,
};
use crate::Combine;

/// A type whose elements are added and multiplied; integers wrap.
pub(super) trait Summed: Pod {
    fn combined<const PRODUCT: bool>(self, other: Self) -> Self;

    /// 0 of sums, 1 of products.
    fn identity<const PRODUCT: bool>() -> Self;
}

macro_rules! summed {
    ($($type:ident $zero:literal $one:literal |$a:ident, $b:ident| $sum:expr, $product:expr;)*) => {$(
        impl Summed for $type {
            #[inline(always)]
            fn combined<const PRODUCT: bool>(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                if PRODUCT { $product } else { $sum }
            }

            #[inline(always)]
            fn identity<const PRODUCT: bool>() -> Self {
                if PRODUCT { $one } else { $zero }
            }
        }
    )*};
}

summed! {
    i64 0 1 |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    u64 0 1 |a, b| a.wrapping_add(b), a.wrapping_mul(b);
    f32 0.0 1.0 |a, b| a + b, a * b;
    f64 0.0 1.0 |a, b| a + b, a * b;
}

/// The row so far.
pub(super) struct Sums<T, const PRODUCT: bool> {
    machine: Machine,
    /// The lanes of the segment that is not complete.
    lanes: Box<[T]>,
    /// Elements of that segment.
    count: usize,
    other: Box<[T]>,
    /// The results of segments.
    segments: Vec<T>,
}

impl<T: Summed, const PRODUCT: bool> Sums<T, PRODUCT> {
    pub(super) fn new(machine: Machine) -> Self {
        let lanes = || vec![T::zeroed(); Combine::LANES].into_boxed_slice();
        Self { machine, lanes: lanes(), count: 0, other: lanes(), segments: Vec::new() }
    }

    fn end_segment(&mut self) {
        if self.count > 0 {
            let len = self.count.min(Combine::LANES);
            let work = Pairs::<T, PRODUCT> { lanes: &mut self.lanes[..len], other: &mut self.other };
            let total = self.machine.run(work);
            self.segments.push(total);
            self.count = 0;
        }
    }

    /// The results of the segments so far.
    pub(super) fn into_segments(mut self) -> Vec<T> {
        self.end_segment();
        self.segments
    }

    /// The total of a row whose segments have these results.
    pub(super) fn of_segments(&mut self, mut segments: Vec<T>) -> T {
        while segments.len() > 1 {
            let before = std::mem::take(&mut segments);
            for part in before.chunks(Combine::SEGMENT) {
                self.add(bytemuck::cast_slice(part));
                self.end_segment();
            }
            std::mem::swap(&mut segments, &mut self.segments);
        }
        let total = segments.first().copied().unwrap_or(T::identity::<PRODUCT>());
        T::identity::<PRODUCT>().combined::<PRODUCT>(total)
    }
}

impl<T: Summed, const PRODUCT: bool> RowSink<T> for Sums<T, PRODUCT> {
    type Element = T;

    fn add(&mut self, mut elements: &[Raw<T>], _values: &mut Vec<T>) {
        Self::add(self, std::mem::take(&mut elements));
    }

    fn end(&mut self, values: &mut Vec<T>) {
        self.end_segment();
        let segments = std::mem::take(&mut self.segments);
        let total = if let &[total] = &segments[..] {
            T::identity::<PRODUCT>().combined::<PRODUCT>(total)
        } else {
            self.of_segments(segments)
        };
        values.push(total);
    }
}

impl<T: Summed, const PRODUCT: bool> Sums<T, PRODUCT> {
    /// The next elements of the row.
    fn add(&mut self, mut elements: &[Raw<T>]) {
        while !elements.is_empty() {
            let lane = self.count % Combine::LANES;
            let is_first = self.count < Combine::LANES;
            let most = if is_first { Combine::LANES - lane } else { Combine::SEGMENT - self.count };
            let (next, rest) = elements.split_at(elements.len().min(most));
            if is_first {
                self.machine.run(Begun { lanes: &mut self.lanes[lane..][..next.len()], elements: next });
            } else {
                self.machine.run(Added::<T, PRODUCT> { lanes: &mut self.lanes, lane, elements: next });
            }
            self.count += next.len();
            if self.count == Combine::SEGMENT {
                self.end_segment();
            }
            elements = rest;
        }
    }
}

/// Lanes begin with their first elements.
struct Begun<'a, T: Copy> {
    lanes: &'a mut [T],
    elements: &'a [Raw<T>],
}

impl<T: Summed> Work for Begun<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (lane, element) in self.lanes.iter_mut().zip(self.elements) {
            *lane = element.get();
        }
    }
}

/// Elements from a lane on, round and round.
struct Added<'a, T: Copy, const PRODUCT: bool> {
    lanes: &'a mut [T],
    lane: usize,
    elements: &'a [Raw<T>],
}

/// Lanes that stay in registers over all rows of a segment.
const AT_ONCE: usize = 64;

impl<T: Summed, const PRODUCT: bool> Work for Added<'_, T, PRODUCT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lanes, lane, elements } = self;
        let (head, elements) =
            elements.split_at(elements.len().min((Combine::LANES - lane) % Combine::LANES));
        each::<T, PRODUCT>(&mut lanes[lane..], head);
        let whole = elements.len() / Combine::LANES * Combine::LANES;
        let (rows, tail) = elements.split_at(whole);
        if rows.len() > Combine::LANES {
            for (at, lanes) in lanes.chunks_exact_mut(AT_ONCE).enumerate() {
                let mut held = [T::zeroed(); AT_ONCE];
                held.copy_from_slice(lanes);
                for row in rows.chunks_exact(Combine::LANES) {
                    let row = &row[at * AT_ONCE..][..AT_ONCE];
                    for (held, element) in held.iter_mut().zip(row) {
                        *held = held.combined::<PRODUCT>(element.get());
                    }
                }
                lanes.copy_from_slice(&held);
            }
        } else {
            each::<T, PRODUCT>(lanes, rows);
        }
        each::<T, PRODUCT>(lanes, tail);
    }
}

#[inline(always)]
fn each<T: Summed, const PRODUCT: bool>(lanes: &mut [T], elements: &[Raw<T>]) {
    for (lane, element) in lanes.iter_mut().zip(elements) {
        *lane = lane.combined::<PRODUCT>(element.get());
    }
}

/// Neighbours in pairs, and the results in pairs again, until one is left.
struct Pairs<'a, T, const PRODUCT: bool> {
    lanes: &'a mut [T],
    other: &'a mut [T],
}

impl<T: Summed, const PRODUCT: bool> Work for Pairs<'_, T, PRODUCT> {
    type Output = T;

    #[inline(always)]
    fn run(self) -> T {
        let Self { mut lanes, mut other } = self;
        let mut len = lanes.len();
        while len > 1 {
            let (pairs, rest) = lanes[..len].as_chunks::<2>();
            for (out, &[a, b]) in other.iter_mut().zip(pairs) {
                *out = a.combined::<PRODUCT>(b);
            }
            // A block without a partner goes on alone.
            if let &[last] = rest {
                other[pairs.len()] = last;
            }
            len = pairs.len() + rest.len();
            std::mem::swap(&mut lanes, &mut other);
        }
        lanes[0]
    }
}
