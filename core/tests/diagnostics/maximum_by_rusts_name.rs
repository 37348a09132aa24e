//! Rust's `max` and `min`: the warning names `maximum` and `minimum`.
#![deny(deprecated)]

use devarray::{Array, Compute, Result, StreamHandle};

fn relu<D: Compute>(stream: &StreamHandle<D>, x: &Array<f32, D>) -> Result<Array<f32, D>> {
    x.map(stream, |x| x.max(0.0).min(6.0))
}

fn main() {}
