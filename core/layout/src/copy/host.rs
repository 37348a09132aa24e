//! Executes a plan on host memory, in the calling thread.
#![allow(unsafe_code)] // moves bytes between raw pointers that a transfer may lend while nobody may hold a reference

use std::ptr;

use super::{Axis, Class, Plan, Runs, loops::Loops, streaming::copy_streaming, tiles::tiled, turned::Turner};
use crate::LayoutError;

/// Executes `plan` on host memory: it copies each run from the source to the destination, and reads
/// or writes no other byte.
///
/// Blocks until done; the calling thread moves the bytes. Pointers need no alignment. An empty plan
/// touches nothing.
///
/// # Safety
///
/// For each run of [`Plan::runs`], counted from the two pointers:
///
/// - the bytes of the source are initialized and valid for reads, all runs in one allocation;
/// - the bytes of the destination are valid for writes, all runs in one allocation;
/// - nobody else writes the source or touches the destination during the call;
/// - no byte is both source and destination, neither of one run nor of two.
///
/// Gaps between the runs may belong to anybody.
pub unsafe fn execute(plan: &Plan, src: *const u8, dst: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { carry_out(plan, src, dst, plan.len_bytes() >= LARGE_BYTES) }
}

/// Like [`execute`], for a destination that is large and not read again soon.
///
/// # Safety
///
/// The conditions of [`execute`].
pub unsafe fn execute_past_caches(plan: &Plan, src: *const u8, dst: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { carry_out(plan, src, dst, true) }
}

/// Destinations of at least this size do not stay in a cache, and are not read into one before they
/// are written.
const LARGE_BYTES: usize = 16 << 20;

/// Executes a plan in the order that suits its class.
///
/// # Safety
///
/// The conditions of [`execute`].
unsafe fn carry_out(plan: &Plan, src: *const u8, dst: *mut u8, past_caches: bool) {
    /// For shorter runs, the partly written cache lines at both ends would cost more than streaming
    /// saves.
    const MIN_RUN_BYTES: usize = 2 << 10;
    if past_caches && plan.run_bytes() >= MIN_RUN_BYTES {
        for (src_offset, dst_offset, len_bytes) in plan.runs() {
            let (src, dst) = (src.wrapping_add(src_offset), dst.wrapping_add(dst_offset));
            // SAFETY: the pointers are at a run of the plan: valid for it, disjoint, and not in use
            // by anybody else.
            unsafe { copy_streaming(src, dst, len_bytes) }
        }
        return;
    }
    let walk = match plan.run_bytes() {
        1 => walk::<1>,
        2 => walk::<2>,
        4 => walk::<4>,
        8 => walk::<8>,
        16 => walk::<16>,
        32 => walk::<32>,
        64 => walk::<64>,
        _ => walk::<ANY>,
    };
    let Class::Transpose { dst_axis, src_axis } = plan.class() else {
        // SAFETY: the caller's promise is what the callee asks, and the run has the length that the
        // callee was compiled for.
        return unsafe { walk(&plan.loops, src, dst) };
    };
    if let Some(turner) = Turner::all().next() {
        let (axes, sides) = ([dst_axis, src_axis], [src.cast_mut(), dst]);
        // SAFETY: the caller's promise; nothing is written to the source.
        if unsafe { turner.carries_out(&plan.loops, axes, sides, past_caches) } {
            return;
        }
    }
    for tiles in tiled(&plan.loops, dst_axis, src_axis) {
        // SAFETY: the runs of all tiles together are the plan, each once.
        unsafe { walk(&tiles, src, dst) }
    }
}

/// Bytes of a page of memory. Processors read ahead up to its end and no further.
pub const PAGE_BYTES: usize = 4 << 10;

/// Executes every `of`-th page of `plan`, counted in the destination, beginning with page `first`.
/// The calls for each `first` below `of` make the whole plan, each byte once. Blocks until done. An empty
/// plan touches nothing.
///
/// # Panics
///
/// If `of` is 0 and the plan is not empty.
///
/// # Safety
///
/// The conditions of [`execute`].
pub unsafe fn execute_pages(plan: &Plan, first: usize, of: usize, src: *const u8, dst: *mut u8) {
    for (src_offset, dst_offset, len_bytes) in plan.runs() {
        let end = dst_offset + len_bytes;
        let before = dst_offset / PAGE_BYTES;
        let pages = before + (first + of - before % of) % of..end.div_ceil(PAGE_BYTES);
        for page in pages.step_by(of) {
            let from = (page * PAGE_BYTES).max(dst_offset);
            let until = ((page + 1) * PAGE_BYTES).min(end);
            let (src, dst) = (src.wrapping_add(src_offset + (from - dst_offset)), dst.wrapping_add(from));
            // SAFETY: the pointers are at a part of a run of the plan: valid for it, disjoint, and
            // not in use by anybody else.
            unsafe { ptr::copy_nonoverlapping(src, dst, until - from) }
        }
    }
}

/// Executes `plan` on two slices. An empty plan touches nothing.
///
/// # Errors
///
/// [`LayoutError::OutOfBounds`], in bytes: the plan reaches outside one of the slices. Nothing was
/// written.
pub fn copy_bytes(plan: &Plan, src: &[u8], dst: &mut [u8]) -> Result<(), LayoutError> {
    for (span, len) in [(plan.src_span(), src.len()), (plan.dst_span(), dst.len())] {
        if span.end > len {
            return Err(LayoutError::OutOfBounds { start: span.start, end: span.end, len });
        }
    }
    // SAFETY: every run lies inside the spans just checked. The references keep both slices valid
    // during the call, and nobody else uses them; one is exclusive, so they are disjoint.
    unsafe { execute(plan, src.as_ptr(), dst.as_mut_ptr()) }
    Ok(())
}

