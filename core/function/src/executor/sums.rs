//! Sums and products in the order of [`Combine`]: a segment has 1,024 lanes, which are then added
//! in pairs.

use bytemuck::Pod;

use super::{
    machine::{LINE_BYTES, Machine, Work},
    raw::Raw,
    rows::RowSink,
};
use crate::Combine;

/// A type whose elements are added and multiplied; integers wrap.
pub(super) trait Summed: Pod {
    fn combined<const PRODUCT: bool>(self, other: Self) -> Self;

    /// 0 for sums, 1 for products.
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

/// The number of elements in a cache line.
const fn line<T>() -> usize {
    LINE_BYTES / size_of::<T>()
}

/// Two sets of lanes, from the first line of a memory on, because registers are as wide as lines. There is a
/// line between them, so that they do not begin at the same position of their pages.
fn lanes<T>(memory: &mut [T]) -> [&mut [T]; 2] {
    let ahead = memory.as_ptr().align_offset(LINE_BYTES).min(line::<T>());
    let (lanes, behind) = memory[ahead..].split_at_mut(Combine::LANES);
    [lanes, &mut behind[line::<T>()..][..Combine::LANES]]
}

/// The sum of a row so far.
pub(super) struct Sums<T, const PRODUCT: bool> {
    machine: Machine,
    /// The lanes of the unfinished segment, and the lanes of a round of pairs.
    memory: Box<[T]>,
    /// The number of elements in that segment so far.
    count: usize,
    /// The results of segments.
    segments: Vec<T>,
}

impl<T: Summed, const PRODUCT: bool> Sums<T, PRODUCT> {
    pub(super) fn new(machine: Machine) -> Self {
        let memory = vec![T::zeroed(); 2 * Combine::LANES + 2 * line::<T>()].into_boxed_slice();
        Self { machine, memory, count: 0, segments: Vec::new() }
    }

    fn end_segment(&mut self) {
        if self.count > 0 {
            let len = self.count.min(Combine::LANES);
            let [lanes, other] = lanes(&mut self.memory);
            let work = Pairs::<T, PRODUCT> { lanes, other, len };
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

    /// The total of a row, given the results of its segments.
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

    fn add(&mut self, mut elements: &[Raw<T>]) {
        while !elements.is_empty() {
            let (next, rest) = elements.split_at(elements.len().min(Combine::SEGMENT - self.count));
            let [lanes, _] = lanes(&mut self.memory);
            self.machine.run(Added::<T, PRODUCT> { lanes, count: self.count, elements: next });
            self.count += next.len();
            if self.count == Combine::SEGMENT {
                self.end_segment();
            }
            elements = rest;
        }
    }
}

impl<T: Summed, const PRODUCT: bool> RowSink<T> for Sums<T, PRODUCT> {
    type Element = T;

    fn add(&mut self, elements: &[Raw<T>], _values: &mut Vec<T>) {
        Self::add(self, elements);
    }

    fn end(&mut self, values: &mut Vec<T>) {
        self.end_segment();
        let total = if let &[total] = &self.segments[..] {
            T::identity::<PRODUCT>().combined::<PRODUCT>(total)
        } else {
            let segments = std::mem::take(&mut self.segments);
            self.of_segments(segments)
        };
        self.segments.clear();
        values.push(total);
    }

    fn rows(&mut self, elements: &[Raw<T>], row_len: usize, values: &mut Vec<T>) {
        if row_len <= Combine::LANES {
            let [lanes, other] = lanes(&mut self.memory);
            return self.machine.run(Short::<T, PRODUCT> { lanes, other, elements, row_len, values });
        }
        for row in elements.chunks_exact(row_len) {
            self.add(row);
            self.end(values);
        }
    }
}

/// Rows with at most one element for each lane.
struct Short<'a, T: Copy, const PRODUCT: bool> {
    lanes: &'a mut [T],
    other: &'a mut [T],
    elements: &'a [Raw<T>],
    row_len: usize,
    values: &'a mut Vec<T>,
}

impl<T: Summed, const PRODUCT: bool> Work for Short<'_, T, PRODUCT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lanes, other, elements, row_len, values } = self;
        for row in elements.chunks_exact(row_len) {
            lanes.iter_mut().zip(row).for_each(|(lane, element)| *lane = element.get());
            let total = Pairs::<T, PRODUCT> { lanes, other, len: row_len }.run();
            values.push(T::identity::<PRODUCT>().combined::<PRODUCT>(total));
        }
    }
}

/// Adds elements after the first `count` of a segment, round and round the lanes.
struct Added<'a, T: Copy, const PRODUCT: bool> {
    lanes: &'a mut [T],
    count: usize,
    elements: &'a [Raw<T>],
}

