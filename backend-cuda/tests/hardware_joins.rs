//! Proves on a real device that joins and paddings of any element size and layout move the right
//! bytes and no others.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test -p devarray-cuda --test card -- --ignored hardware_joins:: --nocapture --test-threads=1`.
//! The sanitizers run this, too: `compute-sanitizer <this binary> hardware_joins::random --ignored`.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "common/joins.rs"]
mod joins;
#[allow(dead_code, reason = "shared with other tests")]
use std::time::Instant;

use devarray::{Array, Context, ErasedArray, Pad, StreamHandle};
use devarray_conformance::Rng;
use devarray_cuda::CudaDevice;
use joins::{Case, stacks};

fn open() -> (Context<CudaDevice>, StreamHandle<CudaDevice>) {
    let context = Context::new(CudaDevice::open(0).expect("a CUDA device is needed")).unwrap();
    let stream = context.stream().unwrap();
    (context, stream)
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn random_joins_of_random_layouts() {
    let (context, stream) = open();
    let number =
        |name: &str, otherwise| std::env::var(name).map_or(otherwise, |value| value.parse().unwrap());
    for which in 0..number("CASES", 1500) {
        let most = if which % 16 == 0 { 300_000 } else { 5_000 };
        Case::random(&mut Rng::new(which), most).check(&stream, which);
    }
    stacks(&context);
    assert_eq!(context.device().take_errors(), []);
}

/// Prints the speed of joins and paddings of 256 MiB as a share of a contiguous copy's speed.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn speeds() {
    const BYTES: usize = 256 << 20;
    let (_context, stream) = open();
    let timed = |work: &mut dyn FnMut()| {
        let mut once = |times: u32| {
            stream.synchronize().unwrap();
            let start = Instant::now();
            (0..times).for_each(|_| work());
            stream.synchronize().unwrap();
            start.elapsed().as_secs_f64()
        };
        once(2);
        let mut all: Vec<f64> = (0..7).map(|_| once(12) - once(2)).collect();
        all.sort_by(f64::total_cmp);
        all[3] / 10.0
    };
    let from = Array::<u8, _>::zeros(&stream, &[BYTES]).unwrap();
    let mut to = Array::<u8, _>::zeros(&stream, &[BYTES]).unwrap();
    let memcpy = timed(&mut || to.view_mut().copy_from(&stream, &from.view()).unwrap());
    drop((from, to));
    println!("memcpy {:.1} GB/s", 2.0 * BYTES as f64 / memcpy / 1e9);
    for item_bytes in [1, 2, 4, 8, 16] {
        for lens in [
            &[1_usize; 2][..],
            &[1; 3],
            &[1; 4],
            &[1; 8],
            &[1; 16],
            &[1; 40],
            &[5, 3],
            &[17; 3],
            &[10; 16],
            &[100, 27],
            &[200; 16],
            &[511; 40],
            &[512; 16],
        ] {
            let rows = BYTES / item_bytes / lens.iter().sum::<usize>();
            let zeros = |&len: &usize| ErasedArray::zeros(&stream, &[rows, len], item_bytes).unwrap();
            let parts: Vec<_> = lens.iter().map(zeros).collect();
            let views: Vec<_> = parts.iter().map(ErasedArray::view).collect();
            let mut whole = ErasedArray::uninit(&stream, &[rows, lens.iter().sum()], item_bytes).unwrap();
            let seconds = timed(&mut || whole.view_mut().concatenate_from(&stream, &views, 1).unwrap());
            let (count, first, last) = (lens.len(), lens[0], lens[lens.len() - 1]);
            println!(
                "concatenate {item_bytes:2} B, {count:2} of {first:3} to {last:3}: {:.3}",
                memcpy / seconds
            );
        }
        let side = (BYTES / item_bytes).isqrt();
        let part = ErasedArray::zeros(&stream, &[side, side], item_bytes).unwrap();
        for width in [1, 2, 16] {
            let padded = [side + 2 * width; 2];
            let mut whole = ErasedArray::uninit(&stream, &padded, item_bytes).unwrap();
            for mode in [Pad::Constant(&[7_u8; 16][..item_bytes]), Pad::Edge, Pad::Reflect, Pad::Wrap] {
                let seconds = timed(&mut || {
                    part.view().pad_into(&stream, &[(width, width); 2], mode, &mut whole.view_mut()).unwrap();
                });
                println!("pad {item_bytes:2} B by {width:2}, {mode:?}: {:.3}", memcpy / seconds);
            }
        }
    }
}
