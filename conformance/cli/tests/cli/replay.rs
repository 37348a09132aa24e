//! Tests `replay`: the programs of the repository get their verdicts, a wrong expectation fails, a
//! malformed program is named, and a trace shows the timeline.

use std::{
    fs,
    path::{Path, PathBuf},
};

use devarray_conformance::trace_events;
use serde_json::{Value, json};

use crate::run::{Finished, devarray};

fn golden_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/programs.jsonl")
}

fn replay(options: &[&str], lines: &[Value]) -> Finished {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("programs.jsonl");
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(&path, text.join("\n")).unwrap();
    let arguments = ["replay"].into_iter().chain(options.iter().copied()).map(AsRef::as_ref);
    devarray(arguments.chain([path.as_os_str()]))
}

/// A program in which another stream reads after an event that was recorded too early.
fn racy() -> Value {
    json!({"id": "early", "buffers": [{"id": "b", "bytes": 16, "init": true}], "hosts": [{"id": "h", "bytes": 16}],
        "streams": 2, "events": 1, "ops": [
            {"do": "record", "stream": 0, "event": 0},
            {"do": "fill", "stream": 0, "buf": "b", "off": 4, "len": 8, "value": 1},
            {"do": "wait", "stream": 1, "event": 0},
            {"do": "download", "stream": 1, "src": "b", "src_off": 0, "host": "h", "host_off": 0, "len": 8},
            {"do": "sync_device"}],
        "expect": {"verdict": "error", "kind": "race", "op": 3, "with": [1]}})
}

#[test]
fn every_program_of_the_repository_gets_its_verdict() {
    let finished =
        devarray(["replay".as_ref(), "--schedules".as_ref(), "2".as_ref(), golden_file().as_os_str()]);
    let finished = finished.succeeded();
    assert_eq!(finished.stdout.lines().count(), 1001);
    assert_eq!(finished.stdout.lines().last(), Some("1000 passed, 0 failed"));
}

#[test]
fn a_verdict_is_a_line_of_json_and_explained_on_request() {
    let finished = replay(&["--explain"], &[racy()]).succeeded();
    let lines: Vec<&str> = finished.stdout.lines().collect();
    let verdict: Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(verdict, json!({"id": "early", "verdict": "error", "kind": "race", "op": 3, "with": [1]}));
    assert_eq!(lines[1], "  error[DA01]: write/read race on buffer 0.0, bytes 0x4..0x8 of 0x10");
    for part in [
        "op#1 {\"do\":\"fill\"",
        "op#3 {\"do\":\"download\"",
        "no happens-before path #1 → #3",
        "nearest miss: stream 1 waited at op#2 for the event of op#0, recorded before #1",
        "help: record an event on stream 0 after #1",
        "witness: schedule ",
    ] {
        assert!(finished.stdout.contains(part), "{part}: {}", finished.stdout);
    }
    assert_eq!(lines.last(), Some(&"1 passed, 0 failed"));
}

#[test]
fn without_an_expectation_there_is_a_verdict_and_no_count() {
    let mut program = racy();
    program.as_object_mut().unwrap().remove("expect");
    let finished = replay(&[], &[program]).succeeded();
    assert_eq!(finished.stdout.lines().count(), 1);
}

#[test]
fn another_verdict_than_expected_fails() {
    for (field, value) in
        [("kind", json!("overlap")), ("op", json!(1)), ("with", json!([0])), ("with", json!([]))]
    {
        let mut program = racy();
        program["expect"][field] = value;
        let finished = replay(&[], &[racy(), program]);
        assert_eq!(finished.status, 1, "{field}");
        assert_eq!(finished.stdout.lines().last(), Some("1 passed, 1 failed"), "{field}");
    }
}

#[test]
fn a_malformed_program_is_named_with_its_line_and_field() {
    let change = |edit: fn(&mut Value)| {
        let mut program = racy();
        edit(&mut program);
        program
    };
    let cases: [(Value, &str); 9] = [
        (change(|p| p["ops"][1]["stream"] = json!(7)), "ops[1].stream: 7, but there are 2"),
        (change(|p| p["ops"][1]["len"] = json!(0)), "ops[1].len: must be at least 1"),
        (change(|p| p["ops"][1]["buf"] = json!("x")), "ops[1].buf: nothing is called \"x\" here"),
        (change(|p| p["ops"][1]["value"] = json!(256)), "ops[1].value: invalid value"),
        (change(|p| p["ops"][1]["do"] = json!("flush")), "ops[1].do: no operation is called \"flush\""),
        (change(|p| drop(p["ops"][3].as_object_mut().unwrap().remove("len"))), "ops[3].len: is missing"),
        (change(|p| p["buffers"][0]["bytes"] = json!(-1)), "buffers[0].bytes: invalid value"),
        (
            change(|p| p["hosts"] = json!([{"id": "h", "bytes": 1}, {"id": "h", "bytes": 1}])),
            "hosts[1].id: there is",
        ),
        (json!([1]), "not a list"),
    ];
    for (program, due) in cases {
        let finished = replay(&[], &[racy(), program]);
        assert_eq!(finished.status, 2, "{due}");
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
        let named = finished.stderr.contains("programs.jsonl:2: ") && finished.stderr.contains(due);
        assert!(named, "{due}: {}", finished.stderr);
    }
}

