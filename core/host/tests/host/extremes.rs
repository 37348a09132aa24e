//! Shapes that no memory holds, beside axes without elements and of views that repeat elements.

use devarray::{Array, Context, Error, Result, StreamHandle};
use devarray_host::HostDevice;

fn stream() -> Result<StreamHandle<HostDevice>> {
    Context::new(HostDevice::builder().capacity_bytes(64 << 20).threads(2).build())?.stream()
}

#[test]
fn elements_put_beside_an_axis_without_any_are_not_laid_out() -> Result<()> {
    let stream = stream()?;
    let indices = Array::from_slice(&stream, &[4], &[0_i32; 4])?;
    for extent in [1 << 62, 1 << 40, 3] {
        let mut y = Array::<u8, _>::zeros(&stream, &[0, extent])?;
        let v = Array::from_slice(&stream, &[1, 1], &[1_u8])?;
        y.view_mut().put_add(&stream, 0, &indices, &v)?;
        let told = stream.synchronize();
        assert!(matches!(told, Err(Error::Index { .. })), "{extent}: {told:?}");
    }
    Ok(())
}

#[test]
fn copies_of_repeated_elements_that_no_memory_holds_are_out_of_memory() -> Result<()> {
    let stream = stream()?;
    let one = Array::from_slice(&stream, &[1], &[1_u8])?;
    for len in [1 << 42, (64 << 20) + 1] {
        let many = one.view().broadcast_to(&[len])?;
        let refused = many.nonzero(&stream).err();
        assert!(matches!(refused, Some(Error::OutOfMemory { backend: "host", .. })), "{refused:?}");
    }
    let mut y = Array::<u8, _>::zeros(&stream, &[1, 1 << 20])?;
    let indices = Array::<i32, _>::zeros(&stream, &[1 << 20])?;
    let refused = y.view_mut().put_add(&stream, 0, &indices, &one.view().expand_dims(0)?).err();
    assert!(matches!(refused, Some(Error::OutOfMemory { backend: "host", .. })), "{refused:?}");
    assert_eq!(one.view().broadcast_to(&[1000])?.nonzero(&stream)?.shape(), [1000, 1]);
    Ok(())
}
