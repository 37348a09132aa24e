//! Gathers and scatters: checked here, ordered, submitted.

use std::{
    ops::Range,
    ptr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use smallvec::SmallVec;

use super::{Elements, check_len};
use crate::{
    CallSite, LayoutError, Result,
    allocation::AllocationAccess,
    backend::{Compute, GatherOp},
    gather::{Direction, Gathering, IndexType, OutOfRange},
    layout::{Injectivity, Layout},
    statistics::Work,
    stream::StreamCore,
};

/// The number of the next gather that this process launches.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// Numbers operations that may find an index out of range. Called under the lock of the context.
pub(crate) fn next_numbers(count: usize) -> Range<u64> {
    let (first, count) = (NUMBERS.fetch_add(count as u64, Relaxed), count as u64);
    first..first + count
}

/// The memory of a gather. Each side is everything that may be touched.
pub(crate) struct Sides<'a, D: Compute> {
    /// The array that indices select in, whole.
    pub(crate) indexed: Elements<'a, D>,
    /// The indices, or the place where the count is written.
    pub(crate) indices: Elements<'a, D>,
    pub(crate) mask: Option<Elements<'a, D>>,
    pub(crate) elements: Elements<'a, D>,
}

impl<D: Compute> StreamCore<D> {
    /// Picks or puts elements. The shape has elements, and there is something to select from. Does
    /// not synchronize.
    #[track_caller]
    pub(crate) fn gather(&self, work: Gathering<'_>, sides: &Sides<'_, D>) -> Result<()> {
        let (all, Sides { indexed, indices, mask, elements }) = (sides, sides);
        check_len(work.shape)?;
        let is_scatter = work.direction == Direction::Scatter;
        let (read, written) = if is_scatter { (elements, indexed) } else { (indexed, elements) };
        let mut touches: SmallVec<[AllocationAccess<'_, D>; 4]> = SmallVec::new();
        let is_counted = work.index_type == IndexType::Counted;
        let count = is_counted.then_some(indices);
        let sides =
            [(Some(read), false), (Some(indices), is_counted), (mask.as_ref(), false), (Some(written), true)];
        for (side, write) in sides {
            let Some(side) = side else { continue };
            self.check_context(work.operation.name(), [side.allocation])?;
            // The count must be disjoint from the written elements, too.
            for to in [Some(written), count].into_iter().flatten().filter(|to| !ptr::eq(*to, side)) {
                self.check_disjoint(side, side.layout, to, false)?;
            }
            touches.push(side.touch(write));
        }
        if written.layout.injectivity() != Injectivity::Injective {
            return Err(LayoutError::AliasedDestination.into());
        }
        if let Some(recorder) = self.recorder() {
            return recorder.gather(&work, all);
        }
        debug_assert!(work.shape.iter().all(|&extent| extent > 0) && work.bound() > 0, "nothing to do");
        let has_shape = |layout: &Layout| layout.shape() == work.shape;
        debug_assert!([work.indexed, work.indices, work.elements].into_iter().all(has_shape), "one shape");
        let name = work.operation.name();
        let len_bytes = work.elements.len() * work.width_bytes;
        let call = CallSite::here();
        let to = self.submit(Work::Gather { name, len_bytes }, &touches)?;
        // Numbered under the lock, so that the numbers of a context grow in the order of
        // submission.
        let number = next_numbers(1).start;
        let op = GatherOp {
            number,
            work,
            indexed: indexed.allocation.buffer(),
            indices: indices.allocation.buffer(),
            mask: mask.as_ref().map(|mask| mask.allocation.buffer()),
            elements: elements.allocation.buffer(),
            checked: true,
        };
        let to = to.begin_noting(|to| {
            if work.out_of_range == OutOfRange::Error {
                to.note_gather(number, call);
            }
        });
        self.core.device.gather(to.raw(), &op)?;
        to.end();
        Ok(())
    }
}
