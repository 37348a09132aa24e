//! Tests `golden` for calls: the cases of the repository pass, a wrong case fails, and an invalid line is
//! named.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::run::{Finished, devarray};

fn cases() -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/calls.jsonl");
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs `golden` on a file of these lines, and writes the results to another file.
fn golden(backend: &str, lines: &[impl ToString]) -> (Finished, Vec<Value>) {
    let directory = tempfile::tempdir().unwrap();
    let (path, out) = (directory.path().join("cases.jsonl"), directory.path().join("out.jsonl"));
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(&path, text.join("\n")).unwrap();
    let arguments = ["golden", "--backend", backend, "--out", out.to_str().unwrap(), path.to_str().unwrap()];
    let finished = devarray(arguments);
    let results = fs::read_to_string(out).unwrap_or_default();
    (finished, results.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn top() -> Value {
    json!({
        "id": "t", "call": "topk", "args": {"k": 2, "axis": -1},
        "inputs": [{"dtype": "u8", "shape": [3], "steps": "flip(0)", "data": "010903"}],
        "out": [{"shape": [2]}, {"shape": [4], "steps": "index(1::2)"}],
        "expect": [
            {"dtype": "u8", "shape": [2], "data": "0903", "ulp": 0},
            {"dtype": "i64", "shape": [2], "data": "01000000000000000000000000000000", "ulp": 0}
        ]
    })
}

fn with(pointer: &str, value: Value) -> Value {
    let mut case = top();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match case.pointer_mut(parent).unwrap() {
        Value::Object(object) => {
            object.insert(name.to_owned(), value);
        }
        parent => parent[name.parse::<usize>().unwrap()] = value,
    }
    case
}

#[test]
fn every_case_of_the_repository_passes_on_the_simulator_and_on_the_cpu() {
    let cases = cases();
    for backend in ["mock", "host"] {
        let (finished, results) = golden(backend, &cases);
        assert_eq!(finished.succeeded().stdout, format!("{} passed, 0 failed\n", cases.len()));
        for (result, case) in results.iter().zip(&cases) {
            assert_eq!(result["id"], case["id"]);
            assert_eq!(result["error"], case["expect"]["error"]);
            for (at, due) in case["expect"].as_array().into_iter().flatten().enumerate() {
                for name in ["dtype", "shape", "data"] {
                    assert_eq!(result["outputs"][at][name], due[name], "{}", case["id"]);
                }
            }
        }
    }
}

/// The twin: each case that expects elements must fail if one digit of them is changed.
#[test]
fn a_changed_expectation_is_noticed() {
    let mut changed: Vec<Value> = Vec::new();
    for mut case in cases() {
        let Some(last) = case["expect"].as_array_mut().and_then(|outputs| outputs.last_mut()) else {
            continue;
        };
        let data = last["data"].as_str().unwrap().to_owned();
        if let Some(digit) = data.chars().last() {
            let other = if digit == '0' { '1' } else { '0' };
            last["data"] = json!(format!("{}{other}", &data[..data.len() - 1]));
            changed.push(case);
        }
    }
    assert!(changed.len() > 250);
    let (finished, _) = golden("mock", &changed);
    assert_eq!(finished.status, 1);
    assert!(finished.stdout.ends_with(&format!("0 passed, {} failed\n", changed.len())), "{finished:?}");
}

#[test]
fn a_wrong_expectation_is_found_out_whatever_is_wrong() {
    let one = json!([{"dtype": "u8", "shape": [2], "data": "0903", "ulp": 0}]);
    let cases = [
        top(),
        with("/expect", one),
        with("/expect/0/data", json!("0901")),
        with("/expect/1/dtype", json!("u64")),
        with("/expect", json!({"error": "index"})),
        with("/args/k", json!(4)),
        with("/out/0/shape", json!([3])),
        with("/args/axis", json!(-2)),
        json!({"id": "m", "call": "matmul", "args": {}, "expect": {"error": "type"}, "inputs": [
            {"dtype": "u8", "shape": [1, 2], "steps": "", "data": "0102"},
            {"dtype": "u8", "shape": [3, 1], "steps": "", "data": "010203"},
        ]}),
    ];
    let (finished, results) = golden("mock", &cases);
    assert_eq!((finished.status, finished.stderr.as_str()), (1, ""));
    let expected = [
        "t: found 2 outputs, expected 1",
        "t: output 0: element 1: found 03, expected 01 (1 elements differ)",
        "t: output 1: dtype: found i64, expected u64",
        "t: found 2 outputs, expected a Index error",
        "t: error: the first 4 of 3 elements",
        "t: error: ",
        "t: error: axis -2 is out of range for rank 1",
        "m: Type error expected, found: [1, 2] @ [3, 1]: ",
        "1 passed, 8 failed",
    ];
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line:?}, expected {expected:?}");
    }
    assert_eq!((&results[5]["error"], &results[8]["error"]), (&json!("shape"), &json!("shape")));
}

