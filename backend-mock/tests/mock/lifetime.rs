//! Tests lifetimes: the report names live objects with their place, mistakes are findings and never crash,
//! and no queued work is lost.

use devarray::{
    Array, Context, Error,
    backend::{Buffer, Device, HostBuffer, ManagedMemory, Stream},
};
use devarray_mock::{Code, MockDevice, Poison, PoisonKind, Schedule};

use crate::support::{Host, PLAIN, Queue, device, random, size};

#[test]
fn the_report_names_what_was_not_freed() {
    let device = MockDevice::new();
    assert!(device.report().is_clean());
    let queue = Queue::open(&device);
    let freed = queue.alloc(8);
    let leaked = queue.alloc(100);
    let line = line!() - 1;
    queue.free(freed).unwrap();
    let host = device.alloc_host(size(10)).unwrap();
    let event = queue.record();

    let report = device.report();
    assert!(!report.is_clean());
    let [buffer] = &report.buffers[..] else { panic!("one buffer is leaked: {report}") };
    assert_eq!((buffer.id, buffer.len_bytes, buffer.address), (leaked.id(), 100, leaked.address()));
    assert_eq!((buffer.location.file(), buffer.location.line()), (file!(), line));
    assert_eq!((report.host_buffers.len(), report.streams, report.events), (1, 1, 1));
    let text = report.to_string();
    let first =
        format!("error[DA12]: leaked buffer 1.0: 100 bytes at {:#x}, allocated at ", leaked.address());
    assert!(text.starts_with(&format!("{first}{}:{line}:", file!())), "{text}");
    assert_eq!(text.lines().count(), 4, "{text}");

    queue.free(leaked).unwrap();
    drop((queue, host, event));
    assert!(device.report().is_clean(), "{}", device.report());
    assert_eq!(device.report().to_string(), "clean: nothing is alive, no findings");
}

#[test]
fn a_buffer_that_is_only_dropped_is_leaked() {
    let device = MockDevice::new();
    let queue = Queue::open(&device);
    drop(queue.alloc(8));
    drop(queue);
    assert_eq!(device.report().buffers.len(), 1);
    assert_eq!(device.memory().unwrap().total_bytes - device.memory().unwrap().free_bytes, 8);
}

/// Reads on one stream and frees on another, with or without a wait between them.
fn free_after_read(device: &MockDevice, wait: bool) -> Vec<u8> {
    let (one, two) = (Queue::open(device), Queue::open(device));
    let buffer = one.alloc(16);
    one.fill(&buffer, 0, 16, 1).expect(PLAIN);
    one.synchronize();
    let host = Host::new(device, &[0; 16]);
    one.download(&buffer, 0, &host).expect(PLAIN);
    if wait {
        two.wait(&one.record());
    }
    two.free(buffer).expect(PLAIN);
    two.synchronize();
    device.finish();
    host.bytes()
}

#[test]
fn a_free_that_overtakes_a_reader_is_found_and_one_that_waits_is_not() {
    let racy = device(Schedule::Lazy, 0);
    let bytes = free_after_read(&racy, false);
    let poison = Poison::decode(*bytes.first_chunk().unwrap()).unwrap();
    assert_eq!((poison.kind, poison.number), (PoisonKind::Freed, 0));
    let [finding] = &racy.report().findings[..] else { panic!("one finding: {}", racy.report()) };
    assert_eq!(finding.code, Code::UseAfterFree);
    let text = finding.to_string();
    let headline =
        "error[DA06]: freed while an operation may still use it: buffer 0.0, bytes 0x0..0x10 of 0x10\n";
    assert!(text.starts_with(headline), "{text}");
    assert!(text.contains("\n  no happens-before path #2 → #3\n"), "{text}");

    for seed in 0..300 {
        let device = random(seed);
        assert_eq!(free_after_read(&device, true), [1; 16]);
        assert!(device.report().findings.is_empty(), "{}", device.report());
    }
}

/// Writes on one stream to memory that another stream frees and allocates again, with or without a wait
/// between them.
fn free_after_write(device: &MockDevice, wait: bool) -> Vec<u8> {
    let (one, two) = (Queue::open(device), Queue::open(device));
    let first = one.alloc(8);
    one.synchronize();
    one.fill(&first, 0, 8, 7).expect(PLAIN);
    if wait {
        two.wait(&one.record());
    }
    two.free(first).expect(PLAIN);
    two.synchronize();
    let second = two.alloc(8);
    two.fill(&second, 0, 8, 1).expect(PLAIN);
    let bytes = two.bytes(device, &second, 0, 8);
    device.finish();
    bytes
}

#[test]
fn a_stale_write_hits_who_got_the_memory_next() {
    let run = |seed, wait| {
        let device = random(seed);
        let bytes = free_after_write(&device, wait);
        (bytes != [1; 8], device.report().findings)
    };
    let hits: Vec<_> = (0..300).map(|seed| run(seed, false)).filter(|(hit, _)| *hit).collect();
    assert!(!hits.is_empty(), "no seed let the late fill destroy the new buffer");
    for (_, findings) in hits {
        assert_eq!(findings.iter().map(|finding| finding.code).collect::<Vec<_>>(), [Code::UseAfterFree]);
    }
    assert!((0..300).all(|seed| run(seed, true) == (false, Vec::new())));
}

