//! Each index out of range is reported once: by the first wait that covers it, or by the list of the context
//! when its stream is gone. However many are unreported, a wait and a stream cost the same.
#![allow(clippy::unwrap_used, clippy::cast_possible_wrap, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::{Duration, Instant},
};

use devarray::{
    Array, Context, Error, MappedArray, Result, StreamHandle,
    backend::Quiesced,
    gather::{OutOfRange, Repeats},
};
use devarray_mock::{MockDevice, Schedule, Site};

type Stream = StreamHandle<MockDevice>;

const NONE: [i64; 0] = [];

fn context() -> Context<MockDevice> {
    Context::new(MockDevice::new()).unwrap()
}

fn index_of(error: &Error) -> i64 {
    match error {
        Error::Index { error, .. } => error.value,
        error => panic!("{error}"),
    }
}

/// The index that a wait reports.
fn told(wait: Result<()>) -> Option<i64> {
    wait.err().map(|error| index_of(&error))
}

/// The indices that all waits for a stream report, until one succeeds.
fn told_by(stream: &Stream) -> Vec<i64> {
    std::iter::from_fn(|| told(stream.synchronize())).collect()
}

/// The indices in the list of the context.
fn listed(context: &Context<MockDevice>) -> Vec<i64> {
    context.take_errors().iter().map(index_of).collect()
}

/// An array of 3 elements, and indices that are all out of its range.
struct Setting {
    x: Array<u8, MockDevice>,
    by: Array<i64, MockDevice>,
}

impl Setting {
    fn new(stream: &Stream) -> Self {
        let x = Array::zeros(stream, &[3]).unwrap();
        let by = Array::arange(stream, 100, 5000, 1).unwrap();
        stream.synchronize().unwrap();
        Self { x, by }
    }

    /// Takes at the single index `100 + number`.
    fn fail(&self, stream: &Stream, number: usize) -> Array<u8, MockDevice> {
        let by = self.by.slice_axis(0, number..=number).unwrap();
        self.x.take(stream, &by, 0, OutOfRange::Error).unwrap()
    }
}

fn range(numbers: std::ops::Range<i64>) -> Vec<i64> {
    numbers.map(|number| 100 + number).collect()
}

#[test]
fn errors_of_dropped_streams_are_listed() {
    for schedule in [Schedule::Eager, Schedule::Lazy, Schedule::Random] {
        let context = Context::new(MockDevice::builder().schedule(schedule.clone()).build()).unwrap();
        let main = context.stream().unwrap();
        let setting = Setting::new(&main);
        for number in 0..500 {
            let gone = context.stream().unwrap();
            drop(setting.fail(&gone, number));
        }
        assert_eq!(told_by(&main), NONE, "nothing of it comes before");
        assert_eq!(told_by(&context.stream().unwrap()), NONE);
        assert_eq!(listed(&context), range(0..500), "{schedule:?}");
        assert_eq!(listed(&context), NONE, "told once");
        // The twin: a live stream reports by itself.
        let kept = setting.fail(&main, 7);
        assert_eq!(listed(&context), NONE);
        assert_eq!((told_by(&main), kept.to_vec(&main).unwrap()), (vec![107], vec![0]));
    }
}

#[test]
fn an_event_tells_of_its_dropped_stream() {
    let context = context();
    let main = context.stream().unwrap();
    let setting = Setting::new(&main);
    let events: Vec<_> = (0..100)
        .map(|number| {
            let gone = context.stream().unwrap();
            let _ = setting.fail(&gone, number);
            gone.record().unwrap()
        })
        .collect();
    assert_eq!(listed(&context), NONE, "who has the event is told");
    for (number, event) in events.iter().enumerate().take(50) {
        assert_eq!(told(event.synchronize()), Some(100 + number as i64));
        assert_eq!(told(event.synchronize()), None);
    }
    drop(events);
    assert_eq!(listed(&context), range(50..100), "now nobody has it");
}

#[test]
fn a_stream_that_comes_after_tells_of_dropped_ones() {
    let context = context();
    let main = context.stream().unwrap();
    let setting = Setting::new(&main);
    let after = context.stream().unwrap();
    for number in 0..800 {
        let gone = context.stream().unwrap();
        drop(setting.fail(&gone, number));
        after.wait(&gone.record().unwrap()).unwrap();
    }
    assert_eq!(listed(&context), NONE, "the stream that comes after can be waited for");
    assert_eq!(told_by(&main), NONE);
    assert_eq!(told_by(&after), range(0..800));
    assert_eq!(listed(&context), NONE);
}

#[test]
fn who_reads_a_result_is_told_although_its_stream_is_gone() {
    let context = context();
    let main = context.stream().unwrap();
    let setting = Setting::new(&main);
    let mut results: Vec<_> = (0..300)
        .map(|number| {
            let gone = context.stream().unwrap();
            let taken = setting.fail(&gone, number);
            // Every second one is used for another array, on another stream that is dropped.
            if number % 2 == 0 { taken } else { taken.map(&context.stream().unwrap(), |x| x + 1).unwrap() }
        })
        .collect();
    // Streams that take the same places do other work meanwhile.
    for _ in 0..8 {
        let other = context.stream().unwrap();
        assert_eq!(setting.x.to_vec(&other).unwrap(), [0; 3]);
    }
    let last = results.split_off(200);
    for (number, taken) in results.iter().enumerate() {
        let read = taken.to_vec(&main).map(drop);
        assert_eq!(told(read), Some(100 + number as i64));
        assert_eq!(taken.to_vec(&main).unwrap(), [(number % 2) as u8]);
    }
    drop(last);
    assert_eq!(told_by(&main), NONE);
    assert_eq!(listed(&context), range(200..300));
}

