//! Tests refusals of `map`: status 2, one line that names the cause, and no file left behind.

use std::{fs, path::Path};

use crate::{npy_file::NpyFile, run::map};

fn file(descr: &str, shape: &[usize], len_bytes: usize) -> NpyFile {
    NpyFile {
        descr: format!("'{descr}'"),
        fortran: false,
        shape: shape.to_vec(),
        elements: vec![0; len_bytes],
    }
}

/// Checks that the call is refused and that nothing was written.
fn refused(expression: &str, inputs: &[NpyFile], extra: &[&str], parts: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (at, input) in inputs.iter().enumerate() {
        let path = directory.path().join(format!("in{at}.npy"));
        fs::write(&path, input.to_bytes()).unwrap();
        paths.push(path);
    }
    let paths: Vec<&Path> = paths.iter().map(|path| path.as_path()).collect();
    map(expression, &paths, &directory.path().join("out.npy"), extra).refused(parts);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), inputs.len(), "{expression}: a file is left");
}

#[test]
fn mistakes_in_an_expression_point_at_the_place() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("in.npy");
    fs::write(&input, file("<f4", &[2], 8).to_bytes()).unwrap();
    let out = directory.path().join("out.npy");
    for (expression, first, picture) in [
        ("x0 + x1", "at character 6", "  x0 + x1\n       ^^\n"),
        ("x0 * k0", "no scalars", "  x0 * k0\n       ^^\n"),
        ("x0 +", "expression: ", "  x0 +\n"),
        ("cast(x0, f31)", "f31", "  cast(x0, f31)\n           ^^^\n"),
        ("x0 + cast(1, i32)", "i32", "  x0 + cast(1, i32)\n"),
    ] {
        let finished = map(expression, &[&input], &out, &[]);
        assert_eq!((finished.status, &finished.stdout[..]), (2, ""), "{finished:?}");
        let (line, rest) = finished.stderr.split_once('\n').unwrap();
        assert!(line.starts_with("devarray: expression: ") && line.contains(first), "{finished:?}");
        assert!(rest.starts_with(picture) && rest.trim_end().ends_with('^'), "{finished:?}");
        assert!(!out.exists());
    }
}

#[test]
fn types_that_only_one_side_knows() {
    refused("x0", &[file("<c8", &[1], 8)], &[], &["in0.npy", "'<c8'", "functions take"]);
    refused("x0", &[file(">f4", &[1], 4)], &[], &["in0.npy", "big-endian", "'<f4'"]);
    refused("x0", &[file("|S4", &[1], 4)], &[], &["'|S4'"]);
    refused("cast(x0, bf16)", &[file("<f4", &[1], 4)], &[], &["bf16", "cast("]);
    let half = ["--reduce", "sum", "--dtype", "bf16"];
    refused("x0", &[file("<f4", &[1], 4)], &half, &["bf16", "cast("]);
}

#[test]
fn shapes_and_axes_that_do_not_fit() {
    let (three, four) = (file("<f4", &[3], 12), file("<f4", &[2, 4], 32));
    refused(
        "x0 + x1",
        &[three.clone(), four.clone()],
        &[],
        &["in0.npy [3], x1 ", "in1.npy [2, 4]: ", "broadcast"],
    );
    refused("x0", &[three, four.clone()], &[], &["broadcast"]);
    let four = [four];
    refused("x0", &four, &["--reduce", "sum", "--axes", "2"], &["out of range"]);
    refused("x0", &four, &["--reduce", "sum", "--axes", "1,-1"], &["repeated"]);
    refused("x0", &four, &["--scan", "sum", "--axis", "-3"], &["out of range"]);
    refused("cast(i2, f32)", &four, &[], &["out of range"]);
    let empty = file("<f4", &[0, 3], 0);
    refused("x0", &[empty], &["--reduce", "min", "--axes", "0"], &["no value"]);
}

#[test]
fn operations_that_do_not_fit() {
    let (ints, floats) = ([file("<i4", &[2], 8)], [file("<f4", &[2], 8)]);
    refused("x0", &ints, &["--reduce", "mean"], &["i32"]);
    refused("x0", &floats, &["--reduce", "median"], &["--reduce", "median"]);
    refused("x0", &floats, &["--scan", "mean", "--axis", "0"], &["--scan", "mean"]);
    refused(
        "x0",
        &floats,
        &["--scan", "min", "--axis", "0", "--exclusive"],
        &["inputs x0 ", "in0.npy [2]: "],
    );
    refused("x0", &floats, &["--reduce", "sum", "--axes", "1;2"], &["--axes", "1;2"]);
    refused("x0", &floats, &["--reduce", "sum", "--dtype", "float"], &["--dtype", "float"]);
    refused("x0", &floats, &["--reduce", "sum", "--ddof", "1"], &["--ddof"]);
    refused("x0", &floats, &["--scalar", "k0=f32"], &["k0=f32", "NAME=TYPE:VALUE"]);
    refused("x0", &floats, &["--scalar", "k0=u8:256"], &["k0=u8:256"]);
    refused("x0", &floats, &["--scalar", "k1=u8:2"], &["k1=u8:2", "missing"]);
    let out = Path::new("out.npy");
    map("x0", &[], out, &["--axes", "0"]).refused_usage("--reduce");
    map("x0", &[], out, &["--scan", "sum"]).refused_usage("--axis");
    map("x0", &[], out, &["--reduce", "sum", "--scan", "sum", "--axis", "0"]).refused_usage("--scan");
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let directory = tempfile::tempdir().unwrap();
    let (input, broken) = (directory.path().join("in.npy"), directory.path().join("broken.npy"));
    fs::write(&input, file("<f4", &[2], 8).to_bytes()).unwrap();
    fs::write(&broken, file("<f4", &[2], 7).to_bytes()).unwrap();
    let out = directory.path().join("no such folder/out.npy");
    map("x0", &[&input], &out, &[]).refused(&["no such folder", "No such file"]);
    let out = directory.path().join("out.npy");
    map("x0", &[&directory.path().join("none.npy")], &out, &[]).refused(&["none.npy"]);
    // The second input's length is checked before the first input is read.
    let said = map("x0 + x1", &[&input, &broken], &out, &[]).refused(&["broken.npy", "7 of 8 bytes"]);
    assert_eq!(said.stdout, "");
    assert!(!out.exists());
}
