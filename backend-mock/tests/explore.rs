//! Exploring finds the mistake in a program, reduces the run, and repeats it.
#![allow(unsafe_code)] // opens unchecked streams, to make the mistakes that are to be found
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "common/impatient.rs"]
mod impatient;

use devarray::{
    Array, Context,
    backend::{DownloadOp, Stream},
};
use devarray_mock::{
    Code, Explore, Failure, MockDevice, Operation, Profile, Schedule, Trace, Wrong, explore,
};

use impatient::impatient;

/// Fills on one stream and reads on another. Waits between them only if `waits` is true.
fn relay(device: MockDevice, waits: bool) -> Vec<u8> {
    let context = Context::new(device).unwrap();
    // SAFETY: deliberately not ordered if `waits` is false; the simulator defines the effect.
    let one = unsafe { context.unchecked_stream() }.unwrap();
    // SAFETY: as above.
    let two = unsafe { context.unchecked_stream() }.unwrap();
    let mut array = Array::zeros(&one, &[16]).unwrap();
    one.synchronize().unwrap();
    array.view_mut().fill(&one, 7_u8).unwrap();
    if waits {
        two.wait(&one.record().unwrap()).unwrap();
    }
    let bytes = array.to_vec(&two).unwrap();
    // The array's own stream frees it.
    one.wait(&two.record().unwrap()).unwrap();
    bytes
}

#[test]
fn a_right_program_is_right_under_every_schedule() {
    explore(3, 40, |device| assert_eq!(relay(device, true), [7; 16]));
    assert_eq!(Explore::new().schedules(5).run(|device| relay(device, true)), Ok(8));
}

#[test]
fn a_missing_wait_is_found_at_once_and_told_in_full() {
    let failure = Explore::new().run(|device| relay(device, false)).unwrap_err();
    let Wrong::Found(finding) = &failure.wrong else { panic!("{failure}") };
    assert_eq!((finding.code, failure.runs), (Code::Race, 0));
    let here = |operation: &Operation| operation.location.file().ends_with("tests/explore.rs");
    assert!(
        here(&finding.operation) && here(&finding.with[0].0),
        "both are named where the user called: {failure}"
    );
    let text = failure.to_string();
    assert!(text.starts_with("error[DA01]: write/read race on buffer "), "{text}");
    assert!(text.contains("\n  replay: DEVARRAY_REPLAY=v1: cargo test "), "the benign run shows it: {text}");
}

/// A finding names a schedule in which the operations run in the wrong order, and under that schedule
/// they do.
#[test]
fn a_finding_comes_with_a_schedule_that_acts_it_out() {
    let failure = Explore::new().run(|device| relay(device, false)).unwrap_err();
    let Wrong::Found(finding) = &failure.wrong else { panic!("{failure}") };
    let (later, earlier) = (finding.operation.number, finding.with[0].0.number);
    let due = format!(": #{later} did not wait for #{earlier}");
    let witness = finding.notes.iter().find(|note| note.starts_with("witness: schedule Lazy ran ["));
    assert!(witness.is_some_and(|note| note.ends_with(&due)), "{failure}");

    let device = MockDevice::builder().schedule(Schedule::Lazy).record_order(true).build();
    assert_ne!(relay(device.clone(), false), [7; 16]);
    device.finish();
    let order = device.order().unwrap();
    let place = |number| order.iter().position(|&ran| ran == number).unwrap();
    assert!(place(later) < place(earlier), "{order:?}");
}

#[test]
fn what_only_some_schedules_show_is_found_made_small_and_repeated() {
    let failure = Explore::new().run(impatient).unwrap_err();
    assert_eq!(failure.wrong, Wrong::Panicked("surely it is done by now".to_owned()));
    assert!(failure.runs > 0, "an eager device is done");
    let evil: Vec<usize> =
        (0..failure.trace.choices().len()).filter(|&at| failure.trace.choices()[at] != 0).collect();
    assert!(!evil.is_empty() && evil.len() < 10, "{failure}");
    for at in evil {
        let mut fewer = failure.trace.choices().to_vec();
        fewer[at] = 0;
        assert_eq!(Explore::new().replay(fewer.into(), impatient), Ok(1), "choice {at} is needed");
    }

    let line = failure.to_string();
    let replay = line.split("DEVARRAY_REPLAY=").nth(1).unwrap().split(' ').next().unwrap();
    let again = Explore::new().replay(replay.parse::<Failure>().unwrap().trace, impatient).unwrap_err();
    assert_eq!((again.wrong, again.trace.choices()), (failure.wrong.clone(), failure.trace.choices()));
    assert_eq!(Explore::new().replay(Trace::default(), impatient), Ok(1), "the benign run is right");
    assert_eq!(Explore::new().run(impatient).unwrap_err(), failure, "the same again");
    assert!(line.contains("schedule Lazy, after 1 runs that were right"), "{line}");
}

