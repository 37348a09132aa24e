//! Two streams never race: the promises of hazard tracking, and proofs that these programs do race
//! without it.
#![allow(unsafe_code)] // opens unchecked streams for the twins that must fail
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use devarray::{Array, Context, Error, StreamHandle};
use devarray_mock::{MockDevice, Schedule, Site};

const SEEDS: std::ops::Range<u64> = 0..300;

fn random(seed: u64) -> MockDevice {
    MockDevice::builder().schedule(Schedule::Random).seed(seed).build()
}

/// The way in which the streams under test keep order.
#[derive(Clone, Copy, PartialEq)]
enum Tracking {
    On,
    Off,
}

fn open(context: &Context<MockDevice>, tracking: Tracking) -> StreamHandle<MockDevice> {
    match tracking {
        Tracking::On => context.stream().unwrap(),
        // SAFETY: the work is left unordered on purpose; the simulator's memory makes a race show
        // as wrong bytes, not as harm.
        Tracking::Off => unsafe { context.unchecked_stream().unwrap() },
    }
}

/// Every program below gives the right result for all seeds with tracking on, and fails for some
/// seed with it off.
fn needs_tracking(program: impl Fn(MockDevice, Tracking) -> bool) {
    for seed in SEEDS {
        assert!(program(random(seed), Tracking::On), "raced with tracking on, seed {seed}");
    }
    assert!(
        SEEDS.clone().any(|seed| !program(random(seed), Tracking::Off)),
        "the program has no race to lose"
    );
}

/// Two streams read and a third writes: the writer must wait for both readers, not only for the
/// last one.
#[test]
fn a_writer_waits_for_every_reader() {
    needs_tracking(|device, tracking| {
        let context = Context::new(device).unwrap();
        let setup = context.stream().unwrap();
        let mut a = Array::full(&setup, &[64], 7_u8).unwrap();
        let nines = Array::full(&setup, &[64], 9_u8).unwrap();
        let (mut x, mut y) = (Array::zeros(&setup, &[64]).unwrap(), Array::zeros(&setup, &[64]).unwrap());
        setup.synchronize().unwrap();
        let [first, second, writer] = [(); 3].map(|()| open(&context, tracking));
        x.view_mut().copy_from(&first, &a.view()).unwrap();
        y.view_mut().copy_from(&second, &a.view()).unwrap();
        a.view_mut().copy_from(&writer, &nines.view()).unwrap();
        for stream in [&first, &second, &writer] {
            stream.synchronize().unwrap();
        }
        x.to_vec(&setup).unwrap() == [7; 64] && y.to_vec(&setup).unwrap() == [7; 64]
    });
}

#[test]
fn a_reader_waits_for_the_writer() {
    needs_tracking(|device, tracking| {
        let context = Context::new(device).unwrap();
        let setup = context.stream().unwrap();
        let mut a = Array::zeros(&setup, &[8, 8]).unwrap();
        let mut b = Array::zeros(&setup, &[8, 8]).unwrap();
        setup.synchronize().unwrap();
        let (writer, reader) = (open(&context, tracking), open(&context, tracking));
        a.view_mut().fill(&writer, 5_u16).unwrap();
        b.view_mut().copy_from(&reader, &a.view().transpose()).unwrap();
        writer.synchronize().unwrap();
        reader.synchronize().unwrap();
        b.to_vec(&setup).unwrap() == [5; 64]
    });
}

#[test]
fn a_second_writer_waits_for_the_first() {
    needs_tracking(|device, tracking| {
        let context = Context::new(device).unwrap();
        let setup = context.stream().unwrap();
        let mut a = Array::zeros(&setup, &[32]).unwrap();
        setup.synchronize().unwrap();
        let (first, second) = (open(&context, tracking), open(&context, tracking));
        a.view_mut().fill(&first, 1_u8).unwrap();
        a.view_mut().fill(&second, 2_u8).unwrap();
        first.synchronize().unwrap();
        second.synchronize().unwrap();
        a.to_vec(&setup).unwrap() == [2; 32]
    });
}

