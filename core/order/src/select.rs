//! Finds the first few elements of an order, and single places of it, without sorting everything.

use crate::{
    kind::Kind,
    sort::{Entry, lines, positions, turned},
    word::Word,
    workers::{Cut, Workers, collect},
};

/// The number of elements that are kept beside the wanted ones before they are reduced.
const ROOM: usize = 1 << 12;

/// Passes on the positions of the first `k` elements of each line of `len` elements: the line, the
/// place and the position.
pub(crate) fn top<K: Kind>(
    x: &[K::Bits],
    (len, k): (usize, usize),
    largest: bool,
    workers: &dyn Workers,
    sink: impl Fn(usize, usize, usize) + Sync,
) {
    if len == 0 || k == 0 {
        return;
    }
    let turn = turned::<K::Bits>(largest);
    lines(workers, (x.len() / len, len), |line, workers| {
        let x = &x[line * len..][..len];
        let key = |at: usize| K::key(x[at]) ^ turn;
        if k > len / 8 && len > 64 {
            return positions(len, workers, key, |place, position| {
                let position = usize::try_from(position).expect("a position");
                if place < k {
                    sink(line, place, position);
                }
            });
        }
        let cut = Cut::fine(len, workers, 64 * k.max(512));
        let mut all: Vec<_> = collect(workers, cut.pieces, |piece| first_of(cut.range(piece), k, key))
            .into_iter()
            .flatten()
            .collect();
        all.sort_unstable();
        all.iter().take(k).enumerate().for_each(|(place, entry)| {
            sink(line, place, usize::try_from(entry.position).expect("a position"));
        });
    });
}

/// The first `k` entries of a range, in any order.
fn first_of<W: Word>(
    range: std::ops::Range<usize>,
    k: usize,
    key: impl Fn(usize) -> W,
) -> Vec<Entry<W, u64>> {
    const BLOCK: usize = 256;
    let limit = 2 * k + ROOM;
    let mut kept: Vec<Entry<W, u64>> = Vec::with_capacity(limit.min(range.len()) + BLOCK);
    // An element that comes later and is equal to the last kept one comes after it in the order.
    let mut bound: Option<W> = None;
    let mut from = range.start;
    while from < range.end {
        let block = from..range.end.min(from + BLOCK);
        from = block.end;
        match bound {
            None => kept.extend(block.map(|at| Entry { key: key(at), position: at as u64 })),
            Some(bound) => {
                if block.clone().fold(false, |found, at| found | (key(at) < bound)) {
                    let entries = block.map(|at| Entry { key: key(at), position: at as u64 });
                    kept.extend(entries.filter(|entry| { entry.key } < bound));
                }
            }
        }
        if kept.len() >= limit || (bound.is_none() && kept.len() >= k + BLOCK) {
            kept.select_nth_unstable(k - 1);
            kept.truncate(k);
            bound = Some(kept[k - 1].key);
        }
    }
    if kept.len() > k {
        kept.select_nth_unstable(k - 1);
        kept.truncate(k);
    }
    kept
}

/// The keys at a place of the order and at the next place (at the last place, that key again). The
/// least and the greatest key are known.
pub(crate) fn neighbours<W: Word>(
    len: usize,
    place: usize,
    range: (W, W),
    workers: &dyn Workers,
    key: impl Fn(usize) -> W + Sync,
) -> (W, W) {
    let at = place_of(len, place, range, workers, &key);
    let cut = Cut::new(len, workers);
    let above = collect(workers, cut.pieces, |piece| {
        cut.range(piece).fold((0, W::MAX), |(not_above, next), position| {
            let key = key(position);
            let above = key > at;
            (not_above + usize::from(!above), if above { next.min(key) } else { next })
        })
    });
    let (not_above, next) = above.into_iter().fold((0, W::MAX), |a, b| (a.0 + b.0, a.1.min(b.1)));
    (at, if not_above > place + 1 || not_above == len { at } else { next })
}

/// The key at a place. It is found digit by digit, the highest first, among keys that share the
/// digits so far.
fn place_of<W: Word>(
    len: usize,
    mut place: usize,
    (mut least, mut greatest): (W, W),
    workers: &dyn Workers,
    key: impl Fn(usize) -> W + Sync,
) -> W {
    const DIGIT: u32 = 11;
    let mut kept: Option<Vec<W>> = None;
    loop {
        let number = kept.as_ref().map_or(len, Vec::len);
        let of = |at: usize| kept.as_ref().map_or_else(|| key(at), |kept| kept[at]);
        if number <= 1 << 12 {
            let mut all: Vec<W> = (0..number).map(of).collect();
            return *all.select_nth_unstable(place).1;
        }
        let bits = u64::BITS - greatest.minus(least).wide().leading_zeros();
        if bits == 0 {
            return least;
        }
        let shift = bits.saturating_sub(DIGIT);
        let values = 1 << (bits - shift);
        let counts = match &kept {
            None => crate::counts::totals(len, values, workers, |at| {
                key(at).minus(least).digit(shift, values - 1)
            }),
            Some(kept) => crate::counts::totals(number, values, workers, |at| {
                kept[at].minus(least).digit(shift, values - 1)
            }),
        };
        let mut value = 0;
        while counts[value] <= place {
            place -= counts[value];
            value += 1;
        }
        let low = least.wide() + ((value as u64) << shift);
        let high = low.saturating_add((1_u64 << shift) - 1);
        let (low, high) = (W::narrow(low), W::narrow(high.min(greatest.wide())));
        let cut = Cut::new(number, workers);
        let wanted = collect(workers, cut.pieces, |piece| {
            let mut wanted = vec![W::ZERO; cut.range(piece).len().min(counts[value]) + 1];
            let (mut found, last) = (0, wanted.len() - 1);
            for at in cut.range(piece) {
                let key = of(at);
                wanted[found.min(last)] = key;
                found += usize::from(low <= key && key <= high);
            }
            wanted.truncate(found);
            wanted
        });
        kept = Some(wanted.concat());
        (least, greatest) = (low, high);
    }
}
