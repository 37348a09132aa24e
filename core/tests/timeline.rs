//! A profiled device beyond what laws ask of it.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{Array, Context, timeline::Profiled};
use devarray_mock::MockDevice;

/// Numbers go round; nothing panics after the device was called.
#[test]
fn operations_after_the_last_number_begin_anew() {
    let device = Profiled::new(MockDevice::new()).unwrap();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    let mut array = Array::<u8, _>::uninit(&stream, &[4]).unwrap();
    device.number_next(u64::MAX);
    for value in 1..4 {
        array.view_mut().fill(&stream, value).unwrap();
    }
    assert_eq!(array.to_vec(&stream).unwrap(), [3; 4]);
    let timeline = device.timeline();
    let fills = timeline.tracks.iter().flat_map(|track| &track.spans).filter(|span| span.name == "fill");
    let mut numbers: Vec<u64> = fills.map(|span| span.number).collect();
    numbers.sort_unstable();
    // Each on the host and on its stream.
    assert_eq!(numbers, [0, 0, 1, 1, u64::MAX, u64::MAX]);
}
