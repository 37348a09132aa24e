//! The loops of a gather in memory that the host reaches.
#![allow(unsafe_code)] // moves elements that its caller vouches for
#![allow(clippy::cast_possible_truncation, reason = "distances between elements in memory")]

use super::{Direction, IndexType};
use crate::copy::copy_streaming;

/// Stands for the distance of an index out of range: no two elements are that far apart.
pub(super) const OUTSIDE: i64 = i64::MIN;

/// Reads indices that are a fixed number of bytes apart.
///
/// # Safety
///
/// `to.len()` indices may be read. They need no alignment.
pub(super) unsafe fn read_indices(of: IndexType, from: *const u8, step: isize, to: &mut [i64]) {
    macro_rules! read {
        ($type:ty) => {
            for (at, to) in to.iter_mut().enumerate() {
                let place = from.wrapping_offset(step.wrapping_mul(at.cast_signed()));
                // SAFETY: as the caller promises
                *to = i64::from(unsafe { place.cast::<$type>().read_unaligned() });
            }
        };
    }
    match of {
        IndexType::I32 => read!(i32),
        IndexType::U32 => read!(u32),
        IndexType::I64 => read!(i64),
        // Nothing is read: the walk numbers the elements itself.
        IndexType::Counted => {}
    }
}

/// The elements of a block of positions.
pub(super) struct Move<'a> {
    pub(super) direction: Direction,
    /// The element of index 0 at the first position, and the step in bytes to the next position's.
    pub(super) indexed: *mut u8,
    pub(super) indexed_step: isize,
    /// The element of the first position, and the step in bytes to the next.
    pub(super) elements: *mut u8,
    pub(super) elements_step: isize,
    /// Bytes from the element of index 0 to the element of each index, or [`OUTSIDE`].
    pub(super) distances: &'a [i64],
    /// The positions that the distances belong to; `None` for all.
    pub(super) chosen: Option<&'a [u32]>,
    /// Whether no index is out of range.
    pub(super) are_inside: bool,
}

/// The elements that move at each position.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// One element; or several that lie side by side on both sides and have this width together.
    One { width: usize },
    /// Bytes side by side on both sides.
    Row { len_bytes: usize, past_caches: bool },
    /// Elements that are `steps` bytes apart, in the indexed array and on the side of the elements.
    Strided { width: usize, len: usize, steps: [isize; 2] },
}

impl Step {
    /// Chooses how to move `len` elements that are `steps` bytes apart. `total_bytes` is the size of the
    /// whole result.
    pub(super) fn new(width: usize, len: usize, steps: [isize; 2], total_bytes: usize) -> Self {
        /// Results of at least this size do not stay in a cache.
        const LARGE_BYTES: usize = 16 << 20;
        /// In shorter rows, partly written cache lines would cost more than streaming saves.
        const LONG_BYTES: usize = 2 << 10;
        if len == 1 {
            return Self::One { width };
        }
        if steps != [width.cast_signed(); 2] {
            return Self::Strided { width, len, steps };
        }
        match width * len {
            width @ (2 | 4 | 8 | 16) => Self::One { width },
            len_bytes => {
                let past_caches = total_bytes >= LARGE_BYTES && len_bytes >= LONG_BYTES;
                Self::Row { len_bytes, past_caches }
            }
        }
    }

    /// Moves them.
    ///
    /// # Safety
    ///
    /// For each position, the elements on one side may be read and the elements on the other side
    /// written. No byte is both.
    pub(super) unsafe fn run(self, moved: &Move<'_>) {
        match self {
            // SAFETY: as the caller promises
            Self::One { width: 1 } => unsafe { ones::<1>(moved) },
            // SAFETY: as the caller promises
            Self::One { width: 2 } => unsafe { ones::<2>(moved) },
            // SAFETY: as the caller promises
            Self::One { width: 4 } => unsafe { ones::<4>(moved) },
            // SAFETY: as the caller promises
            Self::One { width: 8 } => unsafe { ones::<8>(moved) },
            // SAFETY: as the caller promises
            Self::One { .. } => unsafe { ones::<16>(moved) },
            Self::Row { len_bytes, past_caches } => moved.each(|indexed, elements| {
                let Some((from, to)) = moved.sides(indexed, elements) else {
                    // SAFETY: as the caller promises
                    return unsafe { elements.write_bytes(0, len_bytes) };
                };
                if past_caches {
                    // SAFETY: as the caller promises
                    unsafe { copy_streaming(from, to, len_bytes) }
                } else {
                    // SAFETY: as the caller promises
                    unsafe { from.copy_to_nonoverlapping(to, len_bytes) }
                }
            }),
            Self::Strided { width, len, steps } => moved.each(|indexed, elements| {
                for at in 0..len {
                    let place = |start: *mut u8, step: isize| {
                        start.wrapping_offset(step.wrapping_mul(at.cast_signed()))
                    };
                    let elements = place(elements, steps[1]);
                    match moved.sides(indexed.map(|start| place(start, steps[0])), elements) {
                        // SAFETY: as the caller promises
                        Some((from, to)) => unsafe { copy_one(from, to, width) },
                        // SAFETY: as the caller promises
                        None => unsafe { elements.write_bytes(0, width) },
                    }
                }
            }),
        }
    }
}

