//! The suite is strong enough: each bug planted in a backend breaks the law that is named for it, a backend
//! without a bug keeps every law, and every law is needed.

mod broken;
mod bug;
mod matrix;
mod told;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    num::NonZeroUsize,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use broken::Broken;
use bug::{Bug, KILLERS};
use devarray::{
    Result,
    backend::{
        Collects, Compute, ForeignMemory, Ipc, Launch, ManagedMemory, MapHost, PeerAccess, PoolControl,
        RegisterHost, Timing,
    },
};
use devarray_conformance::{
    Harness, Instrumented, Law, all, foreign, functions, gathers, ipc, kernels, managed, mapped, orders,
    peer, pool, products, ranks, recordings, reductions, registered, timing,
};
use devarray_mock::{MockDevice, Schedule};
use matrix::Matrix;

/// Laws that no bug in a backend can break, because they are about the library above it. A bug planted in the
/// library does: `.ci/core_bugs.py` has one for each.
const NOTICE_NO_BUG_BELOW: &[&str] = &[
    // No backend is called.
    "buffers::zero_bytes",
    "copies::zero_size",
    "layouts::overflow",
    "algebra::inconsistent_layouts",
    "host::refused",
    // Plants its own failure, and checks how core handles it.
    "errors::failing_drop_is_told",
];

/// The number of generated cases for each check, enough for every bug here.
const CASES: usize = 16;

/// The law that takes as long as all others together.
const SLOWEST: &str = "streams::a_thousand";

fn simulator(schedule: Schedule) -> Result<MockDevice> {
    Ok(MockDevice::builder().schedule(schedule).memory_limit_bytes(16 << 20).build())
}

/// Every law, including the laws of extras.
fn every_law<D>() -> Vec<Law<D>>
where
    D: Timing
        + RegisterHost
        + MapHost
        + ManagedMemory
        + ForeignMemory
        + PoolControl
        + PeerAccess
        + Collects
        + Ipc
        + Compute
        + Launch,
{
    let extras = [timing(), registered(), mapped(), managed(), foreign(), pool(), peer(), ipc()];
    let extras = extras.into_iter().chain([functions(), reductions(), gathers(), orders(), products()]);
    let extras = extras.chain([recordings(), kernels(), ranks()]);
    all().into_iter().chain(extras.flatten()).collect()
}

/// Whether a law is tried on a device with this bug. The slowest law is tried only on the bug that it is
/// named for. Laws of registered memory are tried only on bugs in an extra, because other broken devices
/// could ruin the program's memory. Bugs in functions are tried only on the laws of functions.
fn is_tried(law: &str, bug: Bug, killer: &str) -> bool {
    let groups = ["functions", "reductions", "gathers", "orders", "products", "recordings", "kernels"];
    let of_functions = law.split_once("::").is_some_and(|(group, _)| groups.contains(&group));
    let of_all_extras = matches!(bug, Bug::None | Bug::ExtrasDeclaredButRefused | Bug::ExtrasWorkUndeclared);
    if of_functions != bug.is_of_functions() && !(of_functions && of_all_extras) {
        return false;
    }
    (law != SLOWEST || killer == SLOWEST) && (!law.starts_with("registered::") || bug.is_of_an_extra())
}

/// Devices with a bug. For laws of peers, of ranks and of other processes, the second device is another
/// device of the first one's machine, or the first one as another process sees it; other laws get two that
/// share nothing.
fn harness(schedule: &Schedule, bug: Bug, group: &str) -> Harness<Broken<MockDevice>> {
    let schedule = schedule.clone();
    let second: fn(&MockDevice) -> MockDevice = match group {
        "peer" | "ranks" => MockDevice::sibling,
        _ => MockDevice::other_process,
    };
    if !["peer", "ranks", "ipc"].contains(&group) {
        return Harness::new(move || simulator(schedule.clone()).map(|device| Broken::new(device, bug)))
            .with_cases(CASES);
    }
    let first = simulator(schedule);
    let beside = first.clone();
    Harness::new(move || first.clone().map(|device| Broken::new(device, bug)))
        .with_second(move || beside.clone().map(|device| Broken::new(second(&device), bug)))
        .with_cases(CASES)
}

/// The laws that a bug is tried on.
#[derive(Clone, Copy, PartialEq)]
enum Tried {
    /// The law that is named for it.
    Named,
    /// Every law that may notice it.
    All,
}

/// The laws that a device with this bug breaks, under the two fixed schedules that run as little as possible.
fn broken_laws(bug: Bug, killer: &str, which: Tried) -> BTreeMap<String, String> {
    let mut broken = BTreeMap::new();
    let is_asked = |name: &str| (which == Tried::All || name == killer) && is_tried(name, bug, killer);
    for schedule in [Schedule::Lazy, Schedule::ReverseLazy] {
        for law in every_law().into_iter().filter(|law| is_asked(&law.full_name())) {
            if let Err(violation) = law.check(&harness(&schedule, bug, law.group)) {
                broken.insert(law.full_name(), violation.to_string());
            }
        }
    }
    broken
}

/// The variable with the number of the bug, among [`KILLERS`], that [`child_tries_one_bug`] tries.
const CHILD: &str = "DEVARRAY_META_BUG";
/// Set for a child that tries every law.
const CHILD_TRIES_ALL: &str = "DEVARRAY_META_ALL";
/// The beginning of a line that the child prints.
const BROKEN: &str = "broken\t";

