//! Computes a histogram with atomics on the simulator or, with `--backend cuda`, on a card. Both give the same bytes.
#![allow(unsafe_code)] // declares a kernel

use devarray::{
    Array, Context, Result,
    backend::Launch,
    kernel::{Grid, Image, In, InOut, has_len},
};

devarray::kernel! {
    /// Counts the bytes of each value, and adds the numbers to `counts`.
    pub struct Histogram(bytes: In<u8>, counts: InOut<u32>);

    // SAFETY: it reads each byte, and adds 1 to one of 256 counts: a byte is less than 256.
    image = unsafe { Image::ptx(include_str!("kernels/histogram.ptx"), "histogram") };

    launch {
        has_len(counts, 256)?;
        // Each thread counts several bytes. At least one block is launched, even without bytes.
        Grid::new([bytes.len().div_ceil(256 * 16).clamp(1, 1024), 1, 1], [256, 1, 1])
    }

    host {
        for byte in bytes {
            counts[usize::from(*byte)] += 1;
        }
    }
}

/// Generates bytes, and counts them on two streams.
fn counted<D: Launch>(device: D, len: usize) -> Result<Vec<u32>> {
    let context = Context::new(device)?;
    let (one, two) = (context.stream()?, context.stream()?);
    let hash = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0] >> 3;
    let bytes: Vec<u8> = (0..len as u64).map(hash).collect();
    let bytes = Array::from_slice(&one, &[len], &bytes)?;
    let mut counts = Array::zeros(&one, &[256])?;
    let (head, tail) = (bytes.slice_axis(0, ..1000)?, bytes.slice_axis(0, 1000..)?);
    Histogram::launch(&one, &head, &mut counts)?;
    Histogram::launch(&two, &tail, &mut counts)?; // waits for the other stream by itself
    counts.to_vec(&one)
}

fn main() -> Result<()> {
    let len = 100_000;
    let on_simulator = counted(devarray_mock::MockDevice::new(), len)?;
    assert_eq!(on_simulator.iter().sum::<u32>() as usize, len);
    assert!(
        on_simulator[..32].iter().all(|&count| count > 0)
            && on_simulator[32..].iter().all(|&count| count == 0)
    );
    if std::env::args().skip(1).eq(["--backend", "cuda"].map(str::to_owned)) {
        assert!(counted(devarray_cuda::CudaDevice::open(0)?, len)? == on_simulator);
        println!("the same counts of {len} bytes on the card");
    }
    Ok(())
}
