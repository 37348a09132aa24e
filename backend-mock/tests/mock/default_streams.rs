//! Tests default streams of other code, rows 26 and 27, under every profile. They have no order with streams of
//! this library.

use std::{collections::BTreeSet, thread};

use devarray::{
    Array, Context,
    backend::{Device, ForeignStream},
};
use devarray_mock::{Code, MockDevice, Profile, ProfileSet};

use super::support::{PLAIN, Queue, every_schedule};

/// A stream on which a test plays other code, or a stream of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Library,
    /// A blocking stream, opened by other code. There are two.
    Blocking(usize),
    Legacy,
    PerThread,
    Null,
}

use Of::{Blocking, Library, Null, PerThread};

const ALL: [Of; 6] = [Library, Blocking(0), Blocking(1), Of::Legacy, PerThread, Null];

/// One stream of each kind.
struct Streams<'a> {
    device: &'a MockDevice,
    library: Queue,
    blocking: [Queue; 2],
}

impl<'a> Streams<'a> {
    fn new(device: &'a MockDevice) -> Self {
        let blocking = [(); 2].map(|()| Queue(device.open_blocking_stream().expect(PLAIN)));
        Self { device, library: Queue::open(device), blocking }
    }

    fn with<R>(&self, of: Of, act: impl FnOnce(&Queue) -> R) -> R {
        let foreign = |stream| Queue(self.device.foreign_stream(stream).expect(PLAIN));
        match of {
            Library => act(&self.library),
            Blocking(number) => act(&self.blocking[number]),
            Of::Legacy => act(&foreign(ForeignStream::LEGACY)),
            PerThread => act(&foreign(ForeignStream::PER_THREAD)),
            Null => act(&Queue(self.device.null_stream())),
        }
    }
}

type Told = Vec<(Code, ProfileSet)>;

/// Enqueues two fills of the same bytes under all schedules. Returns the findings, which must be equal under
/// all schedules, and the fills that were last.
fn fills(
    profile: Profile,
    first: Of,
    second: Of,
    between: impl Fn(&Streams<'_>),
    on_thread: bool,
) -> (Told, BTreeSet<u8>) {
    let (mut told, mut last) = (None, BTreeSet::new());
    for (schedule, seed) in every_schedule() {
        let device = MockDevice::builder().profile(profile).schedule(schedule).seed(seed).build();
        let streams = Streams::new(&device);
        let buffer = streams.library.alloc(8);
        device.finish();
        streams.with(first, |queue| queue.fill(&buffer, 0, 8, 1)).expect(PLAIN);
        between(&streams);
        let fill = || streams.with(second, |queue| queue.fill(&buffer, 0, 8, 2)).expect(PLAIN);
        if on_thread {
            thread::scope(|scope| scope.spawn(fill).join().expect("fills"));
        } else {
            fill();
        }
        device.finish();
        let bytes = streams.library.bytes(&device, &buffer, 0, 8);
        last.extend(bytes);
        streams.library.free(buffer).expect(PLAIN);
        let findings = device.report().findings.into_iter();
        let findings: Told = findings.map(|found| (found.code, found.passes_under)).collect();
        assert_eq!(*told.get_or_insert(findings.clone()), findings, "the verdict is one");
    }
    (told.unwrap_or_default(), last)
}

/// Checks the expected order: the fills are ordered under this profile; or ordered only if stream 0 is the legacy
/// stream; or unordered, and some schedule then shows each order.
#[track_caller]
fn check(profile: Profile, first: Of, second: Of, due: Due, outcome: &(Told, BTreeSet<u8>)) {
    let what = format!("{first:?}, then {second:?}, under {profile}");
    let told = match due {
        Due::Ordered => vec![],
        Due::UnderLegacy if profile == Profile::Legacy => vec![],
        Due::UnderLegacy => vec![(Code::ReliesOnProfile, [Profile::Legacy].into())],
        Due::Race => vec![(Code::Race, [].into())],
    };
    assert_eq!(outcome.0, told, "{what}");
    let last: &[u8] = if told.is_empty() { &[2] } else { &[1, 2] };
    assert_eq!(outcome.1, last.iter().copied().collect(), "{what}: every mistake has a witness");
}

#[derive(Debug, Clone, Copy)]
enum Due {
    Ordered,
    UnderLegacy,
    Race,
}

/// The expected order of two streams, as a table of the implicit waits.
fn due(first: Of, second: Of) -> Due {
    match (first, second) {
        _ if first == second => Due::Ordered,
        (Library, _) | (_, Library) => Due::Race,
        (Of::Legacy, _) | (_, Of::Legacy) => Due::Ordered,
        // They are one stream, or the legacy stream is ordered with the other one.
        (PerThread, Null) | (Null, PerThread) => Due::Ordered,
        (Null, _) | (_, Null) => Due::UnderLegacy,
        _ => Due::Race,
    }
}

#[test]
fn row_26_the_legacy_stream_and_blocking_streams_wait_for_each_other() {
    for profile in Profile::ALL {
        for first in ALL {
            for second in ALL {
                let outcome = fills(profile, first, second, |_| {}, false);
                check(profile, first, second, due(first, second), &outcome);
            }
        }
    }
}

#[test]
fn row_26_anything_on_the_legacy_stream_orders_blocking_streams() {
    for profile in Profile::ALL {
        for (middle, due) in [
            (Of::Legacy, Due::Ordered),
            (Null, Due::UnderLegacy),
            (PerThread, Due::Race),
            (Library, Due::Race),
        ] {
            let record = |streams: &Streams<'_>| drop(streams.with(middle, Queue::record));
            let (first, second) = (Blocking(0), Blocking(1));
            check(profile, first, second, due, &fills(profile, first, second, record, false));
            // Streams of the library are not part of these waits.
            let outcome = fills(profile, Library, second, record, false);
            check(profile, Library, second, Due::Race, &outcome);
        }
    }
}

/// A wait of the legacy stream makes all blocking streams wait, too.
#[test]
fn row_26_what_the_legacy_stream_waits_for_blocking_streams_wait_for() {
    for profile in Profile::ALL {
        for (waits, due) in [(Of::Legacy, Due::Ordered), (Null, Due::UnderLegacy), (Blocking(1), Due::Race)] {
            let wait = |streams: &Streams<'_>| {
                let event = streams.library.record();
                streams.with(waits, |queue| queue.wait(&event));
            };
            let outcome = fills(profile, Library, Blocking(0), wait, false);
            check(profile, Library, Blocking(0), due, &outcome);
        }
    }
}

