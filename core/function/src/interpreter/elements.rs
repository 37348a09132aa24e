//! Moves elements from memory into slots, and back.
#![allow(unsafe_code)] // reads and writes the elements that the caller vouches for

use std::ops::Range;

use bytemuck::Pod;

use super::{
    kernels::{Slot, read, write},
    walk::Walk,
};
use crate::ElementType;

/// Loads elements into a slot, extended by their type's rule.
///
/// # Safety
///
/// The operand's positions in the range lie in memory from `start` on, which may be read.
#[inline(always)]
pub(super) unsafe fn load(
    element_type: ElementType,
    start: *const u8,
    (walk, operand): (&Walk, usize),
    range: Range<usize>,
    out: &mut Slot,
) {
    let len = range.len();
    macro_rules! gather {
        ($element:ty => $held:ty, $f:expr) => {{
            let out = write::<$held>(out, len);
            walk.runs(operand, range, |position, stride, part| {
                let first = start.cast::<$element>().wrapping_offset(position);
                // SAFETY: the caller vouches for the elements of the run
                unsafe { gather_run(first, stride, &mut out[part], $f) };
            });
        }};
    }
    match element_type {
        ElementType::Bool => gather!(u8 => u32, |a| u32::from(a != 0)),
        ElementType::I8 => gather!(i8 => i32, i32::from),
        ElementType::U8 => gather!(u8 => u32, u32::from),
        ElementType::I16 => gather!(i16 => i32, i32::from),
        ElementType::U16 | ElementType::F16 | ElementType::BF16 => gather!(u16 => u32, u32::from),
        ElementType::I32 | ElementType::U32 | ElementType::F32 => gather!(u32 => u32, |a| a),
        ElementType::I64 | ElementType::U64 | ElementType::F64 => gather!(u64 => u64, |a| a),
    }
}

/// Stores a slot as elements.
///
/// # Safety
///
/// The operand's positions in the range lie in memory from `start` on, which may be written.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "of narrow types the low bits are stored")]
pub(super) unsafe fn store(
    element_type: ElementType,
    start: *mut u8,
    (walk, operand): (&Walk, usize),
    range: Range<usize>,
    from: &Slot,
) {
    let len = range.len();
    macro_rules! scatter {
        ($held:ty => $element:ty) => {{
            let from = read::<$held>(from, len);
            walk.runs(operand, range, |position, stride, part| {
                let first = start.cast::<$element>().wrapping_offset(position);
                // SAFETY: the caller vouches for the elements of the run
                unsafe { scatter_run(first, stride, &from[part], |a: $held| a as $element) };
            });
        }};
    }
    match element_type.len_bytes() {
        1 => scatter!(u32 => u8),
        2 => scatter!(u32 => u16),
        4 => scatter!(u32 => u32),
        _ => scatter!(u64 => u64),
    }
}

/// # Safety
///
/// `out.len()` elements may be read from `first` on, each `stride` after the one before.
#[inline(always)]
unsafe fn gather_run<E: Pod, T: Pod>(first: *const E, stride: isize, out: &mut [T], f: impl Fn(E) -> T) {
    match stride {
        // SAFETY: all of them are this element
        0 => out.fill(f(unsafe { first.read_unaligned() })),
        1 => {
            for (at, out) in out.iter_mut().enumerate() {
                // SAFETY: the caller vouches for each
                *out = f(unsafe { first.wrapping_add(at).read_unaligned() });
            }
        }
        _ => {
            let mut place = first;
            for out in out {
                // SAFETY: the caller vouches for each
                *out = f(unsafe { place.read_unaligned() });
                place = place.wrapping_offset(stride);
            }
        }
    }
}

/// # Safety
///
/// `from.len()` elements may be written from `first` on, each `stride` after the one
/// before.
#[inline(always)]
unsafe fn scatter_run<T: Pod, E: Pod>(first: *mut E, stride: isize, from: &[T], f: impl Fn(T) -> E) {
    if stride == 1 {
        for (at, &value) in from.iter().enumerate() {
            // SAFETY: the caller vouches for each
            unsafe { first.wrapping_add(at).write_unaligned(f(value)) };
        }
        return;
    }
    let mut place = first;
    for &value in from {
        // SAFETY: the caller vouches for each
        unsafe { place.write_unaligned(f(value)) };
        place = place.wrapping_offset(stride);
    }
}
