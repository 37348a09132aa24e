//! Numbers side by side, which one instruction computes at once.
#![allow(unsafe_code)] // reads and writes numbers that callers vouch for

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;

use crate::number::Number;

/// Numbers side by side. Memory needs no alignment. Only a processor that has the instructions may run
/// any of this.
pub(crate) trait Lanes: Copy {
    type Number: Number;

    const COUNT: usize;

    /// The number of rows of the largest tile, whose sums stay in registers: 4, 6 or 8.
    const ROWS: usize;

    /// The number of vectors in a row of the largest tile, at most 3.
    const VECTORS: usize;

    /// Puts one number in each lane.
    fn splat(number: Self::Number) -> Self;

    /// `a * b + y`, rounded once.
    fn fma(a: Self, b: Self, y: Self) -> Self;

    /// Every NaN becomes the canonical one.
    fn canonical(self) -> Self;

    /// # Safety
    ///
    /// One number for each lane may be read.
    unsafe fn load(from: *const Self::Number) -> Self;

    /// Loads the first `len` lanes; the others are 0.
    ///
    /// # Safety
    ///
    /// `len` numbers may be read, at most as many as there are lanes.
    unsafe fn load_some(from: *const Self::Number, len: usize) -> Self;

    /// # Safety
    ///
    /// One number for each lane may be written.
    unsafe fn store(self, to: *mut Self::Number);

    /// Stores the first `len` lanes.
    ///
    /// # Safety
    ///
    /// `len` numbers may be written, at most as many as there are lanes.
    unsafe fn store_some(self, to: *mut Self::Number, len: usize);

    /// Transposes a square: the j-th number of row i becomes the i-th number of row j. `each` gets the rows
    /// in order.
    fn turned(row: impl Fn(usize) -> Self, each: impl FnMut(usize, Self));

    /// Runs work compiled for the instructions.
    ///
    /// # Safety
    ///
    /// The processor has the instructions, and the work's conditions hold.
    unsafe fn compiled<W: Work>(work: W);
}

/// Work that is compiled for the instructions of lanes. Everything in it is inlined.
pub(crate) trait Work {
    /// # Safety
    ///
    /// The conditions of the work.
    unsafe fn run(self);
}

/// Lanes of every processor, which compilers map to its vectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain<N, const L: usize>([N; L]);

impl<N: Number, const L: usize> Lanes for Plain<N, L> {
    type Number = N;
    const COUNT: usize = L;
    const ROWS: usize = if cfg!(target_arch = "aarch64") { 8 } else { 4 };
    const VECTORS: usize = if cfg!(target_arch = "aarch64") { 3 } else { 2 };

    #[inline(always)]
    fn splat(number: N) -> Self {
        Self([number; L])
    }

    #[inline(always)]
    fn fma(a: Self, b: Self, mut y: Self) -> Self {
        for (lane, y) in y.0.iter_mut().enumerate() {
            *y = N::fma(a.0[lane], b.0[lane], *y);
        }
        y
    }

    #[inline(always)]
    fn canonical(self) -> Self {
        Self(self.0.map(N::canonical))
    }

    #[inline(always)]
    unsafe fn load(from: *const N) -> Self {
        // SAFETY: as the caller promises
        Self(unsafe { from.cast::<[N; L]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn load_some(from: *const N, len: usize) -> Self {
        let mut lanes = [N::ZERO; L];
        for (lane, number) in lanes.iter_mut().take(len).enumerate() {
            // SAFETY: as the caller promises
            *number = unsafe { from.wrapping_add(lane).read_unaligned() };
        }
        Self(lanes)
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut N) {
        // SAFETY: as the caller promises
        unsafe { to.cast::<[N; L]>().write_unaligned(self.0) };
    }

    #[inline(always)]
    unsafe fn store_some(self, to: *mut N, len: usize) {
        for (lane, &number) in self.0.iter().take(len).enumerate() {
            // SAFETY: as the caller promises
            unsafe { to.wrapping_add(lane).write_unaligned(number) };
        }
    }

    #[inline(always)]
    fn turned(row: impl Fn(usize) -> Self, mut each: impl FnMut(usize, Self)) {
        let rows: [Self; L] = std::array::from_fn(row);
        (0..L).for_each(|column| each(column, Self(rows.map(|row| row.0[column]))));
    }

    unsafe fn compiled<W: Work>(work: W) {
        // SAFETY: as the caller promises
        unsafe { work.run() }
    }
}

/// Implements lanes in a vector register, by the names of its instructions.
#[cfg(target_arch = "x86_64")]
macro_rules! lanes {
    ($name:ident: $vector:ty as $number:ident, $count:literal, [$rows:literal, $vectors:literal], $features:literal,
        $splat:expr, $load:expr, $load_some:expr, $store:expr, $store_some:expr,
        $fma:expr, $canonical:expr, $turned:ident, $to_float:expr, $of_float:expr) => {
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name($vector);

        #[allow(clippy::redundant_closure_call, unused_unsafe, reason = "what some vectors need")]
        impl crate::lanes::Lanes for $name {
            type Number = $number;
            const COUNT: usize = $count;
            const ROWS: usize = $rows;
            const VECTORS: usize = $vectors;

            #[inline(always)]
            fn splat(number: $number) -> Self {
                // SAFETY: only a processor with the instructions runs this
                Self(unsafe { $splat(number) })
            }

            #[inline(always)]
            fn fma(a: Self, b: Self, y: Self) -> Self {
                // SAFETY: as above
                Self(unsafe { $fma(a.0, b.0, y.0) })
            }

            #[inline(always)]
            fn canonical(self) -> Self {
                // SAFETY: as above
                Self(unsafe { $canonical(self.0) })
            }

            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                // SAFETY: as above; the caller vouches for the numbers
                Self(unsafe { $load(from.cast()) })
            }

            #[inline(always)]
            unsafe fn load_some(from: *const $number, len: usize) -> Self {
                // SAFETY: as above
                Self(unsafe { $load_some(from.cast(), len) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                // SAFETY: as above
                unsafe { $store(to.cast(), self.0) };
            }

            #[inline(always)]
            unsafe fn store_some(self, to: *mut $number, len: usize) {
                // SAFETY: as above
                unsafe { $store_some(to.cast(), len, self.0) };
            }

            #[inline(always)]
            fn turned(row: impl Fn(usize) -> Self, mut each: impl FnMut(usize, Self)) {
                // SAFETY: as above
                unsafe { $turned(|at| $to_float(row(at).0), |at, row| each(at, Self($of_float(row)))) };
            }

            #[inline]
            unsafe fn compiled<W: crate::lanes::Work>(work: W) {
                /// # Safety
                ///
                /// The work's conditions hold, and the processor has the instructions.
                #[target_feature(enable = $features)]
                unsafe fn compiled<W: crate::lanes::Work>(work: W) {
                    // SAFETY: as the caller promises
                    unsafe { work.run() }
                }
                // SAFETY: as above
                unsafe { compiled(work) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
use lanes;
