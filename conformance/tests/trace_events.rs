//! The reader of traces accepts what the library writes, and refuses each way in which a trace can
//! be wrong.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::time::Duration;

use devarray::timeline::{Arrow, ArrowKind, Mark, Span, SpanId, Timeline, Track, TrackKind};
use devarray_conformance::trace_events;
use serde_json::{Value, json};

const fn ns(ns: u64) -> Duration {
    Duration::from_nanos(ns)
}

/// A call of the host, a record, and a wait that is part of a finding.
fn timeline() -> Timeline {
    let mut timeline = Timeline::new("sample");
    let mut host = Track::new(TrackKind::Host, "host");
    host.spans = vec![Span::new("record", 0, ns(0)..ns(100)), Span::new("wait", 1, ns(100)..ns(201))];
    let idle = Track::new(TrackKind::Device, "stream 0");
    let (mut one, mut two) = (idle.clone(), Track::new(TrackKind::Device, "stream 1"));
    one.spans = vec![Span::new("record", 0, ns(150)..ns(250))];
    let mut wait = Span::new("wait", 1, ns(201)..ns(1300));
    (wait.bytes, wait.finding) = (Some(8), Some("DA01".to_owned()));
    two.spans = vec![wait];
    two.marks = vec![Mark::new("DA01", ns(201), "a race")];
    timeline.tracks = vec![host, idle, one, two];
    let id = |track, span| SpanId { track, span };
    timeline.arrows = vec![
        Arrow::new(ArrowKind::Enqueue, id(0, 0), id(2, 0)),
        Arrow::new(ArrowKind::Event, id(2, 0), id(3, 0)),
        // Back in time, and to what is not there: both are left out.
        Arrow::new(ArrowKind::Event, id(3, 0), id(0, 0)),
        Arrow::new(ArrowKind::Event, id(3, 0), id(3, 1)),
    ];
    timeline
}

fn written() -> Value {
    let mut json = Vec::new();
    timeline().write_json(&mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

#[test]
fn a_timeline_is_written_as_described() {
    let track = |tid: usize, name: &str| {
        [
            json!({"ph": "M", "name": "thread_name", "pid": 0, "tid": tid, "args": {"name": name}}),
            json!({"ph": "M", "name": "thread_sort_index", "pid": 0, "tid": tid, "args": {"sort_index": tid}}),
        ]
    };
    let mut due =
        vec![json!({"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "sample"}})];
    due.extend([track(0, "host"), track(2, "stream 0"), track(3, "stream 1")].into_iter().flatten());
    due.extend([
        json!({"ph": "X", "name": "record", "cat": "host", "pid": 0, "tid": 0, "ts": 0.0, "dur": 0.1, "args": {"op": 0}}),
        json!({"ph": "s", "name": "enqueue", "cat": "enqueue", "pid": 0, "tid": 0, "ts": 0.0, "id": 0}),
        json!({"ph": "X", "name": "wait", "cat": "host", "pid": 0, "tid": 0, "ts": 0.1, "dur": 0.101, "args": {"op": 1}}),
        json!({"ph": "X", "name": "record", "cat": "device", "pid": 0, "tid": 2, "ts": 0.15, "dur": 0.1, "args": {"op": 0}}),
        json!({"ph": "f", "name": "enqueue", "cat": "enqueue", "pid": 0, "tid": 2, "ts": 0.15, "id": 0, "bp": "e"}),
        json!({"ph": "s", "name": "event", "cat": "event", "pid": 0, "tid": 2, "ts": 0.15, "id": 1}),
        json!({"ph": "X", "name": "wait", "cat": "device,finding", "pid": 0, "tid": 3, "ts": 0.201, "dur": 1.099,
            "cname": "terrible", "args": {"op": 1, "bytes": 8, "finding": "DA01"}}),
        json!({"ph": "i", "name": "DA01", "cat": "finding", "pid": 0, "tid": 3, "ts": 0.201, "s": "t",
            "args": {"text": "a race"}}),
        json!({"ph": "f", "name": "event", "cat": "event", "pid": 0, "tid": 3, "ts": 0.201, "id": 1, "bp": "e"}),
    ]);
    assert_eq!(written(), json!({"displayTimeUnit": "ns", "traceEvents": due}));
    let events = trace_events(written().to_string().as_bytes()).unwrap();
    assert_eq!(events.len(), due.len());
    assert_eq!((events[13].start_ns(), events[13].end_ns()), (201, 1300));
}

/// A change of the events of a right trace.
type Change = fn(&mut Vec<Value>);

#[test]
fn every_broken_rule_is_told() {
    let cases: [(&str, Change); 17] = [
        ("not an event of the form", |events| events[7]["ph"] = json!("Y")),
        ("not an event of the form", |events| drop(events[7].as_object_mut().unwrap().remove("dur"))),
        ("not an event of the form", |events| events[7]["ts"] = json!(-1.0)),
        ("not an event of the form", |events| events[7]["ts"] = json!(0.0004)),
        ("not an event of the form", |events| events[7]["cat"] = json!("gpu")),
        ("not an event of the form", |events| drop(events[13].as_object_mut().unwrap().remove("cname"))),
        ("not an event of the form", |events| drop(events[11].as_object_mut().unwrap().remove("bp"))),
        ("unknown field", |events| events[7]["color"] = json!(1)),
        ("unknown field", |events| events[7]["args"]["size"] = json!(1)),
        ("goes back in time", |events| events.swap(7, 9)),
        ("begins before the span before it ends", |events| events[7]["dur"] = json!(0.102)),
        ("ends in no span", |events| events[12]["ts"] = json!(0.251)),
        ("no two ends", |events| drop(events.remove(11))),
        ("no arrow from one to the other", |events| events[11]["name"] = json!("other")),
        ("and not marked with it", |events| drop(events.remove(14))),
        ("thread_name of", |events| drop(events.remove(1))),
        ("process_name of", |events| events[0]["pid"] = json!(1)),
    ];
    for (number, (due, change)) in cases.into_iter().enumerate() {
        let mut trace = written();
        change(trace["traceEvents"].as_array_mut().unwrap());
        let broken = trace_events(trace.to_string().as_bytes()).unwrap_err().to_string();
        assert!(broken.contains(due), "case {number}: {broken}");
    }
}
