//! Computes an expression over a million elements, and compares it with a loop in Rust: equal bits, in one
//! pass.

use std::time::Instant;

use devarray_function::{ElementType::F64, Function, FunctionError, ReduceOperation, Reduction};

fn main() -> Result<(), FunctionError> {
    let x: Vec<f64> = (0..1_000_000).map(|i| f64::from(i) / 1e6).collect();
    let y: Vec<f64> = x.iter().map(|x| 1.0 - x).collect();

    let function = Function::parse("2 * x0 + 3 * x1 * x1", &[F64, F64], &[])?;
    let start = Instant::now();
    let z: Vec<f64> = function.compute(&[(&x).into(), (&y).into()], &[])?;
    println!("{function}: {:.2?}", start.elapsed());

    let expected: Vec<f64> = x.iter().zip(&y).map(|(x, y)| 2.0 * x + 3.0 * y * y).collect();
    assert!(z.iter().zip(&expected).all(|(z, expected)| z.to_bits() == expected.to_bits()));

    let mean = function.compute_reduction::<f64>(
        &[(&x).into(), (&y).into()],
        &[],
        &Reduction::new(ReduceOperation::Mean),
    )?;
    println!("mean: {}", mean[0]);
    assert!((mean[0] - 2.0).abs() < 1e-5, "1 + 1");
    Ok(())
}
