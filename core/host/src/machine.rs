//! The machine's threads and memory.

use std::{env, thread};

/// The variable that sets how many threads compute.
const VARIABLE: &str = "DEVARRAY_THREADS";

/// The most threads of one device. A larger number is taken for a mistake.
const MOST_THREADS: usize = 1024;

/// The bytes of memory to assume if the system does not tell.
const UNKNOWN_BYTES: usize = 1 << 30;

/// The number of threads that compute: the variable's value, or else the machine's number.
pub(crate) fn threads() -> usize {
    let said = env::var(VARIABLE).ok().and_then(|text| text.trim().parse().ok());
    limited(said.filter(|&count| count > 0).unwrap_or_else(available))
}

/// Limits a number of threads to a useful range.
pub(crate) fn limited(threads: usize) -> usize {
    threads.clamp(1, MOST_THREADS)
}

fn available() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The bytes of memory that a device may hand out: seven eighths of the machine's.
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
