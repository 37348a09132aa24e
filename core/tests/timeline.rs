//! Behaviour of a profiled device that no law demands.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{Array, Context, timeline::Profiled};
use devarray_mock::MockDevice;

/// The numbers wrap around; nothing panics after the device was called.
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
    // Each number occurs on the host and on its stream.
    assert_eq!(numbers, [0, 0, 1, 1, u64::MAX, u64::MAX]);
}

/// Streams without any record leave nothing behind; streams with some stay until the timeline is
/// cleared.
#[test]
fn streams_that_are_gone_are_forgotten() {
    let device = Profiled::new(MockDevice::new()).unwrap();
    let context = Context::new(device.clone()).unwrap();
    let kept = context.stream().unwrap();
    let tracks = || device.timeline().tracks.iter().filter(|track| track.name.starts_with("stream")).count();
    let use_streams = || {
        for _ in 0..1000 {
            let stream = context.stream().unwrap();
            assert_eq!(Array::full(&stream, &[4], 7_u8).unwrap().to_vec(&stream).unwrap(), [7; 4]);
        }
    };
    device.set_recording(false);
    let before = tracks();
    use_streams();
    assert_eq!(tracks(), before);
    device.set_recording(true);
    use_streams();
    // The twin.
    assert_eq!(tracks(), before + 1000);
    device.clear();
    assert_eq!(tracks(), before);
    use_streams();
    device.clear();
    drop(Array::full(&kept, &[4], 7_u8).unwrap());
    kept.synchronize().unwrap();
    let timeline = device.timeline();
    let used = timeline.tracks.iter().filter(|track| track.spans.iter().any(|span| span.name == "fill"));
    assert_eq!(used.map(|track| track.name.clone()).collect::<Vec<_>>(), ["host", "stream 1"]);
}
