//! Mistakes with host memory that AddressSanitizer must report, one for each direction, and their twins without the mistake.
//!
//! Copies are deferred and dereference the host's own pointer when they run, which is what makes the mistakes visible.
#![allow(unsafe_code)] // makes the mistakes

use std::num::NonZeroUsize;

use devarray::backend::{Device, DownloadOp, FreeOp, Quiesced, Stream, UploadOp};
use devarray_mock::MockDevice;

const LEN: usize = 64;

/// Downloads to the heap, and gives the heap memory back before the download runs or after.
fn download(frees_early: bool) {
    let device = MockDevice::new();
    let stream = device.open_stream().expect("no fault is planned");
    let buffer = stream.alloc(NonZeroUsize::new(LEN).expect("not 0")).expect("there is room");
    let host = Box::into_raw(Box::new([0_u8; LEN]));
    // SAFETY: in bounds, and `host` lives until the wait below. If `frees_early`, it does not: that is the mistake.
    let op = unsafe { DownloadOp::new_unchecked(&buffer, 0, host.cast(), LEN) };
    stream.download(&op).expect("no fault is planned");
    let give_back = || {
        // SAFETY: made by `into_raw` above, and given back once.
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

/// Uploads from the heap, and gives the heap memory back before the upload runs or after: rmm#2526, cudf#23561.
fn upload(frees_early: bool) {
    let device = MockDevice::new();
    let stream = device.open_stream().expect("no fault is planned");
    let buffer = stream.alloc(NonZeroUsize::new(LEN).expect("not 0")).expect("there is room");
    let host = Box::into_raw(Box::new([7_u8; LEN]));
    // SAFETY: in bounds, and `host` lives until the wait below. If `frees_early`, it does not: that is the mistake.
    let op = unsafe { UploadOp::new_unchecked(&buffer, 0, host.cast_const().cast(), LEN) };
    stream.upload(&op).expect("no fault is planned");
    let give_back = || {
        // SAFETY: made by `into_raw` above, and given back once.
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
