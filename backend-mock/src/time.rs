//! The simulated time: what takes how long.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// When an event was reached; nothing before.
pub(crate) type Stamp = Arc<OnceLock<Duration>>;

/// Time of a host call, besides its waits.
pub(crate) const CALL_TIME: Duration = Duration::from_nanos(100);

/// Time of an operation that moves no bytes.
const STEP_TIME: Duration = Duration::from_nanos(100);

/// Time of an operation that moves bytes, besides the bytes.
const OPERATION_TIME: Duration = Duration::from_micros(1);

/// Bytes that are moved in a nanosecond.
const BYTES_A_NANOSECOND: u64 = 1000;

/// The simulated time of an operation: a microsecond, and a nanosecond for each 1,000 bytes; a
/// tenth of a microsecond if it moves none.
pub(crate) fn time_of(len_bytes: usize) -> Duration {
    match len_bytes {
        0 => STEP_TIME,
        _ => OPERATION_TIME + Duration::from_nanos(len_bytes as u64 / BYTES_A_NANOSECOND),
    }
}
