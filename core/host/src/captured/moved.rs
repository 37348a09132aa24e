//! Captured copies and fills.
#![allow(unsafe_code)] // makes operations on memory that their launch vouches for

use devarray::{
    backend::{CopyOp, FillOp},
    copy::Plan,
};

use super::Step;
use crate::{
    memory::DeviceMemory,
    moves::{self, Place},
};

/// A copy, kept.
struct KeptCopy {
    plan: Plan,
    src: Place,
    dst: Place,
}

impl KeptCopy {
    fn of(op: &CopyOp<'_, DeviceMemory>) -> Self {
        Self { plan: op.plan().clone(), src: Place(op.src().at(0)), dst: Place(op.dst().at(0)) }
    }
}

pub(crate) fn copy(op: &CopyOp<'_, DeviceMemory>) -> Step {
    let copy = KeptCopy::of(op);
    Step::new(move |device| {
        let KeptCopy { plan, src, dst } = &copy;
        // SAFETY: all runs lie inside their buffers and share no byte, and this is the launch's turn.
        unsafe { moves::copy(&device.threads, plan, src.at(0), dst.at(0)) }
    })
}

pub(crate) fn copy_all(ops: &[CopyOp<'_, DeviceMemory>]) -> Step {
    let copies: Vec<KeptCopy> = ops.iter().map(KeptCopy::of).collect();
    Step::new(move |device| {
        for KeptCopy { plan, src, dst } in &copies {
            // SAFETY: as for `copy`.
            unsafe { moves::copy(&device.threads, plan, src.at(0), dst.at(0)) }
        }
    })
}

pub(crate) fn fill(op: &FillOp<'_, DeviceMemory>) -> Step {
    let (plan, pattern, dst) = (op.plan().clone(), Box::<[u8]>::from(op.pattern()), Place(op.dst().at(0)));
    Step::new(move |device| {
        // SAFETY: all runs lie inside the buffer and are whole patterns, and this is the launch's turn.
        unsafe { moves::fill(&device.threads, &plan, &pattern, dst.at(0)) }
    })
}
