//! Runs one generic function on three devices: the CPU, the simulator, and a GPU if there is one.
//! All of them give the same bits.

use devarray::{Array, Compute, Context, Result, prelude::*};
use devarray_any::AnyDevice;

/// The distance of each row from the mean of all rows.
fn distances<D: Compute>(context: &Context<D>, rows: &[f32], columns: usize) -> Result<Vec<f32>> {
    let stream = context.stream()?;
    let rows = Array::from_slice(&stream, &[rows.len() / columns, columns], rows)?;
    let mean = rows.view().mean(&stream, 0)?;
    let squares = (&rows, &mean).map(&stream, |(x, mean)| (x - mean) * (x - mean))?;
    squares.view().sum(&stream, 1)?.view().map(&stream, |sum| sum.sqrt())?.to_vec(&stream)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 3.0, 3.0_f32];
    let mut answers = Vec::new();
    for name in ["host", "mock", "cuda"] {
        match AnyDevice::named(name) {
            Ok(device) => {
                let answer = distances(&Context::new(device)?, &rows, 2)?;
                println!("{name}: {answer:?}");
                answers.push(answer);
            }
            Err(error) => println!("{error}"),
        }
    }
    assert!(answers.len() >= 2, "the CPU and the simulator are everywhere");
    assert!(answers.iter().all(|answer| *answer == answers[0]), "the same bits");
    Ok(())
}
