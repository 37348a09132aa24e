//! Matrix products: a kernel for each type, size of tiles, and order of the operands in memory.
//!
//! The kernels are in `kernels/products/product.cu`. A chain is not cut, so a tile has all k of it.
//! Longer products have a launch whose batch has their chains too, and one that sums them.

mod kernels;
mod params;
mod plan;
mod shapes;

use std::num::NonZeroUsize;

use devarray::{
    Error, Result,
    backend::{Capability, ProductFunction, ProductOp},
    function::primitive::Instruction,
};
pub(crate) use kernels::Products;

use crate::{
    function::{Computing, ProductKernel, ProductLaunch},
    memory::CudaBuffer,
};
use kernels::Launch;
use plan::Plan;

const NAME: &str = "matmul";

/// The longest k of products whose function is in the same launch. The driver makes slower loops of a kernel with a
/// function, a third slower at 4096³, where a launch of its own costs 1 %: `hardware_products::a_bias_and_a_maximum`
/// measures both.
const FOLLOWED_DEPTH: usize = 64;

/// Enqueues products, which a function may follow, or which continue the chains in their result. Returns false, and
/// enqueues nothing, if no kernel computes the product with its function. Does not synchronize.
pub(crate) fn enqueue(
    products: &Products,
    computing: Computing<'_>,
    op: &ProductOp<'_, CudaBuffer>,
) -> Result<bool> {
    let (context, stream) = (computing.context, computing.stream);
    let multiprocessors = u32::try_from(context.info().properties.multiprocessors).unwrap_or(u32::MAX);
    let plan = Plan::new(op, multiprocessors).ok_or_else(|| computing.invalid_product())?;
    let is_plain = op.function().is_none() && !op.is_onto();
    if op.is_onto() && !ProductKernel::is_there(products.major()) {
        let (backend, capability) = (context.info().backend, Capability::Products);
        return Err(Error::Unsupported { backend, operation: "matmul_onto", capability });
    }
    let takes_positions = |function: &ProductFunction<'_, _>| {
        let mut instructions = function.program().instructions().iter();
        instructions.any(|instruction| matches!(instruction, Instruction::Position(_)))
    };
    if op.function().is_some_and(|function| takes_positions(function) || op.depth() > FOLLOWED_DEPTH) {
        return Ok(false);
    }
    let launch = |launch: Launch| stream.enqueue(NAME, |driver, raw| products.launch(driver, raw, launch));
    let follow = |launch: Launch| {
        let kernel = ProductKernel {
            major: products.major(),
            name: launch.kernel.to_str().unwrap_or_default(),
            element_type: op.element_type(),
            shared_bytes: launch.shared_bytes,
            own_words: launch.params.words().len(),
        };
        let (blocks, threads, own) = (launch.blocks, launch.threads, launch.params.words());
        let is_turned = plan.is_turned;
        computing.follow(&ProductLaunch { kernel, blocks, threads, own, is_turned }, op)
    };
    let Some(len_bytes) = NonZeroUsize::new(plan.sums_len_bytes) else {
        return if is_plain { launch(plan.tiles()).map(|()| true) } else { follow(plan.tiles()) };
    };
    let sums = stream.call_memory(NAME, len_bytes)?;
    let (tiles, chains) = plan.with_sums(sums.address());
    let mut is_there = true;
    // If the second launch fails, the first is already enqueued.
    stream.enqueue_or_wait(NAME, |_| {
        // The first chains start from the result's elements; the function sees the sums of chains.
        if op.is_onto() {
            follow(tiles)?;
        } else {
            launch(tiles)?;
        }
        match op.function() {
            Some(_) => is_there = follow(chains)?,
            None => launch(chains)?,
        }
        Ok(())
    })?;
    Ok(is_there)
}
