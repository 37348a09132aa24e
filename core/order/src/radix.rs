//! Sorts by least digits first: it is stable, and takes as many passes as the range of the keys has
//! digits.
#![allow(unsafe_code)] // writes each record to the place that the counts of its digit give

use crate::{
    word::Word,
    workers::{Cut, Shared, Workers, collect, each},
};

/// From this many records on, digits have 11 bits, which are then worth their larger counters. Below, they
/// have 8 bits.
const MANY: usize = 1 << 18;

/// A radix sort: the number of records, and the workers that share each pass.
pub(crate) struct Passes<'w> {
    pub(crate) len: usize,
    pub(crate) workers: &'w dyn Workers,
}

/// One digit of a key, counted from the least key.
#[derive(Clone, Copy)]
struct Digit<W> {
    least: W,
    shift: u32,
    mask: usize,
}

impl<W: Word> Digit<W> {
    #[inline(always)]
    fn of(self, key: W) -> usize {
        key.minus(self.least).digit(self.shift, self.mask)
    }
}

impl Passes<'_> {
    /// Passes all records to `sink`, each with its place in the order of keys. Equal keys keep the
    /// order of `source`. Each place occurs once. `buffer` gives buffers for as many records,
    /// numbered 0 and 1; buffer 0 is not read when `sink` is called.
    pub(crate) fn run<'b, T: Copy + Send + Sync + 'b, W: Word>(
        &self,
        range: (W, W),
        source: impl Fn(usize) -> T + Sync,
        key: impl Fn(T) -> W + Sync,
        mut buffer: impl FnMut(usize) -> Shared<'b, T>,
        sink: impl Fn(usize, T) + Sync,
    ) {
        let cut = Cut::new(self.len, self.workers);
        let digits = digits(range, self.len);
        let mut counts = collect(self.workers, cut.pieces, |piece| {
            let mut counts = vec![0_u32; digits.iter().map(|digit| digit.mask + 1).sum()];
            match digits[..] {
                // These are the usual numbers of digits, so that their loops are unrolled.
                [a] => count([a], &mut counts, cut.range(piece).map(|at| key(source(at)))),
                [a, b] => count([a, b], &mut counts, cut.range(piece).map(|at| key(source(at)))),
                [a, b, c] => count([a, b, c], &mut counts, cut.range(piece).map(|at| key(source(at)))),
                _ => count_all(&digits, &mut counts, cut.range(piece).map(|at| key(source(at)))),
            }
            counts
        });
        let (mut passes, mut first) = (Vec::new(), 0);
        for &digit in &digits {
            let of_digit = first..first + digit.mask + 1;
            first = of_digit.end;
            let whole = |value: usize| counts.iter().map(|counts| counts[value] as usize).sum::<usize>();
            if !of_digit.clone().any(|value| whole(value) == self.len) {
                passes.push((digit, of_digit));
            }
        }
        if passes.is_empty() {
            return each(self.workers, cut.pieces, |piece| {
                cut.range(piece).for_each(|at| sink(at, source(at)))
            });
        }
        let last = passes.len() - 1;
        let mut from: Option<Shared<'_, T>> = None;
        for (number, (digit, of_digit)) in passes.iter().enumerate() {
            let counted: Vec<Vec<u32>> = match from {
                Some(from) if cut.pieces > 1 => collect(self.workers, cut.pieces, |piece| {
                    let mut counts = vec![0; digit.mask + 1];
                    // SAFETY: nobody writes the buffer in this pass
                    let records = cut.range(piece).map(|at| unsafe { from.read(at) });
                    count([*digit], &mut counts, records.map(&key));
                    counts
                }),
                _ => counts.iter_mut().map(|counts| counts[of_digit.clone()].to_vec()).collect(),
            };
            let places = places(&counted);
            let to = (number < last).then(|| buffer((last - number) % 2));
            each(self.workers, cut.pieces, |piece| {
                let mut places = places[piece].clone();
                macro_rules! scatter {
                    ($at:ident, $record:expr, $write:expr) => {
                        for $at in cut.range(piece) {
                            let record = $record;
                            // SAFETY: a digit is at most the mask, and there is a place for each
                            let place = unsafe { places.get_unchecked_mut(digit.of(key(record))) };
                            $write(*place, record);
                            *place += 1;
                        }
                    };
                }
                let write = |to: Shared<'_, T>, place, record| {
                    // SAFETY: the counts give each record a place of its own, also across pieces
                    unsafe { to.write(place, record) }
                };
                let read = |from: Shared<'_, T>, at| {
                    // SAFETY: nobody writes this buffer in this pass; all of it was written
                    unsafe { from.read(at) }
                };
                match (from, to) {
                    (None, Some(to)) => scatter!(at, source(at), |place, record| write(to, place, record)),
                    (None, None) => scatter!(at, source(at), &sink),
                    (Some(from), Some(to)) => {
                        scatter!(at, read(from, at), |place, record| write(to, place, record))
                    }
                    (Some(from), None) => scatter!(at, read(from, at), &sink),
                }
            });
            from = to;
        }
    }
}

