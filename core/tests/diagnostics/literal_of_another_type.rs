//! Literals that do not have the type of the expression: the message names `lit` and `cast`.

use devarray::{
    Array, Compute, Result, StreamHandle,
    function::{Float, Number},
};

fn left<T: Float, D: Compute>(stream: &StreamHandle<D>, x: &Array<T, D>) -> Result<Array<T, D>> {
    x.map(stream, |x| 0.5 * x)
}

fn of_any_number<T: Number, D: Compute>(stream: &StreamHandle<D>, x: &Array<T, D>) -> Result<Array<T, D>> {
    x.map(stream, |x| x + 1)
}

fn beside_integers<D: Compute>(stream: &StreamHandle<D>, x: &Array<i32, D>) -> Result<Array<i32, D>> {
    x.map(stream, |x| x * 0.5)
}

fn another_type<D: Compute>(stream: &StreamHandle<D>, x: &Array<i64, D>, k: u8) -> Result<Array<i64, D>> {
    x.map(stream, |x| x * k)
}

fn chosen<T: Float, D: Compute>(stream: &StreamHandle<D>, x: &Array<T, D>) -> Result<Array<T, D>> {
    x.map(stream, |x| x.lt(0.0).select(0.0, x))
}

fn main() {}
