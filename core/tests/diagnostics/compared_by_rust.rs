//! Rust's comparisons and operators that cannot work on elements: the message names the methods.

use devarray::{Array, Compute, Result, StreamHandle};

fn relu<D: Compute>(stream: &StreamHandle<D>, x: &Array<f32, D>) -> Result<Array<f32, D>> {
    x.map(stream, |x| if x > 0.0 { x } else { x * 0.5 })
}

fn without_zero<D: Compute>(stream: &StreamHandle<D>, x: &Array<i32, D>) -> Result<Array<i32, D>> {
    x.map(stream, |x| if x == 0 { x + 1 } else { x })
}

fn rest<D: Compute>(stream: &StreamHandle<D>, x: &Array<f32, D>) -> Result<Array<f32, D>> {
    x.map(stream, |x| x % 2.0)
}

fn halves<D: Compute>(stream: &StreamHandle<D>, x: &Array<i32, D>) -> Result<Array<i32, D>> {
    x.map(stream, |x| x / 2)
}

fn main() {}
