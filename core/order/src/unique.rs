//! Finds distinct elements: the first of each, their counts, and the distinct element of each
//! element.
#![allow(unsafe_code)] // writes each element's group from one thread only

use crate::{
    few::few,
    kind::Kind,
    radix,
    sort::{Entry, entries, narrow},
    word::Word,
    workers::{Cut, Shared, Workers, collect},
};

/// Distinct elements in ascending order.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    /// Where each distinct element occurs first.
    pub(crate) firsts: Vec<usize>,
    /// The count of each.
    pub(crate) counts: Vec<usize>,
}

/// Finds the distinct elements of `x`. If `inverse` is given, it gets the index of each element's
/// distinct element.
pub(crate) fn unique<K: Kind>(x: &[K::Bits], inverse: Option<&mut [i64]>, workers: &dyn Workers) -> Distinct {
    if let Some(found) = few::<K>(x, workers) {
        let (firsts, counts) = found.finish::<K>(x, inverse, workers);
        return Distinct { firsts, counts };
    }
    if u32::try_from(x.len()).is_ok() {
        let entry = |at: usize| Entry { key: K::key(x[at]), position: narrow(at) };
        by_order(x.len(), entry, |position| position as usize, inverse, workers)
    } else {
        let entry = |at: usize| Entry { key: K::key(x[at]), position: at as u64 };
        let position = |position| usize::try_from(position).expect("a position");
        by_order(x.len(), entry, position, inverse, workers)
    }
}

fn by_order<W: Word, P: Copy + Ord + Send + Sync>(
    len: usize,
    entry: impl Fn(usize) -> Entry<W, P> + Sync,
    position: impl Fn(P) -> usize + Sync,
    inverse: Option<&mut [i64]>,
    workers: &dyn Workers,
) -> Distinct {
    let mut memory = Vec::new();
    let sorted = radix::spare(&mut memory, len);
    // SAFETY: each place occurs once
    entries(len, workers, entry, |place, entry| unsafe { sorted.write(place, entry) });
    // SAFETY: all places are written, and nobody writes them any more
    let sorted: &[Entry<W, P>] = unsafe { sorted.part(0..len) };
    let begins = |at: usize| at == 0 || { sorted[at].key } != { sorted[at - 1].key };
    let cut = Cut::new(len, workers);
    let begun = collect(workers, cut.pieces, |piece| {
        let range = cut.range(piece);
        let mut starts = Vec::new();
        starts.extend(range.filter(|&at| begins(at)));
        starts
    });
    let starts = begun.concat();
    if let Some(inverse) = inverse {
        let inverse = Shared::new(inverse);
        let group_before: Vec<usize> = begun
            .iter()
            .scan(0, |before, starts| {
                *before += starts.len();
                Some(*before - starts.len())
            })
            .collect();
        crate::workers::each(workers, cut.pieces, |piece| {
            let mut group = group_before[piece].cast_signed() as i64 - 1;
            for at in cut.range(piece) {
                group += i64::from(begins(at));
                // SAFETY: each position occurs once
                unsafe { inverse.write(position(sorted[at].position), group) };
            }
        });
    }
    let ends = starts.iter().skip(1).copied().chain([len]);
    let counts = starts.iter().zip(ends).map(|(&start, end)| end - start).collect();
    Distinct { firsts: starts.iter().map(|&at| position(sorted[at].position)).collect(), counts }
}
