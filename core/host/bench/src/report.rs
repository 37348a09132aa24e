//! Measures times and prints them.

use std::{
    collections::HashSet,
    error::Error,
    time::{Duration, Instant},
};

use serde_json::json;

/// The number of timed calls. Their median counts.
const CALLS: usize = 15;

/// The time that a case runs before it is measured. Caches, clock rates and sleeping threads of every peer
/// are then in the state that they have in the middle of a program.
const WARM_UP: Duration = Duration::from_millis(100);

/// The number of calls that are timed together if one call is too short for the clock.
const SMALL_CALLS: usize = 1000;

/// Prints one line of JSON per case.
pub(crate) struct Report {
    peer: String,
    pub(crate) n: usize,
    wanted: HashSet<String>,
}

impl Report {
    pub(crate) fn new(peer: &str, n: usize, wanted: Vec<String>) -> Self {
        Self { peer: peer.to_owned(), n, wanted: wanted.into_iter().collect() }
    }

    /// Prints the median time of a call that moves at least `len_bytes`.
    pub(crate) fn case<E: Into<Box<dyn Error>>>(
        &mut self,
        name: &str,
        len_bytes: usize,
        mut call: impl FnMut() -> Result<(), E>,
    ) {
        if !self.wants(name) {
            return;
        }
        match median(&mut call) {
            Ok(seconds) => {
                let gbps = len_bytes as f64 / seconds / 1e9;
                println!("{}", json!({"case": name, "peer": self.peer, "ms": seconds * 1e3, "gbps": gbps}));
            }
            Err(error) => {
                let error = error.into().to_string();
                println!("{}", json!({"case": name, "peer": self.peer, "error": error}));
            }
        }
    }

    /// Prints the median time of a thousand calls.
    pub(crate) fn small<E: Into<Box<dyn Error>>>(
        &mut self,
        name: &str,
        mut call: impl FnMut() -> Result<(), E>,
    ) {
        self.case(name, 0, || (0..SMALL_CALLS).try_for_each(|_| call()));
    }

    fn wants(&self, name: &str) -> bool {
        self.wanted.is_empty() || self.wanted.contains(name)
    }
}

fn median<E>(call: &mut impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let begun = Instant::now();
    call()?;
    while begun.elapsed() < WARM_UP {
        call()?;
    }
    let mut seconds = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let begun = Instant::now();
        call()?;
        seconds.push(begun.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[CALLS / 2])
}
