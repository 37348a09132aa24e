//! Core makes no mistakes: the laws of the suite run through it, and the judge finds nothing
//! under any of the schedules. Afterwards nothing is alive, except objects that were forgotten
//! or refused on purpose.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use devarray_conformance::{
    Harness, all, foreign, functions, gathers, ipc, kernels, managed, mapped, orders, peer, pool, products,
    ranks, recordings, reductions, registered, timing,
};
use devarray_mock::{MockDevice, Schedule};

/// Laws that forget objects, or whose device refuses to free memory.
const LEAKS_ON_PURPOSE: [&str; 4] = [
    "errors::every_call_failed_once",
    "errors::failing_drop_is_told",
    "regressions::kept_error",
    "host::dropped_and_forgotten",
];

#[test]
fn no_law_makes_the_judge_find_anything() {
    for schedule in [Schedule::Lazy, Schedule::ReverseLazy, Schedule::Random] {
        let name = format!("{schedule:?}");
        let (mut devices, mut leaking) = (0, BTreeSet::new());
        let extras = [timing(), registered(), mapped(), managed(), foreign(), pool(), peer(), ipc()];
        let extras = extras.into_iter().chain([functions(), reductions(), gathers(), orders(), products()]);
        let extras = extras.chain([recordings(), kernels(), ranks()]);
        for law in all().into_iter().chain(extras.flatten()) {
            let opened = Arc::new(Mutex::new(Vec::<MockDevice>::new()));
            law.check(&harness(&schedule, law.group, &opened)).unwrap();
            for device in opened.lock().unwrap().drain(..) {
                devices += 1;
                let report = device.report();
                let host = report.host_buffers.len() + report.registrations.len();
                if report.buffers.len() + host + report.streams + report.events > 0 {
                    leaking.insert(law.full_name());
                }
                assert!(report.findings.is_empty(), "{name}, {}: {report}", law.full_name());
            }
        }
        assert!(devices > 90, "each law opens a device");
        assert_eq!(leaking, LEAKS_ON_PURPOSE.map(str::to_owned).into(), "{name}");
    }
}

/// The reason why the list of devices is never poisoned.
const NO_PANIC: &str = "nobody panics while they have the list";

/// Devices that are kept in a list. The second device of a law is another device of the machine that it
/// opened last; for laws of other processes, the same device as another process sees it.
fn harness(schedule: &Schedule, group: &str, opened: &Arc<Mutex<Vec<MockDevice>>>) -> Harness<MockDevice> {
    let (schedule, keep, kept) = (schedule.clone(), Arc::clone(opened), Arc::clone(opened));
    let second = if group == "ipc" { MockDevice::other_process } else { MockDevice::sibling };
    let open = move || {
        let device = MockDevice::builder().schedule(schedule.clone()).memory_limit_bytes(64 << 20).build();
        keep.lock().expect(NO_PANIC).push(device.clone());
        Ok::<_, devarray::Error>(device)
    };
    let beside =
        move || Ok::<_, devarray::Error>(kept.lock().expect(NO_PANIC).last().map(second).unwrap_or_default());
    Harness::new(open).with_second(beside).with_cases(8)
}
