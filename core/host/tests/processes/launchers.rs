//! Launchers that are on this machine.

use std::{env, process::Command};

use crate::started::{Folder, TIME_LIMIT, command};

/// `mpirun` starts the ranks, and they find each other by a file.
#[test]
fn mpirun_starts_ranks() {
    if Command::new("mpirun").arg("--version").output().is_err() {
        eprintln!("no mpirun here");
        return;
    }
    let folder = Folder::new();
    let mut program = Command::new("mpirun");
    program.args(["--allow-run-as-root", "--oversubscribe", "-n", "4"]).arg(env::current_exe().unwrap());
    command(&mut program, "values");
    // The launcher puts files of its own there, too.
    program.env("TMPDIR", &folder.0);
    let begun = std::time::Instant::now();
    let done = program.output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{}: {text}", done.status);
    assert_eq!(text.matches("digest ").count(), 4, "{text}");
    assert!(begun.elapsed() < 2 * TIME_LIMIT);
    let own: Vec<_> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("devarray"))
        .collect();
    assert!(own.is_empty(), "left behind: {own:?}");
}
