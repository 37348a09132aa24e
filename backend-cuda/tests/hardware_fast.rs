//! Tests that fast products on a card are within their bound, also on two streams at once, and times them.
//! Needs cuBLASLt.
//! `speed` prints a line of JSON for each product; `bench/fast_products.py` runs it beside PyTorch.

use std::time::Instant;

use devarray::{Array, ArrayView, Context, Order, StreamHandle, function::Number, product::Precision};
use devarray_conformance::Rng;
use devarray_cuda::CudaDevice;
use half::{bf16, f16};

use super::fast::{Fast, number, random_product};

fn stream() -> StreamHandle<CudaDevice> {
    Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap()
}

#[test]
#[ignore = "needs an NVIDIA GPU and cuBLASLt"]
fn random_products_are_within_the_bound() {
    let s = stream();
    let mut rng = Rng::new(49);
    for case in 0..3000 {
        let most = if case % 10 == 0 { 150 } else { 40 };
        let found = match case % 3 {
            0 => random_product::<f16, _>(&s, &mut rng, most, |_| ()),
            1 => random_product::<bf16, _>(&s, &mut rng, most, |_| ()),
            _ => random_product::<f32, _>(&s, &mut rng, most, |_| ()),
        };
        assert_eq!(found.unwrap(), Ok(()), "case {case}");
    }
}

/// Multiplies two matrices, and compares some elements with sums in f64.
fn large<T: Fast>(s: &StreamHandle<CudaDevice>, [m, k, n]: [usize; 3], seed: u64) {
    let mut rng = Rng::new(seed);
    let mut made = |count: usize| -> Vec<T> { (0..count).map(|_| number(&mut rng)).collect() };
    let (left, right) = (made(m * k), made(k * n));
    let a = Array::from_slice(s, &[m, k], &left).unwrap();
    let b = Array::from_slice(s, &[k, n], &right).unwrap();
    let found = a.matmul_with(s, &b, Precision::Fast).unwrap().to_vec(s).unwrap();
    let exact = a.matmul(s, &b).unwrap().to_vec(s).unwrap();
    let mut differ = 0;
    for _ in 0..2000 {
        let (row, column) = (rng.below(m), rng.below(n));
        let products = (0..k).map(|at| left[row * k + at].value() * right[at * n + column].value());
        let (sum, magnitude) =
            products.fold((0.0, 0.0), |(sum, magnitude), each| (sum + each, magnitude + each.abs()));
        for (precision, found) in [(Precision::Fast, &found), (Precision::Exact, &exact)] {
            let found = found[row * n + column].value();
            let bound = precision.gamma(T::TYPE, k) * magnitude;
            assert!(
                (found - sum).abs() <= bound,
                "{} {precision:?}: {found}, not {sum} within {bound:e}",
                T::TYPE
            );
        }
        differ += usize::from(found[row * n + column].value() != exact[row * n + column].value());
    }
    println!("{} {m} x {k} x {n}: {differ} of 2000 elements are others than the exact ones", T::TYPE);
}

#[test]
#[ignore = "needs an NVIDIA GPU and cuBLASLt"]
fn large_products_are_within_the_bound() {
    let s = stream();
    for shape in [[1024, 1024, 1024], [512, 4100, 257], [64, 60_000, 64], [3001, 33, 2003]] {
        large::<f16>(&s, shape, 1);
        large::<bf16>(&s, shape, 2);
        large::<f32>(&s, shape, 3);
    }
}

/// Runs algorithms that need memory on two streams at once, many times: each stream has memory of its own.
#[test]
#[ignore = "needs an NVIDIA GPU and cuBLASLt"]
fn two_streams_at_once_do_not_share_memory() {
    let one = stream();
    let two = one.context().stream().unwrap();
    let mut rng = Rng::new(5);
    let mut made = |count: usize| -> Vec<f16> { (0..count).map(|_| number(&mut rng)).collect() };
    // The product has few elements with long sums. The sums are split, and their parts lie in that memory.
    let (m, k, n) = (64, 65_536, 64);
    let (left, right) = (made(m * k), made(k * n));
    let of = |s: &StreamHandle<CudaDevice>, turn: usize| {
        let mut left = left.clone();
        left.rotate_left(turn * k);
        (Array::from_slice(s, &[m, k], &left).unwrap(), Array::from_slice(s, &[k, n], &right).unwrap())
    };
    let inputs = [(&one, of(&one, 0)), (&two, of(&two, 1))];
    let alone = inputs.each_ref().map(|(s, (a, b))| {
        let found = a.matmul_with(s, b, Precision::Fast).unwrap().to_vec(s).unwrap();
        s.synchronize().unwrap();
        found
    });
    assert!(alone[0] != alone[1], "other products");
    let all = std::thread::scope(|scope| {
        let run = |number: usize| {
            let (s, (a, b)) = &inputs[number];
            let found: Vec<_> = (0..100).map(|_| a.matmul_with(s, b, Precision::Fast).unwrap()).collect();
            found.into_iter().map(|found| found.to_vec(s).unwrap()).collect::<Vec<_>>()
        };
        let both = [0, 1].map(|number| scope.spawn(move || run(number)));
        both.map(|thread| thread.join().unwrap())
    });
    for (found, alone) in all.iter().zip(&alone) {
        // One algorithm gives the same bits each time unless other work writes to its memory.
        assert!(found.iter().all(|found| found == alone));
    }
}

/// The least time of a product in milliseconds, where many products run in a row.
fn time<T: Number>(
    s: &StreamHandle<CudaDevice>,
    a: &ArrayView<'_, T, CudaDevice>,
    y: &mut Array<T, CudaDevice>,
) -> f64 {
    let mut run = |times: u32| {
        for _ in 0..times {
            a.matmul_with_into(s, a, Precision::Fast, y).unwrap();
        }
    };
    run(5);
    s.synchronize().unwrap();
    let begun = Instant::now();
    run(10);
    s.synchronize().unwrap();
    let each_ns = (begun.elapsed().as_nanos() / 10).max(1);
    let times = u32::try_from(200_000_000 / each_ns).unwrap_or(u32::MAX).clamp(20, 5000);
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = s.record_timed().unwrap();
        run(times);
        let end = s.record_timed().unwrap();
        s.synchronize().unwrap();
        best = best.min(end.elapsed_since(&start).unwrap().unwrap().as_secs_f64() * 1e3 / f64::from(times));
    }
    best
}

fn speed_of<T: Fast>(s: &StreamHandle<CudaDevice>) {
    for n in [64, 512, 1024, 2048, 4096, 8192] {
        let mut rng = Rng::new(3);
        let row: Vec<T> = (0..n * 64).map(|_| number(&mut rng)).collect();
        let row = Array::from_slice(s, &[1, 64, n], &row).unwrap();
        let a = row.view().broadcast_to(&[n / 64, 64, n]).unwrap();
        let a = a.to_contiguous(s, Order::C).unwrap();
        let a = a.view().reshape(&[n, n], Order::C).unwrap();
        let mut y = Array::uninit(s, &[n, n]).unwrap();
        let ms = time(s, &a, &mut y);
        let tflops = 2.0 * (n as f64).powi(3) / ms / 1e9;
        println!("{{\"type\":\"{}\",\"n\":{n},\"ms\":{ms:.5},\"tflops\":{tflops:.2}}}", T::TYPE);
    }
}

#[test]
#[ignore = "needs an NVIDIA GPU and cuBLASLt; measures"]
fn speed() {
    let s = stream();
    speed_of::<bf16>(&s);
    speed_of::<f16>(&s);
    speed_of::<f32>(&s);
}
