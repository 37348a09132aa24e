//! Overlaps two streams that events order, like Numba's stream and event example.
//!
//! ```text
//! uploaded = cuda.event(); uploaded.record(copier)
//! uploaded.wait(worker)
//! kernel[blocks, threads, worker](d_ary)
//! ```
//!
//! One stream copies blocks in while another stream works on earlier blocks. Strict streams refuse
//! accesses that no event orders; streams of `Context::stream` need no events at all.

use devarray::{Array, Context, Device, Error, Result, StreamHandle};
use devarray_mock::MockDevice;

const BLOCK: usize = 4;

/// Copies each block of `data` in on `copier` and reverses it on `worker`. Records the events if `in_order`
/// is true.
fn reverse_blocks<D: Device>(
    copier: &StreamHandle<D>,
    worker: &StreamHandle<D>,
    data: &[i32],
    in_order: bool,
) -> Result<Vec<i32>> {
    let mut incoming = Array::uninit(copier, &[data.len()])?;
    let mut reversed = Array::uninit(worker, &[data.len()])?;
    let blocks = incoming.view_mut().split(BLOCK)?.zip(reversed.view_mut().split(BLOCK)?);
    for ((mut incoming, mut reversed), block) in blocks.zip(data.chunks(BLOCK)) {
        incoming.copy_from_slice(copier, block)?;
        if in_order {
            worker.wait(&copier.record()?)?; // this block has arrived; the next block may be in flight
        }
        reversed.copy_from(worker, &incoming.as_view().flip(&[0])?)?;
    }
    reversed.to_vec(worker)
}

fn main() -> Result<()> {
    let context = Context::new(MockDevice::new())?;
    let data: Vec<i32> = (0..12).collect();
    let due = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8];

    let (copier, worker) = (context.strict_stream()?, context.strict_stream()?);
    assert_eq!(reverse_blocks(&copier, &worker, &data, true)?, due);
    println!("ordered by events:    {due:?}");

    let forgotten = reverse_blocks(&copier, &worker, &data, false);
    let Err(error @ Error::Hazard { .. }) = forgotten else { panic!("not refused: {forgotten:?}") };
    println!("an event forgotten:   {error}");

    let (copier, worker) = (context.stream()?, context.stream()?);
    assert_eq!(reverse_blocks(&copier, &worker, &data, false)?, due);
    println!("without any event:    the streams wait for each other by themselves");
    assert_eq!(context.take_errors(), []);
    Ok(())
}
