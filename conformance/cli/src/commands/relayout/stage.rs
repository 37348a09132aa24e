//! One line a stage: bytes, seconds, GB/s.

use std::time::Instant;

use anyhow::Result;

use crate::output::Output;

/// A part of the work that is timed by itself.
#[derive(Debug)]
pub(super) struct Stage {
    name: &'static str,
    begun: Instant,
}

impl Stage {
    pub(super) fn begin(name: &'static str) -> Self {
        Self { name, begun: Instant::now() }
    }

    /// Prints what it took to move `len_bytes`.
    pub(super) fn end(self, len_bytes: usize, output: &mut Output<'_>) -> Result<()> {
        let seconds = self.begun.elapsed().as_secs_f64();
        // Exact to 2^53 bytes, and a rate is rounded anyway.
        let gigabytes = len_bytes as f64 / 1e9;
        let rate = if len_bytes == 0 { 0.0 } else { gigabytes / seconds };
        output.line(format_args!("{:<8} {len_bytes:>14} bytes {seconds:>12.6} s {rate:>9.3} GB/s", self.name))
    }
}
