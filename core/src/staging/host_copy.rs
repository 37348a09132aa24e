//! Threads copy to slots, and from slots.
#![allow(unsafe_code)] // hands raw pointers to threads whose end is waited for

use super::{
    Slot, Staging,
    copy_pool::{JobHandle, Work},
};
use crate::{
    backend::Device,
    copy::{Class, PAGE_BYTES, Plan, execute, execute_pages, execute_past_caches},
};

/// The number of shares of a piece that several threads copy. There are more shares than threads,
/// so that a slow thread delays little.
const SHARES: usize = 16;

/// The shortest run, in bytes, that threads share by pages. In shorter runs, too many pages are
/// partial.
const MIN_PAGED_RUN_BYTES: usize = 16 * PAGE_BYTES;

/// Cuts a plan into parts of about `most_bytes`.
///
/// A transpose is cut along the source. Otherwise a part would have many rows of the destination
/// and few rows of the source: it would read each line of the source for a few bytes, and the next
/// part would read the line again.
fn parts(plan: &Plan, most_bytes: usize) -> Vec<Plan> {
    if let Class::Transpose { .. } = plan.class()
        && let Some(back) = plan.reversed()
        && let Some(parts) = back.blocks(most_bytes).map(|part| part.reversed()).collect()
    {
        return parts;
    }
    plan.blocks(most_bytes).collect()
}

/// A copy on the host: a plan, and the addresses of both sides.
#[derive(Debug)]
pub(crate) struct HostCopy {
    plan: Plan,
    src: *const u8,
    dst: *mut u8,
    by: Copier,
    /// The shares of [`Copier::Parts`].
    parts: Vec<Plan>,
}

/// The threads that copy a piece, and their shares of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copier {
    /// The calling thread.
    Caller,
    /// The first idle thread, past the caches.
    Thread,
    /// The idle threads, past the caches. Each copies contiguous parts. No two threads write one
    /// byte.
    Parts,
    /// The idle threads in turn, each a page, so that neighbouring pages are in the caches of
    /// different processors. A share consists of all pages whose numbers have one remainder modulo
    /// [`SHARES`]. Shorter runs are copied like [`Parts`](Self::Parts).
    Pages,
}

// SAFETY: the promise of `HostCopy::new` holds for whichever thread runs it.
unsafe impl Send for HostCopy {}
// SAFETY: as above; threads that run shares at once write to different bytes, because no two shares
// have a byte of the destination in common.
unsafe impl Sync for HostCopy {}

impl HostCopy {
    /// Makes a copy, to be run or dropped.
    ///
    /// # Safety
    ///
    /// The conditions of [`execute`] on its arguments hold until the copy is run or dropped, and
    /// `parts` are parts of the plan.
    unsafe fn new(plan: Plan, src: *const u8, dst: *mut u8, by: Copier, parts: Vec<Plan>) -> Self {
        Self { plan, src, dst, by, parts }
    }
}

impl Work for HostCopy {
    fn shares(&self) -> usize {
        match self.by {
            Copier::Caller | Copier::Thread => 1,
            Copier::Parts => self.parts.len(),
            Copier::Pages => SHARES,
        }
    }

    fn run(&self, share: usize) {
        match self.by {
            // SAFETY: promised to `new`.
            Copier::Caller => unsafe { execute(&self.plan, self.src, self.dst) },
            // SAFETY: promised to `new`.
            Copier::Thread => unsafe { execute_past_caches(&self.plan, self.src, self.dst) },
            // SAFETY: promised to `new`.
            Copier::Parts => unsafe { execute_past_caches(&self.parts[share], self.src, self.dst) },
            // SAFETY: promised to `new`.
            Copier::Pages => unsafe { execute_pages(&self.plan, share, SHARES, self.src, self.dst) },
        }
    }
}

/// A slot that threads copy to or from. Dropping this waits until no thread uses the slot, which is
/// idle then.
#[derive(Debug)]
pub(crate) struct SlotInCopy<'a, D: Device> {
    handle: Option<JobHandle<HostCopy>>,
    /// `Some` until the copy is finished.
    slot: Option<Slot<D>>,
    staging: &'a Staging<D>,
}

impl<D: Device> SlotInCopy<'_, D> {
    /// Blocks until the copy is done.
    pub(crate) fn finish(mut self) -> Slot<D> {
        if let Some(handle) = self.handle.take() {
            handle.finish();
        }
        self.slot.take().expect("a slot is finished once")
    }
}

impl<D: Device> Drop for SlotInCopy<'_, D> {
    fn drop(&mut self) {
        self.handle = None;
        if let Some(slot) = self.slot.take() {
            self.staging.give_back(slot);
        }
    }
}

