//! Tests timelines of the simulator: every operation is on its track, waits are arrows, mistakes are
//! marked, and their correct twins are not; in a valid trace, and in the drawing of a finding.
#![allow(unsafe_code, clippy::unwrap_used)] // opens unchecked streams, where waits can be missing; helpers of tests

use std::{collections::BTreeSet, fs, path::Path};

use devarray::{Array, Context, timeline::Timeline};
use devarray_conformance::{TraceEvent, trace_events};
use devarray_mock::{Explore, Finding, MockDevice, Schedule, Wrong, program::Program};
use serde_json::{Value, json};

const FIXED: [Schedule; 3] = [Schedule::Eager, Schedule::Lazy, Schedule::ReverseLazy];

/// A run of a program: its timeline as a trace, its mistake, and the order in which
/// operations ran.
struct Run {
    timeline: Timeline,
    events: Vec<TraceEvent>,
    finding: Option<Finding>,
    order: Vec<u64>,
}

fn run(program: &Program, schedule: Schedule, seed: u64) -> Run {
    let builder =
        MockDevice::builder().schedule(schedule).seed(seed).record_order(true).record_timeline(true);
    let device = builder.build();
    let finding = program.play_on_mock(&device).unwrap().err();
    let timeline = device.timeline().unwrap();
    let mut json = Vec::new();
    timeline.write_json(&mut json).unwrap();
    let events = trace_events(&json).unwrap_or_else(|broken| panic!("{}: {broken}", program.id()));
    Run { timeline, events, finding, order: device.order().unwrap() }
}

impl Run {
    /// The spans of a track, in the order of the trace.
    fn on_track(&self, tid: usize) -> Vec<(&str, u64)> {
        let on_track = |event: &&TraceEvent| event.ph == "X" && event.tid == tid;
        let spans = self.events.iter().filter(on_track);
        spans.map(|span| (span.name.as_str(), span.args.op.unwrap())).collect()
    }

    /// The arrows of a category, from operation to operation, by the timeline.
    fn arrows(&self, category: &str) -> BTreeSet<(String, String)> {
        let end = |ph: &str, id: usize| {
            let end = self.events.iter().find(|event| event.ph == ph && event.id == Some(id)).unwrap();
            let around = |span: &&TraceEvent| {
                let (at, track) = (end.start_ns(), end.tid);
                span.ph == "X" && span.tid == track && span.start_ns() <= at && at < span.end_ns()
            };
            let span = self.events.iter().find(around).unwrap();
            format!("{} {}", span.name, span.args.op.unwrap())
        };
        let starts = self.events.iter().filter(|event| event.ph == "s" && event.is_of(category));
        starts.map(|start| (end("s", start.id.unwrap()), end("f", start.id.unwrap()))).collect()
    }

    /// The code and the track of each mark.
    fn marks(&self) -> BTreeSet<(&str, usize)> {
        let marks = self.events.iter().filter(|event| event.ph == "i");
        marks.map(|mark| (mark.name.as_str(), mark.tid)).collect()
    }

    fn coloured(&self) -> BTreeSet<u64> {
        let spans = self.events.iter().filter(|event| event.ph == "X" && event.is_of("finding"));
        spans.map(|span| span.args.op.unwrap()).collect()
    }
}

fn program(ops: &Value) -> Program {
    let line = json!({"id": "p", "buffers": [{"id": "b", "bytes": 2_000_000, "init": true}],
        "hosts": [{"id": "h", "bytes": 16}], "streams": 8, "events": 2, "ops": ops});
    Program::parse(line.to_string().as_bytes()).unwrap()
}

fn index(op: u64) -> usize {
    usize::try_from(op).unwrap()
}

fn fill(stream: usize, off: usize, len: usize) -> Value {
    json!({"do": "fill", "stream": stream, "buf": "b", "off": off, "len": len, "value": 1})
}

fn download(stream: usize) -> Value {
    json!({"do": "download", "stream": stream, "src": "b", "src_off": 0, "host": "h", "host_off": 0, "len": 8})
}

fn record(stream: usize) -> Value {
    json!({"do": "record", "stream": stream, "event": 0})
}

fn wait(stream: usize) -> Value {
    json!({"do": "wait", "stream": stream, "event": 0})
}

/// Reads after an event that was recorded too early, or in time.
fn racy(racy: bool) -> Program {
    let write = [record(0), fill(0, 4, 8)];
    let [first, second] = if racy {
        write
    } else {
        let [record, fill] = write;
        [fill, record]
    };
    program(&json!([first, second, wait(1), download(1), {"do": "sync_device"}]))
}

