//! A plan carried out by this thread on host memory.
#![allow(unsafe_code)] // moves bytes between raw pointers that a transfer may lend while nobody may hold a reference

use std::ptr;

use super::{Axis, Class, Plan, Runs, loops::Loops, streaming::copy_streaming, tiles::tiled};
use crate::layout::LayoutError;

/// Carries out `plan` on host memory: run by run, source to destination, no other byte read or written.
///
/// Blocks until done; the calling thread moves the bytes. Pointers need no alignment. Bytes need not be initialized:
/// they are moved as they are. An empty plan touches nothing.
///
/// # Safety
///
/// For each run of [`Plan::runs`], counted from the two pointers:
///
/// - the bytes of the source are valid for reads, all runs in one allocation;
/// - the bytes of the destination are valid for writes, all runs in one allocation;
/// - nobody else writes the former or touches the latter during the call;
/// - no byte is both source and destination, of one run or of two.
///
/// Gaps between the runs may belong to anybody.
pub unsafe fn execute(plan: &Plan, src: *const u8, dst: *mut u8) {
    let walk = match plan.run_bytes() {
        1 => walk::<1>,
        2 => walk::<2>,
        4 => walk::<4>,
        8 => walk::<8>,
        16 => walk::<16>,
        _ => walk::<ANY>,
    };
    if let Class::Transpose { dst_axis, src_axis } = plan.class() {
        for tiles in tiled(&plan.loops, dst_axis, src_axis) {
            // SAFETY: the runs of all tiles together are those of the plan, each once.
            unsafe { walk(&tiles, src, dst) }
        }
    } else {
        // SAFETY: the caller's promise is the callee's, and the run is as long as the callee was made for.
        unsafe { walk(&plan.loops, src, dst) }
    }
}

/// [`execute`], for a destination that is large and not read again soon.
///
/// # Safety
///
/// As [`execute`].
pub(crate) unsafe fn execute_past_caches(plan: &Plan, src: *const u8, dst: *mut u8) {
    /// Below it, the lines at both ends of a run that are written in parts cost more than is saved.
    const MIN_RUN_BYTES: usize = 2 << 10;
    if plan.run_bytes() < MIN_RUN_BYTES {
        // SAFETY: the caller's promise.
        return unsafe { execute(plan, src, dst) };
    }
    for (src_offset, dst_offset, len_bytes) in plan.runs() {
        let (src, dst) = (src.wrapping_add(src_offset), dst.wrapping_add(dst_offset));
        // SAFETY: the pointers are at a run of the plan: valid for it, disjoint, and not in use by anybody else.
        unsafe { copy_streaming(src, dst, len_bytes) }
    }
}

/// Carries out `plan` on two slices. An empty plan touches nothing.
///
/// # Errors
///
/// [`LayoutError::OutOfBounds`], in bytes: the plan reaches outside one of the slices. Nothing was written.
pub fn copy_bytes(plan: &Plan, src: &[u8], dst: &mut [u8]) -> Result<(), LayoutError> {
    for (span, len) in [(plan.src_span(), src.len()), (plan.dst_span(), dst.len())] {
        if span.end > len {
            return Err(LayoutError::OutOfBounds { start: span.start, end: span.end, len });
        }
    }
    // SAFETY: every run lies inside the spans just checked. The references keep both slices valid and alone for the
    // call, and, one being exclusive, apart.
    unsafe { execute(plan, src.as_ptr(), dst.as_mut_ptr()) }
    Ok(())
}

/// Stands for a run length known at run time only.
const ANY: usize = 0;

/// [`execute`] for runs of `RUN` bytes, so that short ones become a load and a store.
///
/// # Safety
///
/// As [`execute`], for the runs of `loops`; `RUN` is their length or [`ANY`].
unsafe fn walk<const RUN: usize>(loops: &Loops, src: *const u8, dst: *mut u8) {
    let run_bytes = if RUN == ANY { loops.run_bytes } else { RUN };
    let once = Axis { extent: 1, dst_stride_bytes: 0, src_stride_bytes: 0 };
    let (&inner, outer) = loops.axes.split_last().unwrap_or((&once, &[]));
    for (src_offset, dst_offset, _) in Runs::new(loops, outer) {
        let mut src = src.wrapping_add(src_offset);
        let mut dst = dst.wrapping_add(dst_offset);
        for _ in 0..inner.extent {
            // SAFETY: the pointers are at a run of the plan: valid for it, disjoint, and not in use by anybody else.
            unsafe { ptr::copy_nonoverlapping(src, dst, run_bytes) }
            src = src.wrapping_offset(inner.src_stride_bytes);
            dst = dst.wrapping_offset(inner.dst_stride_bytes);
        }
    }
}
