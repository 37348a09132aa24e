//! Input that demands endless work or memory gives one line of error and status 2. The tests limit the memory to
//! less than this input would take.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{
    npy_file::with_header,
    run::{Finished, devarray},
};

/// Runs a command that may use at most 2 GB of address space.
fn confined(arguments: &[&str]) -> Finished {
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"ulimit -v 2000000; exec "$0" "$@""#, env!("CARGO_BIN_EXE_devarray")]);
    Finished::of(shell.args(arguments))
}

/// Runs a command on a file with these bytes.
fn on_file(command: &[&str], bytes: &[u8]) -> Finished {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("input");
    fs::write(&path, bytes).unwrap();
    confined(&[command, &[path.to_str().unwrap()]].concat())
}

fn golden(case: &Value) -> Finished {
    on_file(&["golden", "--backend", "mock"], case.to_string().as_bytes())
}

fn relayout(file: &[u8], steps: &str) -> Finished {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.npy"), directory.path().join("out.npy"));
    fs::write(&input, file).unwrap();
    let [input, output] = [&input, &output].map(|path| path.to_str().unwrap());
    confined(&["relayout", input, "-o", output, "--backend", "mock", "--steps", steps])
}

fn array(shape: &str, elements: &[u8]) -> Vec<u8> {
    with_header(&format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n"), elements)
}

/// The number of parts is as large as a number can be. The selected part is found without a visit to the others.
#[test]
fn a_part_of_very_many_is_found_at_once() {
    let far = isize::MAX;
    for (steps, due) in [
        (format!("array_split({far},take=3)"), vec![13]),
        (format!("array_split({far},take={})", far - 1), vec![]),
        ("split(1,take=5)".to_owned(), vec![15]),
        (format!("split({far},take=0)"), (10..18).collect::<Vec<u8>>()),
        ("split_at(2,5,9,take=1)".to_owned(), vec![12, 13, 14]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (input, output) = (directory.path().join("in.npy"), directory.path().join("out.npy"));
        fs::write(&input, array("(8,)", &[10, 11, 12, 13, 14, 15, 16, 17])).unwrap();
        crate::run::relayout(&input, &output, &["--steps", &steps]).succeeded();
        assert_eq!(crate::npy_file::NpyFile::read(&output).elements, due, "{steps}");
    }
    let steps = format!("array_split({far},take={far})");
    relayout(&array("(8,)", &[0; 8]), &steps).refused(&["index 9223372036854775807 is out of range"]);
}

#[test]
fn a_line_without_an_end_is_refused() {
    for command in ["golden", "replay"] {
        confined(&[command, "--backend", "mock", "/dev/zero"])
            .refused(&["/dev/zero:1: the line is longer than the 16777216 bytes allowed"]);
    }
    // A blank line that is nearly as long as allowed, and then a bad line.
    let mut blank = vec![b' '; (16 << 20) - 1];
    blank.extend(b"\nx");
    on_file(&["golden", "--backend", "mock"], &blank).refused(&["input:2:1: expected value"]);
}

#[test]
fn golden_cases_have_a_size() {
    let error = json!({"error": true});
    let case = |base: Value, steps: Value| json!({"id": "a", "base": base, "steps": steps, "expect": error});
    for base in [json!([2_147_483_648_u64]), json!([2_147_483_647]), json!([65536, 0, 65536])] {
        golden(&case(base, json!([]))).refused(&["input:1:", "more than the 16777216 elements allowed"]);
    }
    golden(&case(json!(vec![1; 65]), json!([]))).refused(&["base: 65 axes are more than the 64 allowed"]);
    let broadcast = json!({"do": "broadcast", "shape": [1_u64 << 40, 2]});
    golden(&case(json!([2]), json!([broadcast]))).refused(&["a result of 2199023255552 elements is larger"]);
    let broadcast = json!({"do": "broadcast", "shape": [1_u64 << 29, 2]});
    golden(&case(json!([2]), json!([broadcast, {"do": "copy", "order": "C"}]))).refused(&["out of memory"]);
    let many = vec![json!({"do": "squeeze"}); 4097];
    golden(&case(json!([2]), json!(many))).refused(&["4097 steps and arguments are more than the 4096"]);
    let axes = json!([{"do": "index", "items": vec![Value::Null; 5000]}]);
    golden(&case(json!([2]), axes)).refused(&["5001 steps and arguments are more than the 4096"]);
}

#[test]
fn golden_cases_of_functions_have_a_size() {
    let vector = |shape: Value| json!({"dtype": "u8", "shape": shape, "data": "00".repeat(8192)});
    let case = |inputs: Value, out: Value| {
        let expect = json!({"error": "shape"});
        json!({"id": "a", "expr": "x0 + x1", "inputs": inputs, "out": out, "expect": expect, "reduce": {"op": "sum"}})
    };
    let far = json!([vector(json!([8192, 1])), vector(json!([8192]))]);
    golden(&case(far, Value::Null))
        .refused(&["input:1: 67108864 elements to compute are more than the 16777216"]);
    let near = json!([vector(json!([8192])), vector(json!([8192]))]);
    for shape in [json!([1_u64 << 40]), json!([65536, 0, 65536])] {
        golden(&case(near.clone(), json!({"shape": shape})))
            .refused(&["more than the 16777216 elements allowed"]);
    }
    golden(&case(near, json!({"shape": vec![1; 65]}))).refused(&["65 axes are more than the 64 allowed"]);
}

#[test]
fn programs_have_a_size() {
    let program = |buffer: u64, host: u64| {
        json!({"id": "p", "buffers": [{"id": "b", "bytes": buffer, "init": true}], "hosts": [{"id": "h", "bytes": host}],
            "streams": 1, "events": 0, "ops": [{"do": "sync_device"}]})
    };
    let replay = |program: &Value| on_file(&["replay"], program.to_string().as_bytes());
    replay(&program(8, 1_900_000_000)).refused(&["input:1: ", "alloc_host: out of memory: 1900000000 bytes"]);
    replay(&program(3_000_000_000, 8)).refused(&["input:1: ", "alloc: out of memory: 3000000000 bytes"]);
    replay(&program(1 << 20, 1 << 20)).succeeded();
    for list in ["ops", "buffers", "hosts"] {
        let mut many = program(8, 8);
        let one = many[list][0].clone();
        many[list] = json!(vec![one; 65_537]);
        let at_most = format!("{list}: more than 65536 entries");
        replay(&many).refused(&["input:1: ", &at_most]);
    }
    devarray(["replay", "--schedules", "1000001", "x"]).refused_usage("--schedules");
    devarray(["check", "--cases", "18446744073709551615"]).refused_usage("--cases");
    devarray(["check", "--cases", "0"]).refused_usage("--cases");
}

#[test]
fn array_files_and_measurements_have_axes_that_can_be_counted() {
    let ones = "1,".repeat(65);
    relayout(&array(&format!("({ones})"), &[7]), "").refused(&["65 axes are more than the 64 allowed"]);
    let more = format!("index({}0:1)", "None,".repeat(64));
    relayout(&array("(2,)", &[7, 8]), &more)
        .refused(&["in.npy: the result: 65 axes are more than the 64 allowed"]);
    let bench = |case: &str| confined(&["bench", "copy", "--backend", "mock", case]);
    bench(&format!("a:u8:{}1:", "1x".repeat(64))).refused(&["65 axes are more than the 64 allowed"]);
    let far = isize::MAX;
    for case in [
        format!("a:u8:{far}x{far}:"),
        format!("a:u8:{far}x2:index(0)/reshape(-1)"),
        format!("a:u8:1:broadcast({far},{far})"),
        format!("a:u8:1:broadcast({far},{far})/reshape(-1)"),
        format!("a:u8:2:reshape({far},{far},{far})"),
    ] {
        bench(&case).refused(&["the size overflows"]);
    }
    bench(&format!("a:u8:{far}:")).refused(&["out of memory"]);
    bench("a:u8:4:index(::9223372036854775807)").succeeded();
    bench("a:u8:4:index(::-9223372036854775808)/flip(0)").succeeded();
}

#[test]
fn a_chain_of_steps_has_a_length() {
    let file = array("(8,)", &[0; 8]);
    let steps = vec!["flip(0)"; 2049].join("/");
    relayout(&file, &steps).refused(&["--steps: 4098 steps and arguments are more than the 4096 allowed"]);
    let axes = format!("index({}...)", "None,".repeat(2000));
    // A list of steps with the allowed length is done quickly, though every step must look at 2,000 axes.
    let steps = format!("{axes}/{}", vec!["squeeze(0)"; 900].join("/"));
    relayout(&file, &format!("{steps}/squeeze()")).succeeded();
}
