//! Proves on a real device that functions and reductions of every stratum give the bits that core's
//! interpreter gives: a million pairs of a function and arrays within ten minutes.
//!
//! Needs a CUDA device, so each test is ignored by default: `PAIRS=1000000 cargo test --release -p
//! devarray-cuda --test card -- --ignored hardware_strata::million --nocapture`. The library writes the
//! texts, chooses kernels and launches them as always. But the driver loads many texts as one
//! module. One number in 61 runs a second time as a program would run it, with a module per function.
//!
//! | variable | meaning | otherwise |
//! |---|---|---|
//! | `PAIRS` | the number of pairs | 20,000 |
//! | `SECONDS` | the time after which no process begins work | 540 |
//! | `SEED`, `FIRST` | the seed of numbers, and the first number | 0 |
//! | `PROCESSES` | the number of processes | one a core |
//! | `NUMBER` | only this number, in this process | |
//!
//! If a pair is wrong, the test fails at the end. For a few wrong pairs of each process it prints the
//! function, its operands, and the smallest part of the function that gives a wrong result.

use std::{env, time::Instant};

use devarray::backend::Device;
use devarray_cuda::{CudaDevice, CudaStream, driver::Driver};

use super::{
    shards::{in_processes, number, shard},
    strata::{
        CYCLE, CYCLE_PAIRS, Strata, Stratum, batch,
        check::{Counted, Devices, check, told},
    },
};

/// The most wrong pairs that one process describes in full.
const TOLD: usize = 3;

struct Opened {
    together: (CudaDevice, CudaStream),
    alone: (CudaDevice, CudaStream),
}

impl Opened {
    fn new(plants: Option<usize>) -> Self {
        let driver = Driver::load().expect("a CUDA device is needed");
        let together = CudaDevice::open_with(&batch::before(*driver.table(), plants), 0);
        let open = |device: CudaDevice| {
            let stream = device.open_stream().unwrap();
            (device, stream)
        };
        let together = open(together.expect("a CUDA device is needed"));
        Self { together, alone: open(CudaDevice::open(0).expect("a CUDA device is needed")) }
    }

    fn devices(&self) -> Devices<'_> {
        Devices { together: (&self.together.0, &self.together.1), alone: (&self.alone.0, &self.alone.1) }
    }

    fn close(self) {
        for (device, stream) in [self.together, self.alone] {
            assert_eq!(device.take_errors(), []);
            drop((stream, device));
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn million() {
    let began = Instant::now();
    let (seed, first) = (number("SEED", 0), number("FIRST", 0));
    let cycles = number("PAIRS", 20_000).div_ceil(CYCLE_PAIRS);
    if let Ok(one) = env::var("NUMBER") {
        let counted = shown(&Strata::new(seed), [one.parse().unwrap()].into_iter(), || true);
        assert!(counted.faults.is_empty(), "{} pairs are wrong", counted.faults.len());
        return;
    }
    if let Some((nth, of)) = shard() {
        let (seconds, of) = (number("SECONDS", 540), usize::try_from(of).unwrap());
        // Each process gets whole cycles of the strata, so that all processes have equal shares of slow functions.
        let numbers = (nth..cycles).step_by(of).flat_map(|cycle| {
            let from = first + cycle * CYCLE;
            from..from + CYCLE
        });
        let counted = shown(&Strata::new(seed), numbers, || began.elapsed().as_secs() < seconds);
        for (place, [functions, pairs]) in &counted.strata {
            println!("\nstratum {place} {functions} {pairs}");
        }
        let Counted { alone, kernels, modules, loading, faults, .. } = counted;
        println!("\nshard {alone} {kernels} {modules} {} {}", loading.as_millis(), faults.len());
        return;
    }
    let (mut sums, mut strata) = ([0_u64; 5], [[0_u64; 2]; Stratum::ALL.len()]);
    for text in in_processes("hardware_strata::million") {
        let numbers =
            |line: &str| -> Vec<u64> { line.split(' ').map(|word| word.parse().unwrap()).collect() };
        for line in text.lines().filter_map(|line| line.strip_prefix("stratum ")) {
            let line = numbers(line);
            let sums = &mut strata[usize::try_from(line[0]).unwrap()];
            sums.iter_mut().zip(&line[1..]).for_each(|(sum, number)| *sum += number);
        }
        let line =
            text.lines().find_map(|line| line.strip_prefix("shard ")).expect("a process says what it did");
        sums.iter_mut().zip(numbers(line)).for_each(|(sum, number)| *sum += number);
        // A process prints its wrong pairs before its sums.
        let told = text.split_once("wrong: ").and_then(|(_, told)| told.split_once("\nstratum "));
        if let Some((told, _)) = told {
            println!("wrong: {told}");
        }
    }
    for ((stratum, _), [functions, pairs]) in Stratum::ALL.into_iter().zip(strata) {
        println!("{}: {functions} functions, {pairs} pairs", stratum.name());
    }
    let [functions, pairs] = [0, 1].map(|at| strata.iter().map(|sums| sums[at]).sum::<u64>());
    let ([alone, kernels, modules, loading, wrong], seconds) = (sums, began.elapsed().as_secs_f64());
    println!(
        "strata: {pairs} pairs of {functions} functions (seed {seed}, numbers from {first} on, below {}), \
         {kernels} kernels in {modules} modules, {:.0} s of loading them in all processes, {alone} pairs also with a \
         module a function, {wrong} wrong, {seconds:.0} s",
        first + cycles * CYCLE,
        loading as f64 / 1e3,
    );
    assert_eq!(wrong, 0, "pairs are wrong, see above");
}

/// Checks functions in this process, and prints the wrong pairs.
fn shown(strata: &Strata, numbers: impl Iterator<Item = u64>, has_time: impl Fn() -> bool) -> Counted {
    let opened = Opened::new(None);
    let counted = check(strata, numbers, &opened.devices(), has_time);
    for fault in counted.faults.iter().take(TOLD) {
        println!("{}", told(strata, fault, &opened.devices()));
    }
    if counted.faults.len() > TOLD {
        let others: Vec<u64> = counted.faults.iter().skip(TOLD).map(|fault| fault.number).take(100).collect();
        println!("wrong as well: numbers {others:?}");
    }
    opened.close();
    counted
}

/// The twin: many planted mistakes in texts are found, and nothing else is reported.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn planted_mistakes_are_found() {
    let strata = Strata::new(number("SEED", 0));
    let opened = Opened::new(Some(7));
    let counted = check(&strata, 0..8 * CYCLE, &opened.devices(), || true);
    let (planted, mut found) = (counted.planted.len(), 0);
    for number in &counted.planted {
        found += usize::from(counted.faults.iter().any(|fault| fault.number == *number && !fault.alone));
    }
    println!("strata: {found} of {planted} planted mistakes were found");
    // Some mistakes change nothing, because both operations give the same result for these operands.
    assert!(planted > 15 && found * 3 > planted, "{found} of {planted} were found");
    for fault in &counted.faults {
        assert!(counted.planted.contains(&fault.number), "{}", told(&strata, fault, &opened.devices()));
    }
    opened.close();
}
