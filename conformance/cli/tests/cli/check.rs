//! Tests `devarray check`: its output, its files, and its failure on a broken device.

use std::fs;

use clap::Parser as _;
use devarray::{Device as _, Error, backend::Capabilities};
use devarray_any::AnyDevice;
use devarray_cli::{
    Cli, Command, Status, backend::enough_devices, check::Candidate, commands::check, output::Output,
};
use devarray_conformance::{Harness, timing};
use devarray_mock::{MockDevice, Site};
use devarray_suites::laws;

use crate::run::devarray;

#[test]
fn the_simulator_keeps_every_law_and_the_reports_say_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let reports = format!("md={},json={},junit={}", path("r.md"), path("r.json"), path("r.xml"));
    let run = devarray(["check", "--cases", "6", "--seed", "3", "--report", &reports]).succeeded();
    let last = run.stdout.lines().last().unwrap();
    let count: usize = last.strip_suffix(" passed, 0 failed").unwrap().parse().unwrap();
    assert!(count >= 50, "{last}");

    let json: serde_json::Value = serde_json::from_slice(&fs::read(path("r.json")).unwrap()).unwrap();
    assert_eq!(json["laws"].as_array().unwrap().len(), count);
    assert_eq!(
        (json["backend"].as_str(), json["seed"].as_u64(), json["cases"].as_u64()),
        (Some("mock"), Some(3), Some(6))
    );
    let markdown = fs::read_to_string(path("r.md")).unwrap();
    assert_eq!(markdown.lines().filter(|line| line.contains("| holds |")).count(), count);
    let junit = fs::read_to_string(path("r.xml")).unwrap();
    assert_eq!(junit.matches("<testcase ").count(), count);
    assert!(junit.contains(&format!("tests=\"{count}\" failures=\"0\"")));
}

/// On a simulator whose first copy fails, laws are violated. Each violation comes with the command that
/// repeats it.
#[test]
fn a_broken_device_fails_and_is_told_how_to_repeat_it() {
    let cli = Cli::try_parse_from(["devarray", "check", "--filter", "copies::", "--cases", "2"]).unwrap();
    let Command::Check(arguments) = cli.command else { panic!("another command") };
    let open = || {
        let device = MockDevice::new();
        let (backend, operation, name) = ("mock", "copy", "A|B <C>".to_owned());
        device.fail_next(Site::Copy, Error::Driver { backend, operation, code: 1, name });
        Ok::<_, Error>(AnyDevice::from(device))
    };
    let candidates = [Candidate::new("", Harness::new(open).with_cases(2))];
    let mut printed = Vec::new();
    let status = check::check(
        &arguments,
        MockDevice::new().info(),
        laws(),
        &candidates,
        &mut Output::new(&mut printed),
    );
    assert_eq!(status.unwrap(), Status::Failed);
    let printed = String::from_utf8(printed).unwrap();
    assert!(
        printed.contains("devarray check --backend mock --filter copies::linear --cases 2 --seed 0"),
        "{printed}"
    );
    assert!(printed.contains("driver error A|B <C> (1)"), "{printed}");
}

#[test]
fn a_device_that_does_not_open_fails_every_law() {
    let cli = Cli::try_parse_from(["devarray", "check"]).unwrap();
    let Command::Check(arguments) = cli.command else { panic!("another command") };
    let harness = Harness::<AnyDevice>::new(|| Err("nobody is there"));
    let mut printed = Vec::new();
    let status = check::check(
        &arguments,
        MockDevice::new().info(),
        laws(),
        &[Candidate::new("", harness)],
        &mut Output::new(&mut printed),
    );
    assert_eq!(status.unwrap(), Status::Failed);
    assert!(String::from_utf8(printed).unwrap().contains("\n0 passed, "));
}

#[test]
fn a_filter_says_what_it_chose_and_quiet_says_less() {
    let arguments = ["check", "--filter", "copies::", "--cases", "2"];
    let run = devarray(arguments).succeeded();
    let first = run.stdout.lines().next().unwrap();
    assert!(first.starts_with("filter \"copies::\" runs ") && first.contains(": copies::"), "{first}");
    let chosen: usize = first.split(' ').nth(3).unwrap().parse().unwrap();
    let last = format!("{chosen} passed, 0 failed\n");
    assert!(chosen > 1 && run.stdout.ends_with(&last), "{run:?}");
    assert_eq!(devarray(arguments.into_iter().chain(["--quiet"])).succeeded().stdout, last);
}

#[test]
fn what_cannot_be_checked_is_the_callers_fault() {
    devarray(["check", "--filter", "no such law"]).refused(&["no law is called", "no such law"]);
    devarray(["check", "--filter", "layouts::overflow", "--report", "md=/no such folder/r.md"])
        .refused(&["/no such folder/r.md"]);
    for report in ["xml=a", "md", "json=", "md=-"] {
        let run = devarray(["check", "--report", report]);
        assert_eq!(run.status, 2, "{run:?}");
        assert!(run.stderr.contains(report), "{run:?}");
    }
}

