//! Tests planned failures: they have a type, occur at the planned call, and have no effect. Also tests the three
//! ways in which a wait can end, and a lost device.

use devarray::{
    Error, Result,
    backend::{Buffer, Device, Event, Quiesced, Stream},
};
use devarray_mock::{Fault, MockBuffer, MockDevice, Poison, PoisonKind, Schedule, Site};

use crate::support::{Host, PLAIN, Queue, device, size};

fn failure() -> Error {
    Error::Driver { backend: "mock", operation: "test", code: 7, name: "planned".to_owned() }
}

fn lost() -> Error {
    Error::DeviceLost { backend: "mock", operation: "test", code: 99, name: "planned".to_owned() }
}

/// Makes a call of each kind except waits, selected by its site.
fn call(site: Site, device: &MockDevice, queue: &Queue, buffer: &MockBuffer, host: &Host) -> Result<()> {
    match site {
        Site::Memory => device.memory().map(drop),
        Site::OpenStream => device.open_stream().map(drop),
        Site::AllocHost => device.alloc_host(size(8)).map(drop),
        Site::Alloc => queue.0.alloc(size(8)).and_then(|fresh| queue.free(fresh)),
        Site::Copy => queue.copy(buffer, 0, buffer, 4, 4),
        Site::Fill => queue.fill(buffer, 0, 8, 1),
        Site::Upload => queue.upload(buffer, 0, host),
        Site::Download => queue.download(buffer, 0, host),
        Site::Record => queue.0.record().map(drop),
        _ => unreachable!("the list below has no other"),
    }
}

const SITES: [Site; 9] = [
    Site::Memory,
    Site::OpenStream,
    Site::AllocHost,
    Site::Alloc,
    Site::Copy,
    Site::Fill,
    Site::Upload,
    Site::Download,
    Site::Record,
];

#[test]
fn a_fault_fails_one_call_of_its_site_and_changes_nothing() {
    for schedule in [Schedule::Eager, Schedule::Lazy] {
        for site in SITES {
            let device = device(schedule.clone(), 0);
            let queue = Queue::open(&device);
            let buffer = queue.alloc(8);
            let host = Host::new(&device, &[3; 8]);
            queue.fill(&buffer, 0, 8, 2).unwrap();
            queue.synchronize();

            let before = device.statistics();
            device.fail_next(site, failure());
            assert_eq!(call(site, &device, &queue, &buffer, &host), Err(failure()), "{site:?}");
            assert_eq!(device.statistics(), before, "{site:?}");
            assert_eq!(queue.bytes(&device, &buffer, 0, 8), [2; 8], "{site:?}");
            assert_eq!(host.bytes(), [3; 8], "{site:?}");
            assert_eq!(call(site, &device, &queue, &buffer, &host), Ok(()), "{site:?} once more");
            queue.synchronize();
        }
    }
}

#[test]
fn a_fault_waits_for_a_call_of_its_site() {
    for site in SITES {
        let device = MockDevice::new();
        let queue = Queue::open(&device);
        let buffer = queue.alloc(8);
        let host = Host::new(&device, &[3; 8]);
        device.fail_next(site, failure());
        for other in SITES.into_iter().filter(|&other| other != site) {
            assert_eq!(call(other, &device, &queue, &buffer, &host), Ok(()), "{other:?} beside {site:?}");
        }
        assert_eq!(call(site, &device, &queue, &buffer, &host), Err(failure()), "{site:?}");
        queue.synchronize();
    }
}

#[test]
fn a_failed_free_leaves_the_memory_allocated_for_good() {
    let device = MockDevice::new();
    let queue = Queue::open(&device);
    let buffer = queue.alloc(8);
    device.fail_next(Site::Free, failure());
    assert_eq!(queue.free(buffer), Err(failure()));
    assert_eq!(device.report().buffers.len(), 1);
}

#[test]
fn a_failed_wait_or_query_makes_no_edge_and_no_answer() {
    let device = MockDevice::new();
    let (one, two) = (Queue::open(&device), Queue::open(&device));
    let event = one.record();
    device.fail_next(Site::Wait, failure());
    device.fail_next(Site::Query, failure());
    assert_eq!(two.0.wait(&event), Err(failure()));
    assert_eq!(event.query(), Err(failure()));
    assert_eq!(event.query(), Ok(false));
    assert_eq!(event.query(), Ok(true));
}

