//! Both sides of a copy as one nest of loops, and the reduction of the nest to canonical form.

use std::ops::Range;

use super::Axis;
use crate::{
    Layout, LayoutError,
    nest::{Loop, Nest},
};

/// Loops, outermost first, around runs of contiguous bytes. All positions fit `isize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loops {
    pub(super) axes: Nest<Axis>,
    /// Bytes of one run; 0 if there is nothing to move.
    pub(super) run_bytes: usize,
    pub(super) dst_offset_bytes: usize,
    pub(super) src_offset_bytes: usize,
}

impl Loops {
    /// Loops that move nothing.
    pub(super) fn empty() -> Self {
        Self { axes: Nest::default(), run_bytes: 0, dst_offset_bytes: 0, src_offset_bytes: 0 }
    }

    /// Makes one run of two C-contiguous layouts of one shape, neither of them empty.
    pub(super) fn contiguous(dst: &Layout, src: &Layout, item_bytes: usize) -> Result<Self, LayoutError> {
        check_bytes(dst, src, item_bytes)?;
        Ok(Self {
            axes: Nest::default(),
            run_bytes: dst.len() * item_bytes,
            dst_offset_bytes: dst.offset() * item_bytes,
            src_offset_bytes: src.offset() * item_bytes,
        })
    }

    /// Makes the loops over two layouts of one shape, in bytes, not reduced. Neither layout is
    /// empty.
    pub(super) fn between(dst: &Layout, src: &Layout, item_bytes: usize) -> Result<Self, LayoutError> {
        check_bytes(dst, src, item_bytes)?;
        let item = item_bytes.cast_signed();
        let axes = dst.shape().iter().zip(dst.strides().iter().zip(src.strides()));
        // The stride of an axis with one position may be any number, even one too large to be
        // counted in bytes.
        let axes = axes.filter(|&(&extent, _)| extent > 1).map(|(&extent, (&dst_stride, &src_stride))| {
            Axis { extent, dst_stride_bytes: dst_stride * item, src_stride_bytes: src_stride * item }
        });
        Ok(Self {
            axes: axes.collect(),
            run_bytes: item_bytes,
            dst_offset_bytes: dst.offset() * item_bytes,
            src_offset_bytes: src.offset() * item_bytes,
        })
    }

    /// Reduces to the canonical form, whose rules are on [the module page](crate::copy). Reducing
    /// twice changes nothing.
    pub(super) fn reduced(mut self) -> Self {
        self.axes.drop_units();
        self.axes.forward(0, |reach| {
            // The other end of an axis is a position too, so neither sum overflows.
            self.dst_offset_bytes = self.dst_offset_bytes.wrapping_add_signed(reach.dst_stride_bytes);
            self.src_offset_bytes = self.src_offset_bytes.wrapping_add_signed(reach.src_stride_bytes);
        });
        self.axes.sort(|axis| axis.dst_stride_bytes);
        self.axes.merge();
        if let Some(steps) = self.axes.take_run([self.run_bytes.cast_signed(); 2]) {
            self.run_bytes *= steps;
        }
        self
    }

    /// Returns the same loops with each side moved by some bytes.
    ///
    /// `None` if a side would begin before position 0 or end beyond `isize::MAX`: all arithmetic on
    /// positions relies on this. Loops with nothing to move have no position, and stay as they are.
    pub(super) fn moved(&self, dst_bytes: isize, src_bytes: isize) -> Option<Self> {
        let mut moved = self.clone();
        if self.run_bytes > 0 {
            moved.dst_offset_bytes = self.dst_offset_bytes.checked_add_signed(dst_bytes)?;
            moved.src_offset_bytes = self.src_offset_bytes.checked_add_signed(src_bytes)?;
            moved.span(moved.dst_offset_bytes, |axis| axis.reach().dst_stride_bytes)?;
            moved.span(moved.src_offset_bytes, |axis| axis.reach().src_stride_bytes)?;
        }
        Some(moved)
    }

    /// The bytes of a side from the first to one past the last, including gaps; `0..0` if there are
    /// none.
    ///
    /// `None` if the side begins before position 0 or ends beyond `isize::MAX`.
    pub(super) fn span(&self, offset: usize, reach: impl Fn(&Axis) -> isize) -> Option<Range<usize>> {
        let (mut start, mut end) = (offset, offset.checked_add(self.run_bytes)?);
        for reach in self.axes.iter().map(reach) {
            if reach < 0 {
                start = start.checked_add_signed(reach)?;
            } else {
                end = end.checked_add_signed(reach)?;
            }
        }
        isize::try_from(end).is_ok().then_some(start..end)
    }

    /// The number of bytes that are moved.
    pub(super) fn len_bytes(&self) -> usize {
        self.axes.steps() * self.run_bytes
    }

    /// The widest of 1, 2, 4, 8 and 16 bytes that divides the run, both offsets and all strides.
    pub(super) fn width_bytes(&self) -> usize {
        const WIDEST_BYTES: usize = 16;
        let ends = self.run_bytes | self.dst_offset_bytes | self.src_offset_bytes;
        let bits = self
            .axes
            .iter()
            .fold(ends, |bits, axis| bits | (axis.dst_stride_bytes | axis.src_stride_bytes).cast_unsigned());
        1 << (bits | WIDEST_BYTES).trailing_zeros()
    }
}

/// Returns an error if a byte of a side cannot be counted.
///
/// A layout vouches only for positions in elements. Strides and partial sums lie between the lowest
/// and the highest position, so one check of the highest byte of each side covers all arithmetic on
/// them.
fn check_bytes(dst: &Layout, src: &Layout, item_bytes: usize) -> Result<(), LayoutError> {
    for side in [dst, src] {
        let end_bytes = side.span().end.checked_mul(item_bytes).ok_or(LayoutError::Overflow)?;
        isize::try_from(end_bytes).map_err(|_| LayoutError::Overflow)?;
    }
    Ok(())
}
