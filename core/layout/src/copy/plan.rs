//! A copy, reduced to the facts that a device needs.

use std::{fmt, ops::Range};

use super::{Axis, Class, Limits, Runs, loops::Loops};
use crate::{Injectivity, Layout, LayoutError, nest::Loop};

/// A checked copy in canonical form: loops, outermost first, around contiguous runs.
///
/// Run number `(i0, i1, …)` copies [`run_bytes`](Self::run_bytes) bytes from
/// `src_offset_bytes + i0 * axes[0].src_stride_bytes + …` to the same sum of the destination. Only
/// bytes of the two layouts are touched. Axes are sorted by descending destination stride, all of
/// them positive.
///
/// A plan with nothing to move has no axes, no runs, and 0 for every offset and length; its width
/// is 16.
#[derive(Clone, PartialEq, Eq)]
pub struct Plan {
    pub(super) loops: Loops,
    pub(super) limits: Limits,
    width_bytes: usize,
    len_bytes: usize,
    class: Class,
}

impl Plan {
    /// Plans the copy of every element of `src` to the same index of `dst`.
    ///
    /// An element may have any size but 0. If the size is not a power of two, the element is a run
    /// of smaller words. Up to six axes, planning does not allocate. The plan does not check
    /// whether the two sides overlap, because they may be in different memory. `limits` may be the
    /// capabilities of a device, borrowed.
    ///
    /// # Errors
    ///
    /// - [`LayoutError::RankMismatch`], [`LayoutError::ShapeMismatch`]: the shapes differ; the
    ///   expected one is the destination's.
    /// - [`LayoutError::ElementSize`]: `item_bytes` is 0.
    /// - [`LayoutError::AliasedDestination`]: two indices of the destination share an element, or
    ///   may do so (see [`Layout::injectivity`]).
    /// - [`LayoutError::Overflow`]: an offset in bytes exceeds `isize::MAX`.
    pub fn new(
        dst: &Layout,
        src: &Layout,
        item_bytes: usize,
        limits: impl Into<Limits>,
    ) -> Result<Self, LayoutError> {
        Self::checked(dst, src, item_bytes, limits.into())
    }

    fn checked(dst: &Layout, src: &Layout, item_bytes: usize, limits: Limits) -> Result<Self, LayoutError> {
        if dst.rank() != src.rank() {
            return Err(LayoutError::RankMismatch { expected: dst.rank(), found: src.rank() });
        }
        if dst.shape() != src.shape() {
            return Err(LayoutError::ShapeMismatch {
                expected: dst.shape().into(),
                found: src.shape().into(),
            });
        }
        if item_bytes == 0 {
            return Err(LayoutError::ElementSize { item_bytes, reason: "a copy moves at least one byte" });
        }
        if dst.is_empty() {
            return Ok(Self::canonical(Loops::empty(), limits));
        }
        if dst.is_c_contiguous() && src.is_c_contiguous() {
            // This is by far the most common copy, and the cheapest: no element is reached twice,
            // and one run has all elements.
            return Ok(Self::canonical(Loops::contiguous(dst, src, item_bytes)?, limits));
        }
        if dst.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination);
        }
        Ok(Self::of(Loops::between(dst, src, item_bytes)?, limits))
    }

    /// Makes the plan of loops whose destination is injective and whose bytes were checked.
    pub(super) fn of(loops: Loops, limits: Limits) -> Self {
        Self::canonical(loops.reduced(), limits)
    }

    /// Makes the plan of reduced loops.
    fn canonical(loops: Loops, limits: Limits) -> Self {
        Self {
            width_bytes: loops.width_bytes(),
            len_bytes: loops.len_bytes(),
            class: Class::of(&loops, &limits),
            limits,
            loops,
        }
    }

    /// Loops around the runs, outermost first; empty if the plan is linear or empty.
    #[must_use]
    pub fn axes(&self) -> &[Axis] {
        &self.loops.axes
    }

    /// Bytes that are contiguous on both sides: one element, or a whole number of them.
    #[must_use]
    pub fn run_bytes(&self) -> usize {
        self.loops.run_bytes
    }

    /// The widest of 1, 2, 4, 8 and 16 bytes that divides the run, both offsets and all strides.
    ///
    /// Device memory is aligned to at least this width, so it is also the alignment of every run
    /// there. Host memory may not be aligned.
    #[must_use]
    pub fn width_bytes(&self) -> usize {
        self.width_bytes
    }

    /// The start of the first run in the destination, in bytes.
    #[must_use]
    pub fn dst_offset_bytes(&self) -> usize {
        self.loops.dst_offset_bytes
    }

    /// The start of the first run in the source, in bytes.
    #[must_use]
    pub fn src_offset_bytes(&self) -> usize {
        self.loops.src_offset_bytes
    }

    /// The number of bytes that are copied.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// The kind of copy.
    #[must_use]
    pub fn class(&self) -> Class {
        self.class
    }

    /// The bytes of the destination from the first written to one past the last, including gaps;
    /// `0..0` if empty.
    #[must_use]
    pub fn dst_span(&self) -> Range<usize> {
        self.span(self.dst_offset_bytes(), |axis| axis.reach().dst_stride_bytes)
    }

    /// The bytes of the source from the first read to one past the last, including gaps; `0..0` if
    /// empty.
    #[must_use]
    pub fn src_span(&self) -> Range<usize> {
        self.span(self.src_offset_bytes(), |axis| axis.reach().src_stride_bytes)
    }

    /// The whole copy as contiguous pieces: (source offset, destination offset, length), in bytes.
    ///
    /// No byte of the destination occurs twice, and every piece is [`run_bytes`](Self::run_bytes)
    /// long.
    #[must_use]
    pub fn runs(&self) -> Runs<'_> {
        Runs::new(&self.loops, self.axes())
    }

    /// Returns the same copy with each side moved by some bytes; `None` if one would begin before its
    /// buffer, or end beyond `isize::MAX`. If there is nothing to move, the plan stays as it is.
    ///
    /// It serves a backend whose buffer is part of another.
    #[must_use]
    pub fn moved(&self, dst_bytes: isize, src_bytes: isize) -> Option<Self> {
        Some(Self::of(self.loops.moved(dst_bytes, src_bytes)?, self.limits))
    }

    fn span(&self, offset: usize, reach: impl Fn(&Axis) -> isize) -> Range<usize> {
        // Loops are checked when they are made and when they are moved. If a check was missing,
        // this span would not fit any memory.
        self.loops.span(offset, reach).unwrap_or(0..usize::MAX)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = format!("{:?}", self.class);
        let class = class.split(' ').next().unwrap_or_default();
        write!(f, "Plan({class}, {} bytes in runs of {})", self.len_bytes, self.run_bytes())
    }
}
