//! The simulated time of operations and calls.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// The time when an event was reached; empty before.
pub(crate) type Stamp = Arc<OnceLock<Duration>>;

/// The time of a host call, without its waits.
pub(crate) const CALL_TIME: Duration = Duration::from_nanos(100);

/// The time of an operation that moves no bytes.
const STEP_TIME: Duration = Duration::from_nanos(100);

/// The time of an operation that moves bytes, without the time for the bytes.
const OPERATION_TIME: Duration = Duration::from_micros(1);

/// The number of bytes that are moved in a nanosecond.
const BYTES_A_NANOSECOND: u64 = 1000;

/// The simulated time of an operation: a microsecond, and a nanosecond for each 1,000 bytes; a
/// tenth of a microsecond if it moves none.
pub(crate) fn time_of(len_bytes: usize) -> Duration {
    match len_bytes {
        0 => STEP_TIME,
        _ => OPERATION_TIME + Duration::from_nanos(len_bytes as u64 / BYTES_A_NANOSECOND),
    }
}