#[test]
fn memory_is_not_usable_before_its_allocation_in_stream_order() {
    let program = |device: &MockDevice, wait: bool| {
        let (one, two) = (Queue::open(device), Queue::open(device));
        let buffer = one.alloc(8);
        if wait {
            two.wait(&one.record());
        }
        two.fill(&buffer, 0, 8, 1).expect(PLAIN);
        two.synchronize();
        one.bytes(device, &buffer, 0, 8)
    };
    let racy = MockDevice::new();
    assert_ne!(program(&racy, false), [1; 8]);
    assert_eq!(racy.report().findings[0].code, Code::UseBeforeAlloc);
    for seed in 0..300 {
        let device = random(seed);
        assert_eq!(program(&device, true), [1; 8]);
        assert!(device.report().findings.is_empty(), "{}", device.report());
    }
}

#[test]
fn out_of_bounds_is_found_when_enqueued_and_refused() {
    let device = MockDevice::new();
    let queue = Queue::open(&device);
    let (small, large) = (queue.alloc(8), queue.alloc(16));
    let refused = [
        queue.fill(&small, 4, 5, 0),
        queue.copy(&small, 1, &large, 0, 8),
        queue.copy(&large, 0, &small, 1, 8),
        queue.upload(&small, 1, &Host::new(&device, &[0; 8])),
        queue.download(&small, 1, &Host::new(&device, &[0; 8])),
    ];
    for result in &refused {
        assert!(matches!(result, Err(Error::Driver { backend: "mock", .. })), "{result:?}");
    }
    let findings = device.report().findings;
    assert_eq!(findings.len(), refused.len());
    assert!(findings.iter().all(|finding| finding.code == Code::OutOfBounds));
    let text = findings[0].to_string();
    assert!(text.starts_with("error[DA08]: reaches outside buffer 0.0, bytes 0x4..0x9 of 0x8\n"), "{text}");
}

#[test]
fn memory_and_events_of_another_device_are_refused() {
    let (mine, other) = (MockDevice::new(), MockDevice::new());
    let (queue, stranger) = (Queue::open(&mine), Queue::open(&other));
    let buffer = stranger.alloc(8);
    let refused = [queue.fill(&buffer, 0, 8, 0), queue.0.wait(&stranger.record()), queue.free(buffer)];
    for (result, operation) in refused.into_iter().zip(["fill", "wait", "free"]) {
        assert_eq!(result, Err(Error::DeviceMismatch { backend: "mock", operation }));
    }
    assert_eq!(mine.statistics().enqueued, mine.statistics().executed);
}

#[test]
fn dropping_every_handle_runs_the_rest() {
    for seed in 0..20 {
        let (device, keeper) = (random(seed), MockDevice::new());
        let host = Host::new(&keeper, &[0; 8]);
        let (one, two) = (Queue::open(&device), Queue::open(&device));
        let buffer = one.alloc(8);
        one.fill(&buffer, 0, 8, 4).unwrap();
        two.wait(&one.record());
        two.download(&buffer, 0, &host).unwrap();
        drop((one, device, two, buffer));
        assert_eq!(host.bytes(), [4; 8]);
    }
}

#[test]
fn pinned_memory_stays_where_it_is_when_its_owner_moves() {
    let device = MockDevice::new();
    let queue = Queue::open(&device);
    let buffer = queue.alloc(8);
    let host = Host::new(&device, &[6; 8]);
    let start = host.0.as_ptr();
    queue.upload(&buffer, 0, &host).unwrap();
    let moved = Box::new(host);
    assert_eq!(moved.0.as_ptr(), start);
    assert_eq!(queue.bytes(&device, &buffer, 0, 8), [6; 8]);
}

/// The memory of a buffer that is dropped too early is kept, so that the copy still reads its bytes.
#[test]
fn pinned_memory_dropped_under_a_copy_is_found() {
    for wait in [false, true] {
        let device = MockDevice::new();
        let queue = Queue::open(&device);
        let buffer = queue.alloc(8);
        let host = Host::new(&device, &[6; 8]);
        queue.upload(&buffer, 0, &host).unwrap();
        if wait {
            queue.synchronize();
        }
        drop(host);
        assert_eq!(queue.bytes(&device, &buffer, 0, 8), [6; 8]);
        let codes: Vec<Code> = device.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, if wait { vec![] } else { vec![Code::HostFreed] });
    }
}

/// An early drop of memory that the device accesses directly is found, too.
#[test]
fn managed_memory_dropped_under_an_operation_is_found() {
    for wait in [false, true] {
        let device = MockDevice::new();
        let queue = Queue::open(&device);
        let host = device.alloc_managed(size(8)).unwrap();
        let place = device.managed_buffer(&host).unwrap();
        queue.fill(&place, 0, 8, 6).unwrap();
        if wait {
            queue.synchronize();
        }
        drop((place, host));
        let codes: Vec<Code> = device.report().findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, if wait { vec![] } else { vec![Code::HostFreed] });
    }
}

#[test]
fn the_report_names_the_line_that_made_an_array() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let kept = Array::from_slice(&stream, &[2], &[1_u8, 2]).unwrap();
    let line = line!() - 1;
    let pinned = context.pinned::<u8>(100).unwrap();
    let report = device.report();
    let [buffer] = &report.buffers[..] else { panic!("one array is alive: {report}") };
    assert_eq!((buffer.location.file(), buffer.location.line()), (file!(), line));
    let here = |host: &&devarray_mock::LiveHostBuffer| host.location.file() == file!();
    let found = report.host_buffers.iter().filter(here).map(|host| host.location.line()).collect::<Vec<_>>();
    assert_eq!(found, [line + 2]);
    drop((kept, pinned, stream, context));
    assert!(device.report().is_clean(), "{}", device.report());
}
