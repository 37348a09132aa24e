//! Measures the cost of judging: schedules per second, the time of copies with and without the judge, memory
//! growth over ten million operations, and the queue of calls that nobody waits for.
//!
//! `cargo run --release -p devarray-mock --example figures -- 1`. A larger number N makes the work N times smaller.
//! Without a number it does a thousandth: this tests that the example runs, and measures nothing.

#[path = "edge_deletion/generator.rs"]
#[allow(dead_code)] // shared with an example that uses all of it
mod generator;
#[path = "edge_deletion/oracle.rs"]
mod oracle;

use std::time::{Duration, Instant};

use devarray::{Array, Context};
use devarray_mock::{MockDevice, Schedule, program::Program};

fn main() {
    let divide: u64 = std::env::args().nth(1).map_or(1000, |text| text.parse().expect("a number"));
    schedules(divide);
    price(divide);
    kept(divide);
    queued(divide);
}

/// Plays programs of twelve operations, which are parsed once, under many schedules on one core.
fn schedules(divide: u64) {
    let mut programs = Vec::new();
    for seed in 0.. {
        let mut program = generator::right(seed, 14);
        let ops = program["ops"].as_array_mut().expect("a list");
        if ops.len() < 12 {
            continue;
        }
        ops.truncate(12);
        programs.push(Program::parse(program.to_string().as_bytes()).expect("a program"));
        if programs.len() == 100 {
            break;
        }
    }
    let (rounds, start) = (2000 / divide, Instant::now());
    for seed in 0..rounds {
        for program in &programs {
            let device = MockDevice::builder().schedule(Schedule::Random).seed(seed).build();
            assert!(program.play_on_mock(&device).expect("small programs fit").is_ok());
        }
    }
    let played = rounds * programs.len() as u64;
    println!(
        "{:.0} schedules a second: {played} of programs of 12 operations, judged",
        rate(played, start.elapsed())
    );
}

/// Times copies of 4 MiB between streams, with and without the judge in turn.
fn price(divide: u64) {
    let run = |judge: bool| {
        let context = Context::new(MockDevice::builder().judge(judge).build()).expect("a device");
        let (one, two) = (context.stream().expect("a stream"), context.stream().expect("a stream"));
        let source = Array::<u32, _>::zeros(&one, &[1024, 1024]).expect("memory");
        let mut target = Array::<u32, _>::zeros(&two, &[1024, 1024]).expect("memory");
        let start = Instant::now();
        for k in 0..(40 / divide).max(2) {
            let stream = if k % 2 == 0 { &one } else { &two };
            target.view_mut().copy_from(stream, &source.view()).expect("a copy");
            target.view_mut().copy_from(stream, &source.view().transpose()).expect("a copy");
        }
        two.synchronize().expect("a wait");
        one.synchronize().expect("a wait");
        start.elapsed()
    };
    let mut times = [Duration::MAX; 2];
    for _ in 0..3 {
        times = [times[0].min(run(false)), times[1].min(run(true))];
    }
    println!(
        "{:.2} times the time of plain copies: 4 MiB each, contiguous and transposed",
        times[1].as_secs_f64() / times[0].as_secs_f64()
    );
}

/// Runs ten million operations on two streams without a wait of the host: the judge forgets operations that
/// can no longer conflict.
fn kept(divide: u64) {
    let device = MockDevice::builder().schedule(Schedule::Eager).build();
    let context = Context::new(device).expect("a device");
    let streams = [context.stream().expect("a stream"), context.stream().expect("a stream")];
    let mut array = Array::<u8, _>::zeros(&streams[0], &[256]).expect("memory");
    let operations = 10_000_000 / divide;
    let (mut before, start) = (0, Instant::now());
    for k in 0..operations {
        let at = isize::try_from(k % 61).expect("small");
        let mut part = array.view_mut().slice_axis(0, at..at + 7).expect("inside");
        part.fill(&streams[usize::from(k % 3 == 0)], 1).expect("a fill");
        if k == operations / 10 {
            before = resident_kib();
        }
    }
    let grown = resident_kib().saturating_sub(before);
    println!(
        "{grown} KiB more after {operations} operations than after a tenth of them; {:.0} operations a second",
        rate(operations, start.elapsed())
    );
}

/// Makes a hundred thousand small calls without a wait, under the default schedule. Measures the memory that
/// the host holds, and the memory it would hold if no call ran before a wait.
fn queued(divide: u64) {
    let held = |device: MockDevice| {
        let context = Context::new(device).expect("a device");
        let stream = context.stream().expect("a stream");
        let x = Array::<f32, _>::ones(&stream, &[1000]).expect("memory");
        let before = resident_kib();
        (0..100_000 / divide).for_each(|_| drop(x.map(&stream, |x| x + 1.0).expect("a function")));
        resident_kib().saturating_sub(before) / 1024
    };
    let bounded = held(MockDevice::new());
    let unbounded = held(MockDevice::builder().most_queued(usize::MAX).build());
    println!(
        "{bounded} MiB held by {} calls that nobody waits for; {unbounded} without a limit",
        100_000 / divide
    );
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// The resident memory of the process, or 0 where the system does not tell it.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