/// A free is a write: the memory may be given to another array at once.
#[test]
fn a_free_waits_for_readers_of_other_streams() {
    for seed in SEEDS {
        let device = random(seed);
        {
            let context = Context::new(device.clone()).unwrap();
            let (home, reader) = (context.stream().unwrap(), context.stream().unwrap());
            let a = Array::full(&home, &[64], 3_u8).unwrap();
            let mut b = Array::zeros(&reader, &[64]).unwrap();
            b.view_mut().copy_from(&reader, &a.view()).unwrap();
            drop(a); // on `home`, which has not waited for `reader`
            let mut c = Array::uninit(&home, &[64]).unwrap(); // may get the same memory
            c.view_mut().fill(&home, 8_u8).unwrap();
            assert_eq!(b.to_vec(&reader).unwrap(), [3; 64], "seed {seed}");
            assert_eq!(c.to_vec(&home).unwrap(), [8; 64], "seed {seed}");
        }
        assert!(device.report().is_clean(), "seed {seed}: {}", device.report());
    }
}

/// A dropped stream leaves its work behind, and others must still wait for that work.
#[test]
fn work_of_a_dropped_stream_is_still_waited_for() {
    for seed in SEEDS {
        let device = random(seed);
        {
            let context = Context::new(device.clone()).unwrap();
            let (gone, kept) = (context.stream().unwrap(), context.stream().unwrap());
            let a = Array::full(&gone, &[16], 6_u64).unwrap();
            let mut b = Array::uninit(&gone, &[16]).unwrap();
            b.view_mut().copy_from(&gone, &a.view()).unwrap();
            drop(gone); // home of both
            drop(a);
            assert_eq!(b.to_vec(&kept).unwrap(), [6; 16], "seed {seed}");
            let reopened = context.stream().unwrap(); // may take the place of the dropped one
            b.view_mut().fill(&reopened, 1).unwrap();
            assert_eq!(b.to_vec(&kept).unwrap(), [1; 16], "seed {seed}");
            drop(b);
            assert_eq!(context.take_errors(), []);
        }
        assert!(device.report().is_clean(), "seed {seed}: {}", device.report());
    }
}

/// Order is transitive: c waits for b, which waited for a.
#[test]
fn a_chain_over_three_streams_is_in_order() {
    needs_tracking(|device, tracking| {
        let context = Context::new(device).unwrap();
        let setup = context.stream().unwrap();
        let mut arrays = [(); 4].map(|()| Array::<u32, _>::zeros(&setup, &[5]).unwrap());
        setup.synchronize().unwrap();
        arrays[0].view_mut().fill(&open(&context, tracking), 11).unwrap();
        for k in 0..3 {
            let [src, dst] = arrays.get_disjoint_mut([k, k + 1]).unwrap();
            dst.view_mut().copy_from(&open(&context, tracking), &src.view()).unwrap();
        }
        arrays[3].to_vec(&open(&context, tracking)).unwrap() == [11; 5]
    });
}

#[test]
fn one_stream_needs_no_events_and_no_waits() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let stream = context.stream().unwrap();
    let a = Array::full(&stream, &[16], 1_u32).unwrap();
    let mut b = Array::zeros(&stream, &[16]).unwrap();
    for _ in 0..100 {
        b.view_mut().copy_from(&stream, &a.view()).unwrap();
        let _temporary = Array::full(&stream, &[3], 2_u8).unwrap();
    }
    drop((a, b));
    let ran = device.statistics().enqueued;
    assert_eq!((ran.records, ran.waits), (0, 0), "{ran:?}");
}

/// A copy that is refused because of its source has not touched its destination.
#[test]
fn what_is_refused_leaves_no_note() {
    let context = Context::new(MockDevice::new()).unwrap();
    let (writer, home) = (context.stream().unwrap(), context.strict_stream().unwrap());
    let strict = context.strict_stream().unwrap();
    let src = Array::<u32, _>::zeros(&writer, &[8]).unwrap();
    let mut dst = Array::<u32, _>::zeros(&home, &[8]).unwrap();
    strict.wait(&home.record().unwrap()).unwrap();
    let refused = dst.view_mut().copy_from(&strict, &src.view()).err();
    assert!(matches!(refused, Some(Error::Hazard { .. })), "{refused:?}");
    dst.view_mut().fill(&home, 1).unwrap(); // strict: refuses what the other stream has touched
    // If it had not been refused, the wait would show the fill.
    strict.wait(&writer.record().unwrap()).unwrap();
    strict.wait(&home.record().unwrap()).unwrap();
    dst.view_mut().copy_from(&strict, &src.view()).unwrap();
    assert!(matches!(dst.view_mut().fill(&home, 2), Err(Error::Hazard { .. })));
}

