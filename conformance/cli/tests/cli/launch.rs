//! Tests `devarray launch`.

use std::time::{Duration, Instant};

use crate::run::{Finished, devarray};

fn sh(count: &str, script: &str) -> Finished {
    devarray(["launch", "-n", count, "sh", "-c", script])
}

#[test]
fn each_process_has_its_rank_and_all_have_one_secret() {
    let script =
        "echo $RANK $LOCAL_RANK of $WORLD_SIZE $LOCAL_WORLD_SIZE at $MASTER_ADDR secret $DEVARRAY_SECRET";
    let text = sh("3", script).succeeded().stdout;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let secret = lines[0].rsplit(' ').next().unwrap();
    assert!(secret.len() >= 32, "{secret}");
    for (rank, line) in lines.iter().enumerate() {
        assert_eq!(*line, format!("{rank} {rank} of 3 3 at 127.0.0.1 secret {secret}"));
    }
    assert!(!sh("1", script).succeeded().stdout.contains(secret), "another job has another");
}

#[test]
fn the_first_that_fails_ends_all() {
    let begun = Instant::now();
    let outcome = sh("3", "if [ $RANK = 1 ]; then exit 7; fi; exec sleep 600");
    assert_eq!(outcome.status, 7, "{outcome:?}");
    assert!(begun.elapsed() < Duration::from_secs(100));
}

#[test]
fn who_does_not_listen_is_killed() {
    let begun = Instant::now();
    let outcome =
        sh("2", "if [ $RANK = 1 ]; then sleep 1; kill -9 $$; fi; trap '' TERM; while :; do sleep 1; done");
    assert_eq!(outcome.status, 128 + 9, "{outcome:?}");
    assert!(begun.elapsed() < Duration::from_secs(100));
}

#[test]
fn arguments_of_the_program_are_its_own() {
    let text = devarray(["launch", "-n", "1", "echo", "-n", "--help", "-q"]).succeeded().stdout;
    assert_eq!(text, "--help -q");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let outcome = devarray(["launch", "-n", "2", "no-program-of-this-name"]);
    assert_eq!(outcome.status, 2);
    assert!(outcome.stderr.contains("start no-program-of-this-name"), "{outcome:?}");
    assert_eq!(devarray(["launch", "-n", "0", "true"]).status, 2);
}
