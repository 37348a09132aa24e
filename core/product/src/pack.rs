//! Packs parts of operands as numbers side by side.
#![allow(unsafe_code)] // reads elements that callers vouch for

use crate::{kind::Kind, lanes::Lanes, number::Number};

/// Elements of an operand: the address of the first, and the strides across (rows of the left, columns of the
/// right operand) and along k, in elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Elements<B> {
    pub(crate) start: *const B,
    pub(crate) across: isize,
    pub(crate) along: isize,
}

impl<B> Elements<B> {
    /// The elements from another position on.
    #[inline(always)]
    pub(crate) fn from(self, across: usize, along: usize) -> Self {
        let place = across.cast_signed() * self.across + along.cast_signed() * self.along;
        Self { start: self.start.wrapping_offset(place), ..self }
    }

    /// Elements of another type with the same bits.
    #[inline(always)]
    pub(crate) fn cast<C>(self) -> Elements<C> {
        Elements { start: self.start.cast(), across: self.across, along: self.along }
    }
}

/// The number of elements of a line that are converted at a time.
const PART: usize = 64;

/// Packs `width` lines of `depth` elements: number k of line j becomes number k * stride + j.
///
/// # Safety
///
/// The processor has the instructions of the lanes, and the elements may be read.
///
/// # Panics
///
/// If there is not enough room for the numbers.
#[inline(always)]
pub(crate) unsafe fn pack<L: Lanes, K: Kind<Number = L::Number>>(
    elements: Elements<K::Bits>,
    [width, depth]: [usize; 2],
    to: &mut [L::Number],
    stride: usize,
) {
    assert!(width <= stride && depth * stride <= to.len(), "room for all");
    let to = to.as_mut_ptr();
    if elements.across == 1 {
        for k in 0..depth {
            // SAFETY: as the caller promises; there is room
            unsafe { copy::<L, K>(elements.from(0, k).start, width, to.wrapping_add(k * stride)) };
        }
        return;
    }
    let turns = elements.along == 1;
    let whole = if turns { width - width % L::COUNT } else { 0 };
    for column in (0..whole).step_by(L::COUNT) {
        // SAFETY: as the caller promises; there is room
        unsafe { turn::<L, K>(elements.from(column, 0), depth, to.wrapping_add(column), stride) };
    }
    for column in whole..width {
        let line = elements.from(column, 0);
        for k in 0..depth {
            // SAFETY: as the caller promises
            let number = K::load(unsafe { line.from(0, k).start.read_unaligned() });
            // SAFETY: there is room
            unsafe { to.wrapping_add(k * stride + column).write(number) };
        }
    }
}

/// Converts elements side by side to numbers.
///
/// # Safety
///
/// The conditions of [`pack`], and `len` numbers may be written.
#[inline(always)]
unsafe fn copy<L: Lanes, K: Kind<Number = L::Number>>(from: *const K::Bits, len: usize, to: *mut L::Number) {
    if K::IS_NUMBER {
        let from = from.cast::<L::Number>();
        for at in (0..len - len % L::COUNT).step_by(L::COUNT) {
            // SAFETY: as the caller promises; the bits are the number
            let numbers = unsafe { L::load(from.wrapping_add(at)) };
            // SAFETY: as the caller promises
            unsafe { numbers.store(to.wrapping_add(at)) };
        }
        let (at, rest) = (len - len % L::COUNT, len % L::COUNT);
        if rest > 0 {
            // SAFETY: as above
            let numbers = unsafe { L::load_some(from.wrapping_add(at), rest) };
            // SAFETY: as above
            unsafe { numbers.store_some(to.wrapping_add(at), rest) };
        }
    } else {
        for at in 0..len {
            // SAFETY: as the caller promises
            let number = K::load(unsafe { from.wrapping_add(at).read_unaligned() });
            // SAFETY: as the caller promises
            unsafe { to.wrapping_add(at).write(number) };
        }
    }
}

/// Transposes as many lines as there are lanes. The elements of a line lie side by side.
///
/// # Safety
///
/// The conditions of [`pack`], and the numbers may be written.
#[inline(always)]
unsafe fn turn<L: Lanes, K: Kind<Number = L::Number>>(
    lines: Elements<K::Bits>,
    depth: usize,
    to: *mut L::Number,
    stride: usize,
) {
    let whole = depth - depth % L::COUNT;
    if K::IS_NUMBER {
        for k in (0..whole).step_by(L::COUNT) {
            // SAFETY: as the caller promises; the bits are numbers
            let line = |line| unsafe { L::load(lines.from(line, k).start.cast()) };
            // SAFETY: as the caller promises
            L::turned(line, |at, numbers| unsafe { numbers.store(to.wrapping_add((k + at) * stride)) });
        }
    } else {
        const MOST: usize = 16;
        let mut parts = [[L::Number::ZERO; PART]; MOST];
        for start in (0..whole).step_by(PART) {
            let len = PART.min(whole - start);
            for (line, part) in parts.iter_mut().take(L::COUNT).enumerate() {
                // SAFETY: as the caller promises
                unsafe { copy::<L, K>(lines.from(line, start).start, len, part.as_mut_ptr()) };
            }
            for k in (0..len).step_by(L::COUNT) {
                // SAFETY: the part has as many numbers
                let line = |line: usize| unsafe { L::load(parts[line][k..].as_ptr()) };
                let to = to.wrapping_add((start + k) * stride);
                // SAFETY: as the caller promises
                L::turned(line, |at, numbers| unsafe { numbers.store(to.wrapping_add(at * stride)) });
            }
        }
    }
    for k in whole..depth {
        for line in 0..L::COUNT {
            // SAFETY: as the caller promises
            let number = K::load(unsafe { lines.from(line, k).start.read_unaligned() });
            // SAFETY: as the caller promises
            unsafe { to.wrapping_add(k * stride + line).write(number) };
        }
    }
}