impl<T: Summed, const PRODUCT: bool> Work for Added<'_, T, PRODUCT> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { lanes, count, elements } = self;
        let lane = count % Combine::LANES;
        let begun = count >= Combine::LANES;
        let ahead = (Combine::LANES - lane) % Combine::LANES;
        let (head, elements) = elements.split_at(elements.len().min(ahead));
        piled::<T, PRODUCT>(&mut lanes[lane..][..head.len()], begun, &[head]);
        // Row after row is added: processors fetch ahead what is read in order, and several rows at once
        // are slower.
        let (rows, tail) = elements.as_chunks::<{ Combine::LANES }>();
        let begun = count > 0;
        for (at, row) in rows.iter().enumerate() {
            piled::<T, PRODUCT>(lanes, begun | (at > 0), &[row]);
        }
        piled::<T, PRODUCT>(&mut lanes[..tail.len()], begun | !rows.is_empty(), &[tail]);
    }
}

/// The most rows that [`piled`] adds at once.
pub(super) const MOST_ROWS: usize = 4;

/// Adds up to [`MOST_ROWS`] rows to sums, one after another. If the sums are not begun, the first row
/// begins them.
#[inline(always)]
pub(super) fn piled<T: Summed, const PRODUCT: bool>(sums: &mut [T], begun: bool, rows: &[&[Raw<T>]]) {
    #[inline(always)]
    fn each<T: Summed, const PRODUCT: bool, const ROWS: usize>(
        sums: &mut [T],
        begun: bool,
        rows: &[&[Raw<T>]],
    ) {
        let len = sums.len();
        let mut cut: [&[Raw<T>]; ROWS] = [&[]; ROWS];
        for (cut, row) in cut.iter_mut().zip(rows) {
            *cut = &row[..len];
        }
        if begun {
            for (at, sum) in sums.iter_mut().enumerate() {
                for row in &cut {
                    *sum = sum.combined::<PRODUCT>(row[at].get());
                }
            }
        } else {
            for (at, sum) in sums.iter_mut().enumerate() {
                *sum = cut[0][at].get();
                for row in &cut[1..] {
                    *sum = sum.combined::<PRODUCT>(row[at].get());
                }
            }
        }
    }
    match rows.len() {
        1 => each::<T, PRODUCT, 1>(sums, begun, rows),
        2 => each::<T, PRODUCT, 2>(sums, begun, rows),
        3 => each::<T, PRODUCT, 3>(sums, begun, rows),
        _ => each::<T, PRODUCT, 4>(sums, begun, rows),
    }
}

/// Adds neighbours in pairs, and the results in pairs again, until one is left.
struct Pairs<'a, T, const PRODUCT: bool> {
    lanes: &'a mut [T],
    other: &'a mut [T],
    len: usize,
}

impl<T: Summed, const PRODUCT: bool> Work for Pairs<'_, T, PRODUCT> {
    type Output = T;

    #[inline(always)]
    fn run(self) -> T {
        let Self { mut lanes, mut other, mut len } = self;
        // Each round has a constant length, so that no loop has single elements left over.
        macro_rules! rounds {
            ($from:ident $to:ident) => { $from[0] };
            ($from:ident $to:ident $half:literal $($rest:literal)*) => {{
                halved::<T, PRODUCT, $half>($from, $to);
                rounds!($to $from $($rest)*)
            }};
        }
        match len {
            1024 => return rounds!(lanes other 512 256 128 64 32 16 8 4 2 1),
            128 => return rounds!(lanes other 64 32 16 8 4 2 1),
            64 => return rounds!(lanes other 32 16 8 4 2 1),
            _ => {}
        }
        while len > 1 {
            let (pairs, rest) = lanes[..len].as_chunks::<2>();
            for (out, &[a, b]) in other.iter_mut().zip(pairs) {
                *out = a.combined::<PRODUCT>(b);
            }
            // A block without a partner goes to the next round alone.
            if let &[last] = rest {
                other[pairs.len()] = last;
            }
            len = pairs.len() + rest.len();
            std::mem::swap(&mut lanes, &mut other);
        }
        lanes[0]
    }
}

/// The totals of `LEN` pairs.
#[inline(always)]
pub(super) fn halved<T: Summed, const PRODUCT: bool, const LEN: usize>(parts: &[T], wholes: &mut [T]) {
    let (pairs, wholes) = (&parts[..2 * LEN].as_chunks::<2>().0[..LEN], &mut wholes[..LEN]);
    for (whole, &[left, right]) in wholes.iter_mut().zip(pairs) {
        *whole = left.combined::<PRODUCT>(right);
    }
}
