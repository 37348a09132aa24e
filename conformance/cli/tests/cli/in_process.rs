//! Tests that the copies of a command run on the device, by the simulator's counts.

use std::{fs, path::Path};

use clap::Parser as _;
use devarray_cli::{
    Cli, Command,
    commands::{golden, relayout},
    output::Output,
    steps::parse_steps,
};
use devarray_mock::{MockDevice, Statistics};

/// Runs a command line on a new device.
fn run(line: &[&str]) -> (Statistics, String) {
    let device = MockDevice::new();
    let mut printed = Vec::new();
    let mut output = Output::new(&mut printed);
    let cli = Cli::try_parse_from(["devarray"].iter().chain(line)).unwrap();
    match cli.command {
        Command::Golden(arguments) => {
            golden::check(device.clone(), &arguments, &mut output).map(drop).unwrap()
        }
        Command::Relayout(arguments) => {
            let steps = parse_steps(&arguments.steps).unwrap();
            relayout::relayout(device.clone(), &arguments, &steps, &mut output).map(drop).unwrap();
        }
        other => panic!("{other:?} runs on no device"),
    }
    device.finish();
    (device.statistics(), String::from_utf8(printed).unwrap())
}

fn golden_case(steps: &str) -> Statistics {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("case.jsonl");
    let case =
        format!(r#"{{"id":"a","base":[4,6],"steps":[{steps}],"expect":{{"shape":[0],"c":true,"f":true}}}}"#);
    fs::write(&path, case).unwrap();
    run(&["golden", path.to_str().unwrap()]).0
}

fn relayout_volume(steps: &str, order: &str) -> Statistics {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.npy");
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/volume.npy");
    let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
    run(&["relayout", input, "-o", output, "--steps", steps, "--order", order]).0
}

/// The number of bytes that were copied on the device.
fn copied(statistics: &Statistics) -> u64 {
    statistics.executed.copies.bytes
}

/// The number of bytes in the example.
const VOLUME: u64 = 24 * 32 * 40 * 4;

#[test]
fn golden_copies_where_numpy_copies_and_nowhere_else() {
    let transpose = r#"{"do":"permute","axes":[1,0]}"#;
    let ravel = r#"{"do":"ravel","order":"C"}"#;
    let reshape = r#"{"do":"reshape","shape":[8,3],"order":"C"}"#;
    let copy = r#"{"do":"copy","order":"K"}"#;
    let base = golden_case("").executed;
    assert_eq!((base.uploads.bytes, base.copies.bytes), (96, 0), "the base is made once");
    for (steps, bytes) in [
        (format!("{ravel},{reshape}"), 0),
        (copy.to_owned(), 96),
        (format!("{transpose},{ravel}"), 96),
        (format!("{transpose},{reshape},{ravel}"), 96),
        (format!("{transpose},{ravel},{copy},{copy}"), 288),
    ] {
        let statistics = golden_case(&steps);
        assert_eq!(statistics.executed.copies.bytes - base.copies.bytes, bytes, "{steps}");
        assert_eq!(statistics.executed.uploads, base.uploads, "{steps}: nothing goes by way of the host");
    }
}

#[test]
fn relayout_moves_each_byte_once_each_way() {
    for (steps, order, copied_bytes, result_bytes) in [
        ("", "C", 0, VOLUME),
        ("index(3:9)", "C", 0, VOLUME / 4),
        ("", "F", VOLUME, VOLUME),
        ("permute(2,1,0)", "F", 0, VOLUME),
        ("permute(2,0,1)/index(::2)", "C", VOLUME / 2, VOLUME / 2),
        ("permute(2,0,1)/reshape(-1,order=C)/flip(0)", "C", 2 * VOLUME, VOLUME),
    ] {
        let statistics = relayout_volume(steps, order);
        assert_eq!(statistics.executed.uploads.bytes, VOLUME, "{steps}");
        assert_eq!(copied(&statistics), copied_bytes, "{steps} {order}");
        assert_eq!(statistics.executed.downloads.bytes, result_bytes, "{steps} {order}");
    }
}

#[test]
fn everything_is_given_back() {
    let statistics = relayout_volume("permute(2,0,1)/ravel(C)/reshape(40,-1)/flip(0)", "C");
    assert_eq!(statistics.executed.allocs, statistics.executed.frees);
}
