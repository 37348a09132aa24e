//! Times functions and reductions along short axes, in nanoseconds per element.
//!
//! `DEVARRAY_THREADS=1 cargo run --release -p devarray-host --example short_axes`

use std::time::Instant;

use devarray::{
    Array, Context, Result, StreamHandle,
    function::{Operands, ReduceOperation, Reduction},
};
use devarray_host::HostDevice;

/// The approximate number of elements in each case. Without optimization there is nothing to measure.
const LEN: usize = if cfg!(debug_assertions) { 1 << 13 } else { 1 << 20 };

/// Prints the least time of several calls.
fn time(name: &str, mut call: impl FnMut() -> Result<()>) -> Result<()> {
    let mut best = f64::INFINITY;
    for _ in 0..12 {
        let start = Instant::now();
        call()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    print!("  {name} {:.3}", best * 1e9 / LEN as f64);
    Ok(())
}

macro_rules! cases {
    ($name:ident $of:ident) => {
        fn $name(stream: &StreamHandle<HostDevice>) -> Result<()> {
            let numbers = |shape: &[usize]| {
                let values: Vec<$of> =
                    (0_u8..101).cycle().map($of::from).take(shape.iter().product()).collect();
                Array::from_slice(stream, shape, &values)
            };
            let sum = Reduction::new(ReduceOperation::Sum).axes(&[-1]);
            for len in [2, 3, 4, 8, 16, 32, 64, 128] {
                let (n, row, points) = (LEN / len, numbers(&[len])?, numbers(&[LEN / len / 16, 1, len])?);
                let (x, column, centres) = (numbers(&[n, len])?, numbers(&[n, 1])?, numbers(&[16, len])?);
                let turned = numbers(&[len, n])?;
                let turned = turned.transpose();
                let sums = &mut Array::<$of, _>::uninit(stream, &[n])?;
                let distances = &mut Array::<$of, _>::uninit(stream, &[n / 16, 16])?;
                let result = &mut Array::<$of, _>::uninit(stream, &[n, len])?;
                print!("{} rows of {len:3}:", stringify!($of));
                time("sum", || x.view().sum_into(stream, -1, sums))?;
                time("max", || x.view().max_into(stream, -1, sums))?;
                time("distance", || {
                    (&points, &centres).reduce_into(stream, &sum, distances, |(x, c)| (x - c) * (x - c))
                })?;
                time("product", || (&x, &column).reduce_into(stream, &sum, sums, |(x, c)| x * c))?;
                time("row", || (&x, &row).map_into(stream, result, |(x, row)| x + row))?;
                time("column", || (&x, &column).map_into(stream, result, |(x, column)| x * column))?;
                time("both", || (&row, &column).map_into(stream, result, |(row, column)| row * column))?;
                time("turned", || (&x, &turned).map_into(stream, result, |(x, turned)| x * turned))?;
                println!();
            }
            Ok(())
        }
    };
}

cases! { singles f32 }
cases! { doubles f64 }

fn main() -> Result<()> {
    let stream = Context::new(HostDevice::new())?.stream()?;
    singles(&stream)?;
    doubles(&stream)
}
