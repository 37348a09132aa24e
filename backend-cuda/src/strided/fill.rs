//! Repeats a pattern, one element per thread.

use devarray::copy::Plan;

use super::{
    kernel::Entry,
    params::{FastDiv, FillLoop, FillParams, MAX_FILL_AXES},
    strided_launch::{StridedLaunch, THREADS},
};

/// The most elements that 32 bits can count, and the largest divisor of [`FastDiv`].
const MAX_NARROW: u64 = 1 << 31;
/// Most blocks of a grid along x (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability").
const MAX_GRID: u64 = (1 << 31) - 1;

/// The launch that writes `pattern` over the destination of `plan` in the memory at `dst`. The
/// plan's width is a multiple of the pattern's length.
///
/// `None` only for a plan with more loops than any memory has bytes for.
pub fn fill(plan: &Plan, dst: u64, pattern: &[u8]) -> Option<StridedLaunch<FillParams>> {
    let width = plan.width_bytes();
    let total = (plan.len_bytes() / width) as u64;
    let narrow = total <= MAX_NARROW;
    let mut bytes = pattern.iter().copied().cycle();
    let mut word = || [(); 4].map(|()| bytes.next().unwrap_or(0));
    let pattern = [(); 4].map(|()| u32::from_le_bytes(word()));
    let run = (plan.run_bytes() / width, isize::try_from(width).ok()?);
    let loops = plan.axes().iter().rev().map(|axis| (axis.extent, axis.dst_stride_bytes));
    let none = FillLoop { extent: 1, ..FillLoop::default() };
    let mut axis = [none; MAX_FILL_AXES];
    let mut axes = 0;
    for (extent, stride) in [run].into_iter().chain(loops).filter(|&(extent, _)| extent > 1) {
        // The 64-bit kernels divide by the extent itself.
        let by = if narrow { FastDiv::checked(extent as u64)? } else { FastDiv::default() };
        let FastDiv { multiplier, shift, .. } = by;
        let dst = stride as i64;
        *axis.get_mut(axes)? = FillLoop { extent: extent as u64, dst, unused: 0, multiplier, shift };
        axes += 1;
    }
    let dst = dst + plan.dst_offset_bytes() as u64;
    let params = FillParams {
        dst,
        // A copy has its source address here.
        unused: dst,
        total,
        axes: u32::try_from(axes).ok()?,
        unused_after_axes: 0,
        pattern,
        axis,
    };
    let entry = if narrow { Entry::Fill32 } else { Entry::Fill64 };
    // The 32-bit kernels need one thread for each element; the 64-bit kernels loop.
    let grid = u32::try_from(total.div_ceil(THREADS.into()).min(MAX_GRID)).ok()?;
    Some(StridedLaunch::new(entry, u32::try_from(width).ok()?, grid, params))
}
