//! Tests bad files of programs: they give one line that names the file, the line, the field and the cause, and
//! status 2.

use std::fs;

use serde_json::{Value, json};

use crate::run::{Finished, devarray};

fn replay(text: &[u8]) -> Finished {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("programs.jsonl");
    fs::write(&path, text).unwrap();
    devarray(["replay".as_ref(), path.as_os_str()])
}

fn refuse(text: &[u8], cause: &str) {
    replay(text).refused(&["programs.jsonl:1: ", cause]);
}

fn good() -> Value {
    json!({"id": "p", "buffers": [{"id": "b", "bytes": 8, "init": true}], "hosts": [{"id": "h", "bytes": 8}], "streams": 2,
        "events": 1, "ops": [
            {"do": "copy2d", "stream": 0, "src": "b", "src_off": 0, "src_pitch": 2, "dst": "b", "dst_off": 4, "dst_pitch": 2,
             "width": 1, "height": 2},
            {"do": "record", "stream": 0, "event": 0},
            {"do": "host_write", "host": "h", "off": 0, "len": 8, "value": 1},
            {"do": "sync_device"}]})
}

/// Returns the good program with another value at a JSON pointer.
fn with(pointer: &str, value: Value) -> Vec<u8> {
    let mut program = good();
    *program.pointer_mut(pointer).unwrap() = value;
    program.to_string().into_bytes()
}

#[test]
fn the_program_that_is_spoiled_below_is_good() {
    replay(good().to_string().as_bytes()).succeeded();
}

#[test]
fn what_is_no_json() {
    refuse(b"hello", "expected value at column 1");
    refuse(b"\xff\xfe{}", "expected value at column 1");
    refuse(b"{\"id\":\"\xff\"}", "id: invalid unicode code point at column ");
    let whole = good().to_string();
    for end in [1, 20, whole.len() / 2, whole.len() - 1] {
        refuse(&whole.as_bytes()[..end], "EOF while parsing");
    }
    refuse(format!("{whole} x").as_bytes(), "trailing characters at column ");
    refuse(&b"a".repeat(8 << 20), "expected value at column 1");
    refuse(&b"[".repeat(1 << 20), "a program is an object, not a list");
    refuse(format!("{{\"id\":{}", "[".repeat(1 << 20)).as_bytes(), "id: invalid type");
}

