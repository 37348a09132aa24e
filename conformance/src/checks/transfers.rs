//! Copies between host and device: nothing is lost, no other bytes are touched, and the host memory
//! is free on return.

use std::fmt::Debug;

use devarray::{Array, Device, Element, Layout, Order};

use crate::{
    Harness, Outcome, Pattern,
    patterns::{SHAPES, elements},
    violation::same,
};

/// Bytes that go to the device come back, for every element type, and for sizes around those at
/// which the method changes.
pub fn round_trip<D: Device>(harness: &Harness<D>) -> Outcome {
    fn of<T: Element + PartialEq + Debug, D: Device>(harness: &Harness<D>, sizes: &[usize]) -> Outcome {
        let stream = harness.context()?.stream()?;
        for &len in sizes {
            let data = elements::<T>(9, len);
            let array = Array::from_slice(&stream, &[len], &data)?;
            same(&array.to_vec(&stream)?, &data, &format!("{len} elements of {} bytes", T::BYTES))?;
        }
        Ok(())
    }
    const SIZES: &[usize] = &[0, 1, 255, 256, 65_535, 65_536, 65_537];
    of::<u8, D>(harness, SIZES)?;
    of::<i16, D>(harness, SIZES)?;
    of::<u32, D>(harness, SIZES)?;
    of::<i64, D>(harness, SIZES)?;
    of::<u128, D>(harness, &[0, 1, 255, 65_537])?;
    of::<[u8; 5], D>(harness, &[0, 1, 255, 65_537])?;
    of::<u64, D>(harness, &[1_048_579])
}

/// Host data of any layout goes to a device view of any layout and back. Elements beside the view
/// do not change on the device, nor elements beside the layout on the host.
pub fn strided<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for (case, mut rng) in harness.rngs().enumerate() {
        let shape = SHAPES[case % SHAPES.len()];
        let view = Pattern::random(&mut rng, shape, false);
        let picture = view.picture();
        let mut due = elements::<u16>(1, view.base_len());
        let mut array = Array::from_slice(&stream, &view.base, &due)?;

        let dense = elements::<u16>(2, picture.places.len());
        view.view_mut(&mut array)?.copy_from_slice(&stream, &dense)?;
        picture.write(&mut due, &dense);
        same(&array.to_vec(&stream)?, &due, &format!("a base after an upload to {view:?}"))?;

        // A host array in F order with one unused element in front, copied to the view and back.
        let mut layout = Layout::contiguous(shape, Order::F)?;
        layout = Layout::new(devarray::NdLayout::shape(&layout), devarray::NdLayout::strides(&layout), 1)?;
        let host = elements::<u16>(3, 1 + picture.places.len() + 1);
        view.view_mut(&mut array)?.copy_from_host(&stream, &host, &layout)?;
        let mut back = elements::<u16>(4, host.len());
        let (front, end) = (back[0], back[back.len() - 1]);
        view.view(&array)?.copy_to_host(&stream, &mut back, &layout)?;
        let mut expected = host.clone();
        (expected[0], expected[host.len() - 1]) = (front, end);
        same(&back, &expected, &format!("host memory after a round trip through {view:?}"))?;
        picture.write(&mut due, &column_major(shape, &host[1..]));
        same(&array.to_vec(&stream)?, &due, &format!("a base after a column-major upload to {view:?}"))?;
    }
    Ok(())
}

/// Data in F order, put into C order by the oracle: F order is C order of the reversed shape,
/// transposed.
fn column_major<T: Copy>(shape: &[usize], data: &[T]) -> Vec<T> {
    let backward: Vec<usize> = shape.iter().rev().copied().collect();
    let axes: Vec<usize> = (0..shape.len()).rev().collect();
    crate::Picture::of(&backward).permute(&axes).read(data)
}

/// Host memory is free as soon as the call returns: overwriting it then changes nothing on the
/// device.
pub fn host_memory_is_free<D: Device>(harness: &Harness<D>) -> Outcome {
    let stream = harness.context()?.stream()?;
    for len in [1, 1000, 100_000, 3_000_000] {
        let data = elements::<u8>(6, len);
        let mut scratch = data.clone();
        let array = Array::from_slice(&stream, &[len], &scratch)?;
        scratch.fill(0xEE);
        drop(scratch);
        same(&array.to_vec(&stream)?, &data, "an array whose source was overwritten after the call")?;
    }
    Ok(())
}

/// Many transfers in flight at once, larger together than any staging memory, do not disturb each
/// other.
pub fn many_in_flight<D: Device>(harness: &Harness<D>) -> Outcome {
    let context = harness.context()?;
    let streams = [context.stream()?, context.stream()?];
    let mut arrays = Vec::new();
    for (salt, mut rng) in (0..).zip(harness.rngs()) {
        let data = elements::<u8>(salt, 1 + rng.below(300_000));
        arrays.push((Array::from_slice(&streams[rng.below(2)], &[data.len()], &data)?, data));
    }
    arrays
        .iter()
        .rev()
        .try_for_each(|(array, data)| same(&array.to_vec(&streams[0])?, data, "one of many transfers"))
}
