//! Interpolates between two neighbours of the order of each line.
#![allow(unsafe_code)] // writes the result of each line from one thread only

use crate::{
    kind::{FloatKind, Real},
    radix,
    select::neighbours,
    sort::lines,
    word::Word,
    workers::{Shared, Workers},
};

/// A place between the sorted elements of a line: the number of the lower element, and the fraction
/// to the next.
#[derive(Clone, Copy)]
struct Place {
    below: usize,
    part: f64,
}

impl Place {
    /// `q` is in 0 … 1, and the line has at least one element.
    #[allow(clippy::cast_precision_loss, reason = "as the definition says")]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in the line")]
    fn new(q: f64, len: usize) -> Self {
        let place = q * (len - 1) as f64;
        Self { below: (place.floor() as usize).min(len - 1), part: place - place.floor() }
    }
}

/// The quantile of each line of `len` elements, at least one.
pub(crate) fn quantile<K: FloatKind>(
    x: &[K::Bits],
    len: usize,
    q: f64,
    result: &mut [K::Bits],
    workers: &dyn Workers,
) {
    if x.is_empty() {
        return;
    }
    let place = Place::new(q, len);
    let result = Shared::new(result);
    lines(workers, (x.len() / len, len), |line, workers| {
        let x = &x[line * len..][..len];
        let key = |at: usize| K::key(x[at]);
        let (least, greatest) = radix::range(len, workers, key);
        let bits = if greatest == K::Bits::MAX {
            K::of_key(greatest)
        } else {
            let (a, b) = neighbours(len, place.below, (least, greatest), workers, key);
            K::store(between(K::load(K::of_key(a)), K::load(K::of_key(b)), K::Sum::of(place.part)))
        };
        // SAFETY: each line is done once
        unsafe { result.write(line, bits) };
    });
}

/// The value between `a` and `b` at `t`. Each operation is rounded.
fn between<T: Real>(a: T, b: T, t: T) -> T {
    let rest = T::of(1.0) - t;
    let y = if t == T::ZERO || a == b {
        a
    } else if a.is_infinite() || b.is_infinite() {
        a + b
    } else {
        let difference = b - a;
        if difference.is_infinite() {
            a * rest + b * t
        } else if t < T::of(0.5) {
            a + difference * t
        } else {
            b - difference * rest
        }
    };
    y + T::ZERO
}
