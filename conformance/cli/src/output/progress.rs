//! A progress bar for long work, only on a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// Fewer bytes than this are done before a bar could be seen.
const LONG_BYTES: u64 = 64 << 20;

/// Progress of one stage, shown on standard error if that is a terminal and the stage is long.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A stage of this name over `len_bytes`; without a bar if the output is to be quiet.
    #[must_use]
    pub fn new(stage: &'static str, len_bytes: u64, is_quiet: bool) -> Self {
        if is_quiet || len_bytes < LONG_BYTES {
            return Self { bar: ProgressBar::hidden() };
        }
        let style = ProgressStyle::with_template(
            "{msg:8} {wide_bar} {bytes}/{total_bytes} {binary_bytes_per_sec} {eta}",
        );
        let bar = ProgressBar::new(len_bytes).with_message(stage);
        Self { bar: bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())) }
    }

    /// Shows that `done_bytes` bytes are done.
    pub fn at(&self, done_bytes: usize) {
        self.bar.set_position(done_bytes as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
