//! Matrix products: a kernel for each type, size of tiles, and order of the operands in memory.
//!
//! `kernels/products/product.cu` is what runs. A chain is not cut, so a tile has all k of it; longer
//! products have a launch whose batch has their chains too, and one that sums them.
#![allow(unsafe_code)] // loads a module and launches from it, on the memory of operations

mod kernels;
mod params;
mod plan;
mod shapes;

use std::num::NonZeroUsize;

use devarray::{Result, backend::ProductOp};
pub(crate) use kernels::Products;

use crate::{context::Context, driver::INVALID_VALUE, memory::CudaBuffer, stream::RawStream};
use devarray::backend::Buffer;
use plan::Plan;

/// Enqueues products. Does not synchronize.
pub(crate) fn enqueue(
    products: &Products,
    context: &Context,
    stream: &RawStream,
    op: &ProductOp<'_, CudaBuffer>,
) -> Result<()> {
    const NAME: &str = "matmul";
    let multiprocessors = u32::try_from(context.info().properties.multiprocessors).unwrap_or(u32::MAX);
    let plan = Plan::new(op, multiprocessors).ok_or_else(|| context.error(NAME, INVALID_VALUE))?;
    let Some(len_bytes) = NonZeroUsize::new(plan.sums_len_bytes) else {
        return stream.enqueue(NAME, |driver, raw| products.launch(driver, raw, plan.tiles()));
    };
    let address = stream.alloc(len_bytes)?.address();
    stream.enqueue(NAME, |driver, raw| {
        let (tiles, chains) = plan.with_sums(address);
        let launched =
            products.launch(driver, raw, tiles).and_then(|()| products.launch(driver, raw, chains));
        // SAFETY: allocated above in this stream, and freed once, behind all that uses it.
        let freed = unsafe { driver.mem_free_async(address, raw) };
        // What was launched stays so.
        freed.unwrap_or_else(|failure| driver.report(driver.error(NAME, failure)));
        launched
    })
}