/// Halves along the outer axis, halves along the inner axis, and every second element: on two
/// streams without an edge between them.
#[test]
fn disjoint_parts_do_not_wait_for_each_other() {
    for (axis, step) in [(0, 1), (1, 1), (1, 2)] {
        let device = MockDevice::new();
        let context = Context::new(device.clone()).unwrap();
        let (left, right) = (context.strict_stream().unwrap(), context.strict_stream().unwrap());
        let mut a = Array::<f32, _>::zeros(&left, &[6, 8]).unwrap();
        right.wait(&left.record().unwrap()).unwrap();
        let before = device.statistics().enqueued;
        for k in 0..10_u8 {
            let mut parts = a.view_mut().array_split(axis, 2).unwrap();
            let (mut x, mut y) = (parts.next().unwrap(), parts.next().unwrap());
            if step == 2 {
                drop((x, y));
                let (even, odd) = interleaved(&mut a);
                (x, y) = (even, odd);
            }
            x.fill(&left, f32::from(k)).unwrap();
            y.fill(&right, -f32::from(k)).unwrap();
        }
        let after = device.statistics().enqueued;
        assert_eq!((after.records, after.waits), (before.records, before.waits), "axis {axis} step {step}");
    }
}

/// Even and odd columns: the halves of the last axis of a view that has the parity as an axis.
fn interleaved<'a>(
    a: &'a mut Array<f32, MockDevice>,
) -> (devarray::ArrayViewMut<'a, f32, MockDevice>, devarray::ArrayViewMut<'a, f32, MockDevice>) {
    let pairs = a.view_mut().reshape(&[6, 4, 2], devarray::Order::C).unwrap();
    let mut parts = pairs.array_split(2, 2).unwrap();
    (parts.next().unwrap(), parts.next().unwrap())
}

#[test]
fn what_the_host_waited_for_needs_no_wait_on_the_device() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let (s, t) = (context.stream().unwrap(), context.strict_stream().unwrap());
    let mut a = Array::full(&s, &[4], 1_i64).unwrap();
    s.synchronize().unwrap();
    a.view_mut().fill(&t, 2).unwrap(); // strict: refuses unless it knows that the parts are disjoint
    let event = t.record().unwrap();
    event.synchronize().unwrap();
    assert!(event.query().unwrap());
    let strict = context.strict_stream().unwrap();
    a.view_mut().fill(&strict, 3).unwrap();
    assert_eq!(device.statistics().enqueued.waits, 0);
}

#[test]
fn a_strict_stream_refuses_instead_of_waiting_and_names_the_hazard() {
    let context = Context::new(MockDevice::new()).unwrap();
    let (s, strict) = (context.stream().unwrap(), context.strict_stream().unwrap());
    let mut a = Array::full(&s, &[4], 1_u32).unwrap();
    let refused = a.view_mut().fill(&strict, 2).unwrap_err();
    let Error::Hazard { backend: "mock", operation: "fill", hazard } = &refused else { panic!("{refused}") };
    assert!(hazard.write && hazard.stream == s.number() && (hazard.start_byte, hazard.end_byte) == (0, 16));
    assert_eq!(
        refused.to_string(),
        format!(
            "mock: fill: conflicts with an earlier write of bytes 0..16 on stream {}: wait for an event of that stream first",
            s.number()
        )
    );
    strict.wait(&s.record().unwrap()).unwrap();
    a.view_mut().fill(&strict, 2).unwrap();
    strict.synchronize().unwrap();
    assert_eq!(a.to_vec(&s).unwrap(), [2; 4]);
}

