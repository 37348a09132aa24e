//! Tests findings that are not plain mistakes: reliance on behaviour that only some profiles have (`may`), and
//! correct work that is needless or slow (`lint`). For each code, one program gets the finding; its twin does not.
#![allow(unsafe_code, clippy::unwrap_used)] // makes operations without core, to leave out waits on purpose; helpers of tests

use std::num::NonZeroUsize;

use devarray::{
    Array, Context,
    backend::{Device, DownloadOp, Event, HostBuffer, Quiesced, RegisterHost, Stream, UploadOp},
};
use devarray_mock::{
    Access, Class, Code, MockBuffer, MockDevice, MockHostBuffer, MockStream, program::Program,
};
use serde_json::{Value, json};

fn size(bytes: usize) -> NonZeroUsize {
    NonZeroUsize::new(bytes).unwrap()
}

fn codes(device: &MockDevice) -> Vec<Code> {
    device.report().findings.iter().map(|finding| finding.code).collect()
}

fn lints(device: &MockDevice) -> Vec<Code> {
    device.report().lints.iter().map(|lint| lint.code).collect()
}

/// Uploads all of `data`, which outlives the device's work.
fn upload(stream: &MockStream, buffer: &MockBuffer, data: &[u8]) {
    // SAFETY: in bounds. The simulator defines the effect of a conflict, and the test itself does
    // not touch the memory.
    stream.upload(&unsafe { UploadOp::new_unchecked(buffer, 0, data.as_ptr(), data.len()) }).unwrap();
}

/// Downloads to all of `data`, which outlives the device's work.
fn download(stream: &MockStream, buffer: &MockBuffer, data: &mut [u8]) {
    // SAFETY: as for an upload.
    stream.download(&unsafe { DownloadOp::new_unchecked(buffer, 0, data.as_mut_ptr(), data.len()) }).unwrap();
}

/// Like [`upload`], for pinned memory.
fn upload_pinned(stream: &MockStream, buffer: &MockBuffer, data: &MockHostBuffer) {
    let (start, len_bytes) = (data.as_ptr().cast_const(), data.len_bytes());
    // SAFETY: as for an upload.
    stream.upload(&unsafe { UploadOp::new_unchecked(buffer, 0, start, len_bytes) }).unwrap();
}

/// Uploads memory and writes it again: pageable or registered memory, with or without a wait.
fn source_written_again(registered: bool, waits: bool) -> Vec<Code> {
    let device = MockDevice::new();
    let stream = device.open_stream().unwrap();
    let mut data = vec![7; 64];
    // SAFETY: the memory outlives the registration.
    let registration =
        registered.then(|| unsafe { device.register_host(data.as_mut_ptr(), size(64)) }.unwrap());
    let buffer = stream.alloc(size(64)).unwrap();
    upload(&stream, &buffer, &data);
    if waits {
        assert_eq!(stream.synchronize(), Quiesced::Done);
    }
    device.host_access_at(data.as_ptr_range(), Access::Write);
    let codes = codes(&device);
    if let Some(registration) = registration {
        device.unregister_host(registration).unwrap();
    }
    codes
}

/// CUDA may read pageable memory during the call, but need not. It does not read pinned memory
/// then.
#[test]
fn da21_pageable_memory_is_written_again_after_its_upload() {
    assert_eq!(source_written_again(false, false), [Code::ReliesOnProfile]);
    assert_eq!(source_written_again(true, false), [Code::HostWrite]);
    for registered in [false, true] {
        assert_eq!(source_written_again(registered, true), []);
    }
    let told = Code::ReliesOnProfile;
    assert_eq!((told.to_string().as_str(), told.class()), ("may[DA21]", Class::May));
}

/// A download to pageable memory may return only when it is done. All earlier work of its stream is then done,
/// too.
#[test]
fn da21_what_a_download_may_have_waited_for() {
    let run = |pageable: bool, other_buffer: bool, event: bool| {
        let device = MockDevice::new();
        let (one, two) = (device.open_stream().unwrap(), device.open_stream().unwrap());
        let (buffer, other) = (one.alloc(size(8)).unwrap(), one.alloc(size(8)).unwrap());
        let data = device.alloc_host(size(8)).unwrap();
        let mut slice = [0; 8];
        upload(&one, &other, &[1; 8]);
        assert_eq!(one.synchronize(), Quiesced::Done);
        upload_pinned(&one, &buffer, &data);
        if pageable {
            download(&one, &buffer, &mut slice);
        }
        if event {
            two.wait(&one.record().unwrap()).unwrap();
        }
        upload_pinned(&two, if other_buffer { &other } else { &buffer }, &data);
        codes(&device)
    };
    assert_eq!(run(true, false, false), [Code::ReliesOnProfile]);
    assert_eq!(run(false, false, false), [Code::Race], "nothing would have waited for it");
    assert_eq!(run(true, true, false), []);
    assert_eq!(run(true, false, true), []);
}

