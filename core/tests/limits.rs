//! Copies are planned for the device that makes them: none goes beyond the declared limits of its
//! device, which the simulator would refuse.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{Array, Context, Order, StreamHandle, backend::Capabilities};
use devarray_mock::MockDevice;

fn stream(max_pitch_bytes: usize) -> StreamHandle<MockDevice> {
    let mut limits = Capabilities::default();
    limits.max_pitch_bytes = max_pitch_bytes;
    Context::new(MockDevice::builder().capabilities(limits).build()).unwrap().stream().unwrap()
}

/// Half of the columns of a matrix, whose rows are 80 bytes apart.
fn columns(stream: &StreamHandle<MockDevice>) -> (Array<u32, MockDevice>, Vec<u32>) {
    let data: Vec<u32> = (0..200).collect();
    let due = data.chunks(20).flat_map(|row| row[..10].to_vec()).collect();
    (Array::from_slice(stream, &[10, 20], &data).unwrap(), due)
}

#[test]
fn rows_too_far_apart_are_copied_another_way() {
    for max_pitch_bytes in [usize::MAX, 80, 79, 1] {
        let stream = stream(max_pitch_bytes);
        let (array, due) = columns(&stream);
        let copy = array.view().slice_axis(1, ..10).unwrap().to_contiguous(&stream, Order::C).unwrap();
        assert_eq!(copy.to_vec(&stream).unwrap(), due);
    }
}

#[test]
fn a_copy_to_another_device_is_planned_for_both() {
    for (here, there) in [(usize::MAX, 1), (1, usize::MAX), (1, 1)] {
        let (to, from) = (stream(here), stream(there));
        let (source, due) = columns(&from);
        let (mut target, _) = columns(&to);
        let mut half = target.view_mut().slice_axis(1, 10..).unwrap();
        half.copy_across(&to, &from, &source.view().slice_axis(1, ..10).unwrap()).unwrap();
        assert_eq!(half.as_view().to_vec(&to).unwrap(), due, "limits {here} and {there}");
    }
}
