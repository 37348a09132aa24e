//! Order, search, and sums by index. Every call is a list of steps in memory of its own.
//!
//! `plan` writes the list: operands that are not dense are copied, kernels of `kernels/orders` run, and
//! results that are not dense are copied back. The list is written twice, once to find out how much
//! memory the steps need, and once with the address of that memory, so that one allocation serves a call.
#![allow(unsafe_code)] // launches kernels on the memory of operations

mod by_index;
mod counted;
mod kernels;
mod kinds;
mod lines;
mod params;
mod plan;
mod searched;
mod selected;
mod sorted;
mod sparse;

use std::num::NonZeroUsize;

use devarray::{Result, backend::OrderOp};

pub(crate) use kernels::Orders;

use crate::{
    context::Context,
    driver::{Answer, Driver, INVALID_VALUE},
    gather::Gathers,
    memory::CudaBuffer,
    stream::RawStream,
};
use plan::{Plan, Step};

/// Enqueues a call. Does not synchronize.
pub(crate) fn enqueue(
    (orders, gathers): (&Orders, &Gathers),
    context: &Context,
    stream: &RawStream,
    op: &OrderOp<'_, CudaBuffer>,
) -> Result<()> {
    let name = op.call().name();
    let reports = &gathers.index_reports;
    let report = plan::errors_of(op).map(|errors| reports.begin(stream, op.number(), errors)).transpose()?;
    debug_assert_eq!(report.is_some(), op.call().finds_indices(), "launches of a graph number their reports");
    let planned = |base| {
        let at = plan::Given { base, report, multiprocessors: orders.multiprocessors };
        Plan::new(op, at).ok_or_else(|| context.error(name, INVALID_VALUE))
    };
    let enqueued = planned(0).and_then(|plan| {
        let Some(len_bytes) = NonZeroUsize::new(plan.len_bytes()) else {
            return stream.enqueue(name, |driver, _| run(orders, driver, stream, &plan.steps));
        };
        let memory = stream.call_memory(name, len_bytes)?;
        let plan = planned(memory.address())?;
        stream.enqueue(name, |driver, _| run(orders, driver, stream, &plan.steps))
    });
    enqueued.inspect_err(|_| reports.forget(op.number()))
}

fn run(orders: &Orders, driver: &Driver, stream: &RawStream, steps: &[Step]) -> Answer {
    steps.iter().try_for_each(|step| match step {
        Step::Launch(launch) => orders.launch(driver, stream.raw(), launch),
        &Step::Fill { address, word, len_bytes } => {
            // SAFETY: memory of the call, or elements of a result, in whole words.
            unsafe { driver.memset_d32_async(address, word, len_bytes / 4, stream.raw()) }
        }
        Step::Copy(plan, addresses) => stream.copy_planned(driver, plan, *addresses),
    })
}
