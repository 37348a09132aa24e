//! Copies that own their memory: their parts are dropped in any order, never dropped, or panic.

use std::{
    any::Any,
    future::Future,
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context as Task, Poll, Wake, Waker},
};

use devarray::{Array, Context, Error, PinnedLimits, backend::HostFlags};
use devarray_mock::Site;

use super::{devices, open, orders};

/// The objects that a download needs are dropped in every order; the download itself ends by
/// waiting, dropping or forgetting.
#[test]
fn whatever_goes_first_memory_is_there_while_the_device_uses_it() {
    for end in ["wait", "drop", "forget"] {
        for order in orders(5) {
            for device in devices() {
                let (context, stream) = open(&device);
                let data: Vec<u32> = (0..50).collect();
                let array = Array::from_slice(&stream, &[50], &data).unwrap();
                let event = stream.record().unwrap();
                let other = context.stream().unwrap();
                let column = array.view().flip(&[0]).unwrap();
                let transfer = column.download(&other, context.pinned(50).unwrap()).unwrap();
                let mut things: Vec<Option<Box<dyn Any>>> = vec![
                    Some(Box::new(context)),
                    Some(Box::new(stream)),
                    Some(Box::new(array)),
                    Some(Box::new((event, other))),
                ];
                let mut transfer = Some(transfer);
                for &at in &order {
                    match things.get_mut(at) {
                        Some(thing) => drop(thing.take()),
                        None => match (end, transfer.take().unwrap()) {
                            ("wait", transfer) => {
                                assert!(transfer.wait().unwrap().iter().rev().eq(&data));
                            }
                            ("drop", transfer) => drop(transfer),
                            (_, transfer) => mem::forget(transfer),
                        },
                    }
                }
            }
        }
    }
}

/// A waker that panics, in safe code.
struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        std::panic::resume_unwind(Box::new("a waker"));
    }
}

#[test]
fn a_waker_that_panics_loses_nothing() {
    for device in devices() {
        let (context, stream) = open(&device);
        let array = Array::full(&stream, &[100], 7_u16).unwrap();
        let mut transfer = array.view().download(&stream, context.pinned(100).unwrap()).unwrap();
        let waker = Waker::from(Arc::new(Panics));
        let polled = catch_unwind(AssertUnwindSafe(|| {
            Pin::new(&mut transfer).poll(&mut Task::from_waker(&waker)).is_ready()
        }));
        assert!(polled.is_err(), "the transfer was ready at once: nothing was tried");
        assert_eq!(transfer.wait().unwrap()[..], [7; 100]);
    }
}

#[test]
fn a_poll_after_the_end_gives_no_second_buffer() {
    for device in devices() {
        let (context, stream) = open(&device);
        let array = Array::full(&stream, &[9], 7_u16).unwrap();
        let mut transfer = array.view().download(&stream, context.pinned(9).unwrap()).unwrap();
        let mut task = Task::from_waker(Waker::noop());
        let mut buffer = loop {
            if let Poll::Ready(ended) = Pin::new(&mut transfer).poll(&mut task) {
                break ended.unwrap();
            }
        };
        buffer.fill(1);
        for _ in 0..2 {
            let again =
                catch_unwind(AssertUnwindSafe(|| Pin::new(&mut transfer).poll(&mut task).is_pending()));
            assert!(again.is_err());
        }
        assert!(transfer.is_done().unwrap());
        drop(transfer);
        assert_eq!(buffer[..], [1; 9]);
    }
}

/// If memory went back to the pool too early, a pending copy would write to it.
#[test]
fn a_buffer_that_is_kept_for_reuse_is_not_reused_in_flight() {
    for device in devices() {
        let (context, stream) = open(&device);
        context.set_pinned_limits(PinnedLimits::new(1 << 20, 1 << 20));
        let array = Array::full(&stream, &[1000], 5_u8).unwrap();
        let mut held = Vec::new();
        for _ in 0..8 {
            drop(array.view().download(&stream, context.pinned(1000).unwrap()).unwrap());
            let fresh = context.pinned::<u8>(1000).unwrap();
            assert_eq!(fresh[..], [0; 1000]);
            held.push(fresh);
        }
        stream.synchronize().unwrap();
        assert!(held.iter().all(|fresh| fresh[..] == [0; 1000]));
    }
}

/// Any context may use the buffer, and its own context is dropped while another context's device
/// uses it.
#[test]
fn a_portable_buffer_outlives_the_context_it_is_of() {
    for forgotten in [false, true] {
        for device in devices() {
            let home = Context::new(device.clone()).unwrap();
            let (away, stream) = open(&device);
            let mut buffer = home.pinned_with::<u32>(64, HostFlags::new().portable()).unwrap();
            buffer.fill(3);
            let mut array = Array::<u32, _>::zeros(&stream, &[64]).unwrap();
            let upload = array.view_mut().upload(&stream, buffer).unwrap();
            drop(home);
            if forgotten {
                mem::forget(upload);
            } else {
                drop(upload);
            }
            assert_eq!(array.to_vec(&stream).unwrap(), [3; 64]);
            drop((array, stream, away));
        }
    }
}

/// Each call that a transfer makes fails once: the buffer comes back or is leaked, and never both.
#[test]
fn a_transfer_that_fails_anywhere_gives_its_buffer_back_once() {
    let refusal = Error::Driver { backend: "mock", operation: "test", code: 1, name: "ON_PURPOSE".into() };
    for site in [Site::Alloc, Site::Upload, Site::Copy, Site::Download, Site::Record, Site::Free] {
        for device in devices() {
            let (context, stream) = open(&device);
            let data: Vec<u16> = (0..24).collect();
            let mut array = Array::from_slice(&stream, &[4, 6], &data).unwrap();
            device.fail_next(site, refusal.clone());
            let turned = array.view_mut().transpose().upload(&stream, context.pinned_from(&data).unwrap());
            let buffer = match turned {
                Ok(transfer) => transfer.wait().unwrap(),
                Err(refused) => refused.into_buffer().unwrap(),
            };
            assert_eq!(buffer[..], data);
            let download = array.view().transpose().download(&stream, buffer);
            drop(download.map(|transfer| transfer.wait().unwrap()));
            stream.synchronize().unwrap();
        }
    }
}
