//! Tests `golden` for functions: the cases of the repository pass, a wrong case fails, and an invalid line
//! is named.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::run::{Finished, devarray};

/// Reads the lines of a file of the repository.
fn lines(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden").join(name);
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs `golden` on a file of these lines, and writes the results to another file.
fn golden(lines: &[impl ToString]) -> (Finished, Vec<Value>) {
    let directory = tempfile::tempdir().unwrap();
    let (path, out) = (directory.path().join("cases.jsonl"), directory.path().join("out.jsonl"));
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(&path, text.join("\n")).unwrap();
    let arguments = ["golden", "--backend", "mock", "--out", out.to_str().unwrap(), path.to_str().unwrap()];
    let finished = devarray(arguments);
    let results = fs::read_to_string(out).unwrap_or_default();
    (finished, results.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn axpy() -> Value {
    json!({
        "id": "a", "expr": "x0 * k0 + x1",
        "inputs": [
            {"dtype": "i16", "shape": [2], "steps": "flip(0)", "data": "01000200"},
            {"dtype": "i16", "shape": [1], "data": "0300"}
        ],
        "scalars": [{"dtype": "i16", "data": "0a00"}],
        "out": {"shape": [4], "steps": "index(1::2)"},
        "expect": {"dtype": "i16", "shape": [2], "data": "17000d00", "ulp": 0}
    })
}

/// Returns the good case with one entry replaced.
fn with(pointer: &str, value: Value) -> Value {
    let mut case = axpy();
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
fn every_case_of_the_repository_passes() {
    for (name, count) in [("compute.jsonl", 605), ("reductions.jsonl", 295)] {
        let cases = lines(name);
        let (finished, results) = golden(&cases);
        assert_eq!(finished.succeeded().stdout, format!("{count} passed, 0 failed\n"));
        assert_eq!(results.len(), count);
        for (result, case) in results.iter().zip(&cases) {
            assert_eq!(result["id"], case["id"]);
            for name in ["error", "dtype", "shape"] {
                assert_eq!(result[name], case["expect"][name], "{}", case["id"]);
            }
            if case["expect"]["ulp"] == 0 {
                assert_eq!(result["data"], case["expect"]["data"], "{}", case["id"]);
            }
        }
    }
}

#[test]
fn a_wrong_expectation_is_found_out_whatever_is_wrong() {
    let expected = |dtype: &str, shape: &[usize], data: &str| json!({"dtype": dtype, "shape": shape, "data": data, "ulp": 0});
    let cases = [
        axpy(),
        with("/expect", expected("u16", &[2], "17000d00")),
        with("/expect", expected("i16", &[1, 2], "17000d00")),
        with("/expect", expected("i16", &[2], "17000e00")),
        with("/expect", json!({"error": "type"})),
        with("/expr", json!("x0 * k0 +")),
        with("/out/steps", json!("")),
        with("/expect/ulp", json!(9)),
    ];
    let (finished, results) = golden(&cases);
    assert_eq!((finished.status, finished.stderr.as_str()), (1, ""));
    let expected = [
        "a: dtype: found i16, expected u16",
        "a: shape: found [2], expected [1, 2]",
        "a: element 1: found 0d00, expected 0e00 (1 elements differ)",
        "a: found i16 [2], expected a Type error",
        "a: error: the text ends, where an operand is expected",
        "a: error: ",
        "2 passed, 6 failed",
    ];
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{line:?}, expected {expected:?}");
    }
    assert_eq!(results[5]["error"], "text");
    assert_eq!(results[6]["error"], "shape");
}

#[test]
fn errors_are_told_apart() {
    let kinds = [
        ("/expr", json!("x2"), "text"),
        ("/expr", json!("x0 + 1.5"), "type"),
        ("/expr", json!("x0 + cast(i1, i16)"), "shape"),
        ("/reduce", json!({"op": "sum", "axes": [1]}), "shape"),
        ("/reduce", json!({"op": "mean"}), "type"),
        ("/inputs/0", json!({"dtype": "i16", "shape": [3], "data": "010002000300"}), "shape"),
    ];
    let cases: Vec<Value> = kinds
        .iter()
        .map(|(pointer, value, kind)| {
            let mut case = with(pointer, value.clone());
            case["expect"] = json!({ "error": kind });
            case
        })
        .collect();
    let (finished, _) = golden(&cases);
    assert_eq!(finished.succeeded().stdout, "6 passed, 0 failed\n");
}

#[test]
fn a_line_that_is_no_case_is_named() {
    let good = axpy();
    let mut bad = vec![
        with("/inputs/0/dtype", json!("f8")),
        with("/inputs/0/data", json!("0100020")),
        with("/inputs/0/data", json!("0100zz00")),
        with("/inputs/0/data", json!("010002")),
        with("/inputs/0/data", json!("éé")),
        with("/inputs/0/steps", json!("bend(1)")),
        with("/inputs/0/shape", json!([-2])),
        with("/scalars/0/data", json!("0a")),
        with("/out/shape", json!([1_u64 << 40])),
        with("/out/shape", json!([0, 1_u64 << 40])),
        with("/expect", json!({})),
        with("/expect", json!({"dtype": "i16", "shape": [2]})),
        with("/expect", json!({"error": "other"})),
        with("/expect", json!({"error": true})),
        with("/reduce", json!({"op": "median"})),
        with("/scan", json!({"op": "mean", "axis": 0})),
        with("/scan", json!({"op": "sum"})),
        // Lists of the fields in order are not accepted in place of objects.
        with("/inputs/0", json!(["i16", [2], "flip(0)", "01000200"])),
        with("/scalars/0", json!(["i16", "0a00"])),
        with("/out", json!([[4], "index(1::2)"])),
        with("/scan", json!(["sum", 0, false])),
        with("/expect", json!([null, "i16", [2], "17000d00", 0])),
        json!(["a", "i0", [], [], null, null, null, {"error": "shape"}]),
        json!(["a", [2], [], {"error": true}]),
    ];
    let mut both = with("/scan", json!({"op": "sum", "axis": 0}));
    both["reduce"] = json!({"op": "sum"});
    bad.push(both);
    for bad in bad {
        // A blank line is not a case, but the numbers of lines count it.
        let lines = [good.to_string(), String::new(), bad.to_string()];
        golden(&lines).0.refused(&["cases.jsonl:3"]);
    }
}

/// A result can be written through every view that reaches each element once, and through no other view.
#[test]
fn any_view_receives_a_result() {
    for (shape, steps) in [
        (&[24][..], "reshape(2,3,4)/index(1,:2,3)"),
        (&[2, 3, 4], "permute(2,1,0)/reshape(24,F)/index(5:7)"),
        (&[4, 6], "ravel()/index(-1:-3:-1)"),
        (&[6, 4], "permute(1,0)/ravel(F)/index(:2)"),
        (&[6, 4], "permute(1,0)/ravel(K)/index(1:3)"),
        (&[24], "split(5,take=3)/split(3,take=0)/split_at(1,take=1)"),
        (&[4, 6], "array_split(4,axis=1,take=2)/index(1:3)/squeeze(1)"),
        (&[4, 6], "split_at(1,3,axis=-1,take=1)/index(2)/flip(0)"),
        (&[4, 6], "index(None,1,::3,None)/squeeze()"),
    ] {
        let case = with("/out", json!({"shape": shape, "steps": steps}));
        assert_eq!(golden(&[case]).0.succeeded().stdout, "1 passed, 0 failed\n", "{steps}");
    }
    for steps in [
        "broadcast(2)",
        "copy()",
        "permute(1,0)/ravel()",
        "permute(1,0)/reshape(24)/index(:2)",
        "ravel()/split(1,take=24)",
        "ravel()/split(0,take=0)",
        "array_split(0,take=0)",
        "split_at(3,1,take=0)",
        "reshape(5,-1)",
        "permute(0,0)",
    ] {
        let mut case = with("/out", json!({"shape": [4, 6], "steps": steps}));
        case["expect"] = json!({"error": "shape"});
        assert_eq!(golden(&[case]).0.succeeded().stdout, "1 passed, 0 failed\n", "{steps}");
    }
}

#[test]
fn a_number_is_at_no_distance_from_nan() {
    for (found, expected, status) in [
        ("0000c07f", "0000803f", 1),
        ("0000803f", "0000c07f", 1),
        ("0000c07f", "0000c07f", 0),
        ("0000803f", "000000c0", 0),
    ] {
        let case = json!({
            "id": "n", "expr": "x0", "inputs": [{"dtype": "f32", "shape": [1], "data": found}],
            "expect": {"dtype": "f32", "shape": [1], "data": expected, "ulp": u64::MAX}
        });
        assert_eq!(golden(&[case]).0.status, status, "{found} {expected}");
    }
}

/// If the results go to standard output, messages go to standard error.
#[test]
fn results_go_to_standard_output() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cases.jsonl");
    let layout = json!({"id": "l", "base": [2], "steps": [], "expect": {"error": true}});
    fs::write(&path, format!("{}\n{layout}\n", axpy())).unwrap();
    let arguments = ["golden", "--backend", "mock", "--out", "-", path.to_str().unwrap()];
    let finished = devarray(arguments);
    assert_eq!(finished.status, 1, "{finished:?}");
    let results: Vec<Value> =
        finished.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((results.len(), &results[0]["data"]), (2, &json!("17000d00")));
    assert_eq!(finished.stderr, "l: found shape [2], expected an error\n1 passed, 1 failed\n");
    assert!(!Path::new("-").exists());
}
