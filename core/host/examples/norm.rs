//! The Euclidean norm of a vector, on the CPU.

use devarray::{Array, Compute, Context, Result};
use devarray_host::HostDevice;

fn norm<D: Compute>(context: &Context<D>, values: &[f32]) -> Result<f32> {
    let stream = context.stream()?;
    let x = Array::from_slice(&stream, &[values.len()], values)?;
    let squares = x.view().map(&stream, |x| x * x)?.sum(&stream, ..)?.item(&stream)?;
    Ok(squares.sqrt())
}

fn main() -> Result<()> {
    let context = Context::new(HostDevice::new())?;
    assert!((norm(&context, &[3.0, 4.0])? - 5.0).abs() < f32::EPSILON);
    println!("{} threads", context.device().threads());
    Ok(())
}
