//! Tests `call`: its results equal values that are written here, and mistakes give one line.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{
    npy_file::NpyFile,
    run::{Finished, devarray},
};

/// A folder with array files.
struct Files {
    directory: TempDir,
    inputs: Vec<PathBuf>,
}

impl Files {
    fn new(files: &[NpyFile]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let write = |(at, file): (usize, &NpyFile)| {
            let path = directory.path().join(format!("in{at}.npy"));
            fs::write(&path, file.to_bytes()).unwrap();
            path
        };
        Self { inputs: files.iter().enumerate().map(write).collect(), directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Makes a call that writes its results to files of these names.
    fn run(&self, name: &str, backend: &str, outputs: &[&str], arguments: &[&str]) -> Finished {
        let outputs: Vec<String> = outputs
            .iter()
            .map(|name| if name.is_empty() { String::new() } else { self.path(name).display().to_string() })
            .collect();
        let outputs = outputs.join(",");
        let inputs = self.inputs.iter().map(|path| path.to_str().unwrap());
        let rest = ["-o", &outputs, "--backend", backend].into_iter().chain(arguments.iter().copied());
        devarray(["call", name].into_iter().chain(inputs).chain(rest))
    }

    fn read(&self, name: &str) -> NpyFile {
        NpyFile::read(&self.path(name))
    }

    fn count(&self) -> usize {
        fs::read_dir(&self.directory).unwrap().count()
    }
}

fn file(descr: &str, shape: &[usize], elements: Vec<u8>) -> NpyFile {
    NpyFile { descr: format!("'{descr}'"), fortran: false, shape: shape.to_vec(), elements }
}

fn i32s(shape: &[usize], values: &[i32]) -> NpyFile {
    file("<i4", shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn i64s(shape: &[usize], values: &[i64]) -> NpyFile {
    file("<i8", shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn f32s(shape: &[usize], values: &[f32]) -> NpyFile {
    file("<f4", shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn same(found: &NpyFile, due: &NpyFile) {
    assert_eq!((&found.descr, &found.shape, &found.elements), (&due.descr, &due.shape, &due.elements));
}

#[test]
fn results_go_to_the_files_that_are_named_and_the_others_are_not_made() {
    for backend in ["mock", "host"] {
        let files = Files::new(&[i32s(&[2, 3], &[3, 1, 3, 2, 1, 3])]);
        files.run("topk", backend, &["v.npy", "p.npy"], &["k=2", "axis=1"]).succeeded();
        same(&files.read("v.npy"), &i32s(&[2, 2], &[3, 3, 3, 2]));
        same(&files.read("p.npy"), &i64s(&[2, 2], &[0, 2, 2, 0]));
        files.run("unique", backend, &["", "", "inverse.npy"], &[]).succeeded();
        same(&files.read("inverse.npy"), &i64s(&[2, 3], &[2, 0, 2, 1, 0, 2]));
        assert_eq!(files.count(), 4);
        files.run("nonzero", backend, &["rows.npy"], &[]).succeeded();
        assert_eq!(files.read("rows.npy").shape, [6, 2]);
        // The output file replaces the input file, and arguments may come before the files.
        let input = files.inputs[0].to_str().unwrap();
        devarray(["call", "sort", "descending=true", "axis=-1", input, "-o", input, "--backend", backend])
            .succeeded();
        same(&files.read("in0.npy"), &i32s(&[2, 3], &[3, 3, 1, 3, 2, 1]));
    }
}

#[test]
fn calls_of_several_files() {
    let files = Files::new(&[f32s(&[3], &[1.0, 2.0, 3.0]), i32s(&[3], &[-1, 0, -1]), f32s(&[1], &[0.5])]);
    files.run("put", "host", &["y.npy"], &["op=add", "axis=0"]).succeeded();
    same(&files.read("y.npy"), &f32s(&[3], &[1.5, 2.0, 4.0]));
    let files = Files::new(&[i64s(&[4], &[1, 2, 3, 4]), i32s(&[3], &[0, 1, 4])]);
    files.run("segments", "mock", &["s.npy"], &["op=maximum"]).succeeded();
    same(&files.read("s.npy"), &i64s(&[2], &[1, 4]));
}

#[test]
fn one_result_goes_to_standard_output() {
    let files = Files::new(&[i32s(&[2], &[2, 1])]);
    let input = files.inputs[0].to_str().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_devarray"));
    let output =
        command.args(["call", "sort", input, "axis=0", "-o", "-", "--backend", "mock"]).output().unwrap();
    assert!(output.status.success() && output.stdout.starts_with(b"\x93NUMPY"), "{output:?}");
    assert!(output.stdout.ends_with(&[1, 0, 0, 0, 2, 0, 0, 0]), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("call "));
    let both = devarray(["call", "topk", input, "axis=0", "k=1", "--out=-,-", "--backend", "mock"]);
    both.refused(&["-o", "two results"]);
}

#[test]
fn mistakes_are_one_line_and_leave_no_file() {
    let x = || i32s(&[2, 2], &[0, 7, 1, 1]);
    for (name, inputs, outputs, arguments, parts) in [
        ("shuffle", vec![x()], vec!["o"], vec![], &["\"shuffle\" is no call"][..]),
        ("sort", vec![x()], vec!["o"], vec![], &["sort takes an argument `axis`"]),
        ("sort", vec![x()], vec!["o"], vec!["axis=2"], &["in0.npy", "[2, 2]", "axis 2"]),
        ("sort", vec![x()], vec!["o"], vec!["axis=0", "axis=1"], &["`axis` is given twice"]),
        ("sort", vec![x()], vec!["o", "p"], vec!["axis=0"], &["2 names", "1 results"]),
        ("sort", vec![x()], vec![""], vec!["axis=0"], &["-o: no name"]),
        ("topk", vec![x()], vec!["o", "o"], vec!["axis=0", "k=1"], &["two results"]),
        ("topk", vec![x()], vec!["o", "no/p"], vec!["axis=0", "k=1"], &["no/p"]),
        ("bincount", vec![x()], vec!["o"], vec!["n=5"], &["bincount", "index 7 at position 1"]),
        ("median", vec![x()], vec!["o"], vec![], &["no call"]),
        ("quantile", vec![x()], vec!["o"], vec!["q=0.5", "axis=0"], &["in0.npy", "i32"]),
        ("histogram", vec![x()], vec!["o"], vec![], &["in0.npy"]),
        ("sort", vec![file("<c8", &[1], vec![0; 8])], vec!["o"], vec!["axis=0"], &["in0.npy", "'<c8'"]),
    ] {
        for backend in ["mock", "host"] {
            let files = Files::new(&inputs);
            files.run(name, backend, &outputs, &arguments).refused(parts);
            assert_eq!(files.count(), inputs.len(), "{name}: a file is left");
        }
    }
    let missing = devarray(["call", "sort", "none.npy", "axis=0", "-o", "o.npy", "--backend", "mock"]);
    missing.refused(&["none.npy"]);
    assert!(!Path::new("o.npy").exists());
    devarray(["call", "sort", "-o", "o.npy"]).refused_usage("IN.npy");
}
