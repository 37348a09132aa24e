//! Turns a plan into the driver calls that execute it: one call, up to 1 GiB.
#![allow(unsafe_code)] // enqueues driver copies of the bytes that a plan names

use devarray::{
    backend::{Buffer, CopyOp},
    copy::{Class, Plan},
};

use super::{RawStream, StridedState};
use crate::{
    driver::{Answer, Driver},
    handle::locked,
    kernels::Queue,
    memory::CudaBuffer,
    strided::{Addresses, Part, Step, join},
};

/// What a copy is chosen by.
pub(super) fn part<'a>(op: &'a CopyOp<'_, CudaBuffer>) -> Part<'a> {
    Part { plan: op.plan(), addresses: Addresses { dst: op.dst().address(), src: op.src().address() } }
}

impl RawStream {
    /// Enqueues a copy of a plan between memories at addresses. The context is bound.
    pub(crate) fn copy_planned(&self, driver: &Driver, plan: &Plan, addresses: Addresses) -> Answer {
        self.copy_part(driver, &Part { plan, addresses })
    }

    /// Enqueues a copy between buffers. The context is bound.
    pub(super) fn copy_part(&self, driver: &Driver, &Part { plan, addresses }: &Part<'_>) -> Answer {
        match plan.class() {
            Class::Empty => Ok(()),
            Class::Linear => {
                let dst = addresses.dst + plan.dst_offset_bytes() as u64;
                let src = addresses.src + plan.src_offset_bytes() as u64;
                // SAFETY: core made the plan for these buffers, alive in stream order, and its two
                // sides are disjoint.
                unsafe { driver.memcpy_dtod_async(dst, src, plan.len_bytes(), self.raw()) }
            }
            _ => {
                // Until the copy is launched, nobody else gets the handle.
                let StridedState { shared, cache } = &mut *locked(&self.strided);
                let to = Queue { driver, stream: self.raw(), overlap: !*shared };
                self.streams.kernels().copy(to, plan, addresses, cache)
            }
        }
    }

    /// Enqueues several copies, together where that is faster. Otherwise as
    /// [`copy_part`](Self::copy_part). The context is bound.
    pub(crate) fn copy_parts(&self, driver: &Driver, parts: &[Part<'_>]) -> Answer {
        join(parts, |step| match step {
            Step::Alone(number) => self.copy_part(driver, &parts[number]),
            Step::Together(launch) => {
                // Until the copy is launched, nobody else gets the handle.
                let state = locked(&self.strided);
                let to = Queue { driver, stream: self.raw(), overlap: !state.shared };
                self.streams.kernels().join(to, launch)
            }
        })
    }
}
