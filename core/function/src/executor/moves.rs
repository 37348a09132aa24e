//! Moves elements from memory into a slot, and back.
#![allow(unsafe_code)] // reads and writes the elements that callers vouch for

use bytemuck::Pod;

use super::raw::Raw;

/// Picks the unsigned Rust type of a width.
macro_rules! of_width {
    ($width:expr, $t:ident => $body:expr) => {
        match $width {
            1 => {
                type $t = u8;
                $body
            }
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = u32;
                $body
            }
            _ => {
                type $t = u64;
                $body
            }
        }
    };
}

pub(super) use of_width;

/// Gathers elements that are a step apart, and writes them side by side.
///
/// # Safety
///
/// `len` elements may be read from `from` on, each `stride` bytes after the one before, and written
/// to `to`.
pub(super) unsafe fn gather(width: usize, from: *const u8, stride: isize, to: *mut u8, len: usize) {
    of_width!(width, T => {
        // SAFETY: as the caller promises
        let out = unsafe { std::slice::from_raw_parts_mut(to.cast::<Raw<T>>(), len) };
        // SAFETY: as the caller promises
        unsafe { gather_as(from, stride, out) }
    });
}

/// # Safety
///
/// The conditions of [`gather`].
unsafe fn gather_as<T: Pod>(mut from: *const u8, stride: isize, out: &mut [Raw<T>]) {
    if stride == 0 {
        if !out.is_empty() {
            // SAFETY: the caller promises at least one element
            let element = unsafe { from.cast::<Raw<T>>().read() };
            out.fill(element);
        }
        return;
    }
    if stride == size_of::<T>().cast_signed() {
        // SAFETY: as the caller promises
        return unsafe { from.cast::<Raw<T>>().copy_to_nonoverlapping(out.as_mut_ptr(), out.len()) };
    }
    for out in out {
        // SAFETY: as the caller promises
        *out = unsafe { from.cast::<Raw<T>>().read() };
        from = from.wrapping_offset(stride);
    }
}

/// Writes elements that lie side by side to places that are a step apart.
///
/// # Safety
///
/// `len` elements may be read from `from` on, and written from `to` on, each
/// `stride` bytes after the one before.
pub(super) unsafe fn scatter(width: usize, from: *const u8, to: *mut u8, stride: isize, len: usize) {
    if stride == width.cast_signed() {
        // SAFETY: as the caller promises
        return unsafe { from.copy_to_nonoverlapping(to, len * width) };
    }
    of_width!(width, T => {
        let mut to = to;
        for at in 0..len {
            // SAFETY: as the caller promises
            let element = unsafe { from.cast::<Raw<T>>().wrapping_add(at).read() };
            // SAFETY: as the caller promises
            unsafe { to.cast::<Raw<T>>().write(element) };
            to = to.wrapping_offset(stride);
        }
    });
}

/// The rows and columns of a tile: their numbers, and the steps between them in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) row_bytes: isize,
    pub(super) column_bytes: isize,
    /// The distance between two rows of the copy.
    pub(super) pitch: usize,
}

/// Copies a tile row by row. In memory, its columns lie side by side.
///
/// # Safety
///
/// The elements of the tile may be read from `from` on, and the elements of the copy written.
pub(super) unsafe fn turn(width: usize, from: *const u8, tile: Tile, to: *mut u8) {
    of_width!(width, T => {
        // SAFETY: as the caller promises
        unsafe { turn_as::<T>(from, tile, to) }
    });
}

