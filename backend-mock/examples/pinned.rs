//! Makes an asynchronous round trip with pinned memory, like Numba's `cuda.pinned(a)` with a stream and its
//! `auto_synchronize`.
//!
//! ```text
//! with cuda.pinned(a):
//!     d = cuda.to_device(a, stream=stream)
//!     d.copy_to_host(b, stream=stream)
//! stream.synchronize()
//! ```
//!
//! In Numba, the host may read `b` before the copy has written it. Here it cannot: the transfer owns the buffer
//! until `wait` gives it back.

use devarray::{Array, Context, Device, Result};
use devarray_mock::MockDevice;

/// Uses owned memory: each copy takes its buffer and gives it back.
fn owned<D: Device>(context: &Context<D>, data: &[f32]) -> Result<Vec<f32>> {
    let stream = context.stream()?;
    let (mut source, target) = (context.pinned(data.len())?, context.pinned(data.len())?);
    source.copy_from_slice(data);

    let mut array = Array::uninit(&stream, &[data.len()])?;
    let upload = array.view_mut().upload(&stream, source)?;
    let download = array.view().download(&stream, target)?;
    // Both copies are in flight. The host is free for other work, and cannot touch either buffer.
    let target = download.wait()?;
    let _source_again = upload.wait()?;
    Ok(target.to_vec())
}

/// Uses borrowed memory: the scope waits at its end, even if the closure panics.
fn borrowed<D: Device>(context: &Context<D>, data: &[f32]) -> Result<Vec<f32>> {
    let stream = context.stream()?;
    let mut back = vec![0.0; data.len()];
    let mut array = Array::uninit(&stream, &[data.len()])?;
    stream.scope(|s| {
        s.upload(data, &mut array.view_mut())?;
        s.download(&array.view(), &mut back)
    })??;
    Ok(back)
}

fn main() -> Result<()> {
    let device = MockDevice::new();
    let context = Context::new(device.clone())?;
    let data: Vec<f32> = (0..4096_u16).map(f32::from).collect();
    assert_eq!(owned(&context, &data)?, data);
    assert_eq!(borrowed(&context, &data)?, data);
    println!("{} elements went to the device and back twice", data.len());

    drop(context);
    let report = device.report();
    assert!(report.is_clean(), "{report}");
    println!("the simulator's report: {report}");
    Ok(())
}
