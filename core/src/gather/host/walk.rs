//! Walks through a gather in blocks of an inner axis.
#![allow(unsafe_code)] // moves elements that its caller vouches for
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "indices below a bound of elements in memory"
)]

use std::ops::Range;

use devarray_order::IndexFault;

use super::{
    super::{
        Gathering, IndexError, IndexType, OutOfRange,
        moves::{Move, OUTSIDE, Step, read_indices},
    },
    GatherMemory,
};
use crate::layout::{
    Layout,
    nest::{Nest, Strided},
};

/// The number of positions in a block.
pub(super) const BLOCK: usize = 1024;

/// The operands, by their index in the strides of a walk.
const ELEMENTS: usize = 0;
const INDEXED: usize = 1;
const INDICES: usize = 2;
const MASK: usize = 3;
const POSITIONS: usize = 4;

type Axis = Strided<[isize; 5]>;

pub(super) struct Walk<'a> {
    work: &'a Gathering<'a>,
    /// Where the first position finds its element, the element of index 0, its index, and its byte
    /// of the mask.
    starts: [*mut u8; 4],
    /// Axes before the inner one, with strides in bytes, and in positions of indices.
    outer: Nest<Axis>,
    pub(super) inner: Axis,
    /// Moves the elements of one position.
    step: Step,
    /// The step in bytes from one index value to the next, if indices select along one axis.
    index_bytes: Option<isize>,
    bound: usize,
    /// For a share of a scatter, the distances that belong to it.
    pub(super) share: Option<Range<i64>>,
    distances: Box<[i64; BLOCK]>,
    /// The indices that the distances belong to, by address and number. Along axes that repeat the
    /// indices, the distances stay.
    known: Option<(*mut u8, usize)>,
    are_inside: bool,
    /// Positions of a block that a mask selects.
    chosen: Vec<u32>,
    pub(super) selected: i64,
    pub(super) error: Option<IndexError>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(work: &'a Gathering<'a>, memory: GatherMemory) -> Self {
        let width = work.width_bytes;
        let (last, outer) = work.split();
        let item_bytes = [width, width, work.index_type.len_bytes(), 1];
        let layouts = [Some(work.elements), Some(work.indexed), Some(work.indices), work.mask];
        let memories = [memory.elements, memory.indexed, memory.indices, memory.mask.cast_mut()];
        let mut starts = memories;
        for (start, (layout, bytes)) in starts.iter_mut().zip(layouts.into_iter().zip(item_bytes)) {
            *start = start.wrapping_add(layout.map_or(0, Layout::offset) * bytes);
        }
        let stride = |operand: usize, axis: usize| {
            let stride = layouts[operand].map_or(0, |layout| layout.strides()[axis]);
            stride.wrapping_mul(item_bytes[operand].cast_signed())
        };
        let mut axes: Nest<Axis> = (0..outer)
            .map(|axis| {
                let of = |operand| stride(operand, axis);
                let position = work.positions[axis].cast_signed();
                let strides = [of(ELEMENTS), of(INDEXED), of(INDICES), of(MASK), position];
                Axis { extent: work.shape[axis], strides }
            })
            .collect();
        axes.drop_units();
        axes.merge();
        let inner = axes.pop().unwrap_or(Axis { extent: 1, strides: [0; 5] });
        let (len, along) = match last {
            Some(axis) => (work.shape[axis], [stride(INDEXED, axis), stride(ELEMENTS, axis)]),
            None => (1, [0, 0]),
        };
        let total_bytes = work.elements.len() * width;
        let mut indexed_axes: Nest<Strided<[isize; 1]>> = work
            .indexed_axes
            .iter()
            .map(|axis| Strided { extent: axis.extent, strides: [axis.stride] })
            .collect();
        indexed_axes.drop_units();
        indexed_axes.merge();
        let index_bytes = match &indexed_axes[..] {
            [] => Some(0),
            [axis] => Some(axis.strides[0].wrapping_mul(width.cast_signed())),
            _ => None,
        };
        Self {
            work,
            starts,
            outer: axes,
            inner,
            step: Step::new(width, len, along, total_bytes),
            index_bytes,
            bound: work.bound(),
            share: None,
            distances: Box::new([0; BLOCK]),
            known: None,
            are_inside: false,
            chosen: Vec::new(),
            selected: 0,
            error: None,
        }
    }

    /// Moves the positions `first..first + len` of the inner axis, at one place of the outer axes.
    ///
    /// # Safety
    ///
    /// The conditions of [`gather_range_on_host`](super::gather_range_on_host).
    pub(super) unsafe fn block(&mut self, outer: usize, first: usize, len: usize) {
        let mut places = self.starts;
        let mut position = 0_isize;
        let mut left = outer;
        let outer_axes = self.outer.iter().rev().map(|axis| {
            let at = left % axis.extent;
            left /= axis.extent;
            (at, axis.strides)
        });
        for (at, strides) in outer_axes.chain([(first, self.inner.strides)]) {
            for (place, stride) in places.iter_mut().zip(strides) {
                *place = place.wrapping_offset(stride.wrapping_mul(at.cast_signed()));
            }
            position += strides[POSITIONS].wrapping_mul(at.cast_signed());
        }
        if self.work.mask.is_some() {
            // SAFETY: as the caller promises
            unsafe { self.choose(places[MASK], len) };
            self.known = None;
        }
        if self.work.index_type == IndexType::Counted {
            self.count();
        } else if self.known != Some((places[INDICES], len)) {
            // SAFETY: as the caller promises
            unsafe { self.resolve(places[INDICES], len) };
            self.known = Some((places[INDICES], len));
        }
        let chosen = self.work.mask.is_some().then_some(&self.chosen[..]);
        if let Some(chosen) = chosen.filter(|_| self.work.index_type != IndexType::Counted) {
            // The chosen distances move forward in place: a distance never moves behind its own
            // place.
            for (to, &from) in chosen.iter().enumerate() {
                self.distances[to] = self.distances[from as usize];
            }
        }
        let count = chosen.map_or(len, <[u32]>::len);
        if !self.are_inside {
            // SAFETY: as the caller promises
            unsafe { self.note_errors(places[INDICES], position, count) };
        }
        let (chosen, count) = self.keep_share(count);
        let moved = Move {
            direction: self.work.direction,
            indexed: places[INDEXED],
            elements: places[ELEMENTS],
            indexed_step: self.inner.strides[INDEXED],
            elements_step: self.inner.strides[ELEMENTS],
            distances: &self.distances[..count],
            chosen: chosen.then_some(&self.chosen[..]),
            are_inside: self.are_inside,
        };
        // SAFETY: as the caller promises; distances belong to indices in range
        unsafe { self.step.run(&moved) };
        self.selected += count as i64;
    }

    /// Drops distances that belong to other shares from the first `count`. Returns whether only
    /// chosen positions are left, and the number of distances left.
    fn keep_share(&mut self, count: usize) -> (bool, usize) {
        let is_masked = self.work.mask.is_some();
        let Some(share) = &self.share else { return (is_masked, count) };
        if !is_masked {
            self.chosen.resize(BLOCK, 0);
        }
        let mut kept = 0;
        for at in 0..count {
            let distance = self.distances[at];
            self.chosen[kept] = if is_masked { self.chosen[at] } else { at as u32 };
            self.distances[kept] = distance;
            kept += usize::from(share.contains(&distance));
        }
        self.chosen.truncate(kept);
        // The distances no longer belong to the indices.
        self.known = None;
        (true, kept)
    }

    /// Collects the positions that a mask selects.
    ///
    /// # Safety
    ///
    /// Their bytes of the mask may be read.
    unsafe fn choose(&mut self, mask: *const u8, len: usize) {
        self.chosen.resize(BLOCK, 0);
        let (mut count, step) = (0, self.inner.strides[MASK]);
        for at in 0..len {
            let place = mask.wrapping_offset(step.wrapping_mul(at.cast_signed()));
            // SAFETY: as the caller promises
            let is_chosen = unsafe { place.read() } != 0;
            self.chosen[count] = at as u32;
            count += usize::from(is_chosen);
        }
        self.chosen.truncate(count);
    }

    /// Converts indices to distances.
    ///
    /// # Safety
    ///
    /// The indices may be read.
    unsafe fn resolve(&mut self, indices: *const u8, len: usize) {
        let work = self.work;
        let distances = &mut self.distances[..len];
        // SAFETY: as the caller promises
        unsafe { read_indices(work.index_type, indices, self.inner.strides[INDICES], distances) };
        let bound = self.bound.cast_signed() as i64;
        match work.out_of_range {
            OutOfRange::Error => {
                for index in &mut *distances {
                    let found = if *index < 0 { index.wrapping_add(bound) } else { *index };
                    *index = if (0..bound).contains(&found) { found } else { OUTSIDE };
                }
            }
            OutOfRange::Wrap => {
                distances.iter_mut().for_each(|index| *index = index.rem_euclid(bound));
            }
            OutOfRange::Clamp => {
                distances.iter_mut().for_each(|index| *index = (*index).clamp(0, bound - 1));
            }
        }
        self.are_inside = !distances.iter().fold(false, |any, &index| any | (index == OUTSIDE));
        match self.index_bytes {
            Some(bytes) => {
                for distance in distances {
                    let reached = distance.wrapping_mul(bytes as i64);
                    *distance = if *distance == OUTSIDE { OUTSIDE } else { reached };
                }
            }
            None => {
                for distance in distances.iter_mut().filter(|distance| **distance != OUTSIDE) {
                    // An index below the bound names an element in memory, so it fits `usize`.
                    let index = distance.cast_unsigned() as usize;
                    *distance = (work.distance(index) * work.width_bytes.cast_signed()) as i64;
                }
            }
        }
    }

    /// Makes the distances of selected elements, which are numbered one after the other.
    fn count(&mut self) {
        let (work, bytes) = (self.work, self.index_bytes);
        let distances = &mut self.distances[..self.chosen.len()];
        for (at, distance) in distances.iter_mut().enumerate() {
            let reached = work.resolve(self.selected + at as i64).map(|index| match bytes {
                Some(bytes) => bytes.wrapping_mul(index.cast_signed()),
                None => work.distance(index) * work.width_bytes.cast_signed(),
            });
            *distance = reached.map_or(OUTSIDE, |reached| reached as i64);
        }
        self.are_inside = !distances.contains(&OUTSIDE);
    }

    /// Keeps the first index of a block that is out of range, unless an earlier one is kept.
    ///
    /// # Safety
    ///
    /// The indices may be read.
    unsafe fn note_errors(&mut self, indices: *const u8, position: isize, count: usize) {
        let outside =
            self.distances[..count].iter().enumerate().filter(|&(_, &distance)| distance == OUTSIDE);
        for (number, _) in outside {
            let at = if self.work.mask.is_some() { self.chosen[number] as usize } else { number };
            let step = |operand: usize| self.inner.strides[operand].wrapping_mul(at.cast_signed());
            let position = position.wrapping_add(step(POSITIONS)).cast_unsigned() as u64;
            if self.error.is_some_and(|first| first.position <= position) {
                continue;
            }
            let mut value = [self.selected + number as i64];
            if self.work.index_type != IndexType::Counted {
                let place = indices.wrapping_offset(step(INDICES));
                // SAFETY: as the caller promises
                unsafe { read_indices(self.work.index_type, place, 0, &mut value) };
            }
            self.error = Some(IndexError {
                operation: self.work.operation,
                fault: IndexFault::Outside,
                axis: self.work.axis,
                position,
                value: value[0],
                bound: self.bound as u64,
            });
        }
    }
}
