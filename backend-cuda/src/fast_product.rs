//! Matrix products by cuBLASLt, for callers that ask for speed and a bound.
//!
//! | not taken by the library | done instead |
//! |---|---|
//! | operands or results none of whose axes is contiguous, that go backwards or repeat elements | copied, in stream order, by the kernels of copies |
//! | several axes of a batch that no one stride steps through | a call for each, up to 64 |
//! | more calls, or a shape for which it has no algorithm | the exact kernels |
//!
//! An algorithm is chosen once for each shape and kept with the context. Its memory belongs to the stream,
//! so two streams at once use separate memory.
#![allow(unsafe_code)] // hands memory of operations to the library

mod chosen;
mod mapped;

use std::num::NonZeroUsize;

use devarray::{
    Error, Result,
    backend::{Buffer, Capabilities, ProductOp},
    copy::Plan,
};

pub(crate) use chosen::FastProducts;

use crate::{
    context::Context,
    driver::INVALID_VALUE,
    memory::CudaBuffer,
    stream::{CallMemory, RawStream},
    strided::Addresses,
};
use chosen::{Key, NAME, WORKSPACE_BYTES};
use mapped::{Copied, Mapped};

/// The largest alignment that is stated: no algorithm asks for more.
const MOST_ALIGNED_BYTES: u64 = 256;

/// Enqueues a product, or returns that the exact kernels must compute it. Does not synchronize.
pub(crate) fn enqueue(
    fast: &FastProducts,
    context: &Context,
    stream: &RawStream,
    op: &ProductOp<'_, CudaBuffer>,
) -> Result<bool> {
    let table = context.driver().cublaslt(NAME)?;
    let sides = [op.a(), op.b(), op.result()];
    let [a, b, y] = sides.map(|side| side.layout());
    let Some(mapped) = Mapped::new(a, b, y) else { return Ok(false) };
    let item = op.element_type().len_bytes();
    let known = [0, 1, 2].map(|side| match mapped.copied[side] {
        Some(_) => 0,
        None => sides[side].buffer().address(),
    });
    let in_order = |of: [u64; 3]| if mapped.is_swapped { [of[1], of[0], of[2]] } else { of };
    let mut bits = [0; 3];
    for starts in mapped.starts() {
        let at = in_order(addresses(known, starts, item));
        bits.iter_mut().zip(at).for_each(|(bits, at)| *bits |= at);
    }
    let alignments = bits.map(|bits| 1 << (bits | MOST_ALIGNED_BYTES).trailing_zeros());
    let key = Key { element_type: op.element_type(), shape: mapped.shape, alignments };
    context.bound(NAME)?;
    let Some(chosen) = fast.choose(context, table, &key)? else { return Ok(false) };
    // Kernels of other code do not tell copies when to begin.
    let raw = stream.share();
    let mut copies = [None, None, None];
    for (copy, copied) in copies.iter_mut().zip(&mapped.copied) {
        *copy = copied.as_ref().map(|copied| Dense::alloc(stream, copied, item)).transpose()?;
    }
    let mut bases = known;
    for (base, copy) in bases.iter_mut().zip(&copies) {
        *base = copy.as_ref().map_or(*base, |copy| copy.memory.address());
    }
    // If this call fails, copies that read the operands may already be enqueued before it.
    stream.enqueue_or_wait(NAME, |_| {
        for (copy, side) in copies[..2].iter().zip(sides) {
            copy.as_ref().map_or(Ok(()), |copy| copy.fill(side.buffer().address()))?;
        }
        stream.with_workspace(chosen.workspace_bytes(), WORKSPACE_BYTES, |workspace| {
            mapped.starts().try_for_each(|starts| {
                let at = in_order(addresses(bases, starts, item));
                // SAFETY: the context is bound; the operation proves that its elements may be touched, and
                // the copies are as large as their sides.
                unsafe { chosen.multiply(table, at, workspace, raw) }
            })
        })?;
        copies[2].as_ref().map_or(Ok(()), |copy| copy.empty(op.result().buffer().address()))
    })?;
    Ok(true)
}

/// The addresses of the first elements of each side.
fn addresses(bases: [u64; 3], starts: [isize; 3], item: usize) -> [u64; 3] {
    let at = |side: usize| bases[side].wrapping_add_signed((starts[side] * item.cast_signed()) as i64);
    [at(0), at(1), at(2)]
}

/// Dense memory for one side, in stream order. It is freed after everything that was enqueued
/// meanwhile.
struct Dense<'a> {
    stream: &'a RawStream,
    copied: &'a Copied,
    item: usize,
    memory: CallMemory<'a>,
}

impl<'a> Dense<'a> {
    fn alloc(stream: &'a RawStream, copied: &'a Copied, item: usize) -> Result<Self> {
        let len_bytes = copied.dense.len().checked_mul(item).and_then(NonZeroUsize::new);
        let len_bytes = len_bytes.ok_or_else(|| stream.context().error(NAME, INVALID_VALUE))?;
        let memory = stream.call_memory("free", len_bytes)?;
        Ok(Self { stream, copied, item, memory })
    }

    /// Copies the elements into it.
    fn fill(&self, from: u64) -> Result<()> {
        let Copied { layout, dense } = self.copied;
        let plan = Plan::new(dense, layout, self.item, &Capabilities::default()).map_err(Error::from)?;
        self.copy(&plan, Addresses { dst: self.memory.address(), src: from })
    }

    /// Copies the elements to their destination.
    fn empty(&self, to: u64) -> Result<()> {
        let Copied { layout, dense } = self.copied;
        let plan = Plan::new(layout, dense, self.item, &Capabilities::default()).map_err(Error::from)?;
        self.copy(&plan, Addresses { dst: to, src: self.memory.address() })
    }

    fn copy(&self, plan: &Plan, addresses: Addresses) -> Result<()> {
        self.stream.enqueue(NAME, |driver, _| self.stream.copy_planned(driver, plan, addresses))
    }
}
