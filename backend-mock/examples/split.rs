//! Splits a long array into sections, like Numba's `d_ary.split(section)`. The sections are views, and the last
//! section may be shorter.
//!
//! ```text
//! for part in d_ary.split(4, stream):
//!     kernel[1, 4, stream](part)
//! ```

use devarray::{Array, Context, Device, Result, StreamHandle};
use devarray_mock::MockDevice;

/// Sets every element to the number of its section. The streams get sections in turn, and the sections run
/// side by side.
fn number_sections<D: Device>(
    streams: &[StreamHandle<D>],
    array: &mut Array<u32, D>,
    section: usize,
) -> Result<()> {
    let parts = array.view_mut().split(section)?;
    for ((number, mut part), stream) in (0..).zip(parts).zip(streams.iter().cycle()) {
        part.fill(stream, number)?; // parts are disjoint, so no stream waits for another
    }
    Ok(())
}

fn main() -> Result<()> {
    let context = Context::new(MockDevice::new())?;
    let streams = [context.stream()?, context.stream()?];

    let mut array = Array::zeros(&streams[0], &[10])?;
    number_sections(&streams, &mut array, 4)?;
    let numbers = array.to_vec(&streams[0])?; // waits for both streams by itself
    assert_eq!(numbers, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);

    let lengths: Vec<usize> = array.view().split(4)?.map(|part| part.len()).collect();
    assert_eq!(lengths, [4, 4, 2]);
    println!("10 elements in sections of 4: lengths {lengths:?}, elements {numbers:?}");
    Ok(())
}
