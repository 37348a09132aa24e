//! Functions of a `D: Device`: the message names `D: Compute`, with one array and with a tuple.

use devarray::{
    Array, Device, Result, StreamHandle,
    function::{Operands, ReduceOperation, Reduction},
    gather::OutOfRange,
};

fn of_two<D: Device>(stream: &StreamHandle<D>, x: &Array<f32, D>) -> Result<Array<f32, D>> {
    (x, x).map(stream, |(x, y)| x + y)
}

fn reduced<D: Device>(stream: &StreamHandle<D>, x: &Array<f32, D>) -> Result<Array<f32, D>> {
    (x, 2.0).reduce(stream, &Reduction::new(ReduceOperation::Sum), |(x, k)| x * k)
}

fn of_one<D: Device>(stream: &StreamHandle<D>, x: &Array<f32, D>) -> Result<Array<f32, D>> {
    x.map(stream, |x| x.sqrt())
}

fn sum<D: Device>(stream: &StreamHandle<D>, x: &Array<f32, D>) -> Result<Array<f32, D>> {
    x.view().sum(stream, ..)
}

fn taken<D: Device>(stream: &StreamHandle<D>, x: &Array<f32, D>, at: &Array<i32, D>) -> Result<Array<f32, D>> {
    x.take(stream, at, 0, OutOfRange::Error)
}

fn main() {}
