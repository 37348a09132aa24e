//! Elements by index, and elements that a mask selects. For each width of elements there is a
//! kernel for few axes, and one for any layout. It is public for tests of the kernels.
//!
//! `gather_axes` reduces all sides to a few axes and finds the widest element that can be moved; a
//! row of 1 KiB becomes 64 elements of 16 bytes. The kernels are in `kernels/gathers/by_index.cu`.
//! If indices may come twice, an earlier pass over them notes the last of each. A selection is one
//! pass: `kernels/gathers/select.cuh`.
#![allow(unsafe_code)] // launches kernels on the memory of operations

mod gather_axes;
mod index_reports;
mod kernels;
pub mod params;

use std::num::NonZeroUsize;

use devarray::{
    Result,
    backend::GatherOp,
    gather::{Direction, Gathering, IndexError, IndexType, OutOfRange, Repeats},
    order::IndexFault,
};

pub(crate) use kernels::Gathers;
pub use kernels::{LAST_OF_EACH, image, put, select, select_elements, take};

use crate::{
    context::Context,
    driver::{Answer, Driver, INVALID_VALUE, sys},
    memory::CudaBuffer,
    stream::RawStream,
};
use gather_axes::{GatherAxes, for_each_launch};
pub(crate) use index_reports::Report;
use params::{BLOCK_ELEMENTS, Params};

/// Enqueues a gather or scatter. Does not synchronize.
pub(crate) fn enqueue(
    gathers: &Gathers,
    context: &Context,
    stream: &RawStream,
    op: &GatherOp<'_, CudaBuffer>,
) -> Result<()> {
    let (work, reports) = (op.work(), &gathers.index_reports);
    let is_reported = work.out_of_range == OutOfRange::Error;
    let report = is_reported.then(|| reports.begin(stream, op.number(), [error_of(work); 2])).transpose()?;
    enqueue_with((gathers, context, stream), op, report).inspect_err(|_| reports.forget(op.number()))
}

/// The error that is reported for an index out of range, without the index's position and value.
fn error_of(work: &Gathering<'_>) -> IndexError {
    let &Gathering { operation, axis, .. } = work;
    let (fault, bound) = (IndexFault::Outside, work.bound() as u64);
    IndexError { operation, fault, axis, position: 0, value: 0, bound }
}

fn enqueue_with(
    (gathers, context, stream): (&Gathers, &Context, &RawStream),
    op: &GatherOp<'_, CudaBuffer>,
    report: Option<Report>,
) -> Result<()> {
    let work = op.work();
    let name = work.operation.name();
    let invalid = || context.error(name, INVALID_VALUE);
    let axes = GatherAxes::new(op, report).ok_or_else(invalid)?;
    if work.index_type == IndexType::Counted {
        return enqueue_selection(stream, gathers, &axes, name);
    }
    let is_scatter = work.direction == Direction::Scatter;
    if !(is_scatter && work.repeats == Repeats::Last && axes.has_many_indices()) {
        let kernel = if is_scatter { put } else { take };
        return stream.enqueue(name, |driver, raw| {
            for_each_launch(&axes.nest, false, axes.params, &mut |params| {
                let kernel = kernel(axes.width, params.is_near());
                gathers.launch(driver, raw, (kernel, BLOCK_ELEMENTS), params)
            })
        });
    }
    let len_bytes = axes.winners_len_bytes().ok_or_else(invalid)?;
    enqueue_with_memory(stream, name, len_bytes, |driver, raw, winners| {
        let params = Params { winners, ..axes.params };
        clear(driver, raw, winners, len_bytes.get())?;
        // Notes the last index of each place, and puts its element.
        for_each_launch(&axes.index_axes(), false, params, &mut |params| {
            gathers.launch(driver, raw, (LAST_OF_EACH, BLOCK_ELEMENTS), params)
        })?;
        for_each_launch(&axes.nest, false, params, &mut |params| {
            gathers.launch(driver, raw, (put(axes.width, false), BLOCK_ELEMENTS), params)
        })
    })
}

/// Enqueues a selection. Its tiles publish in separate memory, which is 0 before each launch.
fn enqueue_selection(
    stream: &RawStream,
    gathers: &Gathers,
    axes: &GatherAxes,
    name: &'static str,
) -> Result<()> {
    let (width, is_line) = (axes.width, axes.is_line());
    let tile_elements = select_elements(width, is_line);
    // The number of the next tile, and a word for each.
    let len_bytes = NonZeroUsize::MIN.saturating_add(8 * axes.tiles(tile_elements) + 7);
    let kernel = (select(width, is_line), tile_elements);
    enqueue_with_memory(stream, name, len_bytes, |driver, raw, winners| {
        let params = Params { winners, ..axes.params };
        for_each_launch(&axes.nest, true, params, &mut |params| {
            clear(driver, raw, params.winners, len_bytes.get())?;
            gathers.launch(driver, raw, kernel, params)
        })
    })
}

/// Enqueues work that needs separate memory, whose address it gets, and frees the memory
/// afterwards.
fn enqueue_with_memory(
    stream: &RawStream,
    name: &'static str,
    len_bytes: NonZeroUsize,
    launches: impl FnOnce(&Driver, sys::CUstream, u64) -> Answer,
) -> Result<()> {
    let memory = stream.call_memory(name, len_bytes)?;
    stream.enqueue(name, |driver, raw| launches(driver, raw, memory.address()))
}

/// Fills the memory at an address that [`enqueue_with_memory`] gave with 0.
fn clear(driver: &Driver, stream: sys::CUstream, address: u64, len_bytes: usize) -> Answer {
    // SAFETY: the memory was allocated a moment ago, in front of this in the stream, of that many
    // bytes.
    unsafe { driver.memset_d32_async(address, 0, len_bytes / 4, stream) }
}
