//! Proves on a real device that random numbers equal the simulator's, and times
//! them.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test --release -p devarray-cuda --test card -- --ignored hardware_random:: --nocapture
//! --test-threads 1`.
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "common/random.rs"]
mod random_of;

use devarray::{
    Array, ArrayViewMut, Context, Result, StreamHandle,
    backend::Compute,
    function::{Computable, Operands},
    random::{self, Key, normal_pair},
};
use devarray_cuda::CudaDevice;
use devarray_mock::MockDevice;
use random_of::{keys, kinds};

fn stream() -> StreamHandle<CudaDevice> {
    Context::new(CudaDevice::open(0).expect("a CUDA device is needed")).unwrap().stream().unwrap()
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn numbers_are_the_simulators() {
    let (stream, simulated) = (stream(), Context::new(MockDevice::new()).unwrap().stream().unwrap());
    for ((name, of, found), (_, _, due)) in kinds().into_iter().zip(kinds()) {
        for key in keys() {
            for shape in [&[1][..], &[7, 9], &[16_391], &[1 << 18]] {
                let (found, due) =
                    (found(&stream, shape, key).unwrap(), due(&simulated, shape, key).unwrap());
                assert_eq!(found, due, "{name} of {of}, {shape:?}, {key:?}");
            }
        }
        println!("{name} of {of}: the same bits");
    }
}

/// Makes pairs of normal numbers from 2^22 random words and three constants, and folds the bits of all
/// numbers into a digest.
fn digest<D: Compute>(stream: &StreamHandle<D>) -> Result<u64> {
    let mut words = Array::<u32, D>::uninit(stream, &[1 << 22])?;
    random::bits_into(stream, &mut words.view_mut(), Key::new(77))?;
    let mut digest = 0_u64;
    for which in 0..2 {
        for constant in [0_u32, 0x3fff_ffff, 0x9e37_79b9] {
            let numbers = (&words, constant).map(stream, |(a, b)| normal_pair([a, b ^ (a << 7)])[which])?;
            for x in numbers.to_vec(stream)? {
                digest = (digest ^ u64::from(x.to_bits())).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    Ok(digest)
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn many_pairs_are_the_simulators() {
    let simulated = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    assert_eq!(digest(&stream()).unwrap(), digest(&simulated).unwrap());
}

/// Prints the gigabytes per second that are written, in the fastest of several calls.
fn speed<T: Computable>(
    stream: &StreamHandle<CudaDevice>,
    name: &str,
    len: usize,
    mut write: impl FnMut(&mut ArrayViewMut<'_, T, CudaDevice>) -> Result<()>,
) -> Result<()> {
    const CALLS: usize = 5;
    let mut elements = Array::<T, _>::uninit(stream, &[len])?;
    write(&mut elements.view_mut())?;
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let start = stream.record_timed()?;
        for _ in 0..CALLS {
            write(&mut elements.view_mut())?;
        }
        let end = stream.record_timed()?;
        end.event().synchronize()?;
        let time = end.elapsed_since(&start)?.unwrap_or_default();
        best = best.min(time.as_secs_f64() / CALLS as f64);
    }
    println!("{name:<22} {:8.0} GB/s written", (len * T::TYPE.len_bytes()) as f64 / best / 1e9);
    Ok(())
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn speeds() {
    let (stream, key) = (stream(), Key::new(1));
    let (len, wide) = (1 << 28, 1 << 27);
    let source = Array::<f32, _>::zeros(&stream, &[len]).unwrap();
    let run = || -> Result<()> {
        speed::<f32>(&stream, "memset", len, |to| to.fill(&stream, 0.0))?;
        speed::<f32>(&stream, "copy", len, |to| to.copy_from(&stream, &source))?;
        speed::<u32>(&stream, "bits u32", len, |to| random::bits_into(&stream, to, key))?;
        speed::<u64>(&stream, "bits u64", wide, |to| random::bits_into(&stream, to, key))?;
        speed::<f32>(&stream, "uniform f32", len, |to| random::uniform_into(&stream, to, key))?;
        speed::<f64>(&stream, "uniform f64", wide, |to| random::uniform_into(&stream, to, key))?;
        speed::<f32>(&stream, "normal f32", len, |to| random::normal_into(&stream, to, key))?;
        speed::<f32>(&stream, "normal f32, odd place", len, |to| {
            random::normal_into(&stream, to, key.at(1))
        })?;
        speed::<f64>(&stream, "normal f64", wide, |to| random::normal_into(&stream, to, key))?;
        speed::<i32>(&stream, "integers i32", len, |to| random::integers_into(&stream, to, 0..1000, key))?;
        speed::<i64>(&stream, "integers i64", wide, |to| random::integers_into(&stream, to, 0..1000, key))
    };
    run().unwrap();
}