#[test]
fn a_chain_of_dropped_streams_tells_of_each_once() {
    let context = context();
    let main = context.stream().unwrap();
    let setting = Setting::new(&main);
    let mut y = Array::<u8, _>::zeros(&main, &[3]).unwrap();
    for number in 0..1200 {
        let gone = context.stream().unwrap();
        let by = setting.by.slice_axis(0, number..=number).unwrap();
        let put = y.view_mut().put(
            &gone,
            &by,
            &setting.x.slice_axis(0, ..1).unwrap(),
            0,
            OutOfRange::Error,
            Repeats::Last,
        );
        put.unwrap();
    }
    let mut all = Vec::new();
    while let Some(value) = told(y.to_vec(&main).map(drop)) {
        all.push(value);
    }
    assert!(all.len() >= 64 && all.is_sorted(), "{}", all.len());
    all.extend(listed(&context));
    all.extend(told_by(&main));
    all.sort_unstable();
    assert_eq!(all, range(0..1200));
}

#[test]
fn mapped_memory_is_read_after_its_errors_were_told() {
    let context = context();
    let main = context.stream().unwrap();
    let setting = Setting::new(&main);
    let mut mapped = MappedArray::<u8, _>::zeros(&context, &[1]).unwrap();
    let gone = context.stream().unwrap();
    let by = setting.by.slice_axis(0, ..1).unwrap();
    setting.x.view().take_into(&gone, &by, 0, OutOfRange::Error, &mut mapped.view_mut()).unwrap();
    let end = gone.record().unwrap();
    drop(gone);
    while !end.query().unwrap() {}
    drop(end);
    drop(context.stream().unwrap());
    assert_eq!(told(mapped.host().map(drop)), Some(100));
    assert_eq!(mapped.host().unwrap(), [0]);
    assert_eq!(listed(&context), NONE);
}

#[test]
fn a_context_that_ends_leaves_nothing_with_its_device() {
    let device = MockDevice::new();
    for _ in 0..3 {
        let context = Context::new(device.clone()).unwrap();
        let main = context.stream().unwrap();
        let setting = Setting::new(&main);
        let event = {
            drop(setting.fail(&main, 1));
            main.record().unwrap()
        };
        while !event.query().unwrap() {}
    }
    assert_eq!(device.report().findings, []);
}

/// The least time of several attempts.
fn least(mut f: impl FnMut()) -> Duration {
    let once = |()| {
        let start = Instant::now();
        f();
        start.elapsed()
    };
    [(); 3].map(once).into_iter().min().unwrap()
}

/// Prints what is told of in the change log: `cargo test --release -p devarray --test ordering index_errors
/// -- --ignored --nocapture`.
#[test]
#[ignore = "prints times"]
fn times() {
    for failures in [500, 1000, 2000, 4000] {
        let context = context();
        let main = context.stream().unwrap();
        let setting = Setting::new(&main);
        (0..failures).for_each(|number| drop(setting.fail(&main, number)));
        let start = Instant::now();
        let told = told_by(&main).len();
        println!("{failures} failures on a living stream: {told} told by waits in {:?}", start.elapsed());
    }
    let context = context();
    let main = context.stream().unwrap();
    let setting = Setting::new(&main);
    for streams in [0, 100, 200, 400, 800] {
        let start = listed(&context).len();
        for number in start..streams {
            let gone = context.stream().unwrap();
            drop(setting.fail(&gone, number));
        }
        main.synchronize().unwrap();
        let open = least(|| drop(context.stream().unwrap()));
        let wait = least(|| main.synchronize().unwrap());
        println!("{streams} failures on dropped streams: a stream opens in {open:?}, a wait takes {wait:?}");
    }
    let start = Instant::now();
    println!("{} listed in {:?}", listed(&context).len(), start.elapsed());
}

/// A wait that fails while another error is reported is in the list.
#[test]
fn no_error_of_a_wait_is_lost_behind_another() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let failed = |operation| Error::Driver { backend: "mock", operation, code: 7, name: "SEVEN".into() };
    device.fail_next(Site::Synchronize, Quiesced::Ended(failed("synchronize")));
    let unwound = catch_unwind(AssertUnwindSafe(|| stream.scope(|_| resume_unwind(Box::new("on purpose")))));
    assert!(unwound.is_err());
    assert_eq!(context.take_errors(), [failed("synchronize")]);

    // A transfer that cannot be started, and whose wait then fails.
    let array = Array::<u8, _>::zeros(&stream, &[3]).unwrap();
    let pinned = context.pinned(3).unwrap();
    device.fail_next(Site::Record, failed("record"));
    device.fail_next(Site::Synchronize, Quiesced::Ended(failed("synchronize")));
    let refused = array.view().download(&stream, pinned).unwrap_err();
    assert_eq!((refused.error(), context.take_errors()), (&failed("record"), vec![failed("synchronize")]));
    // The twin: a wait that succeeds reports nothing.
    let pinned = refused.into_buffer().unwrap();
    device.fail_next(Site::Record, failed("record"));
    assert_eq!(array.view().download(&stream, pinned).unwrap_err().error(), &failed("record"));
    assert_eq!(context.take_errors(), []);
}