/// A run length that is known only at run time.
const ANY: usize = 0;

/// Executes runs of `RUN` bytes, so that short ones become a load and a store.
///
/// # Safety
///
/// The conditions of [`execute`], for the runs of `loops`; `RUN` is their length or [`ANY`].
unsafe fn walk<const RUN: usize>(loops: &Loops, src: *const u8, dst: *mut u8) {
    let run_bytes = if RUN == ANY { loops.run_bytes } else { RUN };
    let once = Axis { extent: 1, dst_stride_bytes: 0, src_stride_bytes: 0 };
    let (&inner, outer) = loops.axes.split_last().unwrap_or((&once, &[]));
    let item = run_bytes.cast_signed();
    let is_backward = RUN != ANY && inner.dst_stride_bytes == item && inner.src_stride_bytes == -item;
    for (src_offset, dst_offset, _) in Runs::new(loops, outer) {
        let mut src = src.wrapping_add(src_offset);
        let mut dst = dst.wrapping_add(dst_offset);
        if is_backward {
            // SAFETY: these are runs of the plan that lie side by side.
            unsafe { walk_backward::<RUN>(src, dst, inner.extent) };
            continue;
        }
        for _ in 0..inner.extent {
            // SAFETY: the pointers are at a run of the plan: valid for it, disjoint, and not in use
            // by anybody else.
            unsafe { ptr::copy_nonoverlapping(src, dst, run_bytes) }
            src = src.wrapping_offset(inner.src_stride_bytes);
            dst = dst.wrapping_offset(inner.dst_stride_bytes);
        }
    }
}

/// Copies runs that lie side by side on both sides, and backwards in the source.
///
/// # Safety
///
/// `count` runs of `RUN` bytes may be written from `dst` on, and read from `src` on backwards; they
/// share no byte.
unsafe fn walk_backward<const RUN: usize>(src: *const u8, dst: *mut u8, count: usize) {
    /// The number of runs that are reversed together, in registers.
    const TOGETHER: usize = 32;
    let whole = count / TOGETHER * TOGETHER;
    for at in (0..whole).step_by(TOGETHER) {
        let from = src.wrapping_sub((at + TOGETHER - 1) * RUN).cast::<[[u8; RUN]; TOGETHER]>();
        // SAFETY: these bytes are `TOGETHER` runs of the source; bytes need no alignment.
        let mut runs = unsafe { from.read_unaligned() };
        runs.reverse();
        // SAFETY: these bytes are `TOGETHER` runs of the destination.
        unsafe { dst.wrapping_add(at * RUN).cast::<[[u8; RUN]; TOGETHER]>().write_unaligned(runs) };
    }
    for at in whole..count {
        // SAFETY: a run lies on both sides.
        unsafe { ptr::copy_nonoverlapping(src.wrapping_sub(at * RUN), dst.wrapping_add(at * RUN), RUN) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, copy::Limits};

    /// Returns the bytes that the pages of all numbers below `of`, except one, copy together. The
    /// source has runs with gaps.
    fn copied_without(left_out: Option<usize>, of: usize, run: usize, gap: usize, start: usize) -> Vec<u8> {
        const RUNS: usize = 5;
        let shape = [RUNS, run];
        let strides = [(run + gap).cast_signed(), 1];
        let src_layout = Layout::new(&shape, &strides, 3).expect("small numbers");
        let dst_layout = Layout::new(&shape, &[run.cast_signed(), 1], start).expect("small numbers");
        let plan =
            Plan::new(&dst_layout, &src_layout, 1, Limits::default()).expect("no byte is reached twice");
        let src: Vec<u8> = (0..3 + RUNS * (run + gap)).map(|k| 1 + (k % 251).to_le_bytes()[0]).collect();
        let mut dst = vec![0; start + RUNS * run];
        let mut found = dst.clone();
        for first in (0..of).filter(|&first| Some(first) != left_out) {
            dst.fill(0);
            // SAFETY: both layouts lie inside their vectors, which nobody else uses.
            unsafe { execute_pages(&plan, first, of, src.as_ptr(), dst.as_mut_ptr()) };
            for (found, &copied) in found.iter_mut().zip(&dst) {
                assert!(*found == 0 || copied == 0, "a byte is copied twice");
                *found |= copied;
            }
        }
        let mut expected = vec![0; dst.len()];
        copy_bytes(&plan, &src, &mut expected).expect("inside both");
        for (at, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
            assert!(found == expected || found == 0 && left_out == Some(at / PAGE_BYTES % of), "byte {at}");
        }
        found
    }

    #[test]
    fn pages_of_all_numbers_are_the_plan() {
        for (run, gap, start) in
            [(4096, 0, 0), (5000, 7, 0), (4097, 1, 5), (20_480, 64, 4095), (1000, 9, 100)]
        {
            for of in [1, 2, 3, 16] {
                let all = copied_without(None, of, run, gap, start);
                assert!(all[start..].iter().all(|&byte| byte != 0));
                // Each number matters, if it has a page.
                for first in 0..of.min(all.len() / PAGE_BYTES) {
                    let some = copied_without(Some(first), of, run, gap, start);
                    assert!(some[start..].contains(&0), "{first} of {of}");
                }
            }
        }
    }
}
