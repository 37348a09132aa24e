//! Host memory and the device: every way in and out, any layout, under every schedule, and with
//! waits that fail.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task,
};

use devarray::{Array, Context, Error, Layout, LayoutError, Order, backend::Quiesced};
use devarray_mock::{MockDevice, Schedule, Site};

const SEEDS: std::ops::Range<u64> = 0..100;

fn schedules() -> impl Iterator<Item = MockDevice> {
    let fixed = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy];
    let fixed = fixed.into_iter().map(|schedule| MockDevice::builder().schedule(schedule));
    let random = SEEDS.map(|seed| MockDevice::builder().schedule(Schedule::Random).seed(seed));
    fixed.chain(random).map(devarray_mock::Builder::build)
}

/// Runs on every schedule; there must be no leak and no finding.
fn everywhere(program: impl Fn(&Context<MockDevice>)) {
    for device in schedules() {
        let context = Context::new(device.clone()).unwrap();
        program(&context);
        assert_eq!(context.take_errors(), []);
        drop(context);
        assert!(device.report().is_clean(), "{}", device.report());
    }
}

fn lost() -> Error {
    Error::DeviceLost { backend: "mock", operation: "synchronize", code: 700, name: "LOST".into() }
}

fn failed() -> Error {
    Error::Driver { backend: "mock", operation: "synchronize", code: 719, name: "FAILED".into() }
}

#[test]
fn a_borrowed_slice_is_free_when_the_call_returns() {
    everywhere(|context| {
        let stream = context.stream().unwrap();
        let mut data = vec![1_u32; 100];
        let a = Array::from_slice(&stream, &[100], &data).unwrap();
        data.fill(2); // the upload may not have run yet
        drop(data);
        assert_eq!(a.to_vec(&stream).unwrap(), [1; 100]);
    });
}

/// The positions, index by index; shares no stride arithmetic with the library.
fn positions(layout: &Layout) -> Vec<usize> {
    let mut found = vec![layout.offset().cast_signed()];
    for (&extent, &stride) in layout.shape().iter().zip(layout.strides()) {
        found =
            found.iter().flat_map(|&at| (0..extent.cast_signed()).map(move |i| at + i * stride)).collect();
    }
    found.into_iter().map(isize::cast_unsigned).collect()
}

#[test]
fn any_host_layout_goes_to_any_device_layout_and_back_without_touching_gaps() {
    let layouts: Vec<Layout> = [
        ([4, 6], [6, 1], 0),   // C
        ([4, 6], [1, 4], 0),   // F
        ([4, 6], [-6, 1], 18), // reversed rows
        ([4, 6], [20, 3], 5),  // gaps everywhere
        ([4, 6], [1, -4], 20), // F, reversed columns
    ]
    .into_iter()
    .map(|(shape, strides, offset)| Layout::new(&shape, &strides, offset).unwrap())
    .collect();
    everywhere(|context| {
        let stream = context.stream().unwrap();
        let values: Vec<u16> = (0..100).map(|k| 1000 + k).collect();
        for from in &layouts {
            for on in [[0_isize, 1], [1, 0]] {
                for to in &layouts {
                    // A device view with gaps: every second row and column of a larger array.
                    let mut big = Array::full(&stream, &[8, 12], 7_u16).unwrap();
                    let view =
                        big.view_mut().slice_axis(0, devarray::layout::Slice::from(..).step_by(2)).unwrap();
                    let view = view.slice_axis(1, devarray::layout::Slice::from(..).step_by(-2)).unwrap();
                    let mut view = view.permute(&on).unwrap().permute(&on).unwrap();
                    view.copy_from_host(&stream, &values, from).unwrap();

                    let mut out = vec![9_u16; 100];
                    view.as_view().copy_to_host(&stream, &mut out, to).unwrap();
                    let mut expected = vec![9_u16; 100];
                    for (&f, &t) in positions(from).iter().zip(&positions(to)) {
                        expected[t] = values[f];
                    }
                    assert_eq!(out, expected);
                    let untouched = big.to_vec(&stream).unwrap().iter().filter(|&&x| x == 7).count();
                    assert_eq!(untouched, 8 * 12 - 4 * 6, "gaps on the device were written");
                }
            }
        }
    });
}

