//! The variable that a failure prints repeats its run in a new process. A malformed value gives
//! one clear message. Each test runs this file again as a child process, which runs one of the
//! ignored tests.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "common/impatient.rs"]
mod impatient;

use std::{
    env,
    ffi::OsStr,
    process::{Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
};

use devarray::Context;
use devarray_mock::{Explore, explore, sweep};

use impatient::impatient;

const VARIABLE: &str = "DEVARRAY_REPLAY";

static RUNS: AtomicU64 = AtomicU64::new(0);

#[test]
#[ignore = "fails on purpose: run by the other tests of this file"]
fn child_explores() {
    explore(0, 50, |device| {
        println!("run {}", RUNS.fetch_add(1, Ordering::Relaxed));
        impatient(device);
    });
}

#[test]
#[ignore = "fails on purpose: run by the other tests of this file"]
fn child_sweeps() {
    sweep(|device| {
        println!("run {}", RUNS.fetch_add(1, Ordering::Relaxed));
        // The error is unwrapped. A program in a sweep must not do that.
        Context::new(device).unwrap();
        Ok::<_, devarray::Error>(())
    });
}

/// The output of a child test, with or without the variable.
fn child(test: &str, variable: Option<&OsStr>) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture"]).stdin(Stdio::null()).env_remove(VARIABLE);
    command.envs(variable.map(|value| (VARIABLE, value)));
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    text.concat()
}

/// The value of the variable on the line that repeats a run, as a shell reads it.
fn value(text: &str) -> String {
    let rest = text.split_once("replay: DEVARRAY_REPLAY=").unwrap().1;
    rest.split(" cargo test").next().unwrap().trim_matches('\'').to_owned()
}

#[test]
fn a_failing_run_is_repeated_alone() {
    for (test, message) in
        [("child_explores", "surely it is done by now"), ("child_sweeps", "planned failure")]
    {
        let first = child(test, None);
        assert!(first.contains(message) && first.contains("run 1\n"), "{first}");
        let value = value(&first);
        let again = child(test, Some(value.as_ref()));
        assert!(again.contains("run 0\n") && !again.contains("run 1\n"), "one run: {again}");
        assert!(again.contains(message) && again.contains(&value), "{again}");
    }
    // The run with harmless choices is correct, so the test passes, and no other run is made.
    let benign = child("child_explores", Some("v1:".as_ref()));
    assert!(benign.contains("1 passed") && !benign.contains("run 1\n"), "{benign}");
}

#[test]
fn a_malformed_variable_is_one_message() {
    for (value, due) in [
        ("", "DEVARRAY_REPLAY: \"\" does not begin with \"v1:\""),
        ("0.1", "DEVARRAY_REPLAY: \"0.1\" does not begin with \"v1:\""),
        ("v2:0", "DEVARRAY_REPLAY: \"v2:0\" does not begin with \"v1:\""),
        ("v1:0.x", "DEVARRAY_REPLAY: a trace is numbers with dots between, but \"x\" is not a number"),
        ("v1:-1", "DEVARRAY_REPLAY: a trace is numbers with dots between, but \"-1\" is not a number"),
        (
            "v1:99999999999999999999999",
            "DEVARRAY_REPLAY: a trace is numbers with dots between, but \"99999999999999999999999\" is not a number",
        ),
        ("v1:0:copy", "DEVARRAY_REPLAY: rule 1 of the plan, \"copy\": it has no \"=\""),
        ("v1:0:cpoy#1=lost", "\"cpoy\" is no site"),
    ] {
        let text = child("child_explores", Some(value.as_ref()));
        assert!(text.contains(due) && !text.contains("run 0\n"), "{value}: {text}");
    }
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_not_taken_for_none() {
    use std::os::unix::ffi::OsStrExt as _;

    let text = child("child_explores", Some(OsStr::from_bytes(b"v1:\xff")));
    assert!(text.contains("DEVARRAY_REPLAY: it is not text") && !text.contains("run 0\n"), "{text}");
}

/// Choices that no run of the program has are replaced by the nearest possible ones, and never make
/// the simulator panic.
#[test]
fn any_choices_can_be_replayed() {
    for choices in [vec![usize::MAX; 50], vec![7; 1000], (0..200).collect()] {
        let failure = Explore::new().replay(choices.into(), impatient);
        if let Err(failure) = failure {
            assert!(failure.to_string().contains("surely it is done by now"), "{failure}");
        }
    }
}
