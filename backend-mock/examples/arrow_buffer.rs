//! Keeps bytes of any meaning on the device: a round trip like `cuda.Context.buffer_from_data` and
//! `CudaBuffer` of PyArrow.
//!
//! ```text
//! buffer = ctx.buffer_from_data(data)
//! buffer.slice(8, 4).copy_to_host(); buffer.copy_to_host(position, nbytes)
//! buffer.copy_from_host(data, position)
//! ```
//!
//! A buffer is an erased array with elements of one byte. Where the program knows the type, one checked
//! conversion gives the array its type.

use devarray::{Array, Context, Device, ErasedArray, Result, StreamHandle};
use devarray_mock::MockDevice;

/// The bytes of a column of 32-bit integers, as Arrow lays them out.
fn column_bytes(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// Replaces `bytes.len()` bytes from `position` on, like `copy_from_host(data, position)`.
fn overwrite<D: Device>(
    stream: &StreamHandle<D>,
    buffer: &mut ErasedArray<D>,
    position: usize,
    bytes: &[u8],
) -> Result<()> {
    let end = position.saturating_add(bytes.len());
    buffer.view_mut().slice_axis(0, position..end)?.copy_from_bytes(stream, bytes)
}

fn main() -> Result<()> {
    let context = Context::new(MockDevice::new())?;
    let stream = context.stream()?;

    let data = column_bytes(&[1, 2, 3, 4, 5]);
    let mut buffer = ErasedArray::from_bytes(&stream, &[data.len()], 1, &data)?;
    assert_eq!((buffer.len(), buffer.item_bytes()), (20, 1));
    assert_eq!(buffer.view().to_bytes(&stream)?, data);

    let third = buffer.view().slice_axis(0, 8..12)?; // a view; nothing is copied
    assert_eq!(third.to_bytes(&stream)?, 3_i32.to_le_bytes());

    overwrite(&stream, &mut buffer, 4, &column_bytes(&[-2, -3]))?;
    let bytes = buffer.view().to_bytes(&stream)?;
    assert_eq!(bytes, column_bytes(&[1, -2, -3, 4, 5]));
    assert!(overwrite(&stream, &mut buffer, 18, &[0; 4]).is_err(), "two bytes too many");
    println!("{} bytes on the device, 8 of them replaced: {bytes:?}", buffer.len());

    let values = ErasedArray::from_bytes(&stream, &[5], 4, &bytes)?; // elements of four bytes …
    let values = Array::<i32, _>::from_erased(values)?; // … that are integers
    assert_eq!(values.to_vec(&stream)?, [1, -2, -3, 4, 5]);
    println!("read as integers: {}", values.to_host(&stream)?);
    Ok(())
}
