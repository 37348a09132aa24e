//! Computes single elements side by side: each lane has another element's chain.
#![allow(unsafe_code)] // reads elements that callers vouch for

use std::marker::PhantomData;

use crate::{
    kind::Kind,
    lanes::{Lanes, Work},
    lines::ahead,
    number::Number,
};

/// No lanes have more numbers than this.
pub(crate) const MOST: usize = 16;

/// Continues the chains of some elements, at most one per lane, from their values.
///
/// # Safety
///
/// The processor has the instructions of the lanes. `depth` elements may be read from each start
/// on, with strides along k.
pub(crate) unsafe fn dots<L: Lanes, K: Kind<Number = L::Number>>(
    starts: &[[*const K::Bits; 2]],
    strides: [isize; 2],
    depth: usize,
    sums: &mut [L::Number],
) {
    assert!(starts.len() == sums.len() && sums.len() <= L::COUNT, "a lane for each");
    // SAFETY: as the caller promises
    unsafe { L::compiled(Dots::<L, K> { starts, strides, depth, sums, kind: PhantomData }) }
}

struct Dots<'a, L: Lanes, K: Kind<Number = L::Number>> {
    starts: &'a [[*const K::Bits; 2]],
    strides: [isize; 2],
    depth: usize,
    sums: &'a mut [L::Number],
    kind: PhantomData<K>,
}

impl<L: Lanes, K: Kind<Number = L::Number>> Work for Dots<'_, L, K> {
    #[inline(always)]
    unsafe fn run(self) {
        let count = self.sums.len().min(self.starts.len());
        // SAFETY: there are `count` sums
        let mut y = unsafe { L::load_some(self.sums.as_ptr(), count) };
        // All lanes are used, and elements are numbers side by side, so no lane needs a check.
        let is_whole = K::IS_NUMBER && self.strides == [1, 1] && count == L::COUNT;
        let ahead = if is_whole { ahead::<L>(self.starts[0][0].cast(), self.depth) } else { 0 };
        let mut k = 0;
        while k < self.depth {
            let mut a = [L::splat(L::Number::ZERO); MOST];
            if is_whole && k >= ahead && k + L::COUNT <= self.depth {
                let part = |operand: usize| {
                    // SAFETY: as the caller promises; the bits are numbers
                    move |lane: usize| unsafe { L::load(self.starts[lane][operand].wrapping_add(k).cast()) }
                };
                L::turned(part(0), |at, numbers| a[at] = numbers);
                L::turned(part(1), |at, b| y = L::fma(a[at], b, y));
                k += L::COUNT;
                continue;
            }
            let most = if k < ahead { ahead - k } else { L::COUNT };
            let depth = most.min(self.depth - k);
            L::turned(|lane| self.part(lane, 0, k, depth), |at, numbers| a[at] = numbers);
            L::turned(
                |lane| self.part(lane, 1, k, depth),
                |at, b| {
                    if at < depth {
                        y = L::fma(a[at], b, y);
                    }
                },
            );
            k += depth;
        }
        // SAFETY: as above
        unsafe { y.store_some(self.sums.as_mut_ptr(), count) };
    }
}

impl<L: Lanes, K: Kind<Number = L::Number>> Dots<'_, L, K> {
    /// A few k of an operand in a lane; 0 beyond them, and in lanes without an element.
    #[inline(always)]
    fn part(&self, lane: usize, operand: usize, k: usize, depth: usize) -> L {
        let Some(start) = self.starts.get(lane) else { return L::splat(L::Number::ZERO) };
        let stride = self.strides[operand];
        let from = start[operand].wrapping_offset(k.cast_signed() * stride);
        if K::IS_NUMBER && stride == 1 {
            let from = from.cast();
            return if depth == L::COUNT {
                // SAFETY: as the caller of the work promises; the bits are numbers
                unsafe { L::load(from) }
            } else {
                // SAFETY: as above
                unsafe { L::load_some(from, depth) }
            };
        }
        let mut numbers = [L::Number::ZERO; MOST];
        for (at, number) in numbers.iter_mut().take(depth).enumerate() {
            // SAFETY: as above
            *number = K::load(unsafe { from.wrapping_offset(at.cast_signed() * stride).read_unaligned() });
        }
        // SAFETY: there are at least as many numbers
        unsafe { L::load(numbers.as_ptr()) }
    }
}