#[test]
fn row_27_each_thread_has_a_default_stream_of_its_own() {
    for profile in Profile::ALL {
        for (stream, due) in [
            (PerThread, Due::Race),
            (Null, Due::UnderLegacy),
            (Of::Legacy, Due::Ordered),
            (Library, Due::Ordered),
        ] {
            check(profile, stream, stream, due, &fills(profile, stream, stream, |_| {}, true));
        }
        for (first, second) in [(PerThread, Of::Legacy), (Of::Legacy, PerThread)] {
            check(profile, first, second, Due::Ordered, &fills(profile, first, second, |_| {}, true));
        }
    }
}

/// On another thread, a stored handle names another stream.
#[test]
fn row_27_a_stored_name_changes_its_meaning() {
    let device = MockDevice::new();
    let stored = Queue(device.foreign_stream(ForeignStream::PER_THREAD).expect(PLAIN));
    let buffer = stored.alloc(8);
    thread::scope(|scope| scope.spawn(|| stored.fill(&buffer, 0, 8, 1)).join().expect("fills")).expect(PLAIN);
    let found = device.first_finding().expect("the streams are not ordered");
    assert_eq!(found.code, Code::UseBeforeAlloc);
    assert_ne!(found.with[0].0.stream, found.operation.stream);
}

/// Other code uses its own stream on an array, with the library's waits before and after, or without them.
#[test]
fn the_doors_order_streams_of_other_code_with_ours() {
    for (profile, of) in Profile::ALL.into_iter().flat_map(|profile| ALL.map(|of| (profile, of))) {
        if of == Null {
            continue;
        }
        for waits in [true, false] {
            let device = MockDevice::builder().profile(profile).build();
            let streams = Streams::new(&device);
            let context = Context::new(device.clone()).unwrap();
            let stream = context.stream().unwrap();
            let name = streams.with(of, |queue| queue.0.foreign().unwrap());
            let array = Array::<u8, _>::zeros(&stream, &[8]).unwrap();
            if waits {
                stream.foreign_waits(name).unwrap();
            }
            let buffer = array.view().buffer().unwrap().twin();
            streams.with(of, |queue| queue.fill(&buffer, 0, 8, 7)).unwrap();
            if waits {
                stream.wait_for_foreign(name).unwrap();
            }
            let seen = array.to_vec(&stream).unwrap();
            let told = device.first_finding().map(|found| found.code);
            if waits {
                assert_eq!((told, seen), (None, vec![7; 8]), "{of:?} under {profile}");
            } else {
                assert_eq!(told, Some(Code::UseBeforeAlloc), "{of:?} under {profile}");
            }
        }
    }
}

/// Stream 0 is not accepted as a name, because its meaning is unknown. A name of no stream is
/// refused.
#[test]
fn the_doors_refuse_stream_0_and_streams_that_are_not_there() {
    let device = MockDevice::new();
    assert_eq!(device.null_stream().foreign(), None);
    let opened = device.open_stream().expect(PLAIN);
    let name = opened.foreign().expect("a stream that was opened has a name");
    assert!(device.foreign_stream(name).is_ok() && name.name() > 2);
    drop(opened);
    let error = device.foreign_stream(name).expect_err("the stream is gone");
    assert!(error.to_string().contains("no such stream"), "{error}");
}

/// The name of a stream is valid for all devices of its own simulator, and for no device of another
/// simulator.
#[test]
fn the_doors_refuse_streams_of_another_simulator() {
    let (here, there) = (MockDevice::new(), MockDevice::new());
    let context = Context::new(here.clone()).unwrap();
    let stream = context.stream().unwrap();
    // Both have the same number of streams, so the number alone could name a stream.
    let theirs = [(); 4].map(|()| there.open_stream().expect(PLAIN));
    let ours = [(); 4].map(|()| here.open_stream().expect(PLAIN));
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let (theirs, ours) = (theirs.foreign().unwrap(), ours.foreign().unwrap());
        let refused = |operation| devarray::Error::DeviceMismatch { backend: "mock", operation };
        assert_eq!(stream.wait_for_foreign(theirs).unwrap_err(), refused("foreign_stream"));
        assert_eq!(stream.foreign_waits(theirs).unwrap_err(), refused("foreign_stream"));
        stream.wait_for_foreign(ours).unwrap();
        stream.foreign_waits(ours).unwrap();
        assert!(here.sibling().foreign_stream(ours).is_ok(), "one simulator has one set of streams");
        assert_ne!(theirs, ours);
    }
}

/// Default streams are neither opened nor leaked.
#[test]
fn default_streams_are_not_reported() {
    let device = MockDevice::new();
    let buffer = Queue(device.null_stream()).alloc(8);
    Queue(device.foreign_stream(ForeignStream::LEGACY).expect(PLAIN)).free(buffer).expect(PLAIN);
    let report = device.report();
    assert!(report.is_clean(), "{report}");
}
