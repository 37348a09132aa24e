//! Tests `golden`: the cases of the repository pass, a wrong case fails, and an invalid line is
//! named.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::run::{Finished, devarray};

fn golden_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/layout.jsonl")
}

fn cases() -> Vec<Value> {
    let text = fs::read_to_string(golden_file()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn golden(path: &Path) -> Finished {
    devarray(["golden".as_ref(), "--backend".as_ref(), "mock".as_ref(), path.as_os_str()])
}

/// Runs `golden` on a file of these lines.
fn golden_lines(lines: &[impl ToString]) -> Finished {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cases.jsonl");
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(&path, text.join("\n")).unwrap();
    golden(&path)
}

#[test]
fn every_case_of_the_repository_passes() {
    let finished = golden(&golden_file()).succeeded();
    assert_eq!(finished.stdout, "1500 passed, 0 failed\n");
}

#[test]
fn results_are_written_in_the_form_of_the_expectations() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out.jsonl");
    let file = golden_file();
    let arguments = ["golden", "--backend", "mock", "--out", out.to_str().unwrap(), file.to_str().unwrap()];
    devarray(arguments).succeeded();
    let results = fs::read_to_string(out).unwrap();
    let cases = cases();
    assert_eq!(results.lines().count(), cases.len());
    for (line, case) in results.lines().zip(cases) {
        let mut result: Value = serde_json::from_str(line).unwrap();
        let object = result.as_object_mut().unwrap();
        assert_eq!(object.remove("id"), Some(case["id"].clone()));
        assert_eq!(object.remove("message").is_some(), case["expect"]["error"] == true);
        assert_eq!(result, case["expect"], "{}", case["id"]);
    }
}

/// Changes one entry in the expectation of the first case that has this entry, and checks that the case
/// then fails.
fn corrupt(entry: &str, change: impl Fn(&mut Value)) {
    let mut cases = cases();
    let case = cases.iter_mut().find(|case| {
        let found = &case["expect"][entry];
        found.as_array().map_or(!found.is_null(), |list| list.iter().any(Value::is_number))
    });
    let case = case.unwrap();
    change(&mut case["expect"][entry]);
    let id = case["id"].as_str().unwrap().to_owned();
    let finished = golden_lines(&cases);
    assert_eq!((finished.status, finished.stderr.as_str()), (1, ""));
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with(&format!("{id}: ")) && lines[0].contains(entry.trim_end_matches('s')),
        "{lines:?}"
    );
    assert_eq!(lines[1], "1499 passed, 1 failed");
}

/// Adds one to the first number in a list.
fn more(list: &mut Value) {
    let number = list.as_array_mut().unwrap().iter_mut().find(|entry| entry.is_number()).unwrap();
    *number = json!(number.as_i64().unwrap() + 1);
}

#[test]
fn a_wrong_expectation_is_found_out_whatever_is_wrong() {
    corrupt("c", |flag| *flag = json!(!flag.as_bool().unwrap()));
    corrupt("f", |flag| *flag = json!(!flag.as_bool().unwrap()));
    corrupt("copied", |flag| *flag = json!(!flag.as_bool().unwrap()));
    corrupt("offset", |offset| *offset = json!(offset.as_u64().unwrap() + 1));
    corrupt("shape", more);
    corrupt("strides", more);
    corrupt("values", more);
}

#[test]
fn a_missing_error_and_an_unexpected_one_are_failures() {
    let whole = json!({"shape": [2], "c": true, "f": true, "copied": false, "strides": [1], "offset": 0, "values": [0, 1]});
    let flip = |axis: i32| json!([{"do": "flip", "axes": [axis]}]);
    let finished = golden_lines(&[
        json!({"id": "a", "base": [2], "steps": [], "expect": whole}),
        json!({"id": "b", "base": [2], "steps": flip(0), "expect": {"error": true}}),
        json!({"id": "c", "base": [2], "steps": flip(1), "expect": whole}),
        json!({"id": "d", "base": [2], "steps": flip(1), "expect": {"error": true}}),
    ]);
    assert_eq!(finished.status, 1);
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert!(lines[0].starts_with("b: ") && lines[0].contains("expected an error"), "{lines:?}");
    assert!(lines[1].starts_with("c: error: axis 1"), "{lines:?}");
    assert_eq!(lines[2..], ["2 passed, 2 failed"]);
}