/// Numbers of a file are the nearest of `f64`; parsers that are quick miss some by the last bit.
#[test]
fn a_quantile_of_0_and_1_is_the_number_that_was_asked_for() {
    let numbers = [
        ("0.9999999999999999", 0x3fef_ffff_ffff_ffff_u64),
        ("0.46029284822824157", 0x3fdd_7570_226e_4574),
        ("0.12016028718179161", 0x3fbe_c2d3_17b9_4888),
        ("0.9592734693549425", 0x3fee_b25e_4659_9914),
        ("1e-300", 0x01a5_6e1f_c2f8_f359),
    ];
    let cases = numbers.map(|(q, bits)| {
        let data: String = bits.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        format!(
            r#"{{"id":"{q}","call":"quantile","inputs":[{{"dtype":"f64","shape":[2],"steps":"","data":"0000000000000000000000000000f03f"}}],"args":{{"q":{q},"axis":0}},"expect":[{{"dtype":"f64","shape":[],"data":"{data}","ulp":0}}]}}"#
        )
    });
    for backend in ["mock", "host"] {
        assert_eq!(golden(backend, &cases).0.succeeded().stdout, "5 passed, 0 failed\n");
    }
}

#[test]
fn a_result_of_another_shape_is_refused_before_a_quantile_of_nothing() {
    let case = |out: usize, error: &str| {
        json!({"id": "e\nid\u{1b}", "call": "quantile", "args": {"q": 0.5, "axis": 0}, "out": [{"shape": vec![1; out]}],
            "inputs": [{"dtype": "f32", "shape": [0], "steps": "", "data": ""}], "expect": {"error": error}})
    };
    golden("mock", &[case(1, "shape"), case(0, "empty")]).0.succeeded();
    let wrong = golden("mock", &[case(0, "shape")]).0;
    assert!(wrong.stdout.starts_with("e\\nid\\u{1b}: Shape error expected"), "{}", wrong.stdout);
    assert_eq!(wrong.stdout.lines().count(), 2);
}

#[test]
fn lines_that_are_no_case_are_named_with_what_is_wrong() {
    for (case, due) in [
        (with("/call", json!("shuffle")), "\"shuffle\" is no call"),
        (with("/args/size", json!(1)), "topk has no argument `size`"),
        (with("/args", json!({"axis": 0})), "topk takes an argument `k`"),
        (with("/args/k", json!(-1)), "`k` is 0 or more, not -1"),
        (with("/inputs", json!([])), "0 inputs, topk takes 1"),
        (with("/expect", json!({"dtype": "u8", "shape": [0], "data": ""})), "`expect` is a list"),
        (with("/expect/0", json!({"error": "type"})), "an output in `expect` is an error"),
        (with("/inputs/0/data", json!("01")), "`data` has 1 bytes"),
        (with("/out", json!([])), "`out` has 0 entries for 2 outputs"),
    ] {
        let (finished, _) = golden("mock", &[top(), case]);
        finished.refused(&[":2", due]);
    }
    let mut counted = top();
    (counted["call"], counted["args"]) = (json!("unique"), json!({}));
    let (finished, _) = golden("mock", &[counted]);
    finished.refused(&["`out` of a call whose results have a size that only it knows"]);
}

#[test]
fn a_case_of_too_many_elements_is_refused_and_not_computed() {
    let many = json!({
        "id": "p", "call": "put", "args": {"op": "add", "axis": 0},
        "inputs": [
            {"dtype": "u8", "shape": [1], "steps": "broadcast(1,4000000)", "data": "00"},
            {"dtype": "i32", "shape": [1], "steps": "broadcast(5)", "data": "00000000"},
            {"dtype": "u8", "shape": [], "data": "00"}
        ],
        "expect": {"error": "shape"}
    });
    let (finished, _) = golden("host", &[many]);
    finished.refused(&["20000000 elements of a call are more than the 16777216 allowed"]);
}