#[test]
fn a_race_is_marked_and_its_right_twin_is_not() {
    for schedule in FIXED {
        let wrong = run(&racy(true), schedule.clone(), 0);
        assert_eq!(wrong.marks(), [("DA01", 1), ("DA01", 2)].into(), "{schedule:?}");
        assert_eq!(wrong.coloured(), [1, 3].into());
        // The arrow begins at the operation that ran first.
        let (fill, download) = ("fill 1".to_owned(), "download 3".to_owned());
        let overtaken =
            wrong.order.iter().position(|&op| op == 3) < wrong.order.iter().position(|&op| op == 1);
        let due = if overtaken { (download, fill) } else { (fill, download) };
        assert_eq!(wrong.arrows("finding"), [due].into());

        let right = run(&racy(false), schedule, 0);
        assert_eq!((right.marks(), right.coloured()), ([].into(), [].into()));
        assert_eq!(right.arrows("finding"), [].into());
    }
}

#[test]
fn tracks_and_arrows_say_what_ran_where_and_after_what() {
    for schedule in FIXED {
        let right = run(&racy(false), schedule.clone(), 0);
        assert_eq!(right.on_track(1), [("fill", 0), ("record", 1)]);
        assert_eq!(right.on_track(2), [("wait", 2), ("download", 3)]);
        let calls = [("fill", 0), ("record", 1), ("wait", 2), ("download", 3), ("sync_stream", 4)];
        assert_eq!(right.on_track(0)[..5], calls);
        let pairs = |pairs: &[(&str, &str)]| -> BTreeSet<(String, String)> {
            pairs.iter().map(|&(from, to)| (from.to_owned(), to.to_owned())).collect()
        };
        let enqueued = ["fill 0", "record 1", "wait 2", "download 3"].map(|call| (call, call));
        assert_eq!(right.arrows("enqueue"), pairs(&enqueued));
        let events = right.arrows("event");
        assert!(events.contains(&("record 1".to_owned(), "wait 2".to_owned())), "{schedule:?}: {events:?}");
        let names: Vec<_> = right.timeline.tracks.iter().map(|track| track.name.as_str()).collect();
        assert_eq!(names[..3], ["host", "stream 0", "stream 1"]);
    }
}

