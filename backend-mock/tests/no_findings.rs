//! Core makes no mistakes: whatever the laws of the suite do through it, the judge finds nothing, under any of the schedules.

use std::sync::{Arc, Mutex};

use devarray_conformance::{Harness, all, timing};
use devarray_mock::{Code, MockDevice, Schedule};

#[test]
fn no_law_makes_the_judge_find_anything() {
    for schedule in [Schedule::Lazy, Schedule::ReverseLazy, Schedule::Random] {
        let opened = Arc::new(Mutex::new(Vec::<MockDevice>::new()));
        let keep = Arc::clone(&opened);
        let name = format!("{schedule:?}");
        let harness = Harness::new(move || {
            let device =
                MockDevice::builder().schedule(schedule.clone()).memory_limit_bytes(64 << 20).build();
            keep.lock().unwrap().push(device.clone());
            Ok::<_, devarray::Error>(device)
        })
        .with_cases(8);
        let mut devices = 0;
        for law in all().into_iter().chain(timing()) {
            law.check(&harness).unwrap();
            for device in opened.lock().unwrap().drain(..) {
                devices += 1;
                let mut findings = device.report().findings;
                // Some laws look at memory that was never written, on purpose.
                findings.retain(|finding| finding.code != Code::Uninitialized);
                assert!(findings.is_empty(), "{name}, {}: {}", law.full_name(), findings[0]);
            }
        }
        assert!(devices > 70, "each law opens a device");
    }
}
