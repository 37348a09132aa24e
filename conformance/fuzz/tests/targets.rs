//! Runs the targets without a fuzzer: over their corpora, and over small changes of these for a few
//! seconds. The twins have a planted bug, which both must find.

use std::{
    env, fs,
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use devarray_fuzz::{
    TARGETS, Target,
    mutate::Mutator,
    steps::{Step, parse_steps},
};

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// The corpus of a target, in the order of the names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> =
        fs::read_dir(folder(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 8, "{target} has a corpus of {}", paths.len());
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// The value of `DEVARRAY_FUZZ_SEED`, or 0.
fn seed() -> u64 {
    env::var("DEVARRAY_FUZZ_SEED").map_or(0, |text| text.parse().expect("a seed is a number"))
}

/// The time for each target: `DEVARRAY_FUZZ_SECONDS`, or 3.
fn time() -> Duration {
    Duration::from_secs(env::var("DEVARRAY_FUZZ_SECONDS").map_or(3, |text| text.parse().expect("a number")))
}

/// The first changed member of the corpus on which a target panics, within this number and this
/// time.
fn found(
    target: Target,
    corpus: &[Vec<u8>],
    seed: u64,
    most: usize,
    time: Duration,
) -> Option<(usize, Vec<u8>)> {
    let mut mutator = Mutator::new(corpus, seed);
    let end = Instant::now() + time;
    for count in 0..most {
        if count % 16 == 0 && Instant::now() > end {
            break;
        }
        let input = mutator.draw();
        if panic::catch_unwind(AssertUnwindSafe(|| target(&input))).is_err() {
            return Some((count, input));
        }
    }
    None
}

#[test]
fn every_target_holds_on_its_corpus() {
    for (name, target) in TARGETS {
        for input in corpus(name) {
            target(&input);
        }
    }
}

/// Runs each target in its own thread. An input that fails is written to a file, to be added to the
/// corpus.
#[test]
fn every_target_holds_on_changes_of_its_corpus() {
    let tried = |name: &'static str, target: Target| {
        let Some((count, input)) = found(target, &corpus(name), seed(), usize::MAX, time()) else {
            return None;
        };
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("found-{name}"));
        fs::write(&file, &input).unwrap();
        let text = String::from_utf8_lossy(&input).into_owned();
        Some(format!("{name}, input {count} of seed {}, in {}: {text:?}", seed(), file.display()))
    };
    let all: Vec<_> = thread::scope(|scope| {
        let threads = TARGETS.map(|(name, target)| scope.spawn(move || tried(name, target)));
        threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// A bug far from any member of the corpus.
fn planted(data: &[u8]) {
    let Some(text) = data.get(1..).and_then(|text| std::str::from_utf8(text).ok()) else { return };
    let flips =
        |step: &Step| matches!(step, Step::Flip(Some(axes)) if axes.iter().any(|axis| axis.unsigned_abs() > 9));
    assert!(!parse_steps(text).is_ok_and(|steps| steps.len() > 1 && steps.iter().any(flips)), "planted");
}

/// The twin: small changes alone find a planted bug, with each of three seeds.
#[test]
fn a_planted_bug_is_found() {
    let corpus = corpus("steps");
    for input in &corpus {
        planted(input);
    }
    for seed in 0..3 {
        let found = found(planted, &corpus, seed, 1_000_000, Duration::from_secs(60));
        assert!(found.is_some(), "not with seed {seed}");
    }
}

/// A seed always draws the same inputs, and another seed draws others.
#[test]
fn inputs_can_be_drawn_again() {
    let corpus = corpus("plan");
    let draw = |seed| {
        let mut mutator = Mutator::new(&corpus, seed);
        (0..100).map(|_| mutator.draw()).collect::<Vec<_>>()
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
}
