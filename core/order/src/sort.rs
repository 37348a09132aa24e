//! Sorts lines, and finds the positions of their elements in order.
#![allow(unsafe_code)] // writes lines from several threads, each element once

use crate::{
    kind::Kind,
    radix::{self, Passes},
    word::Word,
    workers::{Alone, Cut, Shared, Workers, each, fill},
};

/// Lines with fewer elements are sorted faster by comparing them than by counting digits.
const SHORT: usize = 512;

/// A key and the position of its element. `P` holds any position of the line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(C, packed(4))]
pub(crate) struct Entry<W, P> {
    pub(crate) key: W,
    pub(crate) position: P,
}

/// The mask that reverses the order: under it, keys ascend where the elements descend.
pub(crate) fn turned<W: Word>(descending: bool) -> W {
    if descending { W::MAX } else { W::ZERO }
}

/// Does lines of `len` elements: many lines are cut into pieces; a few lines are done one after the
/// other, each with all workers.
pub(crate) fn lines(
    workers: &dyn Workers,
    (count, len): (usize, usize),
    work: impl Fn(usize, &dyn Workers) + Sync,
) {
    if count < workers.count() && len > SHORT {
        return (0..count).for_each(|line| work(line, workers));
    }
    let cut = Cut::fine(count, workers, (1 << 14) / len.max(1));
    each(workers, cut.pieces, |piece| cut.range(piece).for_each(|line| work(line, &Alone)));
}

/// Sorts each line of `len` elements into the same line of the result.
pub(crate) fn sort<K: Kind>(
    x: &[K::Bits],
    result: &mut [K::Bits],
    len: usize,
    descending: bool,
    workers: &dyn Workers,
) {
    if len == 0 {
        return;
    }
    let result = Shared::new(result);
    lines(workers, (x.len() / len, len), |line, workers| {
        // SAFETY: each line is done once
        let to = unsafe { result.part(line * len..(line + 1) * len) };
        sort_line::<K>(&x[line * len..][..len], to, descending, workers);
    });
}

fn sort_line<K: Kind>(x: &[K::Bits], to: &mut [K::Bits], descending: bool, workers: &dyn Workers) {
    let turn = turned::<K::Bits>(descending);
    let key = |bits: K::Bits| K::key(bits) ^ turn;
    if x.len() < SHORT {
        to.copy_from_slice(x);
        return to.sort_by_key(|&bits| key(bits));
    }
    if K::ONE_TO_ONE && K::Bits::BITS <= 16 && x.len() >> K::Bits::BITS > 1 {
        return by_counts::<K>(x, to, turn, workers);
    }
    let range = radix::range(x.len(), workers, |at| key(x[at]));
    let mut spare = Vec::new();
    let buffers = [Shared::new(to), radix::spare(&mut spare, x.len())];
    // SAFETY: each place occurs once, and the buffer is not read meanwhile
    let write = |place, bits| unsafe { buffers[0].write(place, bits) };
    Passes { len: x.len(), workers }.run(range, |at| x[at], key, |number| buffers[number], write);
}

/// Sorts elements whose bits follow from their keys: writes as many of each as were counted.
fn by_counts<K: Kind>(x: &[K::Bits], to: &mut [K::Bits], turn: K::Bits, workers: &dyn Workers) {
    let values = 1 << K::Bits::BITS;
    let counts =
        crate::counts::totals(x.len(), values, workers, |at| (K::key(x[at]) ^ turn).digit(0, values - 1));
    let mut ends = counts;
    let mut end = 0;
    ends.iter_mut().for_each(|count| {
        end += *count;
        *count = end;
    });
    fill(workers, Cut::new(to.len(), workers), to, |range, part| {
        let mut at = range.start;
        let mut value = ends.partition_point(|&end| end <= at);
        while at < range.end {
            let until = ends[value].min(range.end);
            let bits = K::of_key(K::Bits::narrow(value as u64) ^ turn);
            part[at - range.start..until - range.start].fill(bits);
            at = until;
            value += 1;
        }
    });
}

/// The positions of each line's elements in their order.
pub(crate) fn argsort<K: Kind>(
    x: &[K::Bits],
    result: &mut [i64],
    len: usize,
    descending: bool,
    workers: &dyn Workers,
) {
    if len == 0 {
        return;
    }
    let result = Shared::new(result);
    lines(workers, (x.len() / len, len), |line, workers| {
        // SAFETY: each line is done once
        let to = unsafe { result.part(line * len..(line + 1) * len) };
        let x = &x[line * len..][..len];
        let turn = turned::<K::Bits>(descending);
        let shared = Shared::new(to);
        // SAFETY: each place occurs once
        let write = |place, position| unsafe { shared.write(place, position) };
        positions(len, workers, |at| K::key(x[at]) ^ turn, write);
    });
}

/// Passes on each position, with its place in the order of keys. Equal keys keep their order.
pub(crate) fn positions<W: Word>(
    len: usize,
    workers: &dyn Workers,
    key: impl Fn(usize) -> W + Sync,
    sink: impl Fn(usize, i64) + Sync,
) {
    if u32::try_from(len).is_ok() {
        let entry = |at: usize| Entry { key: key(at), position: narrow(at) };
        entries(len, workers, entry, |place, entry| sink(place, i64::from(entry.position)));
    } else {
        let entry = |at: usize| Entry { key: key(at), position: at as u64 };
        entries(len, workers, entry, |place, entry| sink(place, entry.position.cast_signed()));
    }
}

/// A position of a line of fewer than 2^32 elements.
#[allow(clippy::cast_possible_truncation, reason = "the caller has looked at the length of the line")]
pub(crate) fn narrow(at: usize) -> u32 {
    at as u32
}

/// Passes on all entries in the order of keys.
pub(crate) fn entries<W: Word, P: Copy + Ord + Send + Sync>(
    len: usize,
    workers: &dyn Workers,
    entry: impl Fn(usize) -> Entry<W, P> + Sync,
    sink: impl Fn(usize, Entry<W, P>) + Sync,
) {
    if len < SHORT {
        let mut all: Vec<_> = (0..len).map(&entry).collect();
        all.sort_unstable();
        return all.into_iter().enumerate().for_each(|(place, entry)| sink(place, entry));
    }
    let range = radix::range(len, workers, |at| entry(at).key);
    let mut memory = [Vec::new(), Vec::new()];
    let [a, b] = &mut memory;
    let buffers = [radix::spare(a, len), radix::spare(b, len)];
    Passes { len, workers }.run(range, &entry, |entry| entry.key, |number| buffers[number], sink);
}