impl Move<'_> {
    /// Calls back for each position in order, with its place in the indexed array, or `None` if the
    /// index is out of range, and its place among the elements. A scatter leaves such a position
    /// out.
    #[inline(always)]
    fn each(&self, mut each: impl FnMut(Option<*mut u8>, *mut u8)) {
        let mut one = |at: usize, distance: i64| {
            let place =
                |start: *mut u8, step: isize| start.wrapping_offset(step.wrapping_mul(at.cast_signed()));
            let elements = place(self.elements, self.elements_step);
            if !self.are_inside && distance == OUTSIDE {
                if self.direction == Direction::Gather {
                    each(None, elements);
                }
                return;
            }
            // Distances between elements that exist fit.
            let indexed = place(self.indexed, self.indexed_step).wrapping_offset(distance as isize);
            each(Some(indexed), elements);
        };
        match self.chosen {
            None => self.distances.iter().enumerate().for_each(|(at, &distance)| one(at, distance)),
            Some(chosen) => {
                chosen.iter().zip(self.distances).for_each(|(&at, &distance)| one(at as usize, distance));
            }
        }
    }

    /// Source and destination of an element; `None` if the index is out of range.
    #[inline(always)]
    fn sides(&self, indexed: Option<*mut u8>, elements: *mut u8) -> Option<(*const u8, *mut u8)> {
        let indexed = indexed?;
        Some(match self.direction {
            Direction::Gather => (indexed.cast_const(), elements),
            Direction::Scatter => (elements.cast_const(), indexed),
        })
    }
}

/// Moves one element of `WIDTH` bytes at each position.
///
/// # Safety
///
/// The conditions of [`Step::run`].
unsafe fn ones<const WIDTH: usize>(moved: &Move<'_>) {
    // Each case has its own loop, so that the loop tests nothing.
    if moved.are_inside && moved.chosen.is_none() {
        let places = moved.distances.iter().enumerate().map(|(at, &distance)| {
            let at = at.cast_signed();
            let indexed = moved.indexed.wrapping_offset(moved.indexed_step.wrapping_mul(at));
            let elements = moved.elements.wrapping_offset(moved.elements_step.wrapping_mul(at));
            (indexed.wrapping_offset(distance as isize), elements)
        });
        match moved.direction {
            // SAFETY: as the caller promises
            Direction::Gather => places.for_each(|(indexed, elements)| unsafe {
                indexed.copy_to_nonoverlapping(elements, WIDTH);
            }),
            // SAFETY: as the caller promises
            Direction::Scatter => places.for_each(|(indexed, elements)| unsafe {
                elements.copy_to_nonoverlapping(indexed, WIDTH);
            }),
        }
        return;
    }
    moved.each(|indexed, elements| match moved.sides(indexed, elements) {
        // SAFETY: as the caller promises
        Some((from, to)) => unsafe { from.copy_to_nonoverlapping(to, WIDTH) },
        // SAFETY: as the caller promises
        None => unsafe { elements.write_bytes(0, WIDTH) },
    });
}

/// Copies an element whose width is a power of two.
///
/// # Safety
///
/// The bytes may be read and written, and no byte is both.
#[inline]
unsafe fn copy_one(from: *const u8, to: *mut u8, width: usize) {
    match width {
        // SAFETY: as the caller promises
        1 => unsafe { from.copy_to_nonoverlapping(to, 1) },
        // SAFETY: as the caller promises
        2 => unsafe { from.copy_to_nonoverlapping(to, 2) },
        // SAFETY: as the caller promises
        4 => unsafe { from.copy_to_nonoverlapping(to, 4) },
        // SAFETY: as the caller promises
        8 => unsafe { from.copy_to_nonoverlapping(to, 8) },
        // SAFETY: as the caller promises
        _ => unsafe { from.copy_to_nonoverlapping(to, 16) },
    }
}
