//! Cuts a plan into plans of a limited size.

use std::{fmt, iter::FusedIterator};

use super::{Axis, Plan, Runs, loops::Loops};

/// The parts of a plan, in the order of its runs. [`Plan::blocks`] returns them.
///
/// One axis is cut into sections. The axes outside it are walked step by step, and the axes inside
/// it stay whole. The cut axis is the outermost one whose single step fits, so that every section
/// but the last of an axis is more than half full.
#[derive(Clone)]
pub struct Blocks<'a> {
    plan: &'a Plan,
    /// The start of each pass over the cut axis.
    starts: Runs<'a>,
    /// The axis that is cut: one of the plan's, or the run as an axis of elements.
    cut: Axis,
    /// Axes inside the cut one.
    inner: &'a [Axis],
    /// Bytes moved below the inner axes.
    run_bytes: usize,
    /// Bytes moved by one step of the cut axis.
    step_bytes: usize,
    /// The most steps of the cut axis in a block.
    section: usize,
    /// The rest of the current pass: the (source, destination) offset of the next section, and the
    /// steps left.
    pass: (usize, usize, usize),
}

impl<'a> Blocks<'a> {
    pub(super) fn new(plan: &'a Plan, max_bytes: usize) -> Self {
        let mut step_bytes = plan.run_bytes();
        let mut outer = plan.axes();
        let mut inner = &outer[outer.len()..];
        let mut cut = None;
        while step_bytes <= max_bytes
            && let Some((&last, rest)) = outer.split_last()
        {
            // One step of `last` fits. All steps may fit too, and then one step of the next axis.
            inner = &plan.axes()[outer.len()..];
            outer = rest;
            cut = Some((last, step_bytes));
            step_bytes *= last.extent;
        }
        let width = plan.width_bytes();
        let elements = Axis {
            extent: plan.run_bytes() / width,
            dst_stride_bytes: width.cast_signed(),
            src_stride_bytes: width.cast_signed(),
        };
        let run_bytes = if cut.is_some() { plan.run_bytes() } else { width };
        let (cut, step_bytes) = cut.unwrap_or((elements, width));
        let section = (max_bytes / step_bytes).max(1);
        let starts = Runs::new(&plan.loops, outer);
        Self { plan, starts, cut, inner, run_bytes, step_bytes, section, pass: (0, 0, 0) }
    }

    /// Limits the blocks that are left to `max_bytes`, or to one step of the cut axis if that is
    /// larger. A later call may raise the limit again. The cut axis stays the one that was chosen
    /// for the largest blocks.
    #[doc(hidden)]
    pub fn limit(&mut self, max_bytes: usize) {
        self.section = (max_bytes / self.step_bytes).max(1);
    }
}

impl Iterator for Blocks<'_> {
    type Item = Plan;

    fn next(&mut self) -> Option<Plan> {
        if self.pass.2 == 0 {
            let (src, dst, _) = self.starts.next()?;
            self.pass = (src, dst, self.cut.extent);
        }
        let (src, dst, left) = self.pass;
        let section = Axis { extent: left.min(self.section), ..self.cut };
        let steps = section.extent.cast_signed();
        // After the last section of a pass the sums may overflow `isize`; they are not used then.
        self.pass = (
            src.wrapping_add_signed(steps.wrapping_mul(section.src_stride_bytes)),
            dst.wrapping_add_signed(steps.wrapping_mul(section.dst_stride_bytes)),
            left - section.extent,
        );
        let loops = Loops {
            axes: std::iter::once(section).chain(self.inner.iter().copied()).collect(),
            run_bytes: self.run_bytes,
            dst_offset_bytes: dst,
            src_offset_bytes: src,
        };
        Some(Plan::of(loops, self.plan.limits))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let sections = |steps: usize| steps.div_ceil(self.section);
        let remaining = self.starts.len() * sections(self.cut.extent) + sections(self.pass.2);
        (remaining, Some(remaining))
    }
}

impl ExactSizeIterator for Blocks<'_> {}
impl FusedIterator for Blocks<'_> {}

impl fmt::Debug for Blocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blocks({} left of {:?})", self.len(), self.plan)
    }
}
