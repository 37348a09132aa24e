//! Copies to the device and back, like Numba's `cuda.to_device(ary)` and `d_ary.copy_to_host()`, also into
//! existing arrays.
//!
//! ```text
//! d_ary = cuda.to_device(ary)
//! hary = d_ary.copy_to_host()
//! d_ary.copy_to_device(other)
//! d_ary.copy_to_host(out)
//! ```

use devarray::{Array, Context, Device, HostArray, Result, StreamHandle};
use devarray_mock::MockDevice;

/// Makes a new device array from a host array, and a new host array from the device array.
fn there_and_back<D: Device>(stream: &StreamHandle<D>, host: &HostArray<f64>) -> Result<HostArray<f64>> {
    let on_device = Array::from_host_array(stream, host)?;
    on_device.to_host(stream)
}

/// Copies into existing memory on the device and on the host, so nothing is allocated.
fn through<D: Device>(
    stream: &StreamHandle<D>,
    on_device: &mut Array<f64, D>,
    host: &HostArray<f64>,
    out: &mut [f64],
) -> Result<()> {
    on_device.view_mut().copy_from_host_array(stream, host)?;
    on_device.view().copy_to_slice(stream, out)
}

fn main() -> Result<()> {
    let context = Context::new(MockDevice::new())?;
    let stream = context.stream()?;

    let host = HostArray::new(&[2, 5], (0..10).map(f64::from).collect())?;
    assert_eq!(there_and_back(&stream, &host)?, host);
    println!("came back equal:\n{host}");

    let doubled = HostArray::new(&[2, 5], host.iter().map(|x| 2.0 * x).collect())?;
    let (mut on_device, mut out) = (Array::zeros(&stream, &[2, 5])?, [0.0; 10]);
    through(&stream, &mut on_device, &doubled, &mut out)?;
    assert_eq!(out, doubled.as_slice());
    println!("into existing arrays: {out:?}");
    Ok(())
}