#[test]
fn a_leak_is_found() {
    let failure = Explore::new().run(|device| {
        let context = Context::new(device).unwrap();
        std::mem::forget(Array::<u8, _>::zeros(&context.stream().unwrap(), &[5]).unwrap());
    });
    let failure = failure.unwrap_err();
    assert!(matches!(failure.wrong, Wrong::Leaked(_)), "{failure}");
    assert!(failure.to_string().contains("leaked buffer"), "{failure}");
}

#[test]
#[should_panic(expected = "error[DA01]")]
fn the_short_form_panics_like_a_test() {
    explore(0, 1, |device| relay(device, false));
}

#[test]
fn malformed_replays_say_what_is_wrong() {
    let error = |text: &str| text.parse::<Failure>().unwrap_err().to_string();
    assert_eq!(error("0.1"), "\"0.1\" does not begin with \"v1:\"");
    assert!(error("v1:0.x").contains("\"x\" is not a number"));
    assert_eq!(error("v2:0"), "\"v2:0\" does not begin with \"v1:\"");
    assert_eq!(error("v1legacy:0"), "\"v1legacy:0\" does not begin with \"v1:\"");
    assert!(error("v1+new:0").contains("there is no profile \"new\", only strict, "));
}

/// The test of shrinking relies on this: only under an eager schedule is the work done at once.
#[test]
fn a_lazy_device_is_not_done_at_once() {
    let device = MockDevice::builder().schedule(Schedule::Lazy).build();
    assert!(std::panic::catch_unwind(|| impatient(device)).is_err());
}

/// Downloads to memory that is not pinned, and reads it at once, without a call that the judge notices.
fn looks_at_once(device: MockDevice) {
    let stream = Context::new(device).unwrap().stream().unwrap();
    let array = Array::full(&stream, &[8], 7_u8).unwrap();
    let view = array.view();
    let memory: &'static mut [u8; 8] = Box::leak(Box::new([0; 8]));
    let start = memory.as_mut_ptr();
    // SAFETY: in bounds, and the memory is never freed.
    let op = unsafe { DownloadOp::new_unchecked(view.buffer().unwrap(), 0, start, 8) };
    stream.raw().download(&op).unwrap();
    // SAFETY: inside the memory; operations run only inside calls.
    assert_eq!(unsafe { start.read() }, 7, "surely the copy waited");
    stream.synchronize().unwrap();
}

#[test]
fn what_only_some_profiles_allow_is_told_with_their_names() {
    let all = Explore::new().schedules(10).profiles(Profile::ALL);
    let failure = all.run(looks_at_once).unwrap_err();
    assert!(matches!(failure.wrong, Wrong::Panicked(_)), "{failure}");
    assert_eq!((failure.profile, failure.right_under), (Profile::Strict, [Profile::Cuda12Discrete].into()));
    let due = "\n  under profile strict; nothing is wrong under cuda12-discrete: it relies on what some machines do";
    assert!(failure.to_string().contains(due), "{failure}");
    // Every other profile shows the same mistake, and the line that repeats it names the profile.
    let others = [Profile::CoherentHost, Profile::Legacy, Profile::PerThread];
    for profile in others {
        let failure = all.clone().profiles([profile]).run(looks_at_once).unwrap_err();
        assert_eq!(failure.profile, profile);
        let text = failure.to_string();
        let line = text.split("DEVARRAY_REPLAY=").nth(1).unwrap().split(' ').next().unwrap();
        assert!(line.starts_with(&format!("v1+{profile}:")), "{text}");
        let named: Failure = line.parse().unwrap();
        assert_eq!(named.profile, profile);
        let again = Explore::new().profiles([named.profile]).replay(named.trace, looks_at_once).unwrap_err();
        assert_eq!(again.wrong, failure.wrong);
    }
    // The twins: under a profile where the copy blocks, nothing is wrong; and a correct program is correct under
    // all profiles.
    assert_eq!(all.clone().profiles([Profile::Cuda12Discrete]).run(looks_at_once), Ok(13));
    assert_eq!(all.run(|device| relay(device, true)), Ok(5 * 13));
}
