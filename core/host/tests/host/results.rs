//! Results do not depend on the number of threads, and are those of the simulator.

use devarray::{Array, Compute, Context, Order, Result};
use devarray_host::HostDevice;
use devarray_mock::MockDevice;

/// Bits of results of many kinds, large enough to be shared.
fn results<D: Compute>(device: D) -> Result<Vec<Vec<u64>>> {
    let stream = Context::new(device)?.stream()?;
    let (rows, columns) = (600, 701);
    let values: Vec<f64> = (0..rows * columns).map(|k| (k as f64).sin() * 1e3).collect();
    let x = Array::from_slice(&stream, &[rows, columns], &values)?;
    let y = x.view().map(&stream, |x| x.exp() - x * x)?;
    let turned = x.view().transpose().to_contiguous(&stream, Order::C)?;
    let mut filled = Array::<f64, D>::zeros(&stream, &[columns, rows])?;
    filled.view_mut().slice_axis(1, 1..599)?.fill(&stream, 1.25)?;
    let along = [y.view().sum(&stream, 0)?, y.view().sum(&stream, 1)?];
    let scan = y.view().cumsum(&stream, 1)?;
    let bits = |array: &Array<f64, D>| Ok(array.to_vec(&stream)?.into_iter().map(f64::to_bits).collect());
    let all = [&y, &turned, &filled, &along[0], &along[1], &scan];
    all.into_iter().map(bits).collect()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() -> Result<()> {
    let due = results(MockDevice::builder().judge(false).build())?;
    for threads in [1, 2, 7, 16] {
        let found = results(HostDevice::builder().capacity_bytes(1 << 30).threads(threads).build())?;
        assert!(found == due, "{threads} threads");
    }
    Ok(())
}
