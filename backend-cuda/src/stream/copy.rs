//! From a plan to the driver calls that carry it out: one, up to 1 GiB.
#![allow(unsafe_code)] // enqueues driver copies of the bytes that a plan names

use std::sync::Mutex;

use devarray::{
    backend::{Buffer, CopyOp},
    copy::{Class, Plan},
};

use crate::{
    context::Context,
    driver::{Answer, Driver, sys},
    handle::locked,
    memory::CudaBuffer,
    stream::StridedState,
    strided::{Addresses, Part, Step, join},
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

/// Enqueues several copies, together where that is faster. Otherwise as [`enqueue`].
pub(super) fn enqueue_all(
    driver: &Driver,
    stream: sys::CUstream,
    strided: &Mutex<StridedState>,
    context: &Context,
    ops: &[CopyOp<'_, CudaBuffer>],
) -> Answer {
    let parts = ops.iter().map(|op| {
        let addresses = Addresses { dst: op.dst().address(), src: op.src().address() };
        Part { plan: op.plan(), addresses }
    });
    let parts: Vec<_> = parts.collect();
    join(&parts, |step| match step {
        Step::Alone(number) => {
            let Part { plan, addresses: Addresses { dst, src } } = &parts[number];
            enqueue(driver, stream, strided, context, plan, (*dst, *src))
        }
        Step::Together(launch) => {
            // Until it is launched, nobody else gets the handle.
            let state = locked(strided);
            context.kernels().join(driver, stream, launch, !state.shared)
        }
    })
}
