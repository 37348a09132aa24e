//! Random programs on an NVIDIA device. Run with `--ignored`; without a device it fails.
//!
//! `DEVARRAY_PROGRAMS` says how many, 20,000 otherwise; `DEVARRAY_PROGRAMS_SEED` which, so that
//! shards differ.
#![allow(unsafe_code)] // plays programs through raw streams

use std::{cell::Cell, env};

use devarray_conformance::{
    Harness,
    programs::{Extras, Search},
};
use devarray_cuda::CudaDevice;
use devarray_mock::{
    MockDevice,
    program::{Program, Unjudged},
};

/// Programs of one search; all of them share one seed.
const BLOCK: u64 = 250;

fn number(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn programs_give_what_running_them_call_by_call_gives() {
    let (count, seed) = (number("DEVARRAY_PROGRAMS", 20_000), number("DEVARRAY_PROGRAMS_SEED", 0));
    let device = CudaDevice::open(0).expect("a CUDA device");
    let ran = Cell::new(0);
    while ran.get() < count {
        let block_seed = seed.wrapping_add((ran.get() / BLOCK).wrapping_mul(0x1_0000_0001));
        let (first, second) = (device.clone(), device.clone());
        let harness = Harness::new(move || Ok::<_, devarray::Error>(first.clone()))
            .with_second(move || Ok::<_, devarray::Error>(second.clone()))
            .with_seed(block_seed);
        let cases = BLOCK.min(count - ran.get());
        let again = format!(
            "DEVARRAY_PROGRAMS={cases} DEVARRAY_PROGRAMS_SEED={block_seed} cargo test -p devarray-cuda --test programs \
             -- --ignored"
        );
        let search = Search::new().programs(usize::try_from(cases).unwrap()).again(again);
        search
            .run_with(&harness, Extras::none().functions().kernels())
            .unwrap_or_else(|found| panic!("{found}"));
        ran.set(ran.get() + cases);
        if ran.get().is_multiple_of(1000) {
            println!("{} programs hold", ran.get());
        }
    }
}

/// Plays lines on the device, unless the simulator finds a mistake in one: hardware might then
/// do anything.
fn played(line: &str, device: &CudaDevice) -> Result<Vec<Vec<u8>>, String> {
    let program = Program::parse(line.as_bytes()).map_err(|error| error.to_string())?;
    let judged = program.play_on_mock(&MockDevice::new()).map_err(|error| error.to_string())?;
    judged.map_err(|finding| finding.to_string())?;
    // SAFETY: the judge of the simulator found the program right, whatever the schedule.
    unsafe { program.play(device, &mut Unjudged) }.map_err(|error| error.to_string())
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn raw_programs_give_what_making_one_operation_after_another_gives() {
    let (count, seed) = (number("DEVARRAY_PROGRAMS", 20_000), number("DEVARRAY_PROGRAMS_SEED", 0));
    let device = CudaDevice::open(0).expect("a CUDA device");
    let again = format!(
        "DEVARRAY_PROGRAMS={count} DEVARRAY_PROGRAMS_SEED={seed} cargo test -p devarray-cuda --test programs raw -- --ignored"
    );
    let search = Search::new().again(again);
    let found = search.run_raw(seed, usize::try_from(count).unwrap(), |line: &str| played(line, &device));
    found.unwrap_or_else(|found| panic!("{found}"));
}
