//! Views one array on the device in several ways, like the round trip with PyCUDA's `gpuarray`.
//!
//! ```text
//! a_gpu = gpuarray.to_gpu(a)
//! a_gpu.T.get(); a_gpu[:, ::2].get(); a_gpu.reshape(4, 3).get()
//! b_gpu = gpuarray.zeros_like(a_gpu); b_gpu.fill(7)
//! ```
//!
//! Every transform is a view of the same memory; `get` copies exactly the elements of the view, and the view
//! may have any strides.

use devarray::{Array, Context, Device, HostArray, Order, Result, StreamHandle, ix};
use devarray_mock::MockDevice;

/// Takes every second column and transposes: two views, one copy.
fn thinned_and_turned<D: Device>(stream: &StreamHandle<D>, a: &Array<f32, D>) -> Result<HostArray<f32>> {
    a.view().index(&ix![.., ..; 2])?.transpose().to_host(stream)
}

fn main() -> Result<()> {
    let context = Context::new(MockDevice::new())?;
    let stream = context.stream()?;

    let a = HostArray::new(&[3, 4], (0..12_u8).map(f32::from).collect())?;
    let a_gpu = Array::from_host_array(&stream, &a)?;
    assert_eq!(a_gpu.to_host(&stream)?, a);

    let turned = thinned_and_turned(&stream, &a_gpu)?;
    assert_eq!(turned, HostArray::new(&[2, 3], vec![0.0, 4.0, 8.0, 2.0, 6.0, 10.0])?);
    println!("a[:, ::2].T =\n{turned}");

    let reshaped = a_gpu.view().reshape(&[4, -1], Order::C)?.to_host(&stream)?;
    assert_eq!(reshaped, HostArray::new(&[4, 3], a.as_slice().to_vec())?);

    // `ravel` fails where no view has the new shape; `ravel_or_copy` copies there, and tells whether it copied.
    assert!(a_gpu.view().transpose().ravel(Order::C).is_err());
    let raveled = a_gpu.view().transpose().ravel_or_copy(&stream, Order::C)?;
    assert!(raveled.is_copied());
    assert_eq!(raveled.view().to_vec(&stream)?[..4], [0.0, 4.0, 8.0, 1.0]);

    let mut b_gpu = Array::zeros_like(&stream, &a_gpu, Order::K)?;
    b_gpu.view_mut().slice_axis(0, 1..)?.fill(&stream, 7.0)?;
    b_gpu.view_mut().slice_axis(0, ..1)?.copy_from(&stream, &a_gpu.view().slice_axis(0, ..1)?)?;
    let b = b_gpu.to_host(&stream)?;
    assert_eq!(b.as_slice(), [0.0, 1.0, 2.0, 3.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0]);
    println!("b, its first row from a, the others filled =\n{b}");
    Ok(())
}
