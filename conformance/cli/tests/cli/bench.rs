//! Tests `devarray bench` on the simulator: the form of its lines, and its refusals. Speed is not tested.

use serde_json::Value;

use crate::run::devarray;

fn bench(arguments: &[&str]) -> crate::run::Finished {
    devarray(["bench"].iter().chain(arguments))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn fields(line: &Value) -> Vec<&str> {
    let mut fields: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    fields
}

const FIELDS: [&str; 8] =
    ["case", "dtype", "gbps", "median_s", "memcpy_gbps", "ratio", "result_bytes", "shape"];

#[test]
fn a_line_a_case_with_exactly_the_fields_of_the_format() {
    let cases = [
        ("half:f16:64x64:index(:,:32)", 64 * 32 * 2),
        ("t:c128:30x20:permute(1,0)", 30 * 20 * 16),
        ("b:bool:1x9:broadcast(4,9)/flip(-1)", 36),
        ("r:u8:6x4:permute(1,0)/reshape(-1)/index(5:-5)", 14),
        ("s:f64::", 8),
    ];
    let arguments = ["copy", "--backend", "mock", "--reference", "memcpy", "--json"];
    let arguments: Vec<_> = arguments.into_iter().chain(cases.iter().map(|(case, _)| *case)).collect();
    let found = lines(&bench(&arguments).succeeded().stdout);
    assert_eq!(found.len(), cases.len());
    for (line, (case, result_bytes)) in found.iter().zip(cases) {
        assert_eq!(fields(line), FIELDS);
        assert_eq!(line["case"], case);
        assert_eq!(line["dtype"], case.split(':').nth(1).unwrap());
        assert_eq!(line["result_bytes"], result_bytes);
        let number = |field: &str| line[field].as_f64().unwrap();
        let gbps = 2.0 * f64::from(result_bytes) / number("median_s") / 1e9;
        assert!((number("gbps") / gbps - 1.0).abs() < 1e-6, "{line}");
        assert!((number("gbps") / number("memcpy_gbps") / number("ratio") - 1.0).abs() < 1e-6, "{line}");
    }
    assert_eq!(found[0]["shape"], serde_json::json!([64, 64]));
}

#[test]
fn a_table_for_people_ends_with_the_mean() {
    let text = bench(&["copy", "--backend", "mock", "a:f32:9x7:permute(1,0)", "b:u8:50:"]).succeeded().stdout;
    assert!(text.starts_with("mock: "), "{text}");
    assert!(text.lines().last().unwrap().starts_with("geometric mean of 2 ratios: "), "{text}");
}

#[test]
fn the_choice_is_explained() {
    let case = "t:f32:300x200:permute(1,0)";
    let text = bench(&["copy", "--backend", "mock", "--explain", case]).succeeded().stdout;
    for part in ["plan: ", "Transpose", "kernel tile_4:tile_", "16 B stored", "blocks", "why: "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = bench(&["copy", "--backend", "mock", "--json", "--explain", case]).succeeded().stdout;
    assert!(lines(&json)[0]["explain"].as_array().unwrap().len() > 2, "{json}");
}

#[test]
fn bad_cases_are_one_line_and_status_2() {
    for (case, parts) in [
        ("a:f32:3", &["a:f32:3", "NAME:DTYPE:SHAPE:STEPS"][..]),
        ("a:f33:3:", &["f33"]),
        ("a:f32:3xx:", &["3xx"]),
        ("a:f32:3x3:bend(1)", &["bend(1)"]),
        ("a:f32:3x3:copy(F)", &["only permute"]),
        ("a:f32:3x3:permute(0,0)", &["step 1", "repeated"]),
        ("a:f32:3x3:flip(0)/index(9)", &["step 2", "out of range"]),
        ("a:f32:3x3:reshape(2,-1)", &["-1"]),
        ("a:f32:0x3:", &["nothing to copy"]),
        ("a:f32:9000000000x9000000000:", &["overflow"]),
    ] {
        // If a good case comes before the bad one, it is not measured, either.
        bench(&["copy", "--backend", "mock", "good:u8:4:", case]).refused(parts);
    }
    bench(&["transfer", "--backend", "mock", "--max-bytes", "1"]).refused(&["4096"]);
}

#[test]
fn transfers_have_the_same_fields() {
    let text = bench(&["transfer", "--backend", "mock", "--json", "--max-bytes", "65536", "--threads", "3"])
        .succeeded()
        .stdout;
    let found = lines(&text);
    let names: Vec<_> = found.iter().map(|line| line["case"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2 * 4 + 2 + 1);
    for name in
        ["pinned-to-device-4KiB", "pageable-from-device-64KiB", "transposed-to-device-64KiB", "overlap"]
    {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(found.iter().all(|line| fields(line) == FIELDS), "{text}");
}

#[test]
fn joins_are_right_and_have_the_same_fields() {
    let text = bench(&["joins", "--backend", "mock", "--json", "--bytes", "65536"]).succeeded().stdout;
    let found = lines(&text);
    let names: Vec<_> = found.iter().map(|line| line["case"].as_str().unwrap()).collect();
    for name in
        ["concatenate-16", "stack-last", "pad-constant-images", "pad-reflect", "roll-both", "repeat-rows"]
    {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(found.iter().all(|line| fields(line) == FIELDS), "{text}");
    bench(&["joins", "--backend", "mock", "--bytes", "1"]).refused(&["65536"]);
}

#[test]
fn overhead_names_every_call() {
    let text = bench(&["overhead", "--backend", "mock", "--json"]).succeeded().stdout;
    let found = lines(&text);
    for call in
        ["reshape", "permute", "index", "split", "allocate and free", "tracked", "untracked", "record"]
    {
        assert!(found.iter().any(|line| line["call"].as_str().unwrap().contains(call)), "{call}: {text}");
    }
    assert!(found.iter().all(|line| line["ns"].as_f64().unwrap() > 0.0), "{text}");
}

#[test]
fn exchanges_are_checked_and_timed() {
    let cases = ["all_reduce;f32@100", "all_gather;u8@7", "reduce_scatter;f64@9", "broadcast;i32@5"];
    let cases = cases.into_iter().chain(["all_to_all;f32@8", "send;f32@3"]);
    let arguments = ["collective", "--backend", "mock", "--ranks", "3", "--json"];
    let arguments: Vec<_> = arguments.into_iter().chain(cases.clone()).collect();
    let found = lines(&bench(&arguments).succeeded().stdout);
    let bytes = [400, 9, 72, 20, 36, 12];
    let factors = [4.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 1.0, 2.0 / 3.0, 1.0];
    assert_eq!(found.len(), bytes.len());
    for (((line, case), bytes), factor) in found.iter().zip(cases).zip(bytes).zip(factors) {
        let due = ["bus_gbps", "bytes", "case", "median_s", "ranks", "unchecked_bus_gbps", "unchecked_s"];
        assert_eq!(fields(line), due);
        assert_eq!((line["case"].as_str(), line["ranks"].as_u64()), (Some(case), Some(3)));
        assert_eq!(line["bytes"], bytes, "{case}");
        let number = |field: &str| line[field].as_f64().unwrap();
        for (rate, seconds) in [("bus_gbps", "median_s"), ("unchecked_bus_gbps", "unchecked_s")] {
            let gbps = f64::from(bytes) * factor / number(seconds) / 1e9;
            assert!((number(rate) / gbps - 1.0).abs() < 1e-6, "{line}");
        }
    }
    let table = bench(&["collective", "--backend", "host", "send;u8@5"]).succeeded().stdout;
    assert!(
        table.starts_with("host: ") && table.contains("2 ranks\n") && table.contains("\nsend;u8@5 "),
        "{table}"
    );
}

#[test]
fn bad_exchanges_are_one_line_and_status_2() {
    for (arguments, part) in [
        (["--ranks", "2", "gather;f32@8"], "no exchange is called"),
        (["--ranks", "1", "send;f32@8"], "two ranks or more"),
        (["--ranks", "2", "send;f32"], "NAME;DTYPE@COUNT"),
    ] {
        let arguments: Vec<_> = ["collective", "--backend", "mock"].into_iter().chain(arguments).collect();
        bench(&arguments).refused(&[part]);
    }
}
