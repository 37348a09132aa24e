//! What the machine has: threads and memory.

use std::{env, thread};

/// The variable that says how many threads compute.
const VARIABLE: &str = "DEVARRAY_THREADS";

/// Most threads of one device. A number that is larger was not meant.
const MOST_THREADS: usize = 1024;

/// Bytes of memory where the system does not say.
const UNKNOWN_BYTES: usize = 1 << 30;

/// Threads that compute: what the variable says, else what the machine has.
pub(crate) fn threads() -> usize {
    let said = env::var(VARIABLE).ok().and_then(|text| text.trim().parse().ok());
    limited(said.filter(|&count| count > 0).unwrap_or_else(available))
}

/// Limits a count of threads to what can be used.
pub(crate) fn limited(threads: usize) -> usize {
    threads.clamp(1, MOST_THREADS)
}

fn available() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Bytes of memory that a device may hand out: seven eighths of the machine's.
pub(crate) fn capacity_bytes() -> usize {
    let total_bytes = crate::memory::machine_bytes().unwrap_or(UNKNOWN_BYTES);
    total_bytes - total_bytes / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_threads_are_sensible() {
        assert_eq!((limited(0), limited(7), limited(usize::MAX)), (1, 7, MOST_THREADS));
        assert!(capacity_bytes() > 0);
    }
}
