//! A copy of borrowed memory that goes in pieces may fail at any call: the error is told once, every slot comes back, no
//! thread is left with the caller's memory, and the next copy succeeds. The threads change nothing in this.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{Array, Context, StreamHandle};
use devarray_conformance::{Call, Instrumented, Log};
use devarray_mock::MockDevice;

type Device = Instrumented<MockDevice>;

/// Bytes of a slot of the copies here.
const SLOT: usize = 256 << 10;

/// Thirteen pieces: more than are at work at a time.
const LEN: usize = 12 * SLOT + 77;

/// Slots that one copy uses at most, with a few to spare.
const SLOTS: usize = 20;

/// To the device and back, in memory that is gone when this returns.
fn there_and_back(stream: &StreamHandle<Device>, data: &[u8]) -> devarray::Result<()> {
    let src = data.to_vec();
    let a = Array::from_slice(stream, &[src.len()], &src)?;
    drop(src);
    assert!(a.to_vec(stream)? == data);
    Ok(())
}

/// The calls of one copy there and back, and whether each that failed was told of, for so many threads.
fn each_call_fails(threads: usize, data: &[u8]) -> (Vec<Call>, Vec<bool>) {
    // Slots that did not come back would be missing after a few of the failures.
    let (device, log) =
        Instrumented::new(MockDevice::builder().judge(false).host_limit_bytes(SLOTS * SLOT).build());
    let context = Context::new(device).unwrap();
    context.set_transfer_threads(threads);
    let stream = context.stream().unwrap();
    there_and_back(&stream, data).unwrap();
    let calls = calls_of(&log, || there_and_back(&stream, data).unwrap());
    let mut told = Vec::new();
    loop {
        log.fail_after(told.len());
        let failed = there_and_back(&stream, data).err();
        if log.stop_failing() {
            assert_eq!(failed, None);
            break;
        }
        let errors: Vec<_> = context.take_errors().into_iter().chain(failed).collect();
        assert!(errors.len() <= 1, "{errors:?}");
        told.push(!errors.is_empty());
        there_and_back(&stream, data).unwrap();
        assert_eq!(context.take_errors(), []);
    }
    (calls, told)
}

fn calls_of(log: &Log, work: impl FnOnce()) -> Vec<Call> {
    log.clear();
    work();
    log.calls()
}

#[test]
fn every_call_may_fail_with_any_number_of_threads() {
    let data: Vec<u8> = (0..LEN).map(|k| (k ^ (k >> 8) ^ (k >> 16)).to_le_bytes()[0]).collect();
    let alone = each_call_fails(0, &data);
    let (calls, told) = &alone;
    for call in [Call::Upload, Call::Download] {
        assert_eq!(calls.iter().filter(|&&made| made == call).count(), 13, "{calls:?}");
    }
    assert!(told.len() >= 4 * 13 && told.iter().filter(|&&told| told).count() >= 4 * 13, "{told:?}");
    for threads in [1, 4] {
        assert!(each_call_fails(threads, &data) == alone, "{threads} threads");
    }
}