/// If a copy that may have blocked covers only some of the bytes, the other bytes are a plain
/// mistake.
#[test]
fn a_mistake_that_nothing_would_order_is_no_reliance() {
    let device = MockDevice::new();
    let [one, two, three] = [(); 3].map(|()| device.open_stream().unwrap());
    let buffer = one.alloc(size(8)).unwrap();
    assert_eq!(one.synchronize(), Quiesced::Done);
    let data = device.alloc_host(size(8)).unwrap();
    let mut slice = [0; 4];
    upload_pinned(&one, &buffer, &data);
    two.wait(&one.record().unwrap()).unwrap();
    // Both read the bytes that `one` wrote. The copy of `two` may block; the copy of `three` goes
    // to pinned memory, so it does not.
    download(&two, &buffer, &mut slice);
    let mut other = [0; 4];
    // SAFETY: the memory outlives the registration.
    let registration = unsafe { device.register_host(other.as_mut_ptr(), size(4)) }.unwrap();
    three.wait(&one.record().unwrap()).unwrap();
    download(&three, &buffer, &mut other);
    upload_pinned(&one, &buffer, &data);
    let report = device.report();
    assert_eq!(report.findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [Code::Race]);
    assert_eq!(report.findings[0].with.len(), 2);
    device.unregister_host(registration).unwrap();
}

fn played(ops: &Value) -> Vec<(Code, u64)> {
    let line = json!({"id": "p", "buffers": [{"id": "b", "bytes": 8, "init": true}], "hosts": [{"id": "h", "bytes": 8}],
        "streams": 3, "events": 2, "ops": ops});
    let program = Program::parse(line.to_string().as_bytes()).unwrap();
    let device = MockDevice::builder().lints(true).build();
    program.play_on_mock(&device).unwrap().unwrap();
    device.report().lints.iter().map(|lint| (lint.code, lint.operation.number)).collect()
}

#[test]
fn da27_the_host_waits_twice() {
    let fill = json!({"do": "fill", "stream": 0, "buf": "b", "off": 0, "len": 8, "value": 1});
    let record = json!({"do": "record", "stream": 0, "event": 0});
    let (stream, event) =
        (json!({"do": "sync_stream", "stream": 0}), json!({"do": "sync_event", "event": 0}));
    let all = json!({"do": "sync_device"});
    assert_eq!(played(&json!([fill, stream, stream])), [(Code::NeedlessSync, 2)]);
    assert_eq!(played(&json!([fill, record, event, event])), [(Code::NeedlessSync, 3)]);
    assert_eq!(played(&json!([fill, record, stream, event])), [(Code::NeedlessSync, 3)]);
    assert_eq!(played(&json!([fill, all, stream])), [(Code::NeedlessSync, 2)]);
    // In each of these programs, every wait waits for something.
    assert_eq!(played(&json!([fill, stream, fill, stream])), []);
    assert_eq!(played(&json!([fill, record, event, fill, stream])), []);
    assert_eq!(played(&json!([fill, record, fill, event, stream])), []);
    // A wait for the device always has a purpose.
    assert_eq!(played(&json!([fill, stream, all])), []);
}

#[test]
fn da28_a_stream_waits_for_what_it_comes_after() {
    let record = |stream: usize, event: usize| json!({"do": "record", "stream": stream, "event": event});
    let wait = |stream: usize, event: usize| json!({"do": "wait", "stream": stream, "event": event});
    let sync = json!({"do": "sync_stream", "stream": 0});
    let needless = |op: u64| vec![(Code::NeedlessWait, op)];
    assert_eq!(played(&json!([record(0, 0), wait(0, 0)])), needless(1), "its own");
    assert_eq!(played(&json!([record(0, 0), wait(1, 0), wait(1, 0)])), needless(2), "twice");
    assert_eq!(
        played(&json!([record(0, 0), wait(1, 0), record(1, 1), wait(2, 1), wait(2, 0)])),
        needless(4),
        "by way of another"
    );
    assert_eq!(played(&json!([record(0, 0), sync, wait(1, 0)])), needless(2), "the host waited");
    assert_eq!(played(&json!([record(0, 0), wait(1, 0), record(0, 0), wait(1, 0)])), []);
    assert_eq!(played(&json!([record(0, 0), wait(1, 0), wait(2, 0)])), []);
    assert_eq!(played(&json!([wait(1, 0)])), [], "never recorded");
}

/// Lints of user code name the line of the call. They are reported only on request, and do not make the report
/// unclean.
#[test]
fn lints_are_off_unless_asked_for_and_no_mistakes() {
    for asked in [true, false] {
        let device = MockDevice::builder().lints(asked).build();
        let context = Context::new(device.clone()).unwrap();
        let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
        let array = Array::full(&one, &[8], 1_u8).unwrap();
        one.synchronize().unwrap();
        one.synchronize().unwrap();
        let event = one.record().unwrap();
        two.wait(&event).unwrap();
        let line = line!() + 1;
        two.wait(&event).unwrap();
        drop((array, one, two, event, context));
        let report = device.report();
        assert!(report.is_clean(), "{report}");
        let due = if asked { vec![Code::NeedlessSync, Code::NeedlessWait] } else { Vec::new() };
        assert_eq!(lints(&device), due);
        if asked {
            assert_eq!(report.lints[1].operation.location.line(), line);
            assert_eq!(report.lints[0].operation.location.file(), file!());
            let with: Vec<_> = report.lints[1].with.iter().map(|(operation, _)| operation.kind).collect();
            assert_eq!(with, ["record"]);
            assert!(
                report
                    .to_string()
                    .starts_with("lint[DA27]: the host waits for what it has waited for already")
            );
        }
    }
}

/// Querying an event again and again is a way to wait.
#[test]
fn a_query_is_no_needless_wait() {
    let device = MockDevice::builder().lints(true).build();
    let stream = device.open_stream().unwrap();
    let event = stream.record().unwrap();
    while !event.query().unwrap() {}
    assert!(event.query().unwrap());
    assert_eq!(lints(&device), []);
}