/// A capability that a device does not declare is counted separately in the table and in every
/// report, never as passed.
#[test]
fn what_a_device_does_not_declare_is_counted_as_not_applicable() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let reports = format!("md={},json={},junit={}", path("r.md"), path("r.json"), path("r.xml"));
    let arguments = ["devarray", "check", "--filter", "t", "--cases", "1", "--report", &reports];
    let Command::Check(arguments) = Cli::try_parse_from(arguments).unwrap().command else {
        panic!("another command")
    };
    let open = || {
        let plain = MockDevice::builder().capabilities(Capabilities::default()).memory_limit_bytes(64 << 20);
        Ok::<_, Error>(AnyDevice::from(plain.build()))
    };
    let candidates = [Candidate::new("", Harness::new(open).with_cases(1))];
    let mut printed = Vec::new();
    let status = check::check(
        &arguments,
        MockDevice::new().info(),
        laws(),
        &candidates,
        &mut Output::new(&mut printed),
    );
    let printed = String::from_utf8(printed).unwrap();
    assert_eq!(status.unwrap(), Status::Success, "{printed}");

    let declined = timing::<AnyDevice>().len();
    assert!(printed.lines().any(|line| {
        line.split_whitespace().take(4).eq(["timing", "0", "0", declined.to_string().as_str()])
    }));
    let json: serde_json::Value = serde_json::from_slice(&fs::read(path("r.json")).unwrap()).unwrap();
    let laws = json["laws"].as_array().unwrap();
    let declined = laws.iter().filter(|law| law["applicable"] == false).count();
    assert!(declined > 0 && printed.ends_with(&format!(", {declined} not applicable\n")), "{printed}");
    let markdown = fs::read_to_string(path("r.md")).unwrap();
    assert_eq!(markdown.matches("| not applicable: refused by name |").count(), declined);
    assert_eq!(fs::read_to_string(path("r.xml")).unwrap().matches("<skipped").count(), declined);
}

/// The check counts a law that it cannot run on this machine as "not run", with the reason, and not as passed.
#[test]
fn a_law_that_is_not_run_is_counted_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let reports = format!("md={},json={},junit={}", path("r.md"), path("r.json"), path("r.xml"));
    let check = |filter: &str, counts: &[usize]| {
        let arguments = ["devarray", "check", "--filter", filter, "--cases", "1", "--report", &reports];
        let Command::Check(arguments) = Cli::try_parse_from(arguments).unwrap().command else {
            panic!("another command")
        };
        let open = || Ok::<_, Error>(AnyDevice::from(MockDevice::new()));
        let candidates = [Candidate::new("", Harness::new(open).with_cases(1).with_rank_counts(counts))];
        let (info, mut printed) = (MockDevice::new().info().clone(), Vec::new());
        let status = check::check(&arguments, &info, laws(), &candidates, &mut Output::new(&mut printed));
        (status, String::from_utf8(printed).unwrap())
    };

    // No second process.
    let (status, printed) = check("ipc::", &[2]);
    assert_eq!(status.unwrap(), Status::Success, "{printed}");
    let reason = "the device is not open in another process";
    assert!(printed.contains(&format!("ipc::one_memory is not run: {reason}\n")), "{printed}");
    assert!(printed.ends_with("2 passed, 0 failed, 1 not run\n"), "{printed}");
    let json: serde_json::Value = serde_json::from_slice(&fs::read(path("r.json")).unwrap()).unwrap();
    let told: Vec<_> =
        json["laws"].as_array().unwrap().iter().filter_map(|law| law["not_run"].as_str()).collect();
    assert_eq!(told, [reason]);
    assert!(fs::read_to_string(path("r.md")).unwrap().contains(&format!("| not run: {reason} |")));
    assert_eq!(fs::read_to_string(path("r.xml")).unwrap().matches("<skipped").count(), 1);

    // No devices for ranks, and nothing else to check; the twin has them.
    let (status, printed) = check("ranks::reduced", &[1]);
    assert!(status.unwrap_err().to_string().contains("no law was run"), "{printed}");
    assert!(printed.ends_with("0 passed, 0 failed, 1 not run\n"), "{printed}");
    let twin = devarray(["check", "--filter", "ranks::reduced", "--cases", "1"]).succeeded();
    assert!(twin.stdout.ends_with("1 passed, 0 failed\n"), "{}", twin.stdout);
}

/// Checks only the laws of ranks, with another number of ranks.
#[test]
fn ranks_are_checked_with_as_many_as_told() {
    for backend in ["mock", "host"] {
        let run = devarray(["check", "--backend", backend, "--ranks", "4", "--cases", "2"]).succeeded();
        assert!(run.stdout.contains("with 4 ranks"), "{}", run.stdout);
        assert!(run.stdout.ends_with("14 passed, 0 failed\n"), "{}", run.stdout);
    }
    let one = devarray(["check", "--ranks", "4", "--filter", "ranks::counted"]).succeeded();
    assert!(one.stdout.ends_with("1 passed, 0 failed\n"), "{}", one.stdout);
    devarray(["check", "--ranks", "2", "--filter", "copies::"]).refused(&["no law of ranks is called"]);
}

#[test]
fn fewer_devices_than_ranks_are_refused_by_type() {
    let error = enough_devices(3, 2).unwrap_err();
    assert_eq!((error.ranks, error.devices), (3, 2));
    assert_eq!(error.to_string(), "3 ranks need as many CUDA devices, and there are 2");
    assert_eq!(enough_devices(2, 2), Ok(()));
}