/// `--trace` shows first the wrong program, and then its correct twin.
#[test]
fn a_trace_shows_each_program_and_marks_the_wrong_one() {
    let mut right = racy();
    right["id"] = json!("right");
    right["ops"].as_array_mut().unwrap().swap(0, 1);
    right.as_object_mut().unwrap().remove("expect");
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace.json");
    let option = trace.to_str().unwrap();
    let plain = replay(&[], &[racy(), right.clone()]).succeeded();
    let traced = replay(&["--trace", option], &[racy(), right]).succeeded();
    assert_eq!(plain.stdout, traced.stdout);

    let events = trace_events(&fs::read(&trace).unwrap()).unwrap();
    let processes = events.iter().filter(|event| event.name == "process_name");
    let names: Vec<_> = processes.map(|event| event.args.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["early on mock: schedule ReverseLazy", "right on mock: schedule Eager"]);
    let marked = events.iter().filter(|event| event.is_of("finding") && event.ph == "X");
    let marked: Vec<_> = marked.map(|span| (span.pid, span.name.as_str(), span.args.op)).collect();
    assert_eq!(marked, [(0, "download", Some(3)), (0, "fill", Some(1))]);
    let edges = events.iter().filter(|event| event.ph == "s" && event.is_of("event") && event.tid == 1);
    assert!(
        edges.map(|start| start.pid).eq([0, 0, 1]),
        "of each event to the stream, of the fill to the host"
    );
    for span in events.iter().filter(|event| event.is_of("device")) {
        let note = span.args.note.as_deref().unwrap();
        assert!(note.starts_with(&format!("{{\"do\":\"{}\"", span.name)), "{note}");
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error_and_one_cut_short_is_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("missing/trace.json");
    let finished = replay(&["--trace", nowhere.to_str().unwrap()], &[racy()]);
    assert_eq!((finished.status, finished.stderr.contains("missing/trace.json")), (2, true));
    replay(&["--trace", "-"], &[racy()]).refused(&["--trace: standard output has the verdicts"]);
    let trace = directory.path().join("trace.json");
    let finished = replay(&["--trace", trace.to_str().unwrap()], &[racy(), json!([1])]);
    assert_eq!((finished.status, fs::read_dir(directory.path()).unwrap().count()), (2, 0));
}

#[test]
fn lints_are_told_on_request() {
    let mut program = racy();
    program["ops"] = json!([
        {"do": "record", "stream": 0, "event": 0},
        {"do": "wait", "stream": 0, "event": 0},
        {"do": "sync_device"},
    ]);
    program.as_object_mut().unwrap().remove("expect");
    assert_eq!(replay(&["--explain"], &[program.clone()]).succeeded().stdout.lines().count(), 1);
    let told = replay(&["--lints"], &[program]).succeeded().stdout;
    let due = [
        "  lint[DA28]: the stream waits for what it comes after already",
        "    op#0 {",
        "    op#1 {\"do\":\"wait\"",
    ];
    for (line, due) in told.lines().skip(1).zip(due) {
        assert!(line.starts_with(due), "{told}");
    }
}

/// Pinned memory and streams of the library behave alike on every machine, so the verdicts are alike,
/// too.
#[test]
fn every_profile_gives_the_programs_of_the_repository_their_verdicts() {
    let lines = fs::read_to_string(golden_file()).unwrap();
    let some: Vec<Value> = lines.lines().step_by(7).map(|line| serde_json::from_str(line).unwrap()).collect();
    for profile in ["strict", "cuda12-discrete", "coherent-host", "legacy", "ptds"] {
        let finished = replay(&["--schedules", "1", "--profile", profile], &some).succeeded();
        assert_eq!(finished.stdout.lines().last(), Some(format!("{} passed, 0 failed", some.len()).as_str()));
    }
}

#[test]
fn a_profile_that_there_is_not_is_refused_with_the_names_of_those_there_are() {
    let finished = replay(&["--profile", "cuda13"], &[racy()]);
    assert_eq!(finished.status, 2);
    assert!(finished.stderr.contains("cuda12-discrete, coherent-host, legacy, ptds"), "{}", finished.stderr);
}
