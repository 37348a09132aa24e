//! Tests bad steps, arguments and outputs, and input that every command must survive.

use std::{
    fs,
    io::{Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    npy_file::with_header,
    run::{Finished, devarray, relayout},
};

fn volume() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/volume.npy")
}

#[test]
fn steps_that_cannot_be_read_are_named() {
    let directory = tempfile::tempdir().unwrap();
    for (steps, at_fault) in [
        ("permute(2,0,1)/bend(1)", "bend(1)"),
        ("index(a)", "index(a)"),
        ("index(1:2:3:4)", "index(1:2:3:4)"),
        ("flip(0", "flip(0"),
        ("reshape(-1,order=K)", "reshape(-1,order=K)"),
        ("split(3)", "take="),
        ("transpose(2,0,1)", "did you mean `permute`?"),
        ("reshap(-1)", "did you mean `reshape`?"),
    ] {
        let output = directory.path().join("out.npy");
        let refused = relayout(&volume(), &output, &["--steps", steps]);
        refused.refused(&["volume.npy: --steps: bad step \"", at_fault]);
        // A missing input file must not hide the error in the steps.
        let absent = relayout(&directory.path().join("absent.npy"), &output, &["--steps", steps]);
        absent.refused(&["absent.npy: --steps: bad step \"", at_fault]);
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}

#[test]
fn steps_without_a_result_are_named() {
    let directory = tempfile::tempdir().unwrap();
    for (steps, number, cause) in [
        ("permute(0,0,1)", 1, "repeated"),
        ("flip(0)/flip(3)", 2, "axis 3"),
        ("index(24)", 1, "index 24"),
        ("index(::0)", 1, "step 0"),
        ("index(...,...)", 1, "ellipsis"),
        ("reshape(7,-1)", 1, "-1"),
        ("reshape(-2)", 1, "-2"),
        ("broadcast(24,32,41)", 1, "broadcast"),
        ("squeeze(0)", 1, "squeeze"),
        ("ravel()/split(0,take=0)", 2, "0"),
        ("ravel()/split(30720,take=1)", 2, "index 1"),
        ("array_split(3,take=-1)", 1, "-1"),
        ("split_at(5,2,take=0)", 1, "after 5"),
        ("split_at(-2,-5,take=0)", 1, "cannot split at 19 after 22"),
        ("array_split(-2,take=0)", 1, "sections of -2"),
        ("ravel()/split(-2,take=0)", 2, "sections of -2"),
        ("index(:0)/reshape(0,4611686018427387904)", 2, "overflow"),
        ("index(:0)/broadcast(4611686018427387904,0,32,40)", 2, "overflow"),
    ] {
        let output = directory.path().join("out.npy");
        let place = format!("volume.npy: step {number} `");
        relayout(&volume(), &output, &["--steps", steps]).refused(&[&place, cause]);
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
}

#[test]
fn results_too_large_for_the_device_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.npy");
    relayout(&volume(), &output, &["--steps", "broadcast(100000000,24,32,40)"]).refused(&["out of memory"]);
    relayout(&volume(), &output, &["--steps", "broadcast(9000000000000000000,24,32,40)"])
        .refused(&["overflow"]);
}

/// The header promises elements that never come. Mistakes in the steps or the output are
/// still reported.
#[cfg(target_os = "linux")]
#[test]
fn steps_and_output_are_checked_before_any_element_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let (pipe, output) = (directory.path().join("pipe"), directory.path().join("out.npy"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 1000)}\n";
    for (output, steps, cause) in [
        (&output, "flip(0)/flip(2)", "step 2 `flip(2)`"),
        (&directory.path().join("missing/out.npy"), "flip(0)", "missing/out.npy"),
    ] {
        std::thread::scope(|scope| {
            // No elements are written, and the pipe stays open until the command has ended.
            let (ended, wait) = std::sync::mpsc::channel::<()>();
            let pipe = &pipe;
            scope.spawn(move || {
                let mut writer = fs::File::options().write(true).open(pipe).unwrap();
                writer.write_all(&with_header(header, &[])).unwrap();
                let _ = wait.recv();
            });
            relayout(pipe, output, &["--steps", steps]).refused(&[cause]);
            drop(ended);
        });
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing is left");
}

#[test]
fn outputs_that_cannot_be_written_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing/out.npy");
    relayout(&volume(), &missing, &[]).refused(&["missing/out.npy"]);
    relayout(&volume(), directory.path(), &[]).refused(&["directory"]);
    let cases = directory.path().join("cases.jsonl");
    fs::write(&cases, "").unwrap();
    let arguments =
        ["golden", "--backend", "mock", "--out", missing.to_str().unwrap(), cases.to_str().unwrap()];
    devarray(arguments).refused(&["missing/out.npy"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_write_that_fails_halfway_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.npy");
    // Files may have a few blocks at most, and the signal for longer files is ignored. A write then fails like on
    // a disk that is full at this length.
    let limited = r#"trap "" XFSZ; ulimit -f 16; exec "$0" relayout "$1" -o "$2" --backend mock"#;
    let run = || {
        let binary = env!("CARGO_BIN_EXE_devarray");
        let mut shell = Command::new("sh");
        Finished::of(shell.args(["-c", limited, binary]).arg(volume()).arg(&output))
    };
    run().refused(&["out.npy", "too large"]);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0, "nothing is left");
    fs::write(&output, "old").unwrap();
    run().refused(&["out.npy", "too large"]);
    assert_eq!(fs::read(&output).unwrap(), b"old");
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing is left");
}

#[cfg(target_os = "linux")]
#[test]
fn a_short_result_that_cannot_be_written_is_no_success() {
    let directory = tempfile::tempdir().unwrap();
    let (cases, output) = (directory.path().join("cases.jsonl"), directory.path().join("out.jsonl"));
    fs::write(&cases, r#"{"id":"a","base":[0],"steps":[],"expect":{"shape":[0],"c":true,"f":true}}"#)
        .unwrap();
    // The output is so short that it is written only when the command finishes the file.
    let limited = r#"trap "" XFSZ; ulimit -f 0; exec "$0" golden --backend mock --out "$1" "$2""#;
    let binary = env!("CARGO_BIN_EXE_devarray");
    let finished = Finished::of(Command::new("sh").args(["-c", limited, binary]).arg(&output).arg(&cases));
    finished.refused(&["out.jsonl", "too large"]);
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing is left");
}

#[cfg(target_os = "linux")]
#[test]
fn pipes_and_links_to_them_are_written_to_and_not_replaced() {
    use std::os::unix::fs::{FileTypeExt as _, symlink};
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let received = directory.path().join("received");
    let mut reader =
        Command::new("cat").arg(&pipe).stdout(fs::File::create(&received).unwrap()).spawn().unwrap();
    relayout(&volume(), &pipe, &[]).succeeded();
    if !fs::metadata(&pipe).unwrap().file_type().is_fifo() {
        reader.kill().unwrap(); // otherwise the reader would wait for ever
    }
    assert!(reader.wait().unwrap().success(), "the pipe was replaced");
    assert_eq!(fs::read(received).unwrap(), fs::read(volume()).unwrap());

    // Each result goes to a pipe of its own, which is opened once: a reader ends when a writer closes its pipe.
    let pipes = ["values", "indices"].map(|name| directory.path().join(name));
    let mut readers = Vec::new();
    for pipe in &pipes {
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
        let received = fs::File::create(pipe.with_extension("npy")).unwrap();
        readers.push(Command::new("cat").arg(pipe).stdout(received).spawn().unwrap());
    }
    let input = volume().display().to_string();
    let outputs = format!("{},{}", pipes[0].display(), pipes[1].display());
    devarray(["call", "topk", &input, "-o", &outputs, "k=1", "axis=0", "--backend", "host"]).succeeded();
    for (pipe, mut reader) in pipes.iter().zip(readers) {
        assert!(reader.wait().unwrap().success());
        assert!(fs::read(pipe.with_extension("npy")).unwrap().starts_with(b"\x93NUMPY"), "{pipe:?}");
    }

    // The link leads to the command's own standard output, which is a pipe without a directory.
    let link = directory.path().join("link");
    symlink("/proc/self/fd/1", &link).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_devarray"));
    let run = command
        .arg("relayout")
        .arg(volume())
        .arg("-o")
        .arg(&link)
        .args(["--backend", "mock"])
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    assert!(link.is_symlink());
    assert!(run.stdout.windows(6).any(|bytes| bytes == b"\x93NUMPY"));
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_written_keeps_its_content() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("out.npy");
    fs::write(&output, "old").unwrap();
    fs::set_permissions(&output, fs::Permissions::from_mode(0o444)).unwrap();
    relayout(&volume(), &output, &[]).refused(&["out.npy", "denied"]);
    assert_eq!(fs::read(&output).unwrap(), b"old");
}

#[test]
fn usage_errors_are_status_2() {
    for arguments in [&[][..], &["bend"], &["golden"], &["relayout", "in.npy"], &["devices", "--xml"]] {
        let finished = devarray(arguments);
        assert_eq!(finished.status, 2, "{finished:?}");
        assert!(finished.stderr.contains("Usage"), "{finished:?}");
    }
}

#[test]
fn every_command_has_help_with_examples() {
    assert_eq!(
        devarray(["--version"]).succeeded().stdout,
        concat!("devarray ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let help = devarray(["--help"]).succeeded().stdout;
    for command in ["bench", "devices", "golden", "relayout"] {
        assert!(help.contains(command), "{help}");
        let help = devarray([command, "--help"]).succeeded().stdout;
        assert!(help.contains("Examples:\n  devarray "), "{help}");
        assert!(help.lines().count() > 10, "{help}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_panic() {
    for arguments in [&["devices"][..], &["--help"], &["golden", "--backend", "mock", "many"]] {
        let directory = tempfile::tempdir().unwrap();
        // The output is much longer than a pipe holds.
        let case = r#"{"id":"x","base":[2],"steps":[],"expect":{"error":true}}"#;
        fs::write(directory.path().join("many"), format!("{case}\n").repeat(5_000)).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_devarray"))
            .args(arguments)
            .current_dir(&directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = child.wait().unwrap();
        assert!(status.code().is_some(), "{arguments:?} ended by a signal: {status}");
        assert_eq!(stderr, "", "{arguments:?}: there is nobody to tell");
    }
}

#[test]
fn devices_lists_the_mock_everywhere() {
    let text = devarray(["devices"]).succeeded().stdout;
    assert!(text.lines().any(|line| line.starts_with("mock 0: ")), "{text}");
    let cuda = text.lines().filter(|line| line.starts_with("cuda"));
    assert!(cuda.count() >= 1, "{text}");
    let json = devarray(["devices", "--json"]).succeeded().stdout;
    let rows: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), text.lines().count());
    let mock = rows.iter().find(|row| row["backend"] == "mock").unwrap();
    let (free, total) = (mock["memory_free_bytes"].as_u64(), mock["memory_total_bytes"].as_u64());
    assert!(free > Some(0) && free <= total, "{mock}");
}
