//! Limits of ranks that are processes: numbers, bytes and times.

use std::time::Duration;

/// Ranks of one communicator that are processes: each costs the service two threads and two descriptors.
pub(crate) const MOST_PROCESSES: usize = 4096;

/// Bytes that a rank gives the others at once.
pub(in crate::collective) const MOST_GIVEN: usize = 64 << 10;

/// The shortest time without a word after which a rank counts as lost.
const LEAST_SILENCE: Duration = Duration::from_secs(2);

/// The longest time between two words of a rank that waits.
const MOST_PAUSE: Duration = Duration::from_secs(15);

/// The time in which the other side says something, or counts as lost. A connection that is closed is noticed at
/// once; this is for machines that vanish.
pub(super) fn silence(time_limit: Duration) -> Duration {
    time_limit.max(LEAST_SILENCE)
}

/// A rank that has nothing to say says as often that it is there.
pub(super) fn pause(time_limit: Duration) -> Duration {
    (silence(time_limit) / 4).min(MOST_PAUSE)
}

/// The stack of a thread. Backends are told in it that a communicator is over.
pub(super) const STACK_BYTES: usize = 2 << 20;

/// The purpose of a connection to the service.
pub(super) const SERVICE: [u8; 8] = *b"service.";
