//! Measures the judge: it plays correct random programs, each correct program without one ordering edge, and
//! arbitrary random programs. It compares every verdict with a brute-force oracle.
//!
//! `cargo run --release -p devarray-mock --example edge_deletion -- 100000` takes some minutes;
//! without a number it plays a thousand programs of each kind.

#[path = "edge_deletion/compare.rs"]
mod compare;
#[path = "edge_deletion/generator.rs"]
mod generator;
#[path = "edge_deletion/oracle.rs"]
mod oracle;

use std::thread;

use compare::Tally;

/// The most operations of a program before edges are inserted.
const MOST_OPS: usize = 16;

fn main() {
    let programs: u64 =
        std::env::args().nth(1).map_or(1000, |text| text.parse().expect("a number of programs"));
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let share = |k: u64| programs * k / threads;
    let mut totals = [const { None::<Tally> }; 3].map(Option::unwrap_or_default);
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|k| scope.spawn(move || compare::run(share(k), share(k + 1), MOST_OPS)))
            .collect();
        for part in parts {
            for (total, part) in totals.iter_mut().zip(part.join().expect("no thread panics")) {
                total.add(part);
            }
        }
    });
    for (name, total) in ["right", "one edge deleted", "as they come"].iter().zip(&totals) {
        let Tally { programs, kinds, disagreements } = total;
        println!("{name}: {programs} programs, {} disagreements", disagreements.len());
        println!("    {kinds:?}");
        disagreements.iter().take(3).for_each(|text| println!("{text}"));
    }
    let [right, cut, _] = &totals;
    assert_eq!(right.kinds.get("ok"), Some(&right.programs), "a right program is right");
    assert!(cut.kinds.len() > 2, "deleted edges must matter");
    assert!(totals.iter().all(|total| total.disagreements.is_empty()), "judge and oracle disagree");
}