/// The digits for a range of keys, the least first.
fn digits<W: Word>((least, greatest): (W, W), len: usize) -> Vec<Digit<W>> {
    let bits = u64::BITS - greatest.minus(least).wide().leading_zeros();
    let number = bits.div_ceil(if len >= MANY { 11 } else { 8 });
    (0..number)
        .map(|at| {
            let (from, to) = (at * bits / number, (at + 1) * bits / number);
            Digit { least, shift: from, mask: (1 << (to - from)) - 1 }
        })
        .collect()
}

#[inline(always)]
fn count<W: Word, const N: usize>(digits: [Digit<W>; N], counts: &mut [u32], keys: impl Iterator<Item = W>) {
    let mut first = 0;
    let firsts = digits.map(|digit| {
        first += digit.mask + 1;
        first - digit.mask - 1
    });
    for key in keys {
        for (digit, first) in digits.iter().zip(firsts) {
            counts[first + digit.of(key)] += 1;
        }
    }
}

fn count_all<W: Word>(digits: &[Digit<W>], counts: &mut [u32], keys: impl Iterator<Item = W>) {
    for key in keys {
        let mut first = 0;
        for digit in digits {
            counts[first + digit.of(key)] += 1;
            first += digit.mask + 1;
        }
    }
}

/// Where the records of each piece begin for each digit: after all records with smaller digits, and after
/// records with the same digit in earlier pieces.
fn places(counts: &[Vec<u32>]) -> Vec<Vec<usize>> {
    let mut places: Vec<Vec<usize>> = counts.iter().map(|counts| vec![0; counts.len()]).collect();
    let mut next = 0;
    for value in 0..counts[0].len() {
        for (places, counts) in places.iter_mut().zip(counts) {
            places[value] = next;
            next += counts[value] as usize;
        }
    }
    places
}

/// The least and the greatest key.
pub(crate) fn range<W: Word>(len: usize, workers: &dyn Workers, key: impl Fn(usize) -> W + Sync) -> (W, W) {
    let cut = Cut::new(len, workers);
    let ranges = collect(workers, cut.pieces, |piece| {
        cut.range(piece).fold((W::MAX, W::ZERO), |(least, greatest), at| {
            let key = key(at);
            (least.min(key), greatest.max(key))
        })
    });
    let both = ranges.into_iter().fold((W::MAX, W::ZERO), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    if len == 0 { (W::ZERO, W::ZERO) } else { both }
}

/// A buffer for records that are written before they are read.
pub(crate) fn spare<T: Copy>(memory: &mut Vec<T>, len: usize) -> Shared<'_, T> {
    memory.reserve_exact(len);
    Shared::raw(memory.as_mut_ptr(), len)
}
