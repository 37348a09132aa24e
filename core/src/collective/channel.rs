//! The way on which ranks that are processes compare their calls.
//!
//! The process of rank 0 keeps the board of all ranks, behind a *service* that listens. Each rank of another
//! process has a connection to it. There a thread reads what the rank sends, and another makes the rank's calls
//! on the board on its behalf. So calls of processes are compared by the very code that compares those of threads.
//!
//! A connection that ends without a goodbye means that the rank is lost: all others are told at once.
//!
//! The parts, from the bottom:
//!
//! - `bytes`, `strings`, `messages`: what travels, and its limits;
//! - `frames`: messages on a connection;
//! - `secret`, `handshake`, `door`: who may come in;
//! - `client`: the side of a rank of another process;
//! - `visitor`, `service`: the side of the board;
//! - `mesh`: connections between all ranks, for elements.

mod bytes;
mod client;
mod door;
mod frames;
mod handshake;
mod mesh;
mod messages;
mod secret;
mod service;
mod strings;
mod visitor;

pub(crate) use client::{Client, Find, Known, Place, Remote};
pub use mesh::Mesh;
pub(crate) use secret::{Secret, random};
pub(crate) use service::Service;

use std::time::Duration;

/// Ranks of one communicator that are processes: each costs the service two threads and two descriptors.
pub(crate) const MOST_PROCESSES: usize = 4096;

/// Bytes that a rank gives the others at once.
pub(crate) const MOST_GIVEN: usize = 64 << 10;

/// The shortest time without a word after which a rank counts as lost.
const LEAST_SILENCE: Duration = Duration::from_secs(2);

/// The longest time between two words of a rank that waits.
const MOST_PAUSE: Duration = Duration::from_secs(15);

/// How long the other side may say nothing before it counts as lost. A connection that is closed is noticed at
/// once; this is for machines that vanish.
fn silence(time_limit: Duration) -> Duration {
    time_limit.max(LEAST_SILENCE)
}

/// How often a rank that has nothing to say says that it is there.
fn pause(time_limit: Duration) -> Duration {
    (silence(time_limit) / 4).min(MOST_PAUSE)
}
