//! The message of a failing test of a suite: it tells which element was read instead, and how to
//! run the test again.

use std::panic::{AssertUnwindSafe, catch_unwind};

use devarray_conformance::{all, run};

use crate::{Bug, harness};
use devarray_mock::Schedule;

/// The message of the panic of one test of a suite on a device with a bug.
fn told(bug: Bug, law: &str) -> String {
    let (harness, again) = (harness(&Schedule::Eager, bug, "copies").with_seed(7), "cargo test -p some");
    let tested = catch_unwind(AssertUnwindSafe(|| run(all(), law, &[], harness, again)));
    let Err(payload) = tested else { return String::new() };
    payload.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn a_failure_names_the_law_the_layouts_the_element_the_seed_and_the_command() {
    for (bug, law) in [
        (Bug::CopySwapsSides, "copies::strided"),
        (Bug::CopyIgnoresReversal, "copies::reversed"),
        (Bug::CopyLosesLastRun, "copies::gaps"),
        (Bug::CopyIgnoresDestinationOffset, "copies::gaps"),
    ] {
        let text = told(bug, law);
        for part in [
            &format!("{law} ("),
            "): C",
            " is due; ",
            "\n  destination: shape [",
            "\n  source: shape [",
            "] strides [",
            "\n  seed 7, 16 cases",
            "\n  again: cargo test -p some",
        ] {
            assert!(text.contains(part), "{part:?} is not in {text:?}");
        }
        let origin = ["what was read ", "it is what was there before", "no element of either array"];
        assert!(origin.iter().any(|origin| text.contains(origin)), "{text}");
        assert!(text.lines().count() <= 6, "{text}");
    }
    assert_eq!(told(Bug::None, "copies::reversed"), "", "the twin: a device without a bug says nothing");
}

/// The element that was read because an axis was not reversed.
#[test]
fn the_element_that_was_read_is_told() {
    let text = told(Bug::CopyIgnoresReversal, "copies::reversed");
    assert!(text.contains("what was read is element ["), "{text}");
}

#[test]
fn a_test_is_named_as_its_crate_names_it() {
    let again = devarray_conformance::again("mine", "suite_of_mine::inner::copies", "gaps", "#[ignore]");
    assert_eq!(again, "cargo test -p mine -- --exact inner::copies::gaps --ignored");
    assert_eq!(
        devarray_conformance::again("mine", "suite_of_mine::copies", "gaps", ""),
        "cargo test -p mine -- --exact copies::gaps"
    );
}