/// The clock works as `Timing for MockDevice` documents it.
#[test]
fn the_clock_counts_operations_and_bytes() {
    let ops =
        json!([fill(0, 0, 1_500_000), record(0), wait(1), fill(1, 0, 1), {"do": "sync_event", "event": 0}]);
    let eager = run(&program(&ops), Schedule::Eager, 0);
    let lengths = |tid: usize| {
        let spans = eager.events.iter().filter(|event| event.ph == "X" && event.tid == tid);
        spans.map(|span| span.dur.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(lengths(1), [2.5, 0.1]);
    assert_eq!(lengths(2), [0.1, 1.0]);
    assert!(lengths(0).iter().all(|&call| (call - 0.1).abs() < 1e-9), "an eager device is never waited for");
    // One thing happens at a time: a call, then the operations that it lets run.
    let mut spans: Vec<_> = eager.events.iter().filter(|event| event.ph == "X").collect();
    spans.sort_by_key(|span| span.start_ns());
    assert!(spans.windows(2).all(|pair| pair[0].end_ns() == pair[1].start_ns()));
}

#[test]
fn a_mistake_of_the_host_is_marked_on_the_host() {
    for (synced, due) in [(false, [("DA02", 0), ("DA02", 1)].into()), (true, BTreeSet::new())] {
        let mut ops = vec![download(0)];
        ops.extend(synced.then(|| json!({"do": "sync_stream", "stream": 0})));
        ops.push(json!({"do": "host_read", "host": "h", "off": 0, "len": 8}));
        assert_eq!(run(&program(&json!(ops)), Schedule::Lazy, 0).marks(), due);
    }
}

/// An operation that was refused never ran, so the mark is on the host's call.
#[test]
fn an_operation_that_was_refused_is_marked_on_the_host() {
    let outside = run(&program(&json!([fill(0, 1_999_999, 2)])), Schedule::Eager, 0);
    assert_eq!(outside.marks(), [("DA08", 0)].into());
    let inside = run(&program(&json!([fill(0, 1_999_999, 1)])), Schedule::Eager, 0);
    assert_eq!(inside.marks(), [].into());
}

/// Plays the programs of the repository. Each operation that ran is in the timeline once, in order, and
/// operations are marked if and only if they are wrong.
#[test]
fn every_program_has_a_valid_trace_that_is_marked_if_it_is_wrong() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/golden/programs.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let schedules = FIXED.into_iter().chain([Schedule::Random]);
    let mut seen = [0, 0];
    for ((seed, line), schedule) in text.lines().enumerate().zip(schedules.collect::<Vec<_>>().iter().cycle())
    {
        let expect: Value = serde_json::from_str(line).unwrap();
        let program = Program::parse(line.as_bytes()).unwrap();
        let run = run(&program, schedule.clone(), seed as u64);
        let wrong = expect["expect"]["verdict"] == "error";
        assert_eq!((run.finding.is_some(), !run.marks().is_empty()), (wrong, wrong), "{}", program.id());
        seen[usize::from(wrong)] += 1;

        let mut spans: Vec<_> = run.events.iter().filter(|event| event.is_of("device")).collect();
        spans.sort_by_key(|span| span.end_ns());
        let ran: Vec<_> = spans.iter().map(|span| span.args.op.unwrap()).collect();
        let on_host =
            |op: &u64| matches!(expect["ops"][index(*op)]["do"].as_str(), Some("host_read" | "host_write"));
        let due: Vec<_> =
            run.order.iter().filter(|op| **op < program.len() as u64 && !on_host(op)).copied().collect();
        assert_eq!(ran, due, "{} under {schedule:?}", program.id());
        for span in spans {
            let op = &expect["ops"][index(span.args.op.unwrap())];
            let name = op["do"].as_str().unwrap().trim_end_matches("2d");
            assert_eq!((name, op["stream"].as_u64()), (span.name.as_str(), Some(span.tid as u64 - 1)));
        }
    }
    assert!(seen.iter().all(|&count| count > 300), "{seen:?}");
}

/// The timeline of user code has the lines of its calls.
#[test]
fn operations_know_the_lines_that_asked_for_them() {
    let device = MockDevice::builder().record_timeline(true).build();
    let context = Context::new(device.clone()).unwrap();
    let (one, two) = (context.stream().unwrap(), context.stream().unwrap());
    let array = Array::full(&one, &[64], 7_u8).unwrap();
    let (line, read) = (line!() + 1, || array.to_vec(&two).unwrap());
    assert_eq!(read(), [7; 64]);
    let timeline = device.timeline().unwrap();
    let downloads =
        timeline.tracks.iter().flat_map(|track| &track.spans).filter(|span| span.name == "download");
    let places: Vec<_> = downloads.map(|span| span.location.unwrap()).collect();
    assert_eq!(places.len(), 2);
    for place in places {
        assert_eq!((place.file(), place.line()), (file!(), line - 1));
    }
    assert_eq!(MockDevice::new().timeline(), None, "nothing is kept unless told");
}

/// Draws a run that `explore` found wrong, and a run of the code with the missing wait added.
#[test]
fn a_failure_of_a_users_code_is_drawn() {
    let program = |waits: bool| {
        move |device: MockDevice| {
            let context = Context::new(device).unwrap();
            // SAFETY: an event orders the read after the fill; if it does not, that is the mistake
            // to be found on the simulator.
            let [one, two] = [(); 2].map(|()| unsafe { context.unchecked_stream() }.unwrap());
            let array = Array::full(&one, &[64], 7_u8).unwrap();
            if waits {
                two.wait(&one.record().unwrap()).unwrap();
            }
            array.to_vec(&two).unwrap();
            one.synchronize().unwrap();
        }
    };
    let explore = Explore::new().schedules(4);
    let failure = explore.run(program(false)).unwrap_err();
    let marks = |timeline: &Timeline| -> BTreeSet<String> {
        timeline.tracks.iter().flat_map(|track| &track.marks).map(|mark| mark.name.clone()).collect()
    };
    let Wrong::Found(finding) = &failure.wrong else { panic!("{failure}") };
    assert!(marks(&explore.timeline(&failure, program(false))).contains(&finding.code.name()));
    assert_eq!(explore.run(program(true)), Ok(7));
    assert_eq!(marks(&explore.timeline(&failure, program(true))), BTreeSet::new());
}

#[test]
fn the_same_run_has_the_same_timeline() {
    for seed in 0..20 {
        let timeline = || run(&racy(true), Schedule::Random, seed).timeline;
        assert_eq!(timeline(), timeline());
    }
}
