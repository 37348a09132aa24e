//! Findings name the place where their memory was allocated.
#![allow(unsafe_code, clippy::unwrap_used)] // opens unchecked streams and uses memory that is gone, to make what is to be found

use std::panic::Location;

use devarray::{
    Array, Context,
    backend::{Device, DownloadOp, HostBuffer, Stream},
};
use devarray_mock::{Access, Code, MockDevice};

/// The line of the caller.
#[track_caller]
fn line_here() -> u32 {
    Location::caller().line()
}

/// Every finding about a memory names the place of its allocation: for arrays, for host memory, and
/// after a free.
#[test]
fn findings_say_where_the_memory_was_allocated() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    // SAFETY: the missing order is the mistake to be found.
    let [one, two] = [(); 2].map(|()| unsafe { context.unchecked_stream() }.unwrap());
    let (mut array, in_line) = (Array::<u8, _>::zeros(&one, &[100]).unwrap(), line_here());
    array.view_mut().fill(&two, 1).unwrap();
    let (host, host_line) = (device.alloc_host(64.try_into().unwrap()).unwrap(), line_here());
    let target = array.view().buffer().unwrap().twin();
    drop(array);
    // SAFETY: the simulator defines the effect of using freed memory.
    let op = unsafe { DownloadOp::new_unchecked(&target, 0, host.as_ptr(), 64) };
    one.raw().download(&op).unwrap();
    device.host_access(&host, 0..64, Access::Read);
    let findings = device.report().findings;
    let told: Vec<_> = findings.iter().map(|finding| (finding.code, finding.allocated_at.unwrap())).collect();
    assert!(told.len() >= 3, "{findings:?}");
    for (finding, (code, location)) in findings.iter().zip(&told) {
        let due = if *code == Code::HostRead { host_line } else { in_line };
        assert_eq!((location.file(), location.line()), (file!(), due), "{finding}");
        assert!(finding.to_string().contains(&format!(" was allocated at {location}")), "{finding}");
    }
    // The twin: memory that was not allocated through the device has no such place.
    let mut own = [0_u8; 8];
    let array = Array::<u8, _>::zeros(&one, &[8]).unwrap();
    let source = array.view().buffer().unwrap().twin();
    // SAFETY: as above; the memory lives until the stream has been waited for.
    let op = unsafe { DownloadOp::new_unchecked(&source, 0, own.as_mut_ptr(), 8) };
    one.raw().download(&op).unwrap();
    device.host_access_at(own.as_ptr_range(), Access::Read);
    let last = device.report().findings.pop().unwrap();
    // On some machines, a copy of memory that is not pinned is done when it returns.
    assert_eq!((last.code, last.allocated_at), (Code::ReliesOnProfile, None), "{last}");
    assert!(!last.to_string().contains("was allocated"), "{last}");
    one.synchronize().unwrap();
}

/// The report on the package's page names the line of the source.
#[test]
fn the_line_on_the_page_is_that_of_the_source() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let array = Array::from_slice(&stream, &[2, 3], &[1.0_f32; 6]).unwrap();
    let report = device.report();
    let [staging] = &report.host_buffers[..] else { panic!("{report}") };
    let (file, line, column) = (staging.location.file(), staging.location.line(), staging.location.column());
    let name = file.rsplit(['/', '\\']).next().unwrap();
    let due = format!(
        "error[DA12]: leaked pinned host memory: {} bytes, allocated at …/core/src/{name}:{line}:{column}\n",
        staging.len_bytes
    );
    assert!(include_str!("../../README.md").contains(&due), "{due}");
    drop(array);
}
