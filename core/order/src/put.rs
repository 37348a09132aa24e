//! Combines elements into places that indices name.
#![allow(unsafe_code)] // writes each place from one thread only

use crate::{
    Combining,
    extreme::extreme,
    group::{Groups, group},
    kind::{FloatKind, Kind, Real, WholeKind},
    lanes,
    places::Blocks,
    sums::{Rows, put as put_row, sum},
    word::Word,
    workers::{Cut, Shared, Workers, each},
};

/// Describes a put: there are `outer` times `extent` times `inner` elements, and each index puts a
/// slice of `inner` elements.
#[derive(Clone, Copy)]
pub(crate) struct Slices<'a, P> {
    pub(crate) outer: usize,
    pub(crate) extent: usize,
    pub(crate) inner: usize,
    /// The place of each index; `extent` if it has none.
    pub(crate) places: &'a [P],
}

/// Combines elements of one axis into its places, in the calling thread. Returns whether some place does
/// not exist.
pub(crate) fn line<W: Word>(y: &mut [W], places: Blocks<'_>, v: &[W], combine: impl Fn(W, W) -> W) -> bool {
    let mut missed = false;
    places.each(|start, block| {
        for (&place, &b) in block.iter().zip(&v[start..]) {
            match y.get_mut(place as usize) {
                Some(a) => *a = combine(*a, b),
                None => missed = true,
            }
        }
    });
    missed
}

/// Adds floats of one axis to its places, like [`line()`].
pub(crate) fn line_of_floats<K: FloatKind>(y: &mut [K::Bits], places: Blocks<'_>, v: &[K::Bits]) -> bool {
    lanes::by_blocks(places, y.len(), |at| K::load(v[at]), |place, sum| plus::<K>(&mut y[place], sum))
}

fn plus<K: FloatKind>(to: &mut K::Bits, sum: K::Sum) {
    *to = K::store(K::load(*to) + sum);
}

/// Adds integers, or truth values, which wrap.
pub(crate) fn add_whole<K: WholeKind, P: Word>(
    y: &mut [K::Bits],
    slices: Slices<'_, P>,
    v: &[K::Bits],
    workers: &dyn Workers,
) {
    slices.each(y, v, workers, |a, b| a.plus(b));
}

/// Takes the least or greatest of the old and new elements.
pub(crate) fn extremes<K: Kind, P: Word>(
    y: &mut [K::Bits],
    slices: Slices<'_, P>,
    v: &[K::Bits],
    operation: Combining,
    workers: &dyn Workers,
) {
    if operation == Combining::Maximum {
        slices.each(y, v, workers, |a, b| extreme::<K>(true, a, b));
    } else {
        slices.each(y, v, workers, |a, b| extreme::<K>(false, a, b));
    }
}

impl<P: Word> Slices<'_, P> {
    /// Combines in any order, which makes no difference for the operation.
    fn each<W: Word>(self, y: &mut [W], v: &[W], workers: &dyn Workers, combine: impl Fn(W, W) -> W + Sync) {
        let Self { outer, extent, inner, places } = self;
        let count = workers.count();
        // Each worker does blocks of `outer` or columns of `inner`; if these are too few, the work
        // is cut by place.
        if count > 1 && outer < count && inner < 16 * count && v.len() > 1 << 17 {
            let members = group(places, extent, |at| at, workers);
            let shared = Shared::new(y);
            return self.places(workers, |place| {
                for o in 0..outer {
                    let row = (o * extent + place) * inner;
                    // SAFETY: each place is done once
                    let row = unsafe { shared.part(row..row + inner) };
                    for &j in members.of(place) {
                        let from = &v[(o * places.len() + j) * inner..][..inner];
                        row.iter_mut().zip(from).for_each(|(a, &b)| *a = combine(*a, b));
                    }
                }
            });
        }
        let columns =
            if outer < count { Cut::fine(inner, workers, 16) } else { Cut::fine(inner, &crate::Alone, 1) };
        let shared = Shared::new(y);
        each(workers, outer * columns.pieces, |piece| {
            let (o, columns) = (piece / columns.pieces, columns.range(piece % columns.pieces));
            for (j, place) in places.iter().map(|place| place.digit(0, usize::MAX)).enumerate() {
                if place >= extent {
                    continue;
                }
                let row = (o * extent + place) * inner;
                let from = &v[(o * places.len() + j) * inner..][columns.clone()];
                // SAFETY: each piece has columns, or a block, of its own
                let row = unsafe { shared.part(row + columns.start..row + columns.end) };
                row.iter_mut().zip(from).for_each(|(a, &b)| *a = combine(*a, b));
            }
        });
    }

    fn places(self, workers: &dyn Workers, work: impl Fn(usize) + Sync) {
        let cut = Cut::fine(self.extent, workers, (1 << 12) / (1 + self.places.len() / self.extent.max(1)));
        each(workers, cut.pieces, |piece| cut.range(piece).for_each(&work));
    }
}

/// Adds floats: each place gets the sum of all elements that go there.
pub(crate) fn add_floats<K: FloatKind, P: Word>(
    y: &mut [K::Bits],
    slices: Slices<'_, P>,
    v: &[K::Bits],
    workers: &dyn Workers,
) {
    let Slices { outer, extent, inner, places } = slices;
    if outer == 1 && inner == 1 {
        return sums(places, extent, |at| K::load(v[at]), workers, y, plus::<K>);
    }
    let members = group(places, extent, |at| at, workers);
    let shared = Shared::new(y);
    slices.places(workers, |place| {
        let of = members.of(place);
        if of.is_empty() {
            return;
        }
        let (mut rows, mut line) = (Rows::new(if inner == 1 { 0 } else { inner }), Vec::new());
        for o in 0..outer {
            let from = |k: usize| &v[(o * places.len() + of[k]) * inner..][..inner];
            let at = (o * extent + place) * inner;
            // SAFETY: each place is done once
            let to = unsafe { shared.part(at..at + inner) };
            if inner == 1 {
                line.clear();
                line.extend((0..of.len()).map(|k| K::load(from(k)[0])));
                plus::<K>(&mut to[0], sum(&line));
            } else {
                let sums = rows.sum(of.len(), |k, first, row| {
                    put_row(first, row, from(k).iter().map(|&bits| K::load(bits)));
                });
                to.iter_mut().zip(sums).for_each(|(to, &sum)| plus::<K>(to, sum));
            }
        }
    });
}

/// For each place that has summands, passes their sum and the old element to `store`.
pub(crate) fn sums<P: Word, T: Real, W: Send>(
    places: &[P],
    extent: usize,
    summand: impl Fn(usize) -> T + Sync,
    workers: &dyn Workers,
    y: &mut [W],
    store: impl Fn(&mut W, T) + Sync,
) {
    if u32::try_from(places.len()).is_ok() && u32::try_from(extent).is_ok() {
        return lanes::sums(places, extent, summand, workers, y, store);
    }
    let groups: Groups<T> = group(places, extent, summand, workers);
    let slices = Slices { outer: 1, extent, inner: 1, places };
    let shared = Shared::new(y);
    slices.places(workers, |place| {
        let of = groups.of(place);
        if !of.is_empty() {
            // SAFETY: each place is done once
            let to = unsafe { shared.part(place..place + 1) };
            store(&mut to[0], sum(of));
        }
    });
}
