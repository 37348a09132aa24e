//! Tests on a real device that counts keep their speed when most elements are equal.
//!
//! Needs a CUDA device, so it is ignored by default:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_skew:: --nocapture`.
#![expect(clippy::unwrap_used, reason = "tests")]

use devarray::{Array, Context, StreamHandle, function::WholeNumber};
use devarray_conformance::Rng;
use devarray_cuda::CudaDevice;

/// The least time of several counts, in milliseconds, and the counts.
fn counted<I: WholeNumber>(stream: &StreamHandle<CudaDevice>, elements: &[I], n: usize) -> (f32, Vec<i64>) {
    let x = Array::from_slice(stream, &[elements.len()], elements).unwrap();
    let mut counts = Array::<i64, _>::zeros(stream, &[n]).unwrap();
    let mut least = f32::INFINITY;
    for _ in 0..10 {
        let begun = stream.record_timed().unwrap();
        x.view().bincount_into(stream, &mut counts).unwrap();
        let ended = stream.record_timed().unwrap();
        stream.synchronize().unwrap();
        least = least.min(ended.elapsed_since(&begun).unwrap().unwrap().as_secs_f32() * 1e3);
    }
    (least, counts.to_vec(stream).unwrap())
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn equal_elements_are_counted_as_fast_as_others() {
    let stream = Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap();
    let mut rng = Rng::new(1);
    let uniform: Vec<u8> = (0..1 << 25).flat_map(|_| rng.bits().to_le_bytes()).collect();
    let (of_uniform, _) = counted(&stream, &uniform, 256);
    let (of_constant, counts) = counted(&stream, &vec![7_u8; 1 << 28], 256);
    assert_eq!((counts[7], counts.iter().sum::<i64>()), (1 << 28, 1 << 28));
    let speed = |ms: f32, elements: usize| elements as f32 / ms / 1e6;
    println!(
        "2^28 bytes: uniform {:.0} GB/s, constant {:.0}",
        speed(of_uniform, 1 << 28),
        speed(of_constant, 1 << 28)
    );
    assert!(of_constant < 1.5 * of_uniform);
    for n in [256_usize, 10_000, 1_000_000] {
        let len = 1 << 26;
        let below = |rng: &mut Rng| i32::try_from(rng.below(n)).unwrap();
        let uniform: Vec<i32> = (0..len).map(|_| below(&mut rng)).collect();
        let skewed: Vec<i32> =
            (0..len).map(|_| if rng.below(10) == 0 { below(&mut rng) } else { 3 }).collect();
        let ((of_uniform, _), (of_skewed, counts)) =
            (counted(&stream, &uniform, n), counted(&stream, &skewed, n));
        let due = skewed.iter().filter(|&&element| element == 3).count();
        assert_eq!(usize::try_from(counts[3]).unwrap(), due);
        println!(
            "2^26 into {n}: uniform {:.0} G elements/s, nine in ten equal {:.0}",
            speed(of_uniform, len),
            speed(of_skewed, len)
        );
        assert!(of_skewed < 1.5 * of_uniform, "{n}");
    }
}
