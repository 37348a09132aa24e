//! Searches an ascending list by halving: several searches at once, without branches.

use crate::{
    kind::Kind,
    word::Word,
    workers::{Cut, Workers, collect, fill},
};

/// The number of searches at once, so that their loads from memory overlap.
const AT_ONCE: usize = 16;

/// For each of several keys, counts the ascending keys below it, or, with `right`, not above it. If
/// a list does not ascend, the numbers are at most its length.
#[inline]
fn places<W: Word, const N: usize>(ascending: &[W], keys: [W; N], right: bool) -> [usize; N] {
    let mut bases = [0; N];
    let mut len = ascending.len();
    if len == 0 {
        return bases;
    }
    let before = |element: W, key: W| element < key || (right && element == key);
    while len > 1 {
        let half = len / 2;
        for (base, &key) in bases.iter_mut().zip(&keys) {
            let goes = before(ascending[*base + half - 1], key);
            *base += if goes { half } else { 0 };
        }
        len -= half;
    }
    for (base, &key) in bases.iter_mut().zip(&keys) {
        *base += usize::from(before(ascending[*base], key));
    }
    bases
}

/// Passes each place for a part of `v` to `sink`.
fn search<K: Kind>(ascending: &[K::Bits], v: &[K::Bits], right: bool, mut sink: impl FnMut(usize, usize)) {
    let mut chunks = v.chunks_exact(AT_ONCE);
    let mut at = 0;
    for chunk in &mut chunks {
        let chunk: &[K::Bits; AT_ONCE] = chunk.try_into().expect("exact");
        for place in places(ascending, chunk.map(K::key), right) {
            sink(at, place);
            at += 1;
        }
    }
    for &bits in chunks.remainder() {
        let [place] = places(ascending, [K::key(bits)], right);
        sink(at, place);
        at += 1;
    }
}

fn keys<K: Kind>(elements: &[K::Bits]) -> Vec<K::Bits> {
    elements.iter().map(|&bits| K::key(bits)).collect()
}

/// For each element of `v`, counts the elements of `ascending` below it, or, with `right`, not
/// above it.
pub(crate) fn searchsorted<K: Kind>(
    ascending: &[K::Bits],
    v: &[K::Bits],
    right: bool,
    result: &mut [i64],
    workers: &dyn Workers,
) {
    let keys = keys::<K>(ascending);
    fill(workers, Cut::fine(v.len(), workers, 1 << 12), result, |range, part| {
        search::<K>(&keys, &v[range], right, |at, place| part[at] = place.cast_signed() as i64);
    });
}

/// Counts how many elements are in each interval of ascending edges. The last interval is closed.
pub(crate) fn histogram<K: Kind>(
    x: &[K::Bits],
    edges: &[K::Bits],
    result: &mut [i64],
    workers: &dyn Workers,
) {
    let edges = keys::<K>(edges);
    let intervals = edges.len() - 1;
    if K::Bits::BITS == 8 && x.len() > 1 << 10 {
        // Each value that occurs is searched once.
        let of_value = crate::counts::totals(x.len(), 256, workers, |at| x[at].digit(0, 255));
        result.fill(0);
        let values: Vec<K::Bits> = (0..256).map(K::Bits::narrow).collect();
        return search::<K>(&edges, &values, true, |at, place| {
            if let Some(interval) = interval::<K>(values[at], place, &edges) {
                result[interval] += of_value[at].cast_signed() as i64;
            }
        });
    }
    let cut = Cut::fine(x.len(), workers, (1 << 15).max(intervals));
    let counts = collect(workers, cut.pieces, |piece| {
        let part = &x[cut.range(piece)];
        // One more count is for elements in no interval.
        let mut counts = vec![0_u32; edges.len()];
        search::<K>(&edges, part, true, |at, place| {
            counts[interval::<K>(part[at], place, &edges).unwrap_or(intervals)] += 1;
        });
        counts
    });
    result.fill(0);
    for counts in counts {
        result.iter_mut().zip(counts).for_each(|(total, count)| *total += i64::from(count));
    }
}

/// The interval of an element for which `not_above` edges are not above it.
#[inline]
fn interval<K: Kind>(bits: K::Bits, not_above: usize, edges: &[K::Bits]) -> Option<usize> {
    let last = edges.len() - 1;
    if K::is_nan(bits) || not_above == 0 {
        None
    } else if not_above <= last {
        Some(not_above - 1)
    } else {
        (K::key(bits) == edges[last]).then(|| last - 1)
    }
}
