//! Tests that plans fail the calls that they name and no others, and that they can be written and parsed.

use std::num::NonZeroUsize;

use devarray::{
    Array, Context, Error,
    backend::{Device as _, Quiesced, Stream as _},
};
use devarray_mock::{Explore, FaultKind, FaultPlan, MockDevice, Schedule, Site};

fn device(plan: &str) -> MockDevice {
    MockDevice::builder().faults(plan.parse().unwrap()).memory_limit_bytes(1000).build()
}

/// The numbers of the failing calls among `calls` calls of `memory`.
fn failing(device: &MockDevice, calls: usize) -> Vec<usize> {
    (0..calls).filter(|_| device.memory().is_err()).collect()
}

fn size(bytes: usize) -> NonZeroUsize {
    NonZeroUsize::new(bytes).unwrap()
}

#[test]
fn the_nth_call_and_windows_are_counted_from_nought_by_site_or_over_all() {
    for (plan, due) in [
        ("memory#0=refused", vec![0]),
        ("memory#3=refused", vec![3]),
        ("memory@2..5=refused", vec![2, 3, 4]),
        ("any#3=refused;memory#1=cancelled", vec![1, 3]),
        ("copy#0=refused", vec![]),
        ("memory%1=refused", (0..8).collect()),
        ("", vec![]),
    ] {
        assert_eq!(failing(&device(plan), 8), due, "{plan}");
    }
    // A stream is opened between the calls: if all calls are counted, the numbers of later ones are
    // higher by one.
    for (plan, due) in [("any#3=refused", true), ("memory#3=refused", false)] {
        let device = device(plan);
        assert_eq!(failing(&device, 2), [0; 0]);
        device.open_stream().unwrap();
        assert_eq!(device.memory().is_err(), due, "{plan}");
        let fired: Vec<_> = device.faults_fired().iter().map(|fired| (fired.call, fired.site)).collect();
        assert_eq!(fired, if due { vec![(3, Site::Memory)] } else { vec![] });
    }
}

#[test]
fn each_kind_fails_as_it_says() {
    let refused = device("memory#0=refused;alloc_host#0=refused");
    assert!(matches!(refused.memory(), Err(Error::Driver { operation: "memory", .. })));
    let error = refused.alloc_host(size(77)).unwrap_err();
    assert!(
        matches!(error, Error::OutOfMemory { operation: "alloc_host", requested_bytes: 77, .. }),
        "{error}"
    );
    assert!(refused.memory().is_ok() && refused.alloc_host(size(77)).is_ok());

    let ends = |kind: &str| {
        let device = device(&format!("synchronize#0={kind}"));
        let stream = device.open_stream().unwrap();
        (stream.synchronize(), stream.synchronize(), device)
    };
    assert!(matches!(ends("refused"), (Quiesced::Unknown(_), Quiesced::Done, _)));
    assert!(matches!(ends("cancelled"), (Quiesced::Ended(Error::Driver { .. }), Quiesced::Done, _)));
    let (first, second, lost) = ends("lost");
    assert!(matches!(&first, Quiesced::Ended(error) if error.is_sticky()));
    assert_eq!((first.clone(), lost.memory()), (second, Err(first.into_result().unwrap_err())));
    assert_eq!(ends("late").0, Quiesced::Done);
}

#[test]
fn what_is_torn_fails_after_its_call() {
    let device = device("alloc#1=torn");
    let stream = device.open_stream().unwrap();
    for _ in 0..2 {
        std::mem::forget(stream.alloc(size(8)).unwrap());
    }
    assert!(device.memory().is_ok(), "nothing has run yet");
    assert!(matches!(stream.synchronize(), Quiesced::Ended(Error::DeviceLost { operation: "alloc", .. })));
    assert!(matches!(device.memory(), Err(Error::DeviceLost { operation: "alloc", .. })));
    // A failing call that enqueues nothing loses the device at once.
    assert!(self::device("memory#0=torn").memory().is_err_and(|error| error.is_sticky()));
}

#[test]
fn a_torn_download_moves_some_of_its_bytes_or_none() {
    let moved: std::collections::BTreeSet<usize> = (0..50)
        .map(|seed| {
            let plan = FaultPlan::new().nth(Site::Download, 0, FaultKind::Torn);
            let device = MockDevice::builder().schedule(Schedule::Random).seed(seed).faults(plan).build();
            let context = Context::new(device).unwrap();
            let stream = context.stream().unwrap();
            let array = Array::full(&stream, &[8], 1_u8).unwrap();
            let mut host = [1; 8];
            let ended = stream.scope(|s| s.download(&array.view(), &mut host)).unwrap_err();
            assert!(ended.is_sticky());
            // When the download is enqueued, the simulator overwrites the destination with other values, so a
            // byte that is 1 was moved.
            host.into_iter().filter(|&byte| byte == 1).count()
        })
        .collect();
    assert!(moved.contains(&0) && moved.len() > 3, "{moved:?}");
}

