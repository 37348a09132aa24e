//! Computes tiles of a result, whose sums stay in registers for all k.
#![allow(unsafe_code)] // reads and writes numbers that callers vouch for

use std::marker::PhantomData;

use crate::{
    lanes::{Lanes, Work},
    number::Number,
};

/// The operands of a tile. Memory needs no alignment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tile<N> {
    /// The number of k.
    pub(crate) depth: usize,
    /// The rows of the left operand. Either the elements of one k lie side by side, and the stride leads to
    /// the next k; or each row's elements lie side by side, and the stride leads to the next row.
    pub(crate) a: *const N,
    pub(crate) a_stride: isize,
    /// The columns of the right operand. The elements of one k lie side by side.
    pub(crate) b: *const N,
    pub(crate) b_stride: isize,
    /// The result: columns lie side by side.
    pub(crate) y: *mut N,
    pub(crate) y_stride: isize,
    /// The number of columns in the last vector.
    pub(crate) last: usize,
    /// Whether chains start here, at 0; otherwise they continue from the elements of the result.
    pub(crate) fresh: bool,
    /// Whether chains end here, and NaNs become canonical.
    pub(crate) done: bool,
}

/// Computes `R` rows of `V` vectors. With `BY_K`, the rows of the left operand lie side by side.
struct Sums<'a, L: Lanes, const R: usize, const V: usize, const BY_K: bool>(
    &'a Tile<L::Number>,
    PhantomData<L>,
);

impl<L: Lanes, const R: usize, const V: usize, const BY_K: bool> Work for Sums<'_, L, R, V, BY_K> {
    #[inline(always)]
    unsafe fn run(self) {
        if (R > 4 && R != L::ROWS) || V > L::VECTORS {
            unreachable!("no tile is as large");
        }
        if self.0.last == L::COUNT {
            // SAFETY: as the caller promises
            unsafe { sums::<L, R, V, BY_K, true>(self.0) };
        } else {
            // SAFETY: as the caller promises
            unsafe { sums::<L, R, V, BY_K, false>(self.0) };
        }
    }
}

/// # Safety
///
/// The conditions of [`tile`]; `WHOLE` if the last vector has all columns.
#[inline(always)]
unsafe fn sums<L: Lanes, const R: usize, const V: usize, const BY_K: bool, const WHOLE: bool>(
    call: &Tile<L::Number>,
) {
    let vector = |from: *const L::Number, v: usize| {
        let from = from.wrapping_add(v * L::COUNT);
        if WHOLE || v + 1 < V {
            // SAFETY: as the caller promises
            unsafe { L::load(from) }
        } else {
            // SAFETY: as the caller promises
            unsafe { L::load_some(from, call.last) }
        }
    };
    let row = |row: usize| call.y.wrapping_offset(row.cast_signed() * call.y_stride);
    let mut y = [[L::splat(L::Number::ZERO); V]; R];
    if !call.fresh {
        y = std::array::from_fn(|r| std::array::from_fn(|v| vector(row(r), v)));
    }
    let (mut a, mut b) = (call.a, call.b);
    for _ in 0..call.depth {
        let columns: [L; V] = std::array::from_fn(|v| vector(b, v));
        for (r, y) in y.iter_mut().enumerate() {
            let at =
                if BY_K { a.wrapping_add(r) } else { a.wrapping_offset(r.cast_signed() * call.a_stride) };
            // SAFETY: as the caller promises
            let number = L::splat(unsafe { at.read_unaligned() });
            for (y, &columns) in y.iter_mut().zip(&columns) {
                *y = L::fma(number, columns, *y);
            }
        }
        a = a.wrapping_offset(if BY_K { call.a_stride } else { 1 });
        b = b.wrapping_offset(call.b_stride);
    }
    for (r, y) in y.into_iter().enumerate() {
        for (v, mut y) in y.into_iter().enumerate() {
            if call.done {
                y = y.canonical();
            }
            let to = row(r).wrapping_add(v * L::COUNT);
            if WHOLE || v + 1 < V {
                // SAFETY: as the caller promises
                unsafe { y.store(to) };
            } else {
                // SAFETY: as the caller promises
                unsafe { y.store_some(to, call.last) };
            }
        }
    }
}

/// Computes `rows` rows and `vectors` vectors: 1, 2, 4 or the most rows of a tile, and no more
/// vectors than the largest tile has. With `BY_K`, the rows of the left operand lie side by side.
///
/// # Safety
///
/// The processor has the instructions of the lanes. The numbers of the operands may be read. The
/// numbers of the result may be written, and also read unless `fresh`. Nothing else touches any of
/// them meanwhile.
#[inline(always)]
pub(crate) unsafe fn tile<L: Lanes, const BY_K: bool>(rows: usize, vectors: usize, call: &Tile<L::Number>) {
    macro_rules! tiles {
        ($($r:literal, $v:literal;)*) => {
            match (rows, vectors) {
                // SAFETY: as the caller promises
                $(($r, $v) => unsafe { L::compiled(Sums::<L, $r, $v, BY_K>(call, PhantomData)) },)*
                _ => unreachable!("no tile has {rows} rows of {vectors} vectors"),
            }
        };
    }
    tiles! {
        1, 1; 2, 1; 4, 1; 6, 1; 8, 1;
        1, 2; 2, 2; 4, 2; 6, 2; 8, 2;
        1, 3; 2, 3; 4, 3; 8, 3;
    }
}
