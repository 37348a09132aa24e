//! Tests `devarray bench compute` on the simulator: the form of its lines, its counts, and its
//! refusals.

use serde_json::Value;

use crate::run::{Finished, devarray};

fn compute(arguments: &[&str]) -> Finished {
    devarray(["bench", "compute", "--backend", "mock"].iter().chain(arguments))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn fields(line: &Value) -> Vec<&str> {
    let mut fields: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    fields
}

const FIELDS: [&str; 7] = ["bytes", "case", "first_ms", "gbps", "median_s", "memcpy_gbps", "ratio"];

#[test]
fn a_line_a_case_with_exactly_the_fields_of_the_format() {
    let cases = [
        ("tadd;x0 + x1;f32@40x30/permute(1,0),f32@30x40", 3 * 1200 * 4),
        ("sum1;x0;f32@40x30;sum@1", 1200 * 4 + 40 * 4),
        ("total;x0 * x1;f64@40,f64@40;sum", 80 * 8 + 8),
        ("every;x0;u8@6x8/index(:,::2)", 48),
        ("place;cast(i0, f32) * x0;f32@300x300", 2 * 90_000 * 4),
        ("run;x0;i32@5x7;cumsum@-1", 35 * 4 + 35 * 8),
        ("two;var(;", 0),
    ];
    let good = &cases[..6];
    let arguments: Vec<_> = ["--json"].into_iter().chain(good.iter().map(|(case, _)| *case)).collect();
    let found = lines(&compute(&arguments).succeeded().stdout);
    assert_eq!(found.len(), good.len());
    for (line, &(case, bytes)) in found.iter().zip(good) {
        assert_eq!(fields(line), FIELDS);
        assert_eq!(line["case"], case.split(';').next().unwrap());
        assert_eq!(line["bytes"], bytes);
        let number = |field: &str| line[field].as_f64().unwrap();
        let gbps = f64::from(bytes) / number("median_s") / 1e9;
        assert!((number("gbps") / gbps - 1.0).abs() < 1e-6, "{line}");
        assert!((number("gbps") / number("memcpy_gbps") / number("ratio") - 1.0).abs() < 1e-6, "{line}");
        assert!(number("first_ms") > 0.0, "{line}");
    }
    compute(&arguments.into_iter().chain([cases[6].0]).collect::<Vec<_>>()).refused(&["two;var(;"]);
}

#[test]
fn a_table_for_people_ends_with_the_mean() {
    let text = compute(&["a;x0 * 2;f32@9x7", "b;x0;u8@50;max"]).succeeded().stdout;
    assert!(text.starts_with("mock: ") && text.contains("first ms"), "{text}");
    assert!(text.lines().last().unwrap().starts_with("geometric mean of 2 ratios: "), "{text}");
}

#[test]
fn the_list_has_the_names_of_its_peers() {
    let found = lines(&compute(&["--json"]).succeeded().stdout);
    let (large, small): (Vec<_>, Vec<_>) =
        found.iter().partition(|line| !line["case"].as_str().unwrap().starts_with("small-"));
    assert_eq!((large.len(), small.len()), (37, 6));
    assert!(large.iter().all(|line| fields(line) == FIELDS));
    assert!(small.iter().all(|line| fields(line) == ["case", "us"] && line["us"].as_f64().unwrap() > 0.0));
    for name in
        ["poly8-f32", "imagenorm-u8-f32", "sum0-tall-f32", "cumsum-f32", "softmax1-f32", "small-sum-item-1k"]
    {
        assert!(found.iter().any(|line| line["case"] == name), "{name}");
    }
}

#[test]
fn bad_cases_are_one_line_and_status_2() {
    for (case, parts) in [
        ("a;x0", &["a;x0", "NAME;EXPR;INPUTS"][..]),
        (";x0;f32@3", &["name is empty"]),
        ("a;x0;f33@3", &["f33"]),
        ("a;x0;f32", &["DTYPE@SHAPE"]),
        ("a;x0;f32@3xx", &["3xx"]),
        ("a;x0;f32@3/bend(1)", &["bend(1)"]),
        ("a;x0;f32@3/copy(F)", &["only permute"]),
        ("a;x0;f32@3/permute(1)", &["out of range"]),
        ("a;x0 + x1;f32@3,f32@4", &["broadcast"]),
        ("a;x0;f32@3;median", &["median"]),
        ("a;x0 * 2;f32@3;softmax@0", &["x0 alone"]),
        ("a;x0;i32@3;softmax@0", &["i32"]),
        ("a;x0;f32@3;softmax@1", &["out of range"]),
        ("a;x0;f32@3;sum@1", &["out of range"]),
        ("a;x0;f32@3;sum@x", &["sum@x"]),
        ("a;x0;f32@3;cumsum", &["cumsum@0"]),
        ("a;x0;i32@3;mean", &["i32"]),
        ("a;x0;f32@0x3", &["nothing to compute"]),
        ("a;x0;f32@9000000000x9000000000", &["a;x0;f32@9000000000x9000000000"]),
    ] {
        // If a good case comes before the bad one, it is not measured, either.
        compute(&["good;x0;u8@4", case]).refused(parts);
    }
    let wrong = compute(&["a;x0 + x1;f32@3"]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("  x0 + x1\n       ^^"), "{wrong:?}");
}
