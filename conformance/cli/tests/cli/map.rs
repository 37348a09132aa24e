//! Tests `map` on good files: its results equal loops that are written here, and numbers from NumPy.

use std::{fs, path::PathBuf};

use tempfile::TempDir;

use crate::{
    npy_file::NpyFile,
    run::{devarray, map},
};

/// A folder with array files for `map`.
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

    fn map(&self, expression: &str, extra: &[&str]) -> NpyFile {
        let out = self.directory.path().join("out.npy");
        let inputs: Vec<_> = self.inputs.iter().map(PathBuf::as_path).collect();
        map(expression, &inputs, &out, extra).succeeded();
        assert_eq!(
            fs::read_dir(&self.directory).unwrap().count(),
            self.inputs.len() + 1,
            "nothing else is left"
        );
        NpyFile::read(&out)
    }
}

fn file(descr: &str, shape: &[usize], elements: Vec<u8>) -> NpyFile {
    NpyFile { descr: format!("'{descr}'"), fortran: false, shape: shape.to_vec(), elements }
}

fn f32s(shape: &[usize], values: &[f32]) -> NpyFile {
    file("<f4", shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn i32s(shape: &[usize], values: &[i32]) -> NpyFile {
    file("<i4", shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

fn i64s(shape: &[usize], values: &[i64]) -> NpyFile {
    file("<i8", shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

/// Makes numbers with fractions, positive and negative.
fn numbers(len: u16) -> Vec<f32> {
    (0..len).map(|n| (f32::from(n * 37 % 101) - 50.3) / 7.0).collect()
}

#[test]
fn inputs_and_scalars_broadcast_and_are_computed() {
    let (a, b) = (numbers(15), numbers(5));
    let files = Files::new(&[f32s(&[3, 5], &a), f32s(&[5], &b)]);
    let expected: Vec<f32> = a
        .iter()
        .enumerate()
        .map(|(n, &x)| x * 2.5 + if b[n % 5] < 0.0 { -b[n % 5] } else { b[n % 5] })
        .collect();
    let found =
        files.map("x0 * k0 + where(x1 < k1, -x1, x1)", &["--scalar", "k1=f32:0", "--scalar", "k0=f32:2.5"]);
    assert_eq!(found, f32s(&[3, 5], &expected));
    let column: Vec<bool> = a.iter().map(|&x| x > 1.5).collect();
    let found = files.map("x0 > 1.5", &[]);
    assert_eq!(found, file("|b1", &[3, 5], column.into_iter().map(u8::from).collect()));
    // Negates an index, which is an i64.
    let found = files.map("-i1 + cast(x0, i64) * 0", &[]);
    assert_eq!(found, i64s(&[3, 5], &[0, -1, -2, -3, -4].repeat(3)));
}

/// Compares with `np.exp` of f64, rounded to f32, and with `np.float16(1) / np.float16(3)`.
#[test]
fn numbers_of_numpy() {
    let files = Files::new(&[f32s(&[3], &[0.0, 1.0, -2.5])]);
    let expected = [0x3f80_0000_u32, 0x402d_f854, 0x3da8_1c2e].map(f32::from_bits);
    assert_eq!(files.map("exp(x0)", &[]), f32s(&[3], &expected));
    let files = Files::new(&[file("<f2", &[1], 0x3c00_u16.to_le_bytes().to_vec())]);
    assert_eq!(files.map("x0 / 3", &[]), file("<f2", &[1], 0x3555_u16.to_le_bytes().to_vec()));
}

#[test]
fn every_type_passes() {
    for (descr, name, len) in [
        ("|b1", "bool", 1),
        ("|i1", "i8", 1),
        ("|u1", "u8", 1),
        ("<i2", "i16", 2),
        ("<u2", "u16", 2),
        ("<i4", "i32", 4),
        ("<u4", "u32", 4),
        ("<i8", "i64", 8),
        ("<u8", "u64", 8),
        ("<f2", "f16", 2),
        ("<f4", "f32", 4),
        ("<f8", "f64", 8),
    ] {
        let one = match name {
            "f16" => 0x3c00_u64,
            "f32" => u64::from(1_f32.to_bits()),
            "f64" => 1_f64.to_bits(),
            _ => 1,
        };
        let elements: Vec<u8> = [0, one].iter().flat_map(|bits| bits.to_le_bytes()[..len].to_vec()).collect();
        let same = file(descr, &[2], elements);
        let files = Files::new(std::slice::from_ref(&same));
        assert_eq!(files.map("x0", &[]), same, "{name}");
        let from_bool = Files::new(&[file("|b1", &[2], vec![0, 1])]);
        assert_eq!(from_bool.map(&format!("cast(x0, {name})"), &[]), same, "{name}");
    }
}

#[test]
fn reductions_and_running_forms() {
    let values: Vec<i32> = (0..24).map(|n| n * 31 % 17 - 8).collect();
    let files = Files::new(&[i32s(&[2, 3, 4], &values)]);
    let at = |i: usize, j: usize, k: usize| i64::from(values[(i * 3 + j) * 4 + k]);
    let sums: Vec<i64> = (0..3).map(|j| (0..8).map(|n| at(n / 4, j, n % 4)).sum()).collect();
    assert_eq!(files.map("x0", &["--reduce", "sum", "--axes", "0,-1"]), i64s(&[3], &sums));
    assert_eq!(files.map("x0", &["--reduce", "sum", "--axes", "0,2", "--keepdims"]), i64s(&[1, 3, 1], &sums));
    assert_eq!(files.map("x0", &["--reduce", "sum"]), i64s(&[], &[sums.iter().sum()]));
    let none = files.map("x0", &["--reduce", "sum", "--axes", ""]);
    assert_eq!(none, i64s(&[2, 3, 4], &values.iter().map(|&n| i64::from(n)).collect::<Vec<_>>()));
    let largest: Vec<i32> = values.chunks(4).map(|row| *row.iter().max().unwrap()).collect();
    assert_eq!(files.map("x0", &["--reduce", "max", "--axes=-1"]), i32s(&[2, 3], &largest));
    // The sum is exact in f64, in any order.
    let mean = values.iter().map(|&n| f64::from(n)).sum::<f64>() / 24.0;
    let found = files.map("x0", &["--reduce", "mean", "--dtype", "f64"]);
    assert_eq!(found, file("<f8", &[], mean.to_le_bytes().to_vec()));
    let mut running = Vec::new();
    for (i, j) in (0..6).map(|n| (n / 3, n % 3)) {
        running.extend((0..4).map(|k| (0..k).map(|before| at(i, j, before)).sum::<i64>()));
    }
    let found = files.map("x0", &["--scan", "sum", "--axis", "-1", "--exclusive"]);
    assert_eq!(found, i64s(&[2, 3, 4], &running));
    let files = Files::new(&[f32s(&[4], &[1.0, 2.0, 4.0, 9.0])]);
    // The mean is 4, and the squares of the deviations are 9 + 4 + 0 + 25 = 38.
    let found = files.map("x0", &["--reduce", "var", "--ddof", "2"]);
    assert_eq!(found, f32s(&[], &[19.0]));
}

#[test]
fn files_in_f_order_give_files_in_f_order() {
    let mut input = f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    input.fortran = true;
    let files = Files::new(&[input.clone()]);
    let mut expected = f32s(&[2, 3], &[2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    expected.fortran = true;
    assert_eq!(files.map("x0 * 2", &[]), expected);
    let sums = files.map("x0", &["--reduce", "sum", "--axes", "0"]);
    assert_eq!(sums, f32s(&[3], &[3.0, 7.0, 11.0]));
}

#[test]
fn arrays_of_no_axes_and_of_no_elements() {
    let files = Files::new(&[i32s(&[], &[5]), i32s(&[0, 3], &[])]);
    assert_eq!(files.map("x0 + x1", &[]), i32s(&[0, 3], &[]));
    assert_eq!(files.map("x1 + 0 * x0", &["--reduce", "sum", "--axes", "0"]), i64s(&[3], &[0; 3]));
    let files = Files::new(&[i32s(&[], &[5])]);
    assert_eq!(files.map("x0 ** 3", &[]), i32s(&[], &[125]));
    assert_eq!(Files::new(&[]).map("cast(7, i32)", &[]), i32s(&[], &[7]));
}

#[test]
fn output_may_be_an_input_or_standard_output() {
    let files = Files::new(&[i32s(&[3], &[1, 2, 3])]);
    let path = &files.inputs[0];
    let said = map("x0 * x1", &[path, path], path, &[]).succeeded().stdout;
    for stage in ["mock: ", "read", "upload", "compute", "download", "write"] {
        assert!(said.contains(stage), "{stage}: {said}");
    }
    assert_eq!(NpyFile::read(path), i32s(&[3], &[1, 4, 9]));
    assert_eq!(map("x0", &[path], path, &["--quiet"]).succeeded().stdout, "");
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_devarray"))
        .args(["map", "--backend", "mock", "--quiet", "-o", "-", "-x0"])
        .arg(path)
        .output()
        .unwrap();
    assert!(out.stdout.starts_with(b"\x93NUMPY") && out.stderr.is_empty() && out.status.success());
    assert_eq!(out.stdout[out.stdout.len() - 12..], i32s(&[3], &[-1, -4, -9]).elements[..]);
    let help = devarray(["map", "--help"]).succeeded().stdout;
    assert!(help.contains("Examples:") && help.contains("--reduce sum --axes 1"), "{help}");
}