#[test]
fn a_large_array_goes_through_in_pieces() {
    let device = MockDevice::new();
    let context = Context::new(device).unwrap();
    let stream = context.stream().unwrap();
    let (rows, columns) = (3001, 1777);
    let data: Vec<u32> = (0..rows * columns).map(|k| k as u32).collect();
    let a = Array::from_slice(&stream, &[rows, columns], &data).unwrap();
    assert!(context.statistics().uploads >= 4, "{:?}", context.statistics());
    let turned = a.view().transpose().to_vec(&stream).unwrap();
    assert_eq!(turned.len(), data.len());
    for (k, &x) in turned.iter().enumerate() {
        assert_eq!(x as usize, (k % rows) * columns + k / rows);
    }
    let all = context.statistics();
    assert_eq!((all.uploaded_bytes, all.downloaded_bytes), (4 * data.len() as u64, 4 * data.len() as u64));
    assert_eq!(a.to_vec(&stream).unwrap(), data);
}

#[test]
fn an_owned_buffer_goes_and_comes_back() {
    everywhere(|context| {
        let stream = context.stream().unwrap();
        let mut host = context.pinned(24).unwrap();
        for (k, x) in (0_i32..).zip(host.iter_mut()) {
            *x = k;
        }
        let mut a = Array::zeros(&stream, &[6, 4]).unwrap();
        // To a transposed view: through scratch on the device.
        let turned = a.view_mut().transpose();
        let mut turned = turned;
        let host = turned.upload(&stream, host).unwrap().wait().unwrap();
        let expected: Vec<i32> = (0..24).map(|k| (k % 4) * 6 + k / 4).collect();
        assert_eq!(a.to_vec(&stream).unwrap(), expected);
        let mut copy = a.view().download(&stream, host).unwrap();
        while !copy.is_done().unwrap() {}
        let mut task = task::Context::from_waker(task::Waker::noop());
        let task::Poll::Ready(host) = Pin::new(&mut copy).poll(&mut task) else { panic!("it was done") };
        assert_eq!(host.unwrap()[..], expected);
    });
}

#[test]
fn a_transfer_is_a_future_that_needs_no_callback() {
    everywhere(|context| {
        let stream = context.stream().unwrap();
        let a = Array::full(&stream, &[5], 3_u8).unwrap();
        let mut copy = a.view().download(&stream, context.pinned(5).unwrap()).unwrap();
        let mut task = task::Context::from_waker(task::Waker::noop());
        let host = loop {
            if let task::Poll::Ready(host) = Pin::new(&mut copy).poll(&mut task) {
                break host.unwrap();
            }
        };
        assert_eq!(host[..], [3; 5]);
    });
}

#[test]
fn a_dropped_transfer_neither_blocks_nor_frees_too_early() {
    everywhere(|context| {
        let stream = context.stream().unwrap();
        let mut a = Array::zeros(&stream, &[64]).unwrap();
        for round in 1..20_u8 {
            let mut host = context.pinned(64).unwrap();
            host.fill(round);
            drop(a.view_mut().upload(&stream, host).unwrap());
            drop(a.view().download(&stream, context.pinned(64).unwrap()).unwrap());
        }
        assert_eq!(a.to_vec(&stream).unwrap(), [19; 64]);
    });
}

#[test]
fn a_forgotten_transfer_only_leaks() {
    for device in schedules() {
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        let mut host = context.pinned(64).unwrap();
        host.fill(4_u8);
        let mut a = Array::zeros(&stream, &[64]).unwrap();
        std::mem::forget(a.view_mut().upload(&stream, host).unwrap());
        std::mem::forget(a.view().download(&stream, context.pinned(64).unwrap()).unwrap());
        assert_eq!(a.to_vec(&stream).unwrap(), [4; 64]);
    }
}

