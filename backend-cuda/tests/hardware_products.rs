//! Proves on a real device that functions of products, and products that are added to existing elements, equal the
//! CPU's, to the bit. Times a product with a bias and a `maximum`.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_products:: --nocapture
//! --test-threads 1`. `CASES` sets the number of random calls, and `FIRST` the number of the first one.
#![expect(clippy::unwrap_used, reason = "tests")]

use devarray::{Array, Context, StreamHandle};
use devarray_conformance::Rng;
use devarray_cuda::CudaDevice;
use devarray_host::HostDevice;

use super::{
    products_of::{drawn, result},
    shards::number,
};

#[test]
#[ignore = "needs a CUDA device"]
fn functions_of_products_equal_the_cpu() {
    let cuda = Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap();
    let host = Context::new(HostDevice::new()).unwrap().stream().unwrap();
    let (first, cases) = (number("FIRST", 0), number("CASES", 2000));
    for case in first..first + cases {
        let drawn = drawn(&mut Rng::new(case), 300);
        let (found, due) = (result(&cuda, &drawn), result(&host, &drawn));
        let at = found.iter().zip(&due).position(|(found, due)| found != due);
        assert!(found == due, "case {case}: {drawn:?}: byte {at:?} of {}", due.len());
    }
    println!("{cases} products with what follows: the bits of the CPU");
}

/// The least time of several calls, in milliseconds.
fn milliseconds(stream: &StreamHandle<CudaDevice>, mut call: impl FnMut()) -> f32 {
    (0..12)
        .map(|_| {
            let begun = stream.record_timed().unwrap();
            call();
            let ended = stream.record_timed().unwrap();
            stream.synchronize().unwrap();
            ended.elapsed_since(&begun).unwrap().unwrap().as_secs_f32() * 1e3
        })
        .fold(f32::INFINITY, f32::min)
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_bias_and_a_maximum() {
    let stream = Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap();
    let s = &stream;
    let squares = [1024, 2048, 4096].map(|len| [len, len, len]);
    for [m, k, n] in squares.into_iter().chain([[4096, 64, 4096], [1 << 20, 64, 64], [1 << 20, 16, 16]]) {
        let numbers =
            |len: usize| -> Vec<f32> { (0..len).map(|at| (at * 37 % 1001) as f32 / 77.0 - 6.5).collect() };
        let a = Array::from_slice(s, &[m, k], &numbers(m * k)).unwrap();
        let b = Array::from_slice(s, &[k, n], &numbers(k * n)).unwrap();
        let bias = Array::from_slice(s, &[n], &numbers(n)).unwrap();
        let mut product = Array::<f32, _>::zeros(s, &[m, n]).unwrap();
        let mut mapped = Array::<f32, _>::zeros(s, &[m, n]).unwrap();
        let plain = milliseconds(s, || a.matmul_into(s, &b, &mut product).unwrap());
        let follows = milliseconds(s, || {
            a.matmul_map_into(s, &b, &bias, &mut mapped, |y, bias| (y + bias).maximum(0.0)).unwrap();
        });
        let after = milliseconds(s, || {
            a.matmul_into(s, &b, &mut product).unwrap();
            product.update(s, &bias, |y, bias| (y + bias).maximum(0.0)).unwrap();
        });
        assert_eq!(mapped.to_vec(s).unwrap(), product.to_vec(s).unwrap(), "{m} {k} {n}");
        println!(
            "{m} x {k} x {n}: product {plain:.4} ms, with bias and maximum {follows:.4}, in two calls {after:.4}"
        );
    }
}
