//! Results do not depend on the number of threads, and equal the simulator's.

use devarray::{Array, ArrayView, Compute, Context, Order, Result, array::Operands as _};
use devarray_host::HostDevice;
use devarray_mock::MockDevice;

/// Bits of elements, in order.
type Bits = Vec<u64>;

fn simulator() -> MockDevice {
    MockDevice::builder().judge(false).build()
}

fn host(threads: usize) -> HostDevice {
    HostDevice::builder().capacity_bytes(1 << 30).threads(threads).build()
}

/// The bits of results of many kinds, large enough for several threads.
fn results<D: Compute>(device: D) -> Result<Vec<Bits>> {
    let stream = Context::new(device)?.stream()?;
    let (rows, columns) = (600, 701);
    let values: Vec<f64> = (0..rows * columns).map(|k| (k as f64).sin() * 1e3).collect();
    let x = Array::from_slice(&stream, &[rows, columns], &values)?;
    let y = x.view().map(&stream, |x| x.exp() - x * x)?;
    let turned = x.view().transpose().to_contiguous(&stream, Order::C)?;
    let sums = (&y.view().transpose(), &turned).map(&stream, |(y, x)| y + x)?;
    let mut filled = Array::<f64, D>::zeros(&stream, &[columns, rows])?;
    filled.view_mut().slice_axis(1, 1..599)?.fill(&stream, 1.25)?;
    let bits = |array: &Array<f64, D>| Ok(array.to_vec(&stream)?.into_iter().map(f64::to_bits).collect());
    [&y, &turned, &sums, &filled].into_iter().map(bits).collect()
}

/// Reductions and scans give the same bits with any number of threads: over many rows, few rows, one row,
/// rows across memory and backward rows.
fn reductions<D: Compute>(device: D) -> Result<Vec<Bits>> {
    let stream = Context::new(device)?.stream()?;
    let values: Vec<f32> = (0..140_000_u32).map(|k| (k as f32 * 0.37).sin() * (k % 1013) as f32).collect();
    let flat = Array::from_slice(&stream, &[values.len()], &values)?;
    let mut all = Vec::new();
    let mut keep = |bits: Bits| all.push(bits);
    for shape in [[1, 140_000], [2, 70_000], [70_000, 2], [400, 350], [5000, 28]] {
        let x = flat.view().reshape(&shape, Order::C)?;
        let views: [ArrayView<'_, f32, D>; 3] = [x.clone(), x.transpose(), x.flip(&[1])?];
        for view in &views {
            for axis in [0, 1] {
                let of = |array: Array<f32, D>| -> Result<Bits> {
                    Ok(array.to_vec(&stream)?.into_iter().map(|x| x.to_bits().into()).collect())
                };
                keep(of(view.sum(&stream, axis)?)?);
                keep(of(view.max(&stream, axis)?)?);
                keep(of(view.cumsum(&stream, axis)?)?);
                let positions = view.argmin(&stream, axis)?.to_vec(&stream)?;
                keep(positions.into_iter().map(i64::cast_unsigned).collect());
            }
        }
    }
    Ok(all)
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() -> Result<()> {
    let due = results(simulator())?;
    for threads in [1, 2, 7, 16] {
        assert!(results(host(threads))? == due, "{threads} threads");
    }
    Ok(())
}

#[test]
fn nor_do_those_of_reductions() -> Result<()> {
    let due = reductions(simulator())?;
    for threads in [2, 7] {
        let found = reductions(host(threads))?;
        for (number, (found, due)) in found.iter().zip(&due).enumerate() {
            assert!(found == due, "{threads} threads: result {number}");
        }
    }
    Ok(())
}
