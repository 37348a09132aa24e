//! How fast recorded work is launched on a card, and that it is launched as one.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_recorded:: --nocapture
//! --test-threads 1`. That its values are right is shown by the laws `W01` to `W06`.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Instant;

use devarray::{Array, Context, StreamHandle};
use devarray_cuda::CudaDevice;

fn stream() -> StreamHandle<CudaDevice> {
    Context::new(CudaDevice::open(0).unwrap()).unwrap().stream().unwrap()
}

/// Microseconds of one of many calls in a row: of the host alone, and with the device.
fn microseconds(s: &StreamHandle<CudaDevice>, times: u32, mut call: impl FnMut()) -> (f64, f64) {
    let mut least = (f64::INFINITY, f64::INFINITY);
    for _ in 0..12 {
        s.synchronize().unwrap();
        let begun = Instant::now();
        (0..times).for_each(|_| call());
        let host = begun.elapsed();
        s.synchronize().unwrap();
        let of_each = |time: std::time::Duration| time.as_secs_f64() * 1e6 / f64::from(times);
        least = (least.0.min(of_each(host)), least.1.min(of_each(begun.elapsed())));
    }
    least
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn chains_of_additions() {
    let s = stream();
    // The first time of each warms up.
    for (round, len) in [(0, 1 << 10), (0, 1 << 18), (1, 1 << 10), (1, 1 << 18)] {
        for count in [10, 50] {
            let y = Array::full(&s, &[len], 1.0_f32).unwrap();
            let mut v = Array::<f32, _>::zeros(&s, &[len]).unwrap();
            v.update(&s, &y, |v, y| v + y).unwrap();
            s.synchronize().unwrap();
            let (_, plain) = microseconds(&s, 20, || {
                for _ in 0..count {
                    v.update(&s, &y, |v, y| v + y).unwrap();
                }
            });
            let begun = Instant::now();
            let chain = s
                .record_work((&y, &mut v), |on, (y, mut v)| {
                    (0..count).try_for_each(|_| v.update(on, &y, |v, y| v + y))
                })
                .unwrap();
            let recorded = begun.elapsed();
            chain.launch(&s, (&y, &mut v)).unwrap();
            let built = begun.elapsed();
            s.synchronize().unwrap();
            assert!(chain.is_captured(), "launched as one");
            v.view_mut().fill(&s, 0.0).unwrap();
            for _ in 0..3 {
                chain.launch(&s, (&y, &mut v)).unwrap();
            }
            assert_eq!(v.to_vec(&s).unwrap(), vec![3.0 * count as f32; len]);
            // From an empty queue, which does not fill.
            let (host, _) = microseconds(&s, 8, || chain.launch(&s, (&y, &mut v)).unwrap());
            let (_, whole) = microseconds(&s, 100, || chain.launch(&s, (&y, &mut v)).unwrap());
            if round == 0 {
                continue;
            }
            println!(
                "{count} additions of {} KiB: {:.3} us each, one by one {:.3}; a launch {host:.2} us of the host; \
                 recorded in {:.0} us, built in {:.0}",
                len / 256,
                whole / count as f64,
                plain / count as f64,
                recorded.as_secs_f64() * 1e6,
                (built - recorded).as_secs_f64() * 1e6,
            );
        }
    }
}