/// # Safety
///
/// The conditions of [`turn`].
unsafe fn turn_as<T: Pod>(from: *const u8, tile: Tile, to: *mut u8) {
    const SIDE: usize = 8;
    let place = |row: usize, column: usize| {
        let row = row.cast_signed().wrapping_mul(tile.row_bytes);
        from.wrapping_offset(row.wrapping_add(column.cast_signed().wrapping_mul(tile.column_bytes)))
    };
    let dense = tile.row_bytes == size_of::<T>().cast_signed();
    #[cfg(target_arch = "x86_64")]
    let of_lanes = size_of::<T>() == 4 && is_x86_feature_detected!("avx2");
    for column in (0..tile.columns).step_by(SIDE) {
        let columns = SIDE.min(tile.columns - column);
        for row in (0..tile.rows).step_by(SIDE) {
            let rows = SIDE.min(tile.rows - row);
            let out = to.wrapping_add(row * tile.pitch + column * size_of::<T>());
            #[cfg(target_arch = "x86_64")]
            if of_lanes && dense && rows == SIDE && columns == SIDE {
                let steps = (tile.column_bytes, tile.pitch);
                // SAFETY: the processor has AVX2; 8 columns of 8 elements are there, and 8 rows
                unsafe { turn_lanes(place(row, column), out, steps) };
                continue;
            }
            if dense && rows == SIDE && columns == SIDE {
                let mut read = [[T::zeroed(); SIDE]; SIDE];
                for (c, read) in read.iter_mut().enumerate() {
                    // SAFETY: 8 rows of the column lie side by side
                    *read = unsafe { place(row, column + c).cast::<[T; SIDE]>().read_unaligned() };
                }
                let mut turned = [[T::zeroed(); SIDE]; SIDE];
                for (r, turned) in turned.iter_mut().enumerate() {
                    for c in 0..SIDE {
                        turned[c] = read[c][r];
                    }
                    let out = out.wrapping_add(r * tile.pitch).cast::<[T; SIDE]>();
                    // SAFETY: 8 columns of the row lie side by side
                    unsafe { out.write_unaligned(*turned) };
                }
                continue;
            }
            for c in 0..columns {
                for r in 0..rows {
                    // SAFETY: as the caller promises
                    let element = unsafe { place(row + r, column + c).cast::<Raw<T>>().read() };
                    let out = out.wrapping_add(r * tile.pitch + c * size_of::<T>());
                    // SAFETY: as the caller promises
                    unsafe { out.cast::<Raw<T>>().write(element) };
                }
            }
        }
    }
}

/// Turns 8 × 8 elements of 4 bytes in registers.
///
/// # Safety
///
/// The conditions of [`turn`], for a tile whose columns lie side by side, on a processor with AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[allow(clippy::multiple_unsafe_ops_per_block, reason = "one promise for all of the tile")]
unsafe fn turn_lanes(from: *const u8, to: *mut u8, (step, pitch): (isize, usize)) {
    use std::arch::x86_64::{
        __m256, _mm_loadu_ps, _mm256_castps128_ps256, _mm256_insertf128_ps, _mm256_shuffle_ps,
        _mm256_storeu_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };
    // Half of column c is beside the same half of column c + 4, so that no shuffle crosses the
    // middle.
    let halves = |c: isize, half: usize| -> __m256 {
        let low = from.wrapping_offset(c * step).wrapping_add(16 * half).cast::<f32>();
        let high = from.wrapping_offset((c + 4) * step).wrapping_add(16 * half).cast::<f32>();
        // SAFETY: 4 elements of each column, as the caller promises
        unsafe { _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high)) }
    };
    for half in 0..2 {
        let [a, b, c, d] = [halves(0, half), halves(1, half), halves(2, half), halves(3, half)];
        let (ab, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        let rows = [
            _mm256_shuffle_ps::<0x44>(ab, cd),
            _mm256_shuffle_ps::<0xee>(ab, cd),
            _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
            _mm256_shuffle_ps::<0xee>(ab_high, cd_high),
        ];
        for (r, row) in rows.into_iter().enumerate() {
            // SAFETY: 8 elements of a row, as the caller promises
            unsafe { _mm256_storeu_ps(to.wrapping_add((4 * half + r) * pitch).cast(), row) };
        }
    }
}