/// [`broken_laws`] of one bug, run in another process.
fn broken_elsewhere(at: usize, which: Tried) -> BTreeMap<String, String> {
    let arguments = ["--exact", "child_tries_one_bug", "--ignored", "--nocapture", "--test-threads=1"];
    let mut child = Command::new(env::current_exe().expect("this test is a file"));
    child.args(arguments).env(CHILD, at.to_string()).env_remove(CHILD_TRIES_ALL);
    if which == Tried::All {
        child.env(CHILD_TRIES_ALL, "1");
    }
    let output = child.output().expect("it can be run again");
    let (told, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}: {told}{said}", KILLERS[at]);
    let broken = told.lines().filter_map(|line| line.strip_prefix(BROKEN)?.split_once('\t'));
    broken.map(|(law, violation)| (law.to_owned(), violation.to_owned())).collect()
}

#[test]
#[ignore = "a child of the test below, which says which bug it tries"]
fn child_tries_one_bug() {
    let at: usize = env::var(CHILD).unwrap().parse().unwrap();
    let (bug, killer) = KILLERS[at];
    let which = if env::var_os(CHILD_TRIES_ALL).is_some() { Tried::All } else { Tried::Named };
    println!();
    for (law, violation) in broken_laws(bug, killer, which) {
        println!("{BROKEN}{law}\t{}", violation.lines().next().unwrap_or_default());
    }
}

fn next_of<'a, T>(list: &'a [T], next: &AtomicUsize) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, list.get(at)?))
}

/// The laws that each bug breaks, in the order of [`KILLERS`]. Several bugs are tried at a time, one for each
/// processor, and each in its own process, because broken devices do not free pinned memory.
fn tried(which: Tried) -> Vec<BTreeMap<String, String>> {
    let (next, tried) = (AtomicUsize::new(0), Mutex::new(vec![BTreeMap::new(); KILLERS.len()]));
    std::thread::scope(|threads| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZeroUsize::get) {
            threads.spawn(|| {
                while let Some((at, _)) = next_of(KILLERS, &next) {
                    let broken = broken_elsewhere(at, which);
                    tried.lock().expect("no child panics here")[at] = broken;
                }
            });
        }
    });
    tried.into_inner().expect("no child panics here")
}

/// The bugs that the law named for them does not notice.
fn unnoticed(tried: &[BTreeMap<String, String>]) -> Vec<String> {
    let mut wrong = Vec::new();
    for ((bug, killer), broken) in KILLERS.iter().zip(tried) {
        let others = broken.keys().filter(|name| name != killer).cloned().collect::<Vec<_>>().join(" ");
        println!("{bug:?}: {}; also {others}", broken.get(*killer).map_or("NOT NOTICED", String::as_str));
        if !broken.contains_key(*killer) {
            wrong.push(format!("{bug:?} is not noticed by {killer}, but by: {others}"));
        }
    }
    wrong
}

#[test]
fn every_bug_is_noticed_by_the_law_named_for_it() {
    let tried = tried(Tried::Named);
    let mut wrong = unnoticed(&tried);
    // Only the other laws that notice a bug may differ.
    wrong.extend(Matrix { tried: &tried }.differs_from_the_committed_one());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "minutes: every bug on every law"]
fn every_law_notices_a_bug() {
    let tried = tried(Tried::All);
    let mut wrong = unnoticed(&tried);
    for law in every_law::<MockDevice>() {
        let (name, noticed) =
            (law.full_name(), tried.iter().any(|broken| broken.contains_key(&law.full_name())));
        match (noticed, NOTICE_NO_BUG_BELOW.contains(&name.as_str())) {
            (false, false) => wrong.push(format!("{name} notices no bug")),
            (true, true) => wrong.push(format!("{name} notices a bug: take it off the list")),
            _ => {}
        }
    }
    let matrix = Matrix { tried: &tried };
    matrix.write_if_asked();
    wrong.extend(matrix.differs_from_the_committed_one());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_wrapper_without_a_bug_keeps_every_law() {
    assert_eq!(broken_laws(Bug::None, SLOWEST, Tried::All), BTreeMap::new());
}

/// All laws of computing, and the laws of every backend.
fn without_extras<D: Launch + Compute>() -> impl Iterator<Item = Law<D>> {
    let laws = all().into_iter().chain(functions()).chain(reductions()).chain(gathers());
    laws.chain(orders()).chain(products()).chain(recordings()).chain(kernels())
}

#[test]
fn an_instrumented_device_keeps_every_law() {
    let harness = Harness::new(|| simulator(Schedule::Lazy).map(|device| Instrumented::new(device).0))
        .with_cases(CASES);
    let broken: Vec<_> = without_extras().filter_map(|law| law.check(&harness).err()).collect();
    assert_eq!(broken, []);
}

/// A legal but slow device: everything that is enqueued anywhere runs at once.
#[test]
fn a_device_without_any_overlap_keeps_every_law() {
    let harness = Harness::new(|| simulator(Schedule::Eager)).with_cases(CASES);
    let broken: Vec<_> = without_extras().filter_map(|law| law.check(&harness).err()).collect();
    assert_eq!(broken, []);
}

#[test]
fn every_bug_is_planted_once() {
    let planted: BTreeSet<String> = KILLERS.iter().map(|(bug, _)| format!("{bug:?}")).collect();
    assert_eq!(planted.len(), KILLERS.len());
    assert_eq!(planted.len() + 1, Bug::COUNT, "a bug that nobody plants shows nothing");
}

#[test]
fn a_device_that_does_not_open_breaks_every_law() {
    let harness = Harness::<MockDevice>::new(|| Err("no device"));
    for law in all() {
        let violation = law.check(&harness).expect_err("a law held without a device");
        assert!(violation.message.contains("the device does not open: no device"), "{violation}");
        assert_eq!(violation.law, law.code);
    }
}