#[test]
fn a_refused_transfer_gives_the_buffer_back() {
    let context = Context::new(MockDevice::new()).unwrap();
    let stream = context.stream().unwrap();
    let mut a = Array::<u8, _>::zeros(&stream, &[4]).unwrap();
    let refused = a.view_mut().upload(&stream, context.pinned(5).unwrap()).unwrap_err();
    let expected = LayoutError::LengthMismatch { expected: 4, found: 5 };
    assert_eq!(refused.error(), &Error::from(expected));
    assert_eq!(refused.into_buffer().unwrap().len(), 5);

    let other = Context::new(MockDevice::new()).unwrap();
    let refused = a.view_mut().upload(&stream, other.pinned(4).unwrap()).unwrap_err();
    assert!(matches!(refused.error(), Error::DeviceMismatch { .. }) && refused.into_buffer().is_some());
}

#[test]
fn a_scope_overlaps_borrowed_memory() {
    everywhere(|context| {
        let stream = context.stream().unwrap();
        let (src, mut dst, mut turned) = (vec![4_i32; 60], vec![0; 60], vec![0; 60]);
        let mut a = Array::uninit(&stream, &[6, 10]).unwrap();
        stream
            .scope(|s| {
                s.upload(&src, &mut a.view_mut())?;
                s.download(&a.view(), &mut dst)?;
                s.download(&a.view().transpose(), &mut turned)
            })
            .unwrap()
            .unwrap();
        assert_eq!((&dst, &turned), (&src, &src));
    });
}

/// The memory is freed as soon as the panic passes: if the wait had not come first, an address
/// sanitizer would report it.
#[test]
fn a_scope_waits_before_a_panic_passes() {
    everywhere(|context| {
        let stream = context.stream().unwrap();
        let mut a = Array::zeros(&stream, &[1000]).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let short_lived = vec![3_u64; 1000];
            let _ = stream.scope(|s| {
                s.upload(&short_lived, &mut a.view_mut()).unwrap();
                panic!("in the scope");
            });
        }));
        assert!(panicked.is_err());
        assert_eq!(a.to_vec(&stream).unwrap(), [3; 1000]);
    });
}

#[test]
fn a_wait_that_ended_badly_is_an_error_and_the_memory_is_free() {
    for device in schedules() {
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        let a = Array::full(&stream, &[8], 1_u8).unwrap();
        stream.synchronize().unwrap();

        device.fail_next(Site::Synchronize, Quiesced::Ended(failed()));
        assert_eq!(a.to_vec(&stream), Err(failed()));

        let (src, mut b) = ([2_u8; 8], Array::<u8, _>::zeros(&stream, &[8]).unwrap());
        device.fail_next(Site::Synchronize, Quiesced::Ended(failed()));
        let scope = stream.scope(|s| s.upload(&src, &mut b.view_mut()));
        assert_eq!(scope.map(drop), Err(failed()));

        device.fail_next(Site::Synchronize, Quiesced::Ended(failed()));
        let copy = a.view().download(&stream, context.pinned(8).unwrap()).unwrap();
        let ended = copy.wait().unwrap_err();
        assert_eq!(ended.error(), &failed());
        assert_eq!(ended.into_buffer().unwrap().len(), 8, "the device is finished with it");
    }
}

#[test]
fn a_wait_that_says_nothing_leaks_owned_memory_and_never_a_borrow() {
    for device in schedules() {
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        let a = Array::full(&stream, &[8], 1_u8).unwrap();
        stream.synchronize().unwrap();

        device.fail_next(Site::Synchronize, Quiesced::Unknown(failed()));
        assert_eq!(a.to_vec(&stream), Err(failed()), "staging is leaked, the caller's slice was never lent");

        device.fail_next(Site::Synchronize, Quiesced::Unknown(failed()));
        let copy = a.view().download(&stream, context.pinned(8).unwrap()).unwrap();
        let unknown = copy.wait().unwrap_err();
        assert!(unknown.to_string().ends_with("the pinned buffer was leaked"), "{unknown}");
        assert!(unknown.into_buffer().is_none());
    }
}

