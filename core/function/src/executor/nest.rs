//! The positions of several operands' elements: nested axes, joined where all operands allow it.

use std::ops::Range;

use smallvec::{SmallVec, smallvec};

/// Extents or strides of a nest.
pub(super) type Steps<T> = SmallVec<[T; 4]>;

/// An operand of a nest.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    /// The address of the element of index 0 along all axes.
    pub(super) start: *const u8,
    pub(super) item_bytes: usize,
    /// The stride along each axis, in bytes.
    pub(super) strides: Steps<isize>,
}

impl Operand {
    /// The stride along the innermost axis.
    pub(super) fn inner(&self) -> isize {
        self.strides.last().copied().unwrap_or(0)
    }

    /// Whether the elements along the innermost axis lie side by side.
    pub(super) fn is_dense(&self) -> bool {
        self.inner() == self.item_bytes.cast_signed()
    }
}

/// Axes, and the strides of every operand. There is at least one axis.
#[derive(Debug, Clone)]
pub(super) struct Nest {
    pub(super) extents: Steps<usize>,
    pub(super) operands: SmallVec<[Operand; 4]>,
}

/// An operand before axes are joined: the address of position 0, the size of an element, the offset
/// of the first element, and the strides, in elements.
pub(super) type Elements<'a> = (*const u8, usize, usize, &'a [isize]);

impl Nest {
    /// Makes the nest of a shape.
    pub(super) fn new<'a>(shape: &[usize], elements: impl Iterator<Item = Elements<'a>>) -> Self {
        let operand = |(start, item_bytes, offset, strides): Elements<'a>| {
            let bytes = item_bytes.cast_signed();
            // Only existing positions are used, so they do not overflow.
            let start = start.wrapping_offset(offset.cast_signed().wrapping_mul(bytes));
            let strides = strides.iter().map(|stride| stride.wrapping_mul(bytes)).collect();
            Operand { start, item_bytes, strides }
        };
        Self { extents: shape.iter().copied().collect(), operands: elements.map(operand).collect() }.joined()
    }

    /// Makes a nest with one axis. Each operand has a start, an element size, and a stride in
    /// bytes.
    pub(super) fn line<const N: usize>(len: usize, operands: [(*const u8, usize, isize); N]) -> Self {
        let operand = |(start, item_bytes, stride)| Operand { start, item_bytes, strides: smallvec![stride] };
        Self { extents: smallvec![len], operands: operands.into_iter().map(operand).collect() }
    }

    /// Makes a nest with two axes.
    pub(super) fn plane(
        extents: [usize; 2],
        operands: impl Iterator<Item = (*const u8, usize, [isize; 2])>,
    ) -> Self {
        let operand = |(start, item_bytes, steps): (_, _, [isize; 2])| Operand {
            start,
            item_bytes,
            strides: steps.into_iter().collect(),
        };
        Self { extents: extents.into_iter().collect(), operands: operands.map(operand).collect() }.joined()
    }

    /// The number of elements.
    pub(super) fn len(&self) -> usize {
        self.extents.iter().product()
    }

    /// The extent of the innermost axis.
    pub(super) fn inner(&self) -> usize {
        self.extents.last().copied().unwrap_or(1)
    }

    /// Drops axes of one position, and joins neighbours that are one axis to every operand.
    fn joined(mut self) -> Self {
        let mut last = 0;
        for axis in 0..self.extents.len() {
            let extent = self.extents[axis];
            if extent == 1 {
                continue;
            }
            let joins = last > 0
                && self.operands.iter().all(|operand| {
                    operand.strides[axis].checked_mul(extent.cast_signed()) == Some(operand.strides[last - 1])
                });
            if joins {
                self.extents[last - 1] *= extent;
            } else {
                self.extents[last] = extent;
                last += 1;
            }
            for operand in &mut self.operands {
                operand.strides[last - 1] = operand.strides[axis];
            }
        }
        self.extents.truncate(last);
        self.operands.iter_mut().for_each(|operand| operand.strides.truncate(last));
        if last == 0 {
            self.extents.push(1);
            self.operands
                .iter_mut()
                .for_each(|operand| operand.strides.push(operand.item_bytes.cast_signed()));
        }
        self
    }

    /// The element of an operand at a position in row-major order.
    #[inline]
    pub(super) fn at(&self, operand: usize, mut position: usize) -> *const u8 {
        let Operand { mut start, ref strides, .. } = self.operands[operand];
        let mut axis = self.extents.len() - 1;
        while axis > 0 {
            let extent = self.extents[axis];
            start = start.wrapping_offset(scaled(position % extent, strides[axis]));
            position /= extent;
            axis -= 1;
        }
        start.wrapping_offset(scaled(position, strides[0]))
    }

    /// The elements of an operand in a range of positions, as runs of even steps: the first element
    /// of each run, and its length.
    pub(super) fn runs(&self, operand: usize, range: Range<usize>, mut run: impl FnMut(*const u8, usize)) {
        let (inner, mut at) = (self.inner(), range.start);
        while at < range.end {
            let len = (inner - at % inner).min(range.end - at);
            run(self.at(operand, at), len);
            at += len;
        }
    }

    /// Whether the elements of an operand lie side by side in row-major order.
    pub(super) fn is_dense(&self, operand: usize) -> bool {
        let mut step = self.operands[operand].item_bytes.cast_signed();
        let axes = self.extents.iter().zip(&self.operands[operand].strides);
        axes.rev().all(|(&extent, &stride)| {
            let expected = step;
            step = step.wrapping_mul(extent.cast_signed());
            stride == expected
        })
    }

    /// The part of the nest at the positions of a box, with axes in the order that suits one
    /// operand best: its longest steps first, and all forwards.
    pub(super) fn part(&self, box_of: &[Range<usize>], best: usize) -> Self {
        let mut axes: Steps<usize> = (0..self.extents.len()).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse(self.operands[best].strides[axis].unsigned_abs()));
        let backwards = |axis: usize| self.operands[best].strides[axis] < 0;
        let operand = |operand: &Operand| {
            let mut start = operand.start;
            let strides = axes.iter().map(|&axis| {
                let (stride, range) = (operand.strides[axis], &box_of[axis]);
                let first = if backwards(axis) { range.end - 1 } else { range.start };
                start = start.wrapping_offset(scaled(first, stride));
                if backwards(axis) { stride.wrapping_neg() } else { stride }
            });
            let strides = strides.collect();
            Operand { start, item_bytes: operand.item_bytes, strides }
        };
        let operands = self.operands.iter().map(operand).collect();
        Self { extents: axes.iter().map(|&axis| box_of[axis].len()).collect(), operands }.joined()
    }
}

