//! A launch gives what was recorded, a communicator too.

use devarray::{Array, Result, StreamHandle, collective::{Combination, Communicator}};
use devarray_mock::MockDevice;

fn attempt(
    stream: &StreamHandle<MockDevice>,
    x: &mut Array<f32, MockDevice>,
    ranks: &mut Communicator<MockDevice>,
) -> Result<()> {
    let recorded = stream.record_work((&mut *x, &mut *ranks), |on, (mut x, ranks)| {
        ranks.all_reduce_in_place(on, Combination::Sum, &mut x)
    })?;
    recorded.launch(stream, (x,))
}

fn main() {}
