//! From a plan to the driver calls that carry it out: one, up to 1 GiB.
#![allow(unsafe_code)] // enqueues driver copies of the bytes that a plan names

use std::sync::Mutex;

use devarray::copy::{Class, Plan};

use crate::{
    context::Context,
    driver::{Answer, Driver, sys},
    handle::locked,
    stream::StridedState,
    strided::Addresses,
};

/// Enqueues the copy of `plan` from the buffer at `src` to the buffer at `dst`. The context of
/// `stream` is bound. `strided`: what strided copies know of the stream.
pub(super) fn enqueue(
    driver: &Driver,
    stream: sys::CUstream,
    strided: &Mutex<StridedState>,
    context: &Context,
    plan: &Plan,
    (dst, src): (u64, u64),
) -> Answer {
    match plan.class() {
        Class::Empty => Ok(()),
        Class::Linear => {
            let dst = dst + plan.dst_offset_bytes() as u64;
            let src = src + plan.src_offset_bytes() as u64;
            // SAFETY: core made the plan for these buffers, alive in stream order, and its two
            // sides are disjoint.
            unsafe { driver.memcpy_dtod_async(dst, src, plan.len_bytes(), stream) }
        }
        _ => {
            // Until it is launched, nobody else gets the handle.
            let StridedState { shared, chosen } = &mut *locked(strided);
            context.kernels().copy(driver, stream, plan, Addresses { dst, src }, !*shared, chosen)
        }
    }
}
