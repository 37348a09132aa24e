//! Computes with a slice of cudarc, and gives the result back as a slice, on one CUDA device.
//! Without a device it says so.
#![allow(unsafe_code)] // lends a slice
use std::error::Error;

use cudarc::driver::CudaContext;
use devarray::Context;
use devarray_cuda::CudaDevice;
use devarray_interop::cudarc_slice::{adopt_slice, into_slice};

const LEN: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let device = match CudaDevice::open(0) {
        Ok(device) => device,
        Err(error) => {
            println!("{error}");
            return Ok(());
        }
    };
    let (context, theirs) = (Context::new(device)?, CudaContext::new(0)?.new_stream()?);
    let stream = context.stream()?;
    let values: Vec<f32> = (0..LEN).map(|k| (k % 1000) as f32).collect();
    for _ in 0..20 {
        let slice = theirs.clone_htod(&values)?;
        // SAFETY: no stream but its own has work on the slice.
        let array = unsafe { adopt_slice(&stream, slice) }?;
        let doubled = array.map(&stream, |x| 2.0 * x + 1.0)?;
        drop(array);
        let slice = into_slice(doubled, &stream, &theirs)?;
        let found = theirs.clone_dtoh(&slice)?;
        assert!(found.iter().zip(&values).all(|(found, value)| *found == 2.0 * value + 1.0));
    }
    assert_eq!(context.live_allocations().len(), 0);
    println!("20 slices of {LEN} elements went in and came out");
    Ok(())
}
