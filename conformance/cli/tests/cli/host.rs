//! Tests the CPU as a device, in every command that takes a backend.

use std::{fs, process::Command};

use crate::run::{Finished, devarray};

/// Runs the binary with `DEVARRAY_THREADS` set to `threads`.
fn with_threads(threads: &str, arguments: &[&str]) -> Finished {
    Finished::of(
        Command::new(env!("CARGO_BIN_EXE_devarray")).env("DEVARRAY_THREADS", threads).args(arguments),
    )
}

fn golden(name: &str) -> String {
    format!("{}/../golden/{name}.jsonl", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn golden_cases_have_their_results_and_the_simulators() {
    let files = ["layout", "compute", "reductions"].map(golden);
    let arguments: Vec<&str> =
        ["golden", "--backend", "host"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let text = with_threads("3", &arguments).succeeded().stdout;
    assert!(text.ends_with(" passed, 0 failed\n"), "{text}");
}

#[test]
fn files_become_what_they_become_on_the_simulator() {
    let folder = tempfile::tempdir().unwrap();
    let volume = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/volume.npy");
    let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let made = |command: &[&str], backend: &str, threads: &str| {
        let to = out(&format!("{backend}{threads}"));
        let more = ["--backend", backend, "-o", &to];
        with_threads(threads, &[command, &more].concat()).succeeded();
        fs::read(to).unwrap()
    };
    for command in [
        &["relayout", volume, "--steps", "permute(2,0,1)/index(::2)"][..],
        &["map", "x0 * 2 + 1", volume],
        &["map", "x0 * x0", volume, "--reduce", "sum", "--axes", "0"],
    ] {
        let due = made(command, "mock", "1");
        assert!(made(command, "host", "1") == due && made(command, "host", "5") == due, "{command:?}");
    }
}

#[test]
fn auto_is_the_host_where_there_is_no_gpu() {
    let is_there = devarray(["devices"]).succeeded().stdout.contains("cuda 0: ");
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out.npy");
    let volume = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/volume.npy");
    let text = devarray(["relayout", volume, "-o", to.to_str().unwrap()]).succeeded().stdout;
    assert!(text.contains(if is_there { "cuda: " } else { "host: " }), "{text}");
}

#[test]
fn laws_are_checked_and_copies_measured() {
    let text = devarray(["check", "--backend", "host", "--filter", "copies::linear"]).succeeded().stdout;
    assert!(text.starts_with("filter") && text.contains("\nhost: this host"), "{text}");
    let arguments = ["bench", "copy", "--backend", "host", "--explain", "t:f32:99x70:permute(1,0)"];
    let text = devarray(arguments).succeeded().stdout;
    assert!(text.starts_with("host: ") && !text.contains("wrong"), "{text}");
    let arguments = ["bench", "overhead", "--backend", "host"];
    assert!(devarray(arguments).succeeded().stdout.starts_with("host: "));
}

#[test]
fn devices_lists_the_host() {
    let text = with_threads("3", &["devices"]).succeeded().stdout;
    assert!(text.lines().any(|line| line.starts_with("host 0: this host, 3 threads, memory ")), "{text}");
}
