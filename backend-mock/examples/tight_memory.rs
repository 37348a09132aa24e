//! Runs random programs that allocate, copy and drop on a device with very little memory. After every
//! step, the memory statistics of the context equal an oracle's. At the end, no memory is left, and
//! the simulator has no findings.
//!
//! `cargo run --release -p devarray-mock --example tight_memory -- 100000`; without a number it
//! runs a thousand programs.

#[path = "tight_memory/model.rs"]
mod model;
#[path = "tight_memory/program.rs"]
mod program;

use std::thread;

use program::{Flaw, Tally, run};

fn main() {
    let programs: u64 =
        std::env::args().nth(1).map_or(1000, |text| text.parse().expect("a number of programs"));
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let share = |k: u64| programs * k / threads;
    let mut total = Tally::default();
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|k| {
                scope.spawn(move || {
                    (share(k)..share(k + 1))
                        .map(|seed| run(seed, Flaw::None).expect("as the oracle says"))
                        .sum()
                })
            })
            .collect();
        total = parts.into_iter().map(|part| part.join().expect("no thread panics")).sum();
    });
    println!("{programs} programs as the oracle says: {total:?}");
    assert!(total.refused > programs && total.flushed > programs / 10, "memory is tight");
}