impl<D: Device> Staging<D> {
    /// Copies the source of `pack` to a slot. Does not block.
    ///
    /// # Safety
    ///
    /// Nobody writes to the source, and it is readable, until the returned handle is finished or
    /// dropped; one of the two happens. The destination of `pack` begins at 0.
    pub(crate) unsafe fn pack(
        &self,
        mut slot: Slot<D>,
        pack: Plan,
        src: *const u8,
        by: Copier,
    ) -> SlotInCopy<'_, D> {
        let dst = slot.bytes_mut(pack.len_bytes()).as_mut_ptr();
        // SAFETY: the caller's promise; the destination is the slot, which nobody uses before it
        // comes back.
        let handle = unsafe { self.work(pack, src, dst, by) };
        SlotInCopy { handle: Some(handle), slot: Some(slot), staging: self }
    }

    /// Copies a slot to the destination of `unpack`. Does not block.
    ///
    /// # Safety
    ///
    /// The destination is writable, and nobody else uses it, until the returned handle is finished
    /// or dropped; one of the two happens. The source of `unpack` begins at 0.
    pub(crate) unsafe fn unpack(
        &self,
        slot: Slot<D>,
        unpack: Plan,
        dst: *mut u8,
        by: Copier,
    ) -> SlotInCopy<'_, D> {
        let src = slot.bytes(unpack.len_bytes()).as_ptr();
        // SAFETY: the caller's promise; the source is the slot, which nobody uses before it comes
        // back.
        let handle = unsafe { self.work(unpack, src, dst, by) };
        SlotInCopy { handle: Some(handle), slot: Some(slot), staging: self }
    }

    /// Hands out a copy.
    ///
    /// # Safety
    ///
    /// The conditions of [`execute`] on its arguments hold until the handle is finished or dropped.
    unsafe fn work(&self, plan: Plan, src: *const u8, dst: *mut u8, by: Copier) -> JobHandle<HostCopy> {
        let short = by == Copier::Pages && plan.run_bytes() < MIN_PAGED_RUN_BYTES;
        let by = if short { Copier::Parts } else { by };
        let most_bytes = plan.len_bytes().div_ceil(SHARES).next_multiple_of(PAGE_BYTES);
        let parts = if by == Copier::Parts { parts(&plan, most_bytes) } else { Vec::new() };
        // SAFETY: the caller's promise. Blocks of a plan are parts of it, and share no byte of its
        // destination.
        let copy = unsafe { HostCopy::new(plan, src, dst, by, parts) };
        if by == Copier::Caller { JobHandle::new(copy) } else { self.copy_pool.give(copy) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        backend::Capabilities,
        layout::{Layout, Order},
    };

    /// For each part, the sources of the destination's bytes.
    fn sources(parts: &[Plan]) -> Vec<Vec<(usize, usize)>> {
        let bytes = |(src, dst, len): (usize, usize, usize)| (0..len).map(move |k| (dst + k, src + k));
        parts.iter().map(|part| part.runs().flat_map(bytes).collect()).collect()
    }

    #[test]
    fn parts_of_any_plan_are_the_plan_and_those_of_a_transpose_share_no_line_of_the_source() {
        let cases: [(&[usize], &[isize], bool); 5] = [
            (&[64, 2048], &[2, 130], true),
            (&[100, 300], &[2, 1], false),
            (&[40_000], &[1], false),
            (&[64, 0x400], &[0, 1], false),
            (&[20, 30, 50], &[2, 40, 1_200], true),
        ];
        for (shape, strides, turned) in cases {
            let src = Layout::new(shape, strides, 0).expect("small numbers");
            let dst = Layout::contiguous(shape, Order::C).expect("small numbers");
            let plan =
                Plan::new(&dst, &src, 1, &Capabilities::default()).expect("the destination does not overlap");
            let all = parts(&plan, 4096);
            assert!(all.len() > 3, "{shape:?}");
            let by_part = sources(&all);
            let mut found: Vec<_> = by_part.iter().flatten().copied().collect();
            found.sort_unstable();
            let mut expected = sources(std::slice::from_ref(&plan)).concat();
            expected.sort_unstable();
            assert!(found == expected, "{shape:?}");
            if turned {
                assert!(matches!(plan.class(), Class::Transpose { .. }), "{shape:?}");
                let spans: Vec<_> = all.iter().map(Plan::src_span).collect();
                let apart = |pair: &[std::ops::Range<usize>]| pair[0].end <= pair[1].start;
                assert!(spans.windows(2).all(apart), "{spans:?}");
            }
        }
    }
}