/// A file without a case does not pass, because nothing was checked.
#[test]
fn files_without_a_case_are_refused() {
    golden_lines(&[""]).refused(&["cases.jsonl: there is no case in it"]);
    golden_lines(&["", " "]).refused(&["cases.jsonl: there is no case in it"]);
}

#[test]
fn a_line_that_is_no_case_is_named() {
    let good = r#"{"id":"a","base":[2],"steps":[],"expect":{"error":true}}"#;
    let huge = "99999999999999999999999";
    for bad in [
        "{",
        "[]",
        "\u{1}",
        r#"{"id":"a","base":[2],"steps":[]}"#,
        r#"{"id":"a","base":[-2],"steps":[],"expect":{"error":true}}"#,
        r#"{"id":"a","base":[65536,65536],"steps":[],"expect":{"error":true}}"#,
        r#"{"id":"a","base":[2],"steps":[{"do":"bend"}],"expect":{"error":true}}"#,
        r#"{"id":"a","base":[2],"steps":[{"do":"permute"}],"expect":{"error":true}}"#,
        r#"{"id":"a","base":[2],"steps":[{"do":"flip","axes":0}],"expect":{"error":true}}"#,
        r#"{"id":"a","base":[2],"steps":[{"do":"squeeze","axis":[0]}],"expect":{"error":true}}"#,
        r#"{"id":"a","base":[2],"steps":[{"do":"ravel","order":"B"}],"expect":{"error":true}}"#,
        r#"{"id":"a","base":[2],"steps":[{"do":"reshape","shape":[2],"order":"K"}],"expect":{"error":true}}"#,
        r#"{"id":"a","base":[2],"steps":[{"do":"index","items":["::2"]}],"expect":{"error":true}}"#,
        r#"{"id":"a","base":[2],"steps":[{"do":"index","items":[1.5]}],"expect":{"error":true}}"#,
        r#"{"id":"a","base":[2],"steps":[],"expect":{"shape":[2],"c":true,"f":true}}"#,
        &good.replace("[2]", &format!("[{huge}]")),
        &format!("{good} {good}"),
    ] {
        // A blank line is not a case, but the numbers of lines count it.
        golden_lines(&[good, "", bad]).refused(&["cases.jsonl:3"]);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cases.jsonl");
    fs::write(&path, b"\n\xff\xfe").unwrap();
    golden(&path).refused(&["cases.jsonl:2"]);
}

/// Steps may leave out values that have defaults, and positions may count from the end.
#[test]
fn cases_may_leave_out_the_axes_of_a_flip() {
    let case = |steps: &str, shape: &str, strides: &str, offset: usize, values: &str| {
        format!(
            r#"{{"id":"x","base":[2,3],"steps":[{steps}],"expect":{{"shape":{shape},"c":false,"f":false,"copied":false,"strides":{strides},"offset":{offset},"values":{values}}}}}"#
        )
    };
    let all = case(r#"{"do":"flip"}"#, "[2,3]", "[-3,-1]", 5, "[5,4,3,2,1,0]");
    let null = case(r#"{"do":"flip","axes":null}"#, "[2,3]", "[-3,-1]", 5, "[5,4,3,2,1,0]");
    let split = case(r#"{"do":"split_at","axis":1,"at":[-2],"take":1}"#, "[2,2]", "[3,1]", 1, "[1,2,4,5]");
    let vast = r#"{"id":"v","base":[1,0],"steps":[{"do":"broadcast","shape":[4611686018427387904,0]}],"expect":{"error":true}}"#;
    let finished = golden_lines(&[all.clone(), null, split, vast.to_owned()]).succeeded();
    assert_eq!(finished.stdout, "4 passed, 0 failed\n");
    // The twin: a flip of no axes is a different step.
    let none = all.replace(r#""flip""#, r#""flip","axes":[]"#);
    assert_eq!(golden_lines(&[none]).status, 1);
}
