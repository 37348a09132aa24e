//! Sums by place without grouping: each place has its own lanes, to which its elements are added as
//! they come.
#![allow(unsafe_code)] // writes each member once, and each place from one thread only

use devarray_function::Combine;

use crate::{
    kind::Real,
    places::Blocks,
    radix::{Passes, spare},
    sums::{of_segments, pairs},
    word::Word,
    workers::{Shared, Workers, each},
};

const LANES: usize = Combine::LANES;
/// The gap in elements between the lanes of neighbouring places, so that places with equally many
/// elements do not share a few sets of a cache.
const APART: usize = 16;
const SEGMENT: u32 = 16_384;

/// The number of places whose lanes are written side by side. More would not stay in the caches.
const SIDE_BY_SIDE: usize = 1 << 14;

/// If there are more places, they are cut into parts of this many bits.
const PART: u32 = 12;

#[derive(Clone, Copy)]
struct Member<T> {
    place: u32,
    summand: T,
}

/// For each place below `extent` that has summands, passes their sum and the old element to `store`.
pub(crate) fn sums<P: Word, T: Real, W: Send>(
    places: &[P],
    extent: usize,
    summand: impl Fn(usize) -> T + Sync,
    workers: &dyn Workers,
    y: &mut [W],
    store: impl Fn(&mut W, T) + Sync,
) {
    let len = places.len();
    let alone = workers.count() == 1 || len < 1 << 17;
    if alone && fits(extent, len) {
        let read = |start, block: &mut [u32]| {
            for (to, place) in block.iter_mut().zip(&places[start..]) {
                *to = crate::sort::narrow(place.digit(0, usize::MAX));
            }
        };
        by_blocks(Blocks::new(len, &read), extent, summand, |place, sum| store(&mut y[place], sum));
        return;
    }
    // Places are cut into parts of neighbours, and one thread does each part.
    let whole = usize::BITS - extent.leading_zeros();
    let parts = if alone { 0 } else { (4 * workers.count()).ilog2() + 1 };
    let shift = PART.min(whole.saturating_sub(parts)).max(whole.saturating_sub(11));
    let mut memory = Vec::new();
    let members = spare(&mut memory, len);
    let mut spares = [Vec::new(), Vec::new()];
    let [a, b] = &mut spares;
    let buffers = [spare(a, len), spare(b, len)];
    let passes = Passes { len, workers };
    let member = |at: usize| Member {
        place: crate::sort::narrow(places[at].digit(0, usize::MAX)),
        summand: summand(at),
    };
    // SAFETY: each place of the order occurs once
    let sink = |at, member| unsafe { members.write(at, member) };
    let range = (0_u32, crate::sort::narrow(extent) >> shift);
    passes.run(range, member, |member| member.place >> shift, |number| buffers[number], sink);
    // SAFETY: all members are written, and nobody writes them any more
    let members: &[Member<T>] = unsafe { members.part(0..len) };
    let shared = Shared::new(y);
    each(workers, (extent >> shift) + 1, |part| {
        let first = part << shift;
        let of_part = (extent - first).min(1 << shift);
        let start = members.partition_point(|member| (member.place as usize) < first);
        let until = members.partition_point(|member| ((member.place >> shift) as usize) <= part);
        let of = &members[start..until];
        let read = |start, block: &mut [u32]| {
            for (to, member) in block.iter_mut().zip(&of[start..]) {
                *to = member.place - crate::sort::narrow(first);
            }
        };
        let summand = |at: usize| of[at].summand;
        by_blocks(Blocks::new(of.len(), &read), of_part, summand, |place, sum| {
            // SAFETY: each place is in one part
            let to = unsafe { shared.part(first + place..first + place + 1) };
            store(&mut to[0], sum);
        });
    });
}

/// Whether the lanes of this many places stay in the caches, or the elements are few.
pub(crate) fn fits(extent: usize, len: usize) -> bool {
    extent <= SIDE_BY_SIDE || len < 1 << 16
}

/// Like [`sums`], in the calling thread and without parts. Returns whether some place was not below
/// `extent`.
pub(crate) fn by_blocks<T: Real>(
    places: Blocks<'_>,
    extent: usize,
    summand: impl Fn(usize) -> T,
    store: impl FnMut(usize, T),
) -> bool {
    let mut table = Table::new(extent, places);
    let missed = table.add(places, summand);
    table.finish(store);
    missed
}

/// Where the lanes of a place are, and the number of elements in its segment so far.
#[derive(Clone, Copy, Default)]
struct Place {
    first: u32,
    count: u32,
}

struct Table<T> {
    lanes: Vec<T>,
    places: Vec<Place>,
    /// Sums of finished segments, in their order.
    full: Vec<(u32, T)>,
}

impl<T: Real> Table<T> {
    /// Makes the lanes that each place needs; if there are many elements, all the lanes that a
    /// place can need.
    fn new(extent: usize, of: Blocks<'_>) -> Self {
        let mut places = vec![Place::default(); extent];
        let mut next = 0_usize;
        if extent * LANES <= (2 * of.len()).min(1 << 31) {
            for place in &mut places {
                place.first = crate::sort::narrow(next);
                next += LANES + APART;
            }
        } else {
            of.each(|_, block| {
                for &number in block {
                    if let Some(place) = places.get_mut(number as usize) {
                        place.count += 1;
                    }
                }
            });
            for place in &mut places {
                let lanes = (place.count as usize).min(LANES);
                *place = Place { first: crate::sort::narrow(next), count: 0 };
                next += lanes;
            }
        }
        Self { lanes: vec![T::NOTHING; next], places, full: Vec::new() }
    }

    /// Adds all summands. Returns whether some place does not exist.
    fn add(&mut self, places: Blocks<'_>, summand: impl Fn(usize) -> T) -> bool {
        let mut missed = false;
        places.each(|start, block| {
            for (at, &number) in (start..).zip(block) {
                let Some(place) = self.places.get_mut(number as usize) else {
                    missed = true;
                    continue;
                };
                let lane = &mut self.lanes[place.first as usize + place.count as usize % LANES];
                *lane = *lane + summand(at);
                place.count += 1;
                if place.count == SEGMENT {
                    place.count = 0;
                    let lanes = &mut self.lanes[place.first as usize..][..LANES];
                    self.full.push((number, pairs(lanes)));
                    lanes.fill(T::NOTHING);
                }
            }
        });
        missed
    }

    fn finish(mut self, mut store: impl FnMut(usize, T)) {
        // The sort is stable, so segments of a place stay in their order.
        self.full.sort_by_key(|&(number, _)| number);
        let mut full = &self.full[..];
        for (number, place) in self.places.iter().enumerate() {
            let lanes = &self.lanes[place.first as usize..][..(place.count as usize).min(LANES)];
            let before = full.iter().take_while(|&&(of, _)| of as usize == number).count();
            let (of_place, rest) = full.split_at(before);
            full = rest;
            let last = (!lanes.is_empty()).then(|| pairs(lanes));
            if of_place.is_empty() {
                if let Some(only) = last {
                    store(number, T::ZERO + only);
                }
                continue;
            }
            store(number, T::ZERO + of_segments(of_place.iter().map(|&(_, sum)| sum).chain(last).collect()));
        }
    }
}
