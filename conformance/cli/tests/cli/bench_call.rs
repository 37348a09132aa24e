//! Tests `devarray bench call` on the CPU: the form of its lines, and its refusals. Speed is not tested.

use serde_json::Value;

use crate::run::devarray;

fn bench(arguments: &[&str]) -> crate::run::Finished {
    devarray(["bench", "call", "--backend", "host"].iter().chain(arguments))
}

#[test]
fn a_line_a_case_with_the_fields_of_the_format() {
    let cases = [
        ("sort;f32@50x3/permute(1,0);axis=-1,descending=true", 2 * 600),
        ("put;f32@10,i32@40,f32@40;op=add,axis=0", 40 + 160 + 160 + 40),
        ("unique;u8@30", 30 + 30 + 3 * 240),
        ("matmul;f64@4x3,f64@5x3/permute(1,0)", 8 * (12 + 15 + 20)),
    ];
    let arguments: Vec<&str> = ["--json"].into_iter().chain(cases.map(|(case, _)| case)).collect();
    let found = bench(&arguments).succeeded().stdout;
    let lines: Vec<Value> = found.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), cases.len());
    for (line, (case, bytes)) in lines.iter().zip(cases) {
        let mut fields: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        let due = ["bytes", "case", "gbps", "median_s", "memcpy_gbps", "ratio", "tflops"];
        assert_eq!(fields, due[..6 + usize::from(case.starts_with("matmul"))]);
        assert_eq!((line["case"].as_str(), line["bytes"].as_u64()), (Some(case), Some(bytes)));
        assert!(line["median_s"].as_f64().is_some_and(|seconds| seconds > 0.0));
    }
}

#[test]
fn what_is_no_case_is_refused_with_what_is_wrong() {
    for (case, part) in [
        ("sort", "NAME;INPUTS"),
        ("shuffle;f32@3", "is no call"),
        ("sort;f32@3", "takes an argument `axis`"),
        ("sort;f32@3;axis=0,axis=1", "given twice"),
        ("sort;f32@3;axis=1", "axis 1 is out of range"),
        ("sort;f32@3,f32@3;axis=0", "sort takes 1"),
        ("matmul;f32@2x3,f32@2x3", "[2, 3] @ [2, 3]"),
        ("sort;f33@3;axis=0", "f33"),
        ("bincount;i32@288230376151711744;n=10", "too much to measure"),
        ("bincount;i32@10;n=9223372036854775807", "too much to measure"),
    ] {
        bench(&[case]).refused(&[case, part]);
    }
}
