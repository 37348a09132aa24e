//! The reference executor: it gives every plan as contiguous pieces.

use std::{fmt, iter::FusedIterator};

use super::{Axis, loops::Loops};
use crate::{Axes, nest::Loop};

/// The pieces of a plan: (source offset, destination offset, length), in bytes.
/// [`Plan::runs`](super::Plan::runs) returns them.
///
/// The last axis moves fastest. A step only adds strides, so offsets are exact over the whole range
/// of `usize`. Up to six axes it needs no heap.
#[derive(Clone)]
pub struct Runs<'a> {
    axes: &'a [Axis],
    index: Axes<usize>,
    src: usize,
    dst: usize,
    run_bytes: usize,
    remaining: usize,
}

impl<'a> Runs<'a> {
    /// Walks only `axes`, the outermost loops of `loops`. The piece at each step is the first of
    /// the inner loops.
    pub(super) fn new(loops: &Loops, axes: &'a [Axis]) -> Self {
        let runs = axes.iter().map(|axis| axis.extent).product();
        Self {
            axes,
            index: Axes::from_elem(0, axes.len()),
            src: loops.src_offset_bytes,
            dst: loops.dst_offset_bytes,
            run_bytes: loops.run_bytes,
            remaining: if loops.run_bytes == 0 { 0 } else { runs },
        }
    }

    /// Moves to the next run, or from the last one back to the first.
    fn step(&mut self) {
        for (axis, index) in self.axes.iter().zip(&mut self.index).rev() {
            *index += 1;
            if *index < axis.extent {
                self.dst = self.dst.wrapping_add_signed(axis.dst_stride_bytes);
                self.src = self.src.wrapping_add_signed(axis.src_stride_bytes);
                return;
            }
            *index = 0;
            let reach = axis.reach();
            self.dst = self.dst.wrapping_add_signed(-reach.dst_stride_bytes);
            self.src = self.src.wrapping_add_signed(-reach.src_stride_bytes);
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = (usize, usize, usize);

    fn next(&mut self) -> Option<Self::Item> {
        self.remaining = self.remaining.checked_sub(1)?;
        let run = (self.src, self.dst, self.run_bytes);
        self.step();
        Some(run)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Runs<'_> {}
impl FusedIterator for Runs<'_> {}

impl fmt::Debug for Runs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Runs({} left of {} bytes)", self.remaining, self.run_bytes)
    }
}
