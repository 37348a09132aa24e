//! Copies of memory that is not pinned: they may block the host, but need not.
#![allow(unsafe_code)] // makes operations without core, to leave out waits on purpose

use std::num::NonZeroUsize;

use devarray::backend::{Device, DownloadOp, FreeOp, Quiesced, Stream, UploadOp};
use devarray_mock::{Access, Code, MockDevice};

/// onnxruntime#26512: a count is copied to a variable of the host, and the variable is read.
fn count_read(waits: bool) -> Vec<Code> {
    let device = MockDevice::new();
    let stream = device.open_stream().unwrap();
    let buffer = stream.alloc(NonZeroUsize::new(4).unwrap()).unwrap();
    let (source, mut count) = ([7_u8; 4], [0_u8; 4]);
    // SAFETY: in bounds, and both arrays outlive the wait below.
    stream.upload(&unsafe { UploadOp::new_unchecked(&buffer, 0, source.as_ptr(), 4) }).unwrap();
    // SAFETY: as above.
    stream.download(&unsafe { DownloadOp::new_unchecked(&buffer, 0, count.as_mut_ptr(), 4) }).unwrap();
    if waits {
        assert_eq!(stream.synchronize(), Quiesced::Done);
    }
    device.host_access_at(count.as_ptr_range(), Access::Read);
    assert_eq!(stream.synchronize(), Quiesced::Done);
    assert_eq!(count, source);
    // SAFETY: the buffer is this device's, and nothing uses it any more.
    stream.free(unsafe { FreeOp::new_unchecked(buffer) }).unwrap();
    device.report().findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn a_count_is_read_where_a_copy_may_have_blocked() {
    assert_eq!(count_read(false), [Code::ReliesOnProfile]);
    assert_eq!(count_read(true), []);
}