#[test]
fn memory_is_scarce_as_the_plan_says() {
    let works = |plan: &str, sizes: &[usize]| {
        let device = device(plan);
        let stream = Context::new(device).unwrap().stream().unwrap();
        let alloc = |&bytes: &usize| Array::<u8, _>::uninit(&stream, &[bytes]).is_ok();
        sizes.iter().map(alloc).collect::<Vec<_>>()
    };
    // Each array is dropped before the next one is allocated.
    assert_eq!(works("", &[600, 600, 600]), [true; 3]);
    assert_eq!(works("budget=1200", &[600, 600, 1]), [true, true, false]);
    assert_eq!(works("hole=100", &[100, 101, 100]), [true, false, true]);
    for (plan, due) in [("", 1000), ("hold", 400)] {
        let builder = MockDevice::builder().faults(plan.parse().unwrap()).memory_limit_bytes(1000);
        let device = builder.schedule(Schedule::Eager).build();
        let stream = Context::new(device.clone()).unwrap().stream().unwrap();
        drop(Array::<u8, _>::uninit(&stream, &[600]).unwrap());
        assert_eq!(device.memory().unwrap().free_bytes, due, "{plan:?}");
        stream.synchronize().unwrap();
        assert_eq!(device.memory().unwrap().free_bytes, 1000, "waiting cures it");
    }
}

#[test]
fn chances_are_drawn_from_the_seed_and_repeated_with_the_trace() {
    let run = |schedule: Schedule, seed| {
        let plan = FaultPlan::new().one_in(4, None, FaultKind::Refused);
        let builder = MockDevice::builder().schedule(schedule).seed(seed).faults(plan).record_trace(true);
        let device = builder.build();
        (failing(&device, 400), device.trace().unwrap())
    };
    let (failed, trace) = run(Schedule::Lazy, 1);
    assert!((60..140).contains(&failed.len()), "{}", failed.len());
    assert_eq!(run(Schedule::Lazy, 1), (failed.clone(), trace.clone()));
    assert_eq!(run(Schedule::Replay(trace.clone()), 9), (failed.clone(), trace));
    assert_ne!(run(Schedule::Lazy, 2).0, failed);
}

#[test]
fn buggify_chooses_sites_for_a_run() {
    let runs: Vec<usize> = (0..100)
        .map(|seed| {
            let device = MockDevice::builder().seed(seed).faults(FaultPlan::new().buggify(2)).build();
            failing(&device, 20).len()
        })
        .collect();
    let armed = runs.iter().filter(|&&failed| failed > 0).count();
    assert!((10..45).contains(&armed), "{armed} of 100 runs");
    assert!(runs.iter().all(|&failed| failed == 0 || failed > 2), "{runs:?}");
}

#[test]
fn exploring_with_chances_finds_what_fails_with_them() {
    let explore = Explore::new().schedules(200).faults("any%30=refused".parse().unwrap());
    // Planned failures make calls fail, so a program must not unwrap their results.
    let failure = explore.run(|device| Context::new(device).unwrap()).unwrap_err();
    let text = failure.to_string();
    assert!(text.contains("planned failure") && text.contains("any%30=refused"), "{text}");
    assert_eq!(failure.trace.choices().iter().sum::<usize>(), 1, "one failure is enough: {text}");
    assert_eq!(explore.run(|device| Context::new(device).map(drop).is_ok()), Ok(203));
}

#[test]
fn plans_are_written_and_read() {
    let text = "copy#3=refused;any#7=lost;upload@2..5=torn;any%50=cancelled;query#0=late;buggify%20;budget=4096;hole=1024;hold";
    let plan: FaultPlan = text.parse().unwrap();
    assert_eq!(plan.to_string(), text);
    let built = FaultPlan::new()
        .nth(Site::Copy, 3, FaultKind::Refused)
        .nth(None, 7, FaultKind::Lost)
        .window(Site::Upload, 2..5, FaultKind::Torn)
        .one_in(50, None, FaultKind::Cancelled)
        .nth(Site::Query, 0, FaultKind::Late)
        .buggify(20)
        .budget_bytes(4096)
        .hole_bytes(1024)
        .hold_freed();
    assert_eq!(built, plan);
    for site in Site::all() {
        assert_eq!(site.name().parse(), Ok(site));
    }
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_with_rule_and_field() {
    for (text, due) in [
        (
            "hold;copy",
            "rule 2 of the plan, \"copy\": it has no \"=\", and is neither \"hold\" nor \"buggify%N\"",
        ),
        ("copy=lost", "rule 1 of the plan, \"copy=lost\": \"copy\" does not say which calls"),
        ("cpoy#1=lost", "\"cpoy\" is no site: any, memory, open_stream, alloc_host"),
        ("copy#1=broken", "\"broken\" is no kind of fault: refused, cancelled, lost, torn, late"),
        ("copy#-1=lost", "call \"-1\" is not a number"),
        ("copy@5..5=lost", "window \"5..5\" has no call in it"),
        ("copy@5=lost", "window \"5\" is not FROM..TO"),
        ("copy@a..5=lost", "first call \"a\" is not a number"),
        ("copy%0=lost", "a call cannot fail once in 0 times"),
        ("buggify%x", "chance \"x\" is not a number"),
        ("budget=-3", "budget \"-3\" is not a number"),
        ("hole=", "hole \"\" is not a number"),
    ] {
        let error = text.parse::<FaultPlan>().unwrap_err().to_string();
        assert!(error.contains(due), "{text}: {error}");
    }
}
