//! The timeline that a finding draws: it marks both operations, shows the steps that order them,
//! and is never wider than a terminal.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray_mock::{Finding, MockDevice, program::Program};
use serde_json::{Value, json};

fn finding(ops: &Value) -> Finding {
    let line = json!({"id": "p", "buffers": [{"id": "b", "bytes": 64, "init": true}], "hosts": [{"id": "h", "bytes": 64}],
        "streams": 30, "events": 40, "ops": ops});
    let program = Program::parse(line.to_string().as_bytes()).unwrap();
    program.play_on_mock(&MockDevice::new()).unwrap().unwrap_err()
}

fn fill(stream: usize, off: usize) -> Value {
    json!({"do": "fill", "stream": stream, "buf": "b", "off": off, "len": 4, "value": 1})
}

fn download(stream: usize) -> Value {
    json!({"do": "download", "stream": stream, "src": "b", "src_off": 0, "host": "h", "host_off": 0, "len": 4})
}

fn event(what: &str, stream: usize, event: usize) -> Value {
    json!({"do": what, "stream": stream, "event": event})
}

#[test]
fn a_short_program_is_drawn_whole() {
    let ops = json!([event("record", 0, 0), fill(0, 0), event("wait", 1, 0), download(1)]);
    let due = "\
in the order of issue:
        stream 0        stream 1
    #0  record
  > #1  fill
    #2                  wait #0
  > #3                  download";
    let drawn: Vec<_> = finding(&ops).timeline.iter().map(|line| format!("  {line}")).collect();
    assert_eq!(drawn.join("\n").trim_start(), due);
}

#[test]
fn what_the_host_waited_for_is_drawn() {
    let sync = json!({"do": "sync_event", "event": 0});
    let read = json!({"do": "host_read", "host": "h", "off": 0, "len": 4});
    let ops = json!([event("record", 0, 0), download(0), sync, read]);
    let due = [
        "in the order of issue:",
        "      host            stream 0",
        "  #0                  record",
        "> #1                  download",
        "      wait #0",
        ">     host_read",
    ];
    assert_eq!(finding(&ops).timeline, due);
}

/// A stream without any order to others has no column, and omitted steps leave a mark.
#[test]
fn a_stream_that_has_nothing_to_do_with_it_is_left_out() {
    let ops = json!([fill(2, 32), fill(0, 0), fill(2, 36), download(1)]);
    let due = [
        "in the order of issue:",
        "      stream 0        stream 1",
        " ...",
        "> #1  fill",
        " ...",
        "> #3                  download",
    ];
    assert_eq!(finding(&ops).timeline, due);
    // The twin: here a record puts the stream in an order with others.
    let ops = json!([event("record", 2, 3), fill(0, 0), fill(2, 36), download(1)]);
    let due = [
        "in the order of issue:",
        "      stream 0        stream 1        stream 2",
        "  #0                                  record",
        "> #1  fill",
        "  #2                                  fill",
        "> #3                  download",
    ];
    assert_eq!(finding(&ops).timeline, due);
}

/// If there are many steps before the finding, only the newest ten lines are drawn, after `...`.
#[test]
fn what_comes_before_the_first_line_leaves_a_mark() {
    let mut ops = vec![event("record", 3, 1); 20];
    ops.extend([fill(0, 0), download(1)]);
    let timeline = finding(&json!(ops)).timeline;
    let fronts: Vec<_> = timeline[2..].iter().map(|line| line[..5].trim()).collect();
    assert_eq!(timeline[2].trim(), "...");
    let records = ["#10", "#11", "#12", "#13", "#14", "#15", "#16", "#17", "#18", "#19"];
    assert_eq!(fronts[1..], [&records[..], &["> #20", "> #21"]].concat());
}

#[test]
fn a_long_program_is_cut_to_what_matters() {
    let mut ops = vec![fill(0, 0), event("record", 5, 7), event("wait", 9, 7)];

    ops.extend((0..200).map(|_| event("record", 2, 1)));
    ops.push(event("wait", 9, 1));
    ops.push(download(9));
    let finding = finding(&json!(ops));
    let lines = &finding.timeline;
    // The drawing has a heading, the names of the streams, 12 operations, and a line for each gap.
    let gaps = lines.iter().filter(|line| line.trim() == "...").count();
    assert_eq!(lines.len(), 14 + gaps, "{lines:#?}");
    assert_eq!(lines[2], ">   #0  fill");
    assert_eq!(lines[3].trim(), "...");
    assert!(lines.last().unwrap().starts_with("> #204  ") && lines.last().unwrap().ends_with("download"));
    assert!(lines.iter().any(|line| line.contains("#203") && line.ends_with("wait #202")), "{lines:#?}");
}

#[test]
fn no_line_is_wider_than_a_terminal() {
    let mut ops: Vec<Value> = (0..15).map(|k| fill(k, 4 * k)).collect();
    for stream in 15..29 {
        ops.push(event("record", stream, stream));
        ops.push(event("wait", 29, stream));
    }
    ops.push(json!({"do": "fill", "stream": 29, "buf": "b", "off": 0, "len": 64, "value": 1}));
    let finding = finding(&json!(ops));
    assert_eq!(finding.with.len(), 15);
    for line in finding.to_string().lines().skip_while(|line| !line.contains("order of issue")) {
        assert!(line.is_ascii() && line.len() + 2 < 100, "{line}");
    }
    let marked = finding.timeline.iter().filter(|line| line.starts_with('>')).count();
    assert!(marked >= 2, "{:#?}", finding.timeline);
}

/// A finding about a single operation has no drawing.
#[test]
fn one_operation_is_not_drawn() {
    let outside = json!({"do": "fill", "stream": 0, "buf": "b", "off": 61, "len": 4, "value": 1});
    assert!(finding(&json!([outside])).timeline.is_empty());
}
