//! Recordings whose calls may find an index without a place, on a card: run with `--ignored`.

use devarray::{Array, ArrayView, ArrayViewMut, Result, StreamHandle, gather::OutOfRange};
use devarray_cuda::CudaDevice;

use super::{
    hardware_branches::{microseconds, stream},
    reports_of::compare,
};

type On = StreamHandle<CudaDevice>;

/// `DEVARRAY_CASES` random recordings, and as many errors as their calls tell.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn random_recordings_tell_what_their_calls_tell() {
    let s = stream();
    let cases = std::env::var("DEVARRAY_CASES").map_or(300, |cases| cases.parse().unwrap());
    let told: usize =
        (0..cases).map(|seed| compare(&s, (seed, true), |captured| assert!(captured)).unwrap()).sum();
    println!("{cases} recordings told {told} errors, as their calls do");
    assert!(told as u64 > cases);
}

/// Takes elements by index, and puts them back, some times.
fn chain(
    on: &On,
    count: usize,
    y: &mut ArrayViewMut<'_, i32, CudaDevice>,
    by: &ArrayView<'_, i32, CudaDevice>,
    out_of_range: OutOfRange,
) -> Result<()> {
    (0..count).try_for_each(|_| {
        let taken = y.as_view().take(on, by, 0, out_of_range)?;
        y.copy_from(on, &taken)
    })
}

/// Elements by index, again and again: by calls, launched, and launched where no index can be wrong.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn times_of_chains_of_elements_by_index() {
    let s = stream();
    for (len, count) in [(1 << 10, 10), (1 << 10, 50), (1 << 18, 10), (1 << 18, 50)] {
        let by: Vec<i32> = (0..len).map(|at| (at * 7 + 3) % len).collect();
        let by = Array::from_slice(&s, &[by.len()], &by).unwrap();
        let mut y = Array::arange(&s, 0_i32, len, 1).unwrap();
        let plain =
            microseconds(&s, || chain(&s, count, &mut y.view_mut(), &by.view(), OutOfRange::Error).unwrap());
        let [launched, wrapped] = [OutOfRange::Error, OutOfRange::Wrap].map(|out_of_range| {
            let recorded = s
                .record_work((&by, &mut y), |on, (by, mut y)| chain(on, count, &mut y, &by, out_of_range))
                .unwrap();
            let time = microseconds(&s, || recorded.launch(&s, (&by, &mut y)).unwrap());
            assert!(recorded.is_captured());
            time
        });
        println!(
            "{count} times elements by index and a copy, of {} KiB: {plain:.1} us by calls, {launched:.1} launched, \
             {wrapped:.1} launched without reports",
            len / 256
        );
    }
}
