//! Reorders a batch of images from (image, row, column, channel) to (image, channel, row, column), "NHWC to
//! NCHW". Vision libraries do this between a decoder and a network. With NumPy or CuPy it is
//! `ascontiguousarray(a.transpose(0, 3, 1, 2))`.

use devarray::{Array, ArrayView, Context, Device, Order, Result, StreamHandle};
use devarray_mock::MockDevice;

/// Makes one plane for each channel, for images of any element type, on every backend.
fn planes<T: devarray::Element, D: Device>(
    stream: &StreamHandle<D>,
    images: &ArrayView<'_, T, D>,
) -> Result<Array<T, D>> {
    images.permute(&[0, 3, 1, 2])?.to_contiguous(stream, Order::C)
}

fn main() -> Result<()> {
    const IMAGES: usize = 2;
    const ROWS: usize = 5;
    const COLUMNS: usize = 7;
    const CHANNELS: usize = 3;
    let context = Context::new(MockDevice::new())?;
    let stream = context.stream()?;

    let pixels: Vec<u8> = (0..210).collect();
    let images = Array::from_slice(&stream, &[IMAGES, ROWS, COLUMNS, CHANNELS], &pixels)?;
    let planes_array = planes(&stream, &images.view())?;
    assert_eq!(planes_array.shape(), [IMAGES, CHANNELS, ROWS, COLUMNS]);

    let planes_host = planes_array.to_host(&stream)?;
    for (index, &found) in planes_host.indexed_iter() {
        let [image, channel, row, column] = index[..] else { panic!("four axes") };
        let due = pixels[((image * ROWS + row) * COLUMNS + column) * CHANNELS + channel];
        assert_eq!(found, due, "image {image}, channel {channel}, row {row}, column {column}");
    }
    let first = planes_array.view().index(&devarray::ix![0, 0])?.to_host(&stream)?;
    println!("{IMAGES} images of {ROWS} x {COLUMNS} in {CHANNELS} planes each; the first plane:\n{first}");

    // Slices the region of interest first and copies it then, so that only its bytes move.
    let crop = images.view().index(&devarray::ix![.., 1..3, 2..6])?;
    assert_eq!(planes(&stream, &crop)?.shape(), [IMAGES, CHANNELS, 2, 4]);
    Ok(())
}
