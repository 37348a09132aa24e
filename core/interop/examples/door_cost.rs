//! The cost of a door: an array out to DLPack and in again, without order, and out with order to
//! the default stream.
//!
//! ```text
//! cargo run --release -p devarray-interop --features cuda,mock --example door_cost [-- cuda]
//! ```
#![allow(unsafe_code)] // takes back what it gave out
#![allow(clippy::unwrap_used)] // an example

use std::{env::args, hint::black_box, time::Instant};

use devarray::{Array, Context, backend::ForeignStream};
use devarray_cuda::CudaDevice;
use devarray_interop::{Consumer, Door, Result, Tensor};
use devarray_mock::MockDevice;

const ROUNDS: u32 = 2000;

/// Median nanoseconds of a call, over rounds of a hundred.
fn nanoseconds<R>(mut call: impl FnMut() -> R) -> u128 {
    let mut times: Vec<u128> = (0..ROUNDS / 100)
        .map(|_| {
            let began = Instant::now();
            (0..100).for_each(|_| drop(black_box(call())));
            began.elapsed().as_nanos() / 100
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Median nanoseconds of `call`, which takes the result of `before`.
fn nanoseconds_of<R, S>(mut call: impl FnMut(S) -> R, mut before: impl FnMut() -> S) -> u128 {
    let mut times: Vec<u128> = (0..ROUNDS / 100)
        .map(|_| {
            let inputs: Vec<S> = (0..100).map(|_| before()).collect();
            let mut outputs = Vec::with_capacity(100);
            let began = Instant::now();
            outputs.extend(inputs.into_iter().map(&mut call));
            let taken = began.elapsed().as_nanos() / 100;
            drop(outputs);
            taken
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn cost<D: Door>(context: &Context<D>) -> Result<()> {
    let stream = context.stream()?;
    let tensor = Tensor::from(Array::<f32, _>::zeros(&stream, &[64, 32])?);
    stream.synchronize()?;
    let out = |consumer| tensor.to_dlpack(&stream, consumer).unwrap();
    let unordered = nanoseconds_of(|()| out(Consumer::Unordered), || ());
    // SAFETY: the structure is as the export made it, and nobody writes the memory.
    let into = |structure| unsafe { Tensor::from_dlpack(&stream, structure) }.unwrap();
    let import = nanoseconds_of(into, || out(Consumer::Unordered));
    let ordered = nanoseconds(|| out(Consumer::Stream(ForeignStream::LEGACY)));
    println!("export {unordered} ns, import {import} ns, ordered export and its return {ordered} ns");
    Ok(())
}

fn main() -> Result<()> {
    if args().nth(1).as_deref() == Some("cuda") {
        return cost(&Context::new(CudaDevice::open(0)?)?);
    }
    cost(&Context::new(MockDevice::new())?)
}
