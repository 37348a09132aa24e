//! One line for each stage: bytes, seconds, GB/s.

use std::{
    fmt,
    time::{Duration, Instant},
};

/// A part of the work that is timed by itself.
#[derive(Debug)]
pub(in crate::commands) struct Stage {
    name: &'static str,
    took: Duration,
    len_bytes: usize,
}

impl Stage {
    pub(in crate::commands) fn new(name: &'static str) -> Self {
        Self { name, took: Duration::ZERO, len_bytes: 0 }
    }

    /// Does a piece of the stage, which moves `len_bytes`, and adds its time.
    pub(in crate::commands) fn time<R>(&mut self, len_bytes: usize, piece: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let result = piece();
        self.lasted(begun.elapsed(), len_bytes);
        result
    }

    /// Adds the time of a piece of the stage, which moved `len_bytes`.
    pub(in crate::commands) fn lasted(&mut self, took: Duration, len_bytes: usize) {
        self.took += took;
        self.len_bytes += len_bytes;
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, took, len_bytes } = self;
        let seconds = took.as_secs_f64();
        // Exact up to 2^53 bytes, and a rate is rounded anyway.
        let gigabytes = *len_bytes as f64 / 1e9;
        let rate = if *len_bytes == 0 { 0.0 } else { gigabytes / seconds };
        write!(f, "{name:<8} {len_bytes:>14} bytes {seconds:>12.6} s {rate:>9.3} GB/s")
    }
}
