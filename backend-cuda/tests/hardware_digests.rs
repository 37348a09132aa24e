//! Computes each function of one `f32` on a card and on the CPU for all 2³² inputs, and compares the digest of
//! the results with the digest of the results that `core/prove` found to be correctly rounded.
//!
//! The first test needs a CUDA device, and the second test takes minutes, so both are ignored by default:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_digests:: --nocapture`.
#![allow(clippy::unwrap_used)] // a test

use devarray::{
    Array, Context,
    backend::Compute,
    function::{DeviceFunction, ElementType, Function, ReduceOperation, Reduction},
};
use devarray_cuda::CudaDevice;
use devarray_host::HostDevice;

/// The number of inputs of one launch.
const AT_ONCE: usize = 1 << 30;

/// Writes the number that `part` of `core/prove/src/digest.rs` computes from an input and its result, as a function;
/// `bitcast` sees the canonical NaN.
fn part(function: &str) -> String {
    let input = "cast(i0 + k0, u32)";
    let result = format!("bitcast({function}(bitcast({input}, f32)), u32)");
    let both = format!("((cast({input}, u64) << 32 | cast({result}, u64)) * {})", 0x9e37_79b9_7f4a_7c15_u64);
    format!("({both} ^ ({both} >> 32)) * {}", 0xbf58_476d_1ce4_e5b9_u64)
}

/// The functions and digests of the table in the proof's page.
fn proven() -> Vec<(&'static str, u64)> {
    let rows = include_str!("../../core/prove/README.md").lines();
    let rows = rows.filter_map(|row| {
        let mut cells = row.split('|').map(|cell| cell.trim().trim_matches('`'));
        let (name, digest) = (cells.nth(1)?, cells.nth(2)?);
        Some((name, u64::from_str_radix(digest, 16).ok().filter(|_| digest.len() == 16)?))
    });
    rows.collect()
}

fn every_function_is_correctly_rounded<D: Compute>(device: D) {
    let stream = Context::new(device).unwrap().stream().unwrap();
    let zero = Array::<u8, _>::zeros(&stream, &[1]).unwrap();
    let many = zero.broadcast_to(&[AT_ONCE]).unwrap();
    let proven = proven();
    assert_eq!(proven.len(), 22);
    for (name, expected) in proven {
        let function = Function::parse(&part(name), &[ElementType::U8], &[ElementType::I64]).unwrap();
        let sums = (0..4_u64).map(|chunk| {
            let (inputs, first) = ([many.as_erased().clone()], [chunk * AT_ONCE as u64]);
            let sum =
                function.reduce(&stream, &inputs, &first, &Reduction::new(ReduceOperation::Sum)).unwrap();
            u64::from_le_bytes(sum.view().to_bytes(&stream).unwrap().try_into().unwrap())
        });
        let digest = sums.fold(0, u64::wrapping_add);
        println!("{name}: {digest:016x}");
        assert_eq!(digest, expected, "{name}");
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn every_f32_function_is_correctly_rounded_for_every_input() {
    every_function_is_correctly_rounded(CudaDevice::open(0).expect("a CUDA device is needed"));
}

/// Runs on the CPU, which takes minutes: some seconds for each function on 16 cores.
#[test]
#[ignore = "takes minutes: run with --ignored"]
fn the_cpu_rounds_every_f32_function_correctly() {
    every_function_is_correctly_rounded(HostDevice::new());
}
