//! Hardware's answers to probes: always ones that the simulator gives too. All probes run, or
//! the ones whose name contains `DEVARRAY_PROBES`.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::collections::BTreeMap;

use devarray_conformance::probes::{Load, all};
use devarray_cuda::CudaDevice;

/// Tens of milliseconds of work, which no call takes by itself.
const LOAD: Load = Load { bytes: 256 << 20, copies: 100 };

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn hardware_answers_what_the_simulator_can() {
    // Profiles that fit what was seen so far; profiles of other code's stream 0 have nothing to do
    // with this library.
    let mut fits: Vec<&str> = vec!["strict", "cuda12-discrete", "coherent-host"];
    let named = std::env::var("DEVARRAY_PROBES").unwrap_or_default();
    for probe in all().iter().filter(|probe| probe.name.contains(&named)) {
        // The driver's context, which takes longest to make, is made once a probe and not once an
        // answer.
        let _kept = CudaDevice::open(0).unwrap();
        let mut answers = BTreeMap::<_, usize>::new();
        for _ in 0..5 {
            *answers.entry(probe.ask(CudaDevice::open(0).unwrap(), LOAD).unwrap()).or_default() += 1;
        }
        println!("{}: {answers:?}", probe.name);
        for answer in answers.keys() {
            assert!(probe.allowed.contains(answer), "{}: {answer:?}", probe.name);
        }
        fits.retain(|profile| answers.keys().all(|answer| probe.allowed_under(profile).contains(answer)));
    }
    println!("profiles that fit this machine: {}", fits.join(", "));
    assert!(fits.contains(&"strict"));
}
