//! Tests bad files: they give one line that names the file and the cause, status 2, and no output, and they leave
//! no file behind.

use std::fs;

use crate::{
    npy_file::with_header,
    run::{devarray, relayout},
};

/// Tries a file as input, with and without an existing output file.
fn refuse(bytes: &[u8], cause: &str) {
    let directory = tempfile::tempdir().unwrap();
    let (input, output) = (directory.path().join("in.npy"), directory.path().join("out.npy"));
    fs::write(&input, bytes).unwrap();
    relayout(&input, &output, &[]).refused(&[&input.display().to_string(), cause]);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing is left");
    fs::write(&output, "old").unwrap();
    relayout(&input, &output, &[]).refused(&[cause]);
    assert_eq!(fs::read(&output).unwrap(), b"old");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 2, "nothing is left");
}

fn header(descr: &str, order: &str, shape: &str) -> String {
    format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n")
}

#[test]
fn what_is_no_array_file() {
    refuse(b"", "not a .npy file");
    refuse(b"\x93NUM", "not a .npy file");
    refuse(b"PK\x03\x04 a zip file", "not a .npy file");
    refuse(b"\x93NUMPY\x04\0\0\0\0\0", "version 4.0");
    refuse(b"\x93NUMPY\x01\x01\0\0\0\0", "version 1.1");
}

#[test]
fn headers_cut_short_or_endless() {
    refuse(b"\x93NUMPY\x01\0", "inside its header");
    refuse(b"\x93NUMPY\x01\0\x40\0{'descr'", "inside its header");
    refuse(b"\x93NUMPY\x02\0\xff\xff\xff\xff{'descr'", "header of 4294967295 bytes");
}

#[test]
fn headers_that_are_no_description() {
    for (text, cause) in [
        ("", "bad header"),
        ("['descr']", "not a dictionary"),
        ("{'descr': '<f4'", "bad header"),
        ("{'descr': '<f4', 'shape': (2,)}", "no 'fortran_order'"),
        ("{'descr': '<f4', 'fortran_order': False}", "no 'shape'"),
        ("{'fortran_order': False, 'shape': (2,)}", "no 'descr'"),
    ] {
        refuse(&with_header(text, &[0; 8]), cause);
    }
    refuse(&with_header(&header("'<f4'", "0", "(2,)"), &[0; 8]), "neither True nor False");
    for shape in ["2", "(-2,)", "('2',)", "(2.0,)", "(99999999999999999999999999999999999999999,)"] {
        refuse(&with_header(&header("'<f4'", "False", shape), &[0; 8]), "bad header");
    }
    let deep = format!("{}{}", "[".repeat(60_000), "]".repeat(5_000));
    refuse(&with_header(&header(&deep, "False", "(2,)"), &[0; 8]), "nested");
    refuse(&[b"\x93NUMPY\x03\0\x02\0\0\0", &b"\xff\xfe"[..]].concat(), "not UTF-8");
}

#[test]
fn element_types_without_a_size() {
    for descr in ["'|O'", "[('a', '<f4'), ('b', '|O')]"] {
        refuse(&with_header(&header(descr, "False", "(2,)"), &[0; 16]), "Python objects");
    }
    for descr in ["'<f3'", "'<q8'", "'spam'", "''", "7", "[]", "'|V0'", "[('a', '<f4', (-1,))]", "{}"] {
        refuse(&with_header(&header(descr, "False", "(2,)"), &[0; 16]), "unknown dtype");
    }
}

#[test]
fn elements_that_are_not_as_many_as_promised() {
    let text = header("'<f4'", "False", "(3, 2)");
    refuse(&with_header(&text, &[]), "after 0 of 24 bytes");
    refuse(&with_header(&text, &[0; 23]), "after 23 of 24 bytes");
    refuse(&with_header(&text, &[0; 25]), "goes on after its 24 bytes");
    refuse(&with_header(&header("'<f4'", "False", "(0,)"), &[0]), "goes on");
}

#[test]
fn promises_that_no_memory_can_hold() {
    for shape in [
        "(1152921504606846976,)",
        "(9000000000, 9000000000, 9000000000)",
        "(4294967296, 4294967296, 0)",
        "(2305843009213693952, 0)",
    ] {
        refuse(&with_header(&header("'<f8'", "False", shape), &[0; 16]), "too large");
    }
    // The size fits an address, but elements are missing: the file is refused before memory is allocated.
    refuse(
        &with_header(&header("'<f8'", "False", "(100000000000000,)"), &[0; 16]),
        "after 16 of 800000000000000",
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_read_as_far_as_it_goes() {
    use std::process::Command;
    let directory = tempfile::tempdir().unwrap();
    let (pipe, output) = (directory.path().join("pipe"), directory.path().join("out.npy"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (len_bytes, ends) in [(32, true), (31, false), (33, false)] {
        let (pipe, output) = (&pipe, &output);
        let bytes = with_header(&header("'<f8'", "False", "(4,)"), &vec![7; len_bytes]);
        let finished = std::thread::scope(|scope| {
            scope.spawn(|| fs::write(pipe, bytes).unwrap());
            relayout(pipe, output, &[])
        });
        assert_eq!(finished.status == 0, ends, "{finished:?}");
    }
}

/// A pipe never ends, and its header promises more elements than the device can hold. It is refused before the
/// elements are read.
#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_promises_more_than_there_is_room_for_is_refused() {
    use std::{io::Write, process::Command};
    let directory = tempfile::tempdir().unwrap();
    let (pipe, output) = (directory.path().join("pipe"), directory.path().join("out.npy"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = fs::File::options().write(true).open(&pipe).unwrap();
            writer.write_all(&with_header(&header("'<f8'", "False", "(1000000000000,)"), &[])).unwrap();
            while writer.write_all(&[0; 1 << 16]).is_ok() {} // ends when the reader is gone
        });
        relayout(&pipe, &output, &[]).refused(&["pipe", "out of memory"]);
    });
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing is left");
}

#[test]
fn files_that_cannot_be_opened() {
    let directory = tempfile::tempdir().unwrap();
    let (missing, output) = (directory.path().join("missing.npy"), directory.path().join("out.npy"));
    relayout(&missing, &output, &[]).refused(&["missing.npy"]);
    relayout(directory.path(), &output, &[]).refused(&[&directory.path().display().to_string()]);
    devarray(["golden", "--backend", "mock", missing.to_str().unwrap()]).refused(&["missing.npy"]);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "nothing is left");
}
