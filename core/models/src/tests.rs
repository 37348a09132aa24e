//! Every model holds of the sources as they are; of each planted bug, one does not.

use std::{env, process::Command};

macro_rules! models {
    (right: $($model:ident)*; planted: $($bug:ident: $of:ident, $says:literal;)*) => {
        $(#[test] fn $model() {
            crate::right::models::$model();
        })*

        /// Each ends its process: a model that fails unwinds through what waits for threads.
        mod planted {
            $(#[test] #[ignore = "fails: a bug is planted"] fn $bug() {
                crate::$bug::models::$of();
            })*
        }

        const PLANTED: &[(&str, &str)] = &[$((stringify!($bug), $says)),*];
    };
}

models! {
    right:
        a_job_is_done_once_and_seen threads_share_a_job a_dropped_job_is_over threads_are_kept callers_share_threads
        the_last_hook_is_told a_hook_changes_hooks limits_hold_for_threads_together nothing_is_put_off_for_good
        limits_of_releases_are_seen;
    planted:
        missing_acquire: a_job_is_done_once_and_seen, "Causality violation";
        missing_release: a_job_is_done_once_and_seen, "Causality violation";
        lost_wake_up: a_job_is_done_once_and_seen, "deadlock";
        waiter_is_not_told: a_job_is_done_once_and_seen, "deadlock";
        sleepers_are_not_closed: a_job_is_done_once_and_seen, "deadlock";
        a_share_is_claimed_twice: a_job_is_done_once_and_seen, "Concurrent write";
        what_is_taken_back_goes_on: a_dropped_job_is_over, "Concurrent write";
        a_hook_is_marked_outside_the_lock: the_last_hook_is_told, "whoever is set is told";
        a_hook_is_called_under_the_lock: a_hook_changes_hooks, "deadlock";
        nothing_is_reserved: limits_hold_for_threads_together, "bytes are held";
        what_comes_too_late_is_put_off: nothing_is_put_off_for_good, "left: (1, 2)";
        deferring_is_marked_outside_the_lock: limits_of_releases_are_seen, "assertion";
}

#[test]
fn every_planted_bug_is_found() {
    let run = |bug: &str| {
        let test = format!("tests::planted::{bug}");
        let output =
            Command::new(env::current_exe().unwrap()).args(["--exact", &test, "--ignored"]).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    for (bug, says) in PLANTED {
        let (passed, text) = run(bug);
        assert!(text.contains("running 1 test"), "{bug}: {text}");
        assert!(!passed, "{bug} is not found");
        assert!(text.contains(says), "{bug} is found for another reason: {text}");
    }
}