/// The distance of `count` steps of a stride.
#[inline(always)]
pub(super) fn scaled(count: usize, stride: isize) -> isize {
    count.cast_signed().wrapping_mul(stride)
}

/// Cuts a range of positions in row-major order into boxes, in that order.
pub(super) fn boxes(extents: &[usize], range: Range<usize>, each: &mut impl FnMut(&[Range<usize>])) {
    boxes_behind(&mut SmallVec::new(), extents, range, each);
}

fn boxes_behind(
    before: &mut SmallVec<[Range<usize>; 4]>,
    extents: &[usize],
    range: Range<usize>,
    each: &mut impl FnMut(&[Range<usize>]),
) {
    let depth = before.len();
    let inner: usize = extents[depth + 1..].iter().product();
    let mut at = range.start;
    while at < range.end {
        let (index, end) = (at / inner, range.end / inner);
        if at.is_multiple_of(inner) && index < end {
            before.push(index..end);
            before.extend(extents[depth + 1..].iter().map(|&extent| 0..extent));
            each(before);
            at = end * inner;
        } else {
            let (start, end) = (index * inner, range.end.min((index + 1) * inner));
            before.push(index..index + 1);
            boxes_behind(before, extents, at - start..end - start, each);
            at = end;
        }
        before.truncate(depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_the_range_each_position_once() {
        let extents = [3, 4, 5];
        for start in 0..=60 {
            for end in start..=60 {
                let mut found = [0; 60];
                boxes(&extents, start..end, &mut |box_of| {
                    for a in box_of[0].clone() {
                        for b in box_of[1].clone() {
                            box_of[2].clone().for_each(|c| found[a * 20 + b * 5 + c] += 1);
                        }
                    }
                });
                let expected: Vec<_> = (0..60).map(|at| u32::from((start..end).contains(&at))).collect();
                assert_eq!(found.to_vec(), expected, "{start}..{end}");
            }
        }
    }
}
