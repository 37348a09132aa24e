//! Brings elements for one place together, in rising position.
#![allow(unsafe_code)] // writes each element once, from one thread only

use crate::{
    radix::{Passes, spare},
    word::Word,
    workers::Workers,
};

/// Payloads sorted by place, and where each place's payloads start.
#[derive(Debug)]
pub(crate) struct Groups<V> {
    payloads: Vec<V>,
    /// There is one more start than there are places.
    starts: Vec<usize>,
}

impl<V> Groups<V> {
    pub(crate) fn of(&self, place: usize) -> &[V] {
        &self.payloads[self.starts[place]..self.starts[place + 1]]
    }
}

#[derive(Clone, Copy)]
struct Member<P, V> {
    place: P,
    payload: V,
}

/// Groups payloads by their places. Payloads with places from `extent` on are left out.
pub(crate) fn group<P: Word, V: Copy + Send + Sync>(
    places: &[P],
    extent: usize,
    payload: impl Fn(usize) -> V + Sync,
    workers: &dyn Workers,
) -> Groups<V> {
    let counts = crate::counts::counted(
        places.len(),
        extent,
        workers,
        |at| Some(places[at].digit(0, usize::MAX)),
        |_| {},
    );
    let mut starts = Vec::with_capacity(extent + 1);
    starts.push(0);
    starts.extend(counts.iter().scan(0, |end, count| {
        *end += count;
        Some(*end)
    }));
    let len = places.len();
    let mut payloads: Vec<V> = Vec::new();
    let to = spare(&mut payloads, len);
    let mut memory = [Vec::new(), Vec::new()];
    let [a, b] = &mut memory;
    let buffers = [spare(a, len), spare(b, len)];
    let member = |at| Member { place: places[at], payload: payload(at) };
    // SAFETY: each place of the order occurs once
    let sink = |at, member: Member<P, V>| unsafe { to.write(at, member.payload) };
    let range = (P::ZERO, P::narrow(extent as u64));
    Passes { len, workers }.run(range, member, |member| member.place, |number| buffers[number], sink);
    // SAFETY: there is room for `len` elements, and all of them are written
    unsafe { payloads.set_len(len) };
    Groups { payloads, starts }
}