#[test]
fn what_is_no_program() {
    refuse(b"null", "invalid type: null, expected an object that is a program");
    refuse(b"[]", "a program is an object, not a list");
    for field in ["id", "buffers", "hosts", "streams", "events", "ops"] {
        let mut program = good();
        program.as_object_mut().unwrap().remove(field);
        refuse(program.to_string().as_bytes(), &format!("missing field `{field}`"));
    }
    refuse(br#"{"id":"a","id":"b"}"#, "duplicate field `id`");
    let mut program = good();
    program["expect"] = json!(["ok", {}]);
    let cause = "expect: invalid type: sequence, expected an object that is what is expected";
    refuse(program.to_string().as_bytes(), cause);
}

#[test]
fn fields_of_another_type() {
    for (pointer, value, cause) in [
        ("/id", json!(7), "id: invalid type: integer `7`, expected a string"),
        ("/streams", json!(-1), "streams: invalid value: integer `-1`"),
        ("/streams", json!(1.5), "streams: invalid type: floating point `1.5`"),
        ("/events", json!("1"), "events: invalid type: string \"1\""),
        (
            "/buffers/0",
            json!("b"),
            "buffers[0]: invalid type: string \"b\", expected an object that is a buffer",
        ),
        ("/buffers/0", json!(["b", 8, true]), "buffers[0]: invalid type: sequence, expected an object"),
        ("/hosts/0", json!(["h", 8]), "hosts[0]: invalid type: sequence, expected an object"),
        ("/ops/1", json!(["sync_device"]), "ops[1]: invalid type: sequence, expected an object"),
        ("/buffers/0/init", json!("yes"), "buffers[0].init: invalid type"),
        ("/hosts/0/bytes", json!(1e30), "hosts[0].bytes: invalid type: floating point"),
        ("/ops", json!({}), "ops: invalid type: map"),
        ("/ops/1", json!(null), "ops[1]: invalid type: null, expected an object that is an operation"),
        ("/ops/1/do", json!(3), "ops[1].do: invalid type: integer `3`"),
        ("/ops/2/value", json!(300), "ops[2].value: invalid value: integer `300`"),
        ("/ops/2/off", json!(-1), "ops[2].off: invalid value: integer `-1`"),
    ] {
        refuse(&with(pointer, value), cause);
    }
}

#[test]
fn numbers_and_names_out_of_range() {
    for (pointer, value, cause) in [
        ("/streams", json!(u64::MAX), "streams: 18446744073709551615, but at most 65536 are simulated"),
        ("/events", json!(100_000_000_000_u64), "events: 100000000000, but at most 65536 are simulated"),
        ("/buffers/0/bytes", json!(0), "buffers[0].bytes: must be at least 1"),
        ("/buffers/0/bytes", json!(u64::MAX), "alloc: out of memory: 18446744073709551615 bytes requested"),
        ("/hosts/0/bytes", json!(i64::MAX), "alloc_host: out of memory: 9223372036854775807 bytes requested"),
        ("/ops/0/width", json!(0), "ops[0].width: must be at least 1"),
        ("/ops/0/height", json!(0), "ops[0].height: must be at least 1"),
        ("/ops/0/width", json!(3), "ops[0].src_pitch: 2 is less than the width, 3"),
        ("/ops/0/dst", json!("h"), "ops[0].dst: nothing is called \"h\" here"),
        ("/ops/0/stream", json!(2), "ops[0].stream: 2, but there are 2"),
        ("/ops/1/event", json!(1), "ops[1].event: 1, but there are 1"),
        ("/ops/1/do", json!("frob"), "ops[1].do: no operation is called \"frob\""),
        ("/ops/2/host", json!("b"), "ops[2].host: nothing is called \"b\" here"),
        ("/ops/2/len", json!(0), "ops[2].len: must be at least 1"),
    ] {
        refuse(&with(pointer, value), cause);
    }
}

/// Makes a program whose streams fill one byte each. In a chain, each stream waits for the stream before it.
fn many(streams: usize, in_a_chain: bool) -> Vec<u8> {
    let mut program = good();
    program["streams"] = json!(streams);
    program["events"] = json!(streams);
    program["buffers"][0]["bytes"] = json!(streams);
    let each = |stream: usize| {
        let wait = json!({"do": "wait", "stream": stream, "event": stream.saturating_sub(1)});
        let fill = json!({"do": "fill", "stream": stream, "buf": "b", "off": stream, "len": 1, "value": 1});
        let record = json!({"do": "record", "stream": stream, "event": stream});
        if in_a_chain { vec![wait, fill, record] } else { vec![fill] }
    };
    program["ops"] = (0..streams).flat_map(each).chain([json!({"do": "sync_device"})]).collect();
    program.to_string().into_bytes()
}

/// Streams that wait for each other are limited, because their clocks take memory. Streams without waits may
/// be many.
#[test]
fn streams_that_know_of_each_other_are_limited() {
    refuse(&many(4_200, true), "ops: 4200 streams, and after the first wait 8400 streams and records");
    for good in [many(200, true), many(3_000, false)] {
        let finished = replay(&good).succeeded();
        assert!(finished.stdout.contains(r#""verdict":"ok""#), "{}", finished.stdout);
    }
}

/// Sums of very large numbers do not wrap around to a position inside the memory, and every schedule
/// gives the same verdict.
#[test]
fn far_away_is_out_of_bounds_and_no_error_of_the_file() {
    for pointer in ["/ops/0/src_off", "/ops/0/dst_pitch", "/ops/0/height", "/ops/2/len", "/ops/2/off"] {
        let finished = replay(&with(pointer, json!(u64::MAX))).succeeded();
        assert!(finished.stdout.contains("out_of_bounds"), "{pointer}: {}", finished.stdout);
    }
}

#[test]
fn files_without_a_program() {
    for text in ["", "\n", " \n\n"] {
        replay(text.as_bytes()).refused(&["programs.jsonl: there is no program in it"]);
    }
    devarray(["replay", "no such file"]).refused(&["no such file", "os error 2"]);
    devarray(["replay", "/"]).refused(&["Is a directory"]);
}

#[test]
fn programs_before_a_bad_one_are_judged() {
    let finished = replay(format!("{}\n\n{{\"id\":1}}", good()).as_bytes());
    assert_eq!((finished.status, finished.stdout.lines().count()), (2, 1));
    assert!(finished.stderr.contains("programs.jsonl:3: id: "), "{}", finished.stderr);
}