#[test]
fn streams_come_and_go_without_the_timeline_growing() {
    let context = Context::new(MockDevice::new()).unwrap();
    let keep = context.stream().unwrap();
    let mut a = Array::zeros(&keep, &[4]).unwrap();
    for k in 0..200_u32 {
        let stream = context.stream().unwrap();
        a.view_mut().fill(&stream, k).unwrap();
        stream.synchronize().unwrap();
        assert!(stream.number() < 5, "stream {k} has number {}", stream.number());
    }
    assert_eq!(a.to_vec(&keep).unwrap(), [199; 4]);
}

/// However many disjoint parts of one array are in flight, a strict stream refuses none of them.
/// While the parts are few enough to be tracked one by one, it refuses each one that overlaps.
#[test]
fn disjoint_parts_are_never_a_hazard_however_many() {
    for parts in [2, 9, 60, 300] {
        let device = MockDevice::new();
        let context = Context::new(device.clone()).unwrap();
        let (one, two) = (context.strict_stream().unwrap(), context.strict_stream().unwrap());
        let mut array = Array::<u32, _>::zeros(&one, &[4 * parts]).unwrap();
        two.wait(&one.record().unwrap()).unwrap();
        for (k, mut part) in array.view_mut().split(4).unwrap().enumerate() {
            let stream = if k % 2 == 0 { &one } else { &two };
            part.fill(stream, u32::try_from(k).unwrap()).unwrap();
        }
        if parts < 60 {
            let first = array.view_mut().split(4).unwrap().next().unwrap().fill(&two, 9).unwrap_err();
            assert!(matches!(first, Error::Hazard { .. }), "{first}");
        }
        two.synchronize().unwrap();
        one.wait(&two.record().unwrap()).unwrap();
        let due: Vec<u32> = (0..4 * u32::try_from(parts).unwrap()).map(|at| at / 4).collect();
        assert_eq!(array.to_vec(&one).unwrap(), due);
        assert!(device.first_finding().is_none());
    }
}

/// A writer that came after another stands for it: the next user waits for one event, not for two.
#[test]
fn who_waits_for_the_last_writer_waits_for_nobody_before() {
    let device = MockDevice::new();
    let context = Context::new(device.clone()).unwrap();
    let [first, second, third] = [(); 3].map(|()| context.stream().unwrap());
    let mut a = Array::zeros(&first, &[64]).unwrap();
    a.view_mut().fill(&first, 1_u8).unwrap();
    a.view_mut().fill(&second, 2).unwrap();
    let before = device.statistics().enqueued.waits;
    a.view_mut().fill(&third, 3).unwrap();
    assert_eq!(device.statistics().enqueued.waits, before + 1);
}

/// Where no event can be recorded, the host itself waits before a free: for an existing event, and
/// not for work that the stream received after it.
#[test]
fn a_free_without_an_event_waits_for_the_uses_of_the_memory_and_no_more() {
    let device = MockDevice::builder().schedule(Schedule::Lazy).build();
    let context = Context::new(device.clone()).unwrap();
    let [home, marked, unmarked] = [(); 3].map(|()| context.stream().unwrap());
    let x = Array::full(&home, &[8], 3_u8).unwrap();
    let (mut y, mut z) = (Array::zeros(&marked, &[8]).unwrap(), Array::zeros(&unmarked, &[8]).unwrap());
    for stream in [&home, &marked, &unmarked] {
        stream.synchronize().unwrap();
    }
    y.view_mut().copy_from(&marked, &x.view()).unwrap();
    let event = marked.record().unwrap();
    y.view_mut().fill(&marked, 4).unwrap();
    z.view_mut().copy_from(&unmarked, &x.view()).unwrap();
    let executed = || device.statistics().executed;
    let before = executed();
    let failed = Error::Driver { backend: "mock", operation: "record", code: 719, name: "FAILED".into() };
    device.fail_next(Site::Record, failed.clone());
    drop(x);
    assert_eq!(context.take_errors(), [failed]);
    assert_eq!(executed().copies.count - before.copies.count, 2, "both reads of the memory are over");
    assert_eq!(executed().fills.count, before.fills.count, "nothing waits for what comes behind the event");
    assert!(event.query().unwrap());
    assert_eq!((y.to_vec(&marked).unwrap(), z.to_vec(&unmarked).unwrap()), (vec![4; 8], vec![3; 8]));
    drop((y, z, event, home, marked, unmarked, context));
    assert!(device.report().is_clean(), "{}", device.report());
}