#[test]
fn faults_of_one_site_are_met_in_the_order_they_were_planned() {
    let device = MockDevice::new();
    device.fail_next(Site::OpenStream, failure());
    device.fail_next(Site::OpenStream, Fault::Quiesced(Quiesced::Done));
    device.fail_next(Site::OpenStream, Quiesced::Ended(failure()));
    let failed = [(); 4].map(|()| device.open_stream().is_err());
    assert_eq!(failed, [true, false, true, false]);
}

/// Enqueues a download, whose destination held 9 before.
fn in_flight(device: &MockDevice) -> (Queue, Host) {
    let queue = Queue::open(device);
    let buffer = queue.alloc(8);
    queue.fill(&buffer, 0, 8, 1).expect(PLAIN);
    queue.synchronize();
    let host = Host::new(device, &[9; 8]);
    queue.download(&buffer, 0, &host).expect(PLAIN);
    queue.free(buffer).expect(PLAIN);
    (queue, host)
}

fn is_poison(host: &Host) -> bool {
    let bytes = host.bytes();
    bytes
        .first_chunk()
        .and_then(|first| Poison::decode(*first))
        .is_some_and(|p| p.kind == PoisonKind::Destination)
}

#[test]
fn an_ended_wait_leaves_nothing_that_touches_memory() {
    let device = MockDevice::new();
    let (queue, host) = in_flight(&device);
    device.fail_next(Site::Synchronize, Quiesced::Ended(failure()));
    assert_eq!(queue.0.synchronize(), Quiesced::Ended(failure()));
    device.finish();
    assert!(is_poison(&host), "the download was cancelled");
    assert_eq!(device.statistics().executed.downloads.count, 0);
    // The free still took effect, and the device remains usable.
    assert_eq!(device.statistics().executed.frees.count, 1);
    let buffer = queue.alloc(8);
    queue.fill(&buffer, 0, 8, 3).unwrap();
    assert_eq!(queue.bytes(&device, &buffer, 0, 8), [3; 8]);
}

#[test]
fn an_unknown_end_leaves_the_work_in_flight() {
    for fault in [Fault::from(failure()), Fault::from(Quiesced::Unknown(failure()))] {
        let device = MockDevice::new();
        let (queue, host) = in_flight(&device);
        device.fail_next(Site::Synchronize, fault);
        assert_eq!(queue.0.synchronize(), Quiesced::Unknown(failure()));
        assert!(is_poison(&host), "the download has not run yet");
        device.finish();
        assert_eq!(host.bytes(), [1; 8], "and still does");
    }
}

#[test]
fn a_lost_device_answers_every_call_with_the_same_error() {
    let device = MockDevice::new();
    let (queue, host) = in_flight(&device);
    let buffer = queue.alloc(8);
    let event = queue.record();
    device.fail_next(Site::Fill, lost());
    assert_eq!(queue.fill(&buffer, 0, 8, 1), Err(lost()));
    for site in SITES {
        assert_eq!(call(site, &device, &queue, &buffer, &host), Err(lost()), "{site:?}");
    }
    assert_eq!(event.query(), Err(lost()));
    assert_eq!(queue.0.wait(&event), Err(lost()));
    assert_eq!(event.synchronize(), Quiesced::Ended(lost()));
    assert_eq!(queue.0.synchronize(), Quiesced::Ended(lost()));
    assert_eq!(buffer.len_bytes(), 8);
    assert_eq!(queue.free(buffer), Err(lost()));
    drop((queue, event, device));
    assert!(is_poison(&host), "work in flight was cancelled");
}

#[test]
fn losing_the_device_cancels_work_that_nobody_waits_for() {
    let device = MockDevice::new();
    let (queue, host) = in_flight(&device);
    device.fail_next(Site::Memory, lost());
    assert_eq!(device.memory(), Err(lost()));
    drop((queue, device.clone()));
    device.finish();
    assert!(is_poison(&host), "the download was cancelled");
    assert_eq!(device.statistics().executed.downloads.count, 0);
}

#[test]
fn one_device_lost_leaves_the_others_alone() {
    let (one, two) = (MockDevice::new(), MockDevice::builder().ordinal(1).build());
    one.fail_next(Site::Memory, lost());
    assert_eq!(one.memory(), Err(lost()));
    assert!(two.memory().is_ok());
    assert_eq!((one.info().ordinal, two.info().ordinal), (0, 1));
}
