//! Makes mistakes with host memory that AddressSanitizer must report, one for each direction, and their
//! twins without the mistake.
//!
//! Copies are deferred, and use the host's own pointer when they run, so the
//! mistakes become visible.
#![allow(unsafe_code)] // makes the mistakes

use std::num::NonZeroUsize;

use devarray::backend::{Device, DownloadOp, FreeOp, Quiesced, Stream, UploadOp};
use devarray_mock::{MockBuffer, MockDevice, MockStream};

const LEN: usize = 64;

/// Copies in one direction, and frees the heap memory before or after the copy runs. In rmm#2526 and
/// cudf#23561, memory was freed early after an upload.
fn copy(enqueue: impl FnOnce(&MockStream, &MockBuffer, *mut u8), frees_early: bool) {
    let device = MockDevice::new();
    let stream = device.open_stream().expect("no fault is planned");
    let buffer = stream.alloc(NonZeroUsize::new(LEN).expect("not 0")).expect("there is room");
    let host = Box::into_raw(Box::new([7_u8; LEN]));
    enqueue(&stream, &buffer, host.cast());
    let give_back = || {
        // SAFETY: made by `into_raw` above, and freed once.
        drop(unsafe { Box::from_raw(host) });
    };
    if frees_early {
        give_back();
    }
    assert_eq!(stream.synchronize(), Quiesced::Done);
    if !frees_early {
        give_back();
    }
    // SAFETY: the buffer is this device's, and nothing uses it any more.
    stream.free(unsafe { FreeOp::new_unchecked(buffer) }).expect("no fault is planned");
}

fn download(frees_early: bool) {
    let enqueue = |stream: &MockStream, buffer: &MockBuffer, host: *mut u8| {
        // SAFETY: in bounds, and `host` lives until the wait in `copy`. If `frees_early` is set it
        // does not: that is the mistake.
        let op = unsafe { DownloadOp::new_unchecked(buffer, 0, host, LEN) };
        stream.download(&op).expect("no fault is planned");
    };
    copy(enqueue, frees_early);
}

fn upload(frees_early: bool) {
    let enqueue = |stream: &MockStream, buffer: &MockBuffer, host: *mut u8| {
        // SAFETY: as in `download`.
        let op = unsafe { UploadOp::new_unchecked(buffer, 0, host.cast_const(), LEN) };
        stream.upload(&op).expect("no fault is planned");
    };
    copy(enqueue, frees_early);
}

#[test]
#[ignore = "undefined behaviour on purpose: only for AddressSanitizer, which must report it (.ci/asan.sh)"]
fn host_memory_freed_during_a_download() {
    download(true);
}

#[test]
#[ignore = "undefined behaviour on purpose: only for AddressSanitizer, which must report it (.ci/asan.sh)"]
fn host_memory_freed_during_an_upload() {
    upload(true);
}

#[test]
fn host_memory_kept_during_a_copy() {
    download(false);
    upload(false);
}
