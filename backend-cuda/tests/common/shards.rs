//! Random cases on a real device, in several processes: the driver compiles one text at a time in a
//! process.

use std::{
    env,
    process::{Command, Stdio},
    thread,
    time::Instant,
};

use devarray::backend::Device;
use devarray_cuda::{CudaDevice, CudaStream};

/// The number that a variable of the environment holds.
pub(crate) fn number(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).map_or(otherwise, |number| number.parse().unwrap())
}

/// The shard of this process, and how many there are; `None` if it is the one that starts them.
pub(crate) fn shard() -> Option<(u64, u64)> {
    let shard = env::var("SHARD").ok()?;
    let (nth, of) = shard.split_once('/').unwrap();
    Some((nth.parse().unwrap(), of.parse().unwrap()))
}

/// Runs a test in `PROCESSES` processes, each told its `SHARD`, and answers what they print.
///
/// # Panics
///
/// One of them failed, whose output is printed.
pub(crate) fn in_processes(test: &str) -> Vec<String> {
    let processes = number("PROCESSES", thread::available_parallelism().map_or(1, usize::from) as u64);
    let start = |nth: u64| {
        Command::new(env::current_exe().unwrap())
            .args([test, "--exact", "--ignored", "--nocapture"])
            .env("SHARD", format!("{nth}/{processes}"))
            // No text comes twice, so nothing is gained by keeping machine code on the disk.
            .env("CUDA_CACHE_DISABLE", "1")
            // A module's kernels go to the device together, not each when it is asked for.
            .env("CUDA_MODULE_LOADING", "EAGER")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let started: Vec<_> = (0..processes).map(start).collect();
    // Every process is waited for, also if one fails, and its pipes are emptied meanwhile.
    let wait = |process: std::process::Child| thread::spawn(move || process.wait_with_output().unwrap());
    let waiting: Vec<_> = started.into_iter().map(wait).collect();
    let ended: Vec<_> = waiting.into_iter().map(|process| process.join().unwrap()).collect();
    let text = |output: std::process::Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    ended.into_iter().map(text).collect()
}

/// Calls `check` with the numbers of `CASES` cases from `FIRST` on, in `PROCESSES` processes of
/// this test, whose name is `test`, each on one thread. Stops early after `SECONDS`. `check`
/// answers how many comparisons it made; the sums are printed.
///
/// # Panics
///
/// A check panicked in some process, whose output is printed.
pub(crate) fn every_case(test: &str, otherwise: u64, check: impl Fn(&CudaDevice, &CudaStream, u64) -> u64) {
    let (first, cases) = (number("FIRST", 0), number("CASES", otherwise));
    let began = Instant::now();
    if let Some((nth, of)) = shard() {
        let device = CudaDevice::open(0).expect("a CUDA device is needed");
        let stream = device.open_stream().unwrap();
        let seconds = number("SECONDS", u64::MAX);
        let (mut functions, mut compared) = (0, 0);
        let mine = (first + nth..first + cases).step_by(usize::try_from(of).unwrap());
        for which in mine.take_while(|_| began.elapsed().as_secs() < seconds) {
            compared += check(&device, &stream, which);
            functions += 1;
        }
        assert_eq!(device.take_errors(), []);
        println!("\nshard {functions} {compared} {}", device.function_statistics().compiled);
        return;
    }
    let mut sums = [0_u64; 3];
    for text in in_processes(test) {
        let line =
            text.lines().find_map(|line| line.strip_prefix("shard ")).expect("a process says what it did");
        for (sum, number) in sums.iter_mut().zip(line.split(' ')) {
            *sum += number.parse::<u64>().unwrap();
        }
    }
    let [functions, compared, compiled] = sums;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{functions} random functions, {compared} pairs of function and layouts, {compiled} kernels compiled: {seconds:.1} s"
    );
}
