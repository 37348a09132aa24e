//! Times functions and reductions along short axes: nanoseconds an element.
//!
//! `cargo run --release -p devarray-host --example short_axes -- [THREADS]`

use std::time::Instant;

use devarray::{
    Array, Context, Result, StreamHandle,
    function::{Operands, ReduceOperation, Reduction},
};
use devarray_host::HostDevice;

type Stream = StreamHandle<HostDevice>;

/// Elements of each case, about.
const LEN: usize = 1 << 20;

/// The best of some calls, in nanoseconds an element.
fn time(elements: usize, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..12 {
        let start = Instant::now();
        call()?;
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / elements as f64);
    }
    Ok(best)
}

macro_rules! cases {
    ($name:ident $of:ident) => {
        fn $name(stream: &Stream) -> Result<()> {
            let name = stringify!($of);
            let numbers = |shape: &[usize]| -> Result<Array<$of, HostDevice>> {
                let count = shape.iter().product();
                let values: Vec<$of> = (0..count).map(|k: usize| (k * 37 % 101) as $of).collect();
                Array::from_slice(stream, shape, &values)
            };
            println!("{name}: reductions of rows of a length");
            println!(
                "{:>6} {:>9} {:>9} {:>9} {:>9} {:>9}",
                "length", "sum", "max", "argmax", "distance", "product"
            );
            for len in [2, 3, 4, 8, 16, 32, 64, 128] {
                let (n, last) = (LEN / len, |op| Reduction::new(op).axes(&[-1]));
                let x = numbers(&[n, len])?;
                let sum = time(LEN, || x.sum(stream, -1).map(drop))?;
                let max = time(LEN, || x.max(stream, -1).map(drop))?;
                let argmax = time(LEN, || x.argmax(stream, -1).map(drop))?;
                // Each point beside each centre.
                let (points, centres) = (numbers(&[n / 16, 1, len])?, numbers(&[16, len])?);
                let result = &mut Array::<$of, _>::uninit(stream, &[n / 16, 16])?;
                let distance = time(LEN, || {
                    let sum = last(ReduceOperation::Sum);
                    (&points, &centres).reduce_into(stream, &sum, result, |(x, c)| (x - c) * (x - c))
                })?;
                let column = numbers(&[n, 1])?;
                let product = time(LEN, || {
                    let sum = last(ReduceOperation::Sum);
                    (&x, &column).reduce(stream, &sum, |(x, c)| x * c).map(|_: Array<$of, _>| ())
                })?;
                println!("{len:6} {sum:9.3} {max:9.3} {argmax:9.3} {distance:9.3} {product:9.3}");
            }
            println!("{name}: functions of arrays with rows of a length");
            println!("{:>6} {:>9} {:>9} {:>9} {:>9}", "length", "row", "column", "both", "turned");
            for len in [2, 3, 4, 8, 16, 32, 64, 128] {
                let n = LEN / len;
                let (x, row, column) = (numbers(&[n, len])?, numbers(&[len])?, numbers(&[n, 1])?);
                let turned = numbers(&[len, n])?;
                let turned = turned.transpose();
                let o = &mut Array::<$of, _>::uninit(stream, &[n, len])?;
                let by_row = time(LEN, || (&x, &row).map_into(stream, o, |(x, r)| x + r))?;
                let by_column = time(LEN, || (&x, &column).map_into(stream, o, |(x, c)| x * c))?;
                let both = time(LEN, || (&row, &column).map_into(stream, o, |(r, c)| r * c))?;
                let turned = time(LEN, || (&x, &turned).map_into(stream, o, |(x, t)| x * t))?;
                println!("{len:6} {by_row:9.3} {by_column:9.3} {both:9.3} {turned:9.3}");
            }
            Ok(())
        }
    };
}

cases! { singles f32 }
cases! { doubles f64 }

fn main() -> Result<()> {
    let threads = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let device =
        threads.map_or_else(HostDevice::new, |threads| HostDevice::builder().threads(threads).build());
    let stream = Context::new(device)?.stream()?;
    singles(&stream)?;
    doubles(&stream)
}
