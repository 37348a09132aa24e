//! Multiplies a few rows with columns whose k lie side by side: lanes go across columns, which are
//! transposed in registers.
#![allow(unsafe_code)] // reads and writes numbers that callers vouch for

use std::marker::PhantomData;

use crate::{
    lanes::{Lanes, Work},
    number::Number,
    pack::Elements,
};

/// This serves at most so few rows.
pub(crate) const MOST_ROWS: usize = 4;

/// The operands. Memory needs no alignment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<N> {
    pub(crate) depth: usize,
    pub(crate) columns: usize,
    pub(crate) a: Elements<N>,
    /// The right operand, which has no gap along k.
    pub(crate) b: Elements<N>,
    /// The result: columns lie side by side.
    pub(crate) y: *mut N,
    pub(crate) y_stride: isize,
    /// Whether chains start here, at 0; otherwise they continue from the elements of the result.
    pub(crate) fresh: bool,
    /// Whether chains end here, and NaNs become canonical.
    pub(crate) done: bool,
}

/// Computes `rows` rows, at most [`MOST_ROWS`].
///
/// # Safety
///
/// The processor has the instructions of the lanes. The numbers of the operands may be read. The
/// numbers of the result may be written, and also read unless `fresh`. Nothing else touches any of
/// them meanwhile.
#[inline(always)]
pub(crate) unsafe fn lines<L: Lanes>(rows: usize, call: &Lines<L::Number>) {
    macro_rules! sums {
        ($($r:literal)*) => {
            match rows {
                // SAFETY: as the caller promises
                $($r => unsafe { L::compiled(Sums::<L, $r>(call, PhantomData)) },)*
                _ => unreachable!("there are more than a few rows"),
            }
        };
    }
    sums!(1 2 3 4);
}

/// Computes `R` rows.
struct Sums<'a, L: Lanes, const R: usize>(&'a Lines<L::Number>, PhantomData<L>);

impl<L: Lanes, const R: usize> Work for Sums<'_, L, R> {
    #[inline(always)]
    unsafe fn run(self) {
        let call = self.0;
        for first in (0..call.columns).step_by(L::COUNT) {
            let count = L::COUNT.min(call.columns - first);
            let place =
                |r: usize| call.y.wrapping_add(first).wrapping_offset(r.cast_signed() * call.y_stride);
            let mut y = [L::splat(L::Number::ZERO); R];
            if !call.fresh {
                // SAFETY: as the caller promises
                y = std::array::from_fn(|r| unsafe { L::load_some(place(r), count) });
            }
            let is_whole = count == L::COUNT;
            // Lines whose distance is a power of two share few places of the cache, so no line should be read
            // twice.
            let ahead = if is_whole { ahead::<L>(call.b.from(first, 0).start, call.depth) } else { 0 };
            let mut k = 0;
            while k < call.depth {
                if is_whole && k >= ahead && k + L::COUNT <= call.depth {
                    // SAFETY: as the caller promises
                    let line = |line: usize| unsafe { L::load(call.b.from(first + line, k).start) };
                    L::turned(line, |at, numbers| step::<L, R>(call, k + at, numbers, &mut y));
                    k += L::COUNT;
                    continue;
                }
                let most = if k < ahead { ahead - k } else { L::COUNT };
                let depth = most.min(call.depth - k);
                let line = |line: usize| {
                    if line < count {
                        // SAFETY: as the caller promises
                        unsafe { L::load_some(call.b.from(first + line, k).start, depth) }
                    } else {
                        L::splat(L::Number::ZERO)
                    }
                };
                L::turned(line, |at, numbers| {
                    if at < depth {
                        step::<L, R>(call, k + at, numbers, &mut y);
                    }
                });
                k += depth;
            }
            for (r, mut y) in y.into_iter().enumerate() {
                if call.done {
                    y = y.canonical();
                }
                // SAFETY: as the caller promises
                unsafe { y.store_some(place(r), count) };
            }
        }
    }
}

/// The number of elements of a long line before the next cache line; fewer than there are lanes.
#[inline(always)]
pub(crate) fn ahead<L: Lanes>(from: *const L::Number, depth: usize) -> usize {
    const LINE_BYTES: usize = 64;
    const LONG: usize = 512;
    if depth < LONG {
        return 0;
    }
    from.addr().wrapping_neg() % LINE_BYTES / size_of::<L::Number>() % L::COUNT
}

/// Adds one k to all rows.
#[inline(always)]
fn step<L: Lanes, const R: usize>(call: &Lines<L::Number>, k: usize, numbers: L, y: &mut [L; R]) {
    for (r, y) in y.iter_mut().enumerate() {
        // SAFETY: as the caller of the work promises
        let number = L::splat(unsafe { call.a.from(r, k).start.read_unaligned() });
        *y = L::fma(number, numbers, *y);
    }
}
