//! Writes the elements of an operand at a range of positions side by side.
//!
//! Short runs are moved as pairs of pieces whose length is known at compile time. Elements along axes
//! of stride 0 are moved once and then doubled. So a run of a few elements costs no call.
#![allow(unsafe_code)] // reads and writes the elements that callers vouch for

use std::ops::Range;

use bytemuck::Pod;
use smallvec::SmallVec;

use super::{
    moves::{Tile, gather, of_width, turn},
    nest::{Nest, boxes, scaled},
    raw::Raw,
};

/// Writes the elements of an operand at a range of positions. Each is `within` bytes from where the
/// nest puts it.
///
/// # Safety
///
/// The elements may be read, and their bytes may be written to `to`.
pub(super) unsafe fn fill(nest: &Nest, operand: usize, range: Range<usize>, within: isize, to: *mut u8) {
    let operand = &nest.operands[operand];
    let (width, strides, mut to) = (operand.item_bytes, &operand.strides, to);
    boxes(&nest.extents, range, &mut |part| {
        let extents: SmallVec<[usize; 4]> = part.iter().map(Range::len).collect();
        let first = part
            .iter()
            .zip(strides)
            .fold(within, |at, (part, &stride)| at.wrapping_add(scaled(part.start, stride)));
        // SAFETY: as the caller promises
        unsafe { fill_box(width, operand.start.wrapping_offset(first), (&extents, strides), to) };
        to = to.wrapping_add(extents.iter().product::<usize>() * width);
    });
}

/// Writes the elements along the axes from `first` on, again and again, `len` in all.
///
/// # Safety
///
/// The conditions of [`fill`].
pub(super) unsafe fn fill_repeated(
    nest: &Nest,
    operand: usize,
    (first, len): (usize, usize),
    within: isize,
    to: *mut u8,
) {
    let operand = &nest.operands[operand];
    let (width, start) = (operand.item_bytes, operand.start.wrapping_offset(within));
    let (extents, strides) = (&nest.extents[first..], &operand.strides[first..]);
    // SAFETY: as the caller promises
    unsafe { fill_box(width, start, (extents, strides), to) };
    // SAFETY: as above
    unsafe { repeat(to, extents.iter().product::<usize>() * width, len * width) };
}

/// # Safety
///
/// The elements may be read from `from` on, and their bytes may be written to `to`.
unsafe fn fill_box(width: usize, from: *const u8, (extents, strides): (&[usize], &[isize]), to: *mut u8) {
    match (extents, strides) {
        (&[len], &[stride]) => {
            // SAFETY: as the caller promises
            unsafe { gather(width, from, stride, to, len) }
        }
        ([1, extents @ ..], [_, strides @ ..]) => {
            // SAFETY: as the caller promises
            unsafe { fill_box(width, from, (extents, strides), to) }
        }
        ([count, extents @ ..], [0, strides @ ..]) => {
            // SAFETY: as the caller promises; the elements are the first ones there
            unsafe { fill_box(width, from, (extents, strides), to) };
            let part_bytes = extents.iter().product::<usize>() * width;
            // SAFETY: they are written now
            unsafe { repeat(to, part_bytes, part_bytes * count) }
        }
        (&[rows, len], &[step, stride]) => of_width!(width, T => {
            // SAFETY: as the caller promises
            unsafe { fill_rows::<T>(from, [rows, len], [step, stride], to.cast()) }
        }),
        (&[count, ref extents @ ..], &[step, ref strides @ ..]) => {
            let part_bytes = extents.iter().product::<usize>() * width;
            for at in 0..count {
                let (from, to) = (from.wrapping_offset(scaled(at, step)), to.wrapping_add(at * part_bytes));
                // SAFETY: as the caller promises
                unsafe { fill_box(width, from, (extents, strides), to) };
            }
        }
        _ => unreachable!("a nest has an axis, and a stride for each"),
    }
}

/// Repeats the first bytes until there are `all_bytes`.
///
/// # Safety
///
/// The first `part_bytes` are written; all bytes may be written.
unsafe fn repeat(to: *mut u8, part_bytes: usize, all_bytes: usize) {
    let mut done = part_bytes;
    while done < all_bytes {
        let next = done.min(all_bytes - done);
        // SAFETY: behind what is there, as the caller promises
        unsafe { to.cast_const().copy_to_nonoverlapping(to.wrapping_add(done), next) };
        done += next;
    }
}

/// Rows of at least this many elements are read by columns, if their neighbours are nearer than their own
/// elements. The cache lines of shorter rows all fit the first cache.
const TURNED: usize = 8;

/// Fills rows of elements with even steps.
///
/// # Safety
///
/// The conditions of [`fill_box`].
unsafe fn fill_rows<T: Pod>(from: *const u8, [rows, len]: [usize; 2], steps: [isize; 2], to: *mut Raw<T>) {
    if len >= TURNED && steps[0].unsigned_abs() < steps[1].unsigned_abs() {
        let (width, [row_bytes, column_bytes]) = (size_of::<T>(), steps);
        let tile = Tile { rows, columns: len, row_bytes, column_bytes, pitch: len * width };
        // SAFETY: as the caller promises
        return unsafe { turn(width, from, tile, to.cast()) };
    }
    macro_rules! pieces {
        ($($piece:literal to $most:literal)*) => {
            match len {
                // SAFETY: as the caller promises; a row has as many elements as a piece, less than twice as many
                $($piece..=$most => unsafe { fill_pieces::<T, $piece>(from, [rows, len], steps, to) },)*
                _ => for row in 0..rows {
                    let (from, to) = (from.wrapping_offset(scaled(row, steps[0])), to.wrapping_add(row * len));
                    // SAFETY: as the caller promises
                    unsafe { gather(size_of::<T>(), from, steps[1], to.cast(), len) };
                },
            }
        };
    }
    pieces! { 2 to 3 4 to 7 8 to 15 16 to 31 32 to 63 }
}

/// Moves rows that are at least a piece long: the first piece, and the last one, which may overlap
/// it.
///
/// # Safety
///
/// The conditions of [`fill_box`].
unsafe fn fill_pieces<T: Pod, const PIECE: usize>(
    from: *const u8,
    [rows, len]: [usize; 2],
    [step, stride]: [isize; 2],
    to: *mut Raw<T>,
) {
    let pieces = [0, len - PIECE];
    let pieces = if len == PIECE { &pieces[..1] } else { &pieces };
    macro_rules! each {
        (|$from:ident| $piece:expr) => {
            for row in 0..rows {
                let (first, out) = (from.wrapping_offset(scaled(row, step)), to.wrapping_add(row * len));
                for &at in pieces {
                    let $from = first.wrapping_offset(scaled(at, stride));
                    let piece: [Raw<T>; PIECE] = $piece;
                    // SAFETY: as the caller promises
                    unsafe { out.wrapping_add(at).cast::<[Raw<T>; PIECE]>().write(piece) };
                }
            }
        };
    }
    if stride == 0 {
        // SAFETY: as the caller promises
        each!(|from| [unsafe { from.cast::<Raw<T>>().read() }; PIECE]);
    } else if stride == size_of::<T>().cast_signed() {
        // SAFETY: as the caller promises
        each!(|from| unsafe { from.cast::<[Raw<T>; PIECE]>().read() });
    } else {
        each!(|from| std::array::from_fn(|k| {
            let from = from.wrapping_offset(scaled(k, stride));
            // SAFETY: as the caller promises
            unsafe { from.cast::<Raw<T>>().read() }
        }));
    }
}