#[test]
fn every_call_of_a_transfer_may_fail_and_the_next_one_succeeds() {
    let sites =
        [Site::Alloc, Site::Upload, Site::Download, Site::Copy, Site::Record, Site::AllocHost, Site::Query];
    for site in sites {
        for device in schedules() {
            let context = Context::new(device.clone()).unwrap();
            let stream = context.stream().unwrap();
            let data: Vec<u16> = (0..40).collect();
            let round_trip = || {
                let mut a = Array::zeros(&stream, &[8, 5])?;
                a.view_mut().transpose().copy_from_slice(&stream, &data)?;
                a.view().transpose().to_vec(&stream)
            };
            device.fail_next(site, failed());
            match round_trip() {
                Err(error) => assert_eq!(error, failed(), "{site:?}"),
                Ok(values) => assert_eq!(values, data, "{site:?}"), // not reached, or another call failed
            }
            assert_eq!(round_trip().unwrap(), data, "{site:?}");
            assert!(context.take_errors().iter().all(|error| *error == failed()));
        }
    }
}

/// Memory of earlier transfers makes room when pinned memory runs out, and after no other failure.
#[test]
fn only_want_of_pinned_memory_is_asked_for_again() {
    let out_of_memory = Error::out_of_memory("mock", "alloc_host", 64 << 10, None);
    for error in [failed(), out_of_memory] {
        let device = MockDevice::new();
        let stream = Context::new(device.clone()).unwrap().stream().unwrap();
        let [mut small, mut large] = [1 << 10, 64 << 10].map(|len| Array::zeros(&stream, &[len]).unwrap());
        small.view_mut().copy_from_slice(&stream, &[1_u8; 1 << 10]).unwrap();
        stream.synchronize().unwrap();
        device.fail_next(Site::AllocHost, error.clone());
        let copied = large.view_mut().copy_from_slice(&stream, &[2_u8; 64 << 10]);
        assert_eq!(copied, if error.is_retryable() { Ok(()) } else { Err(error) });
    }
}

#[test]
fn a_lost_device_answers_the_same_to_every_call() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let mut a = Array::full(&stream, &[8], 1_u8).unwrap();
    device.fail_next(Site::Synchronize, lost());
    assert_eq!(stream.synchronize(), Err(lost()));
    let error = a.view_mut().fill(&stream, 2).unwrap_err();
    assert!(error.is_sticky() && !error.is_retryable());
    assert!(a.to_vec(&stream).unwrap_err().is_sticky());
    assert!(context.stream().unwrap_err().is_sticky());
}

#[test]
fn zero_elements_reach_no_device() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let before = device.statistics().enqueued;
    let mut a = Array::<f64, _>::from_slice(&stream, &[0, 3], &[]).unwrap();
    let mut b = Array::zeros(&stream, &[3, 0, 2]).unwrap();
    b.view_mut().fill(&stream, 1_u8).unwrap();
    b.view_mut().copy_from_slice(&stream, &[]).unwrap();
    assert_eq!(a.view().to_contiguous(&stream, Order::F).unwrap().to_vec(&stream).unwrap(), [0.0; 0]);
    a.view_mut().transpose().copy_from(&stream, &Array::zeros(&stream, &[3, 0]).unwrap().view()).unwrap();
    let host = context.pinned::<f64>(0).unwrap();
    let host = a.view_mut().upload(&stream, host).unwrap().wait().unwrap();
    assert!(host.is_empty());
    stream.scope(|s| s.upload(&[], &mut a.view_mut())).unwrap().unwrap();
    drop((a, b, host));
    let after = device.statistics().enqueued;
    assert_eq!(
        (after.allocs, after.copies, after.uploads, after.downloads, after.fills),
        (before.allocs, before.copies, before.uploads, before.downloads, before.fills)
    );
}
