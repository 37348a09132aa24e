//! The way on which ranks that are processes compare their calls.
//!
//! The process of rank 0 keeps the board of all ranks, behind a *service* that listens. Each rank of another
//! process has a connection to it. There a thread reads what the rank sends, and another makes the rank's calls
//! on the board on its behalf. So calls of processes are compared by the very code that compares calls of threads.
//!
//! A connection that ends without a goodbye means that the rank is lost: all others are told at once.
//!
//! The parts, from the bottom:
//!
//! - `limits`, `bytes`, `strings`, `words`, `messages`: the words, and their limits;
//! - `frames`: messages on a connection;
//! - `secret`, `handshake`, `door`: who may come in;
//! - `remote`, `client`: the side of a rank of another process;
//! - `rooms`, `visitor`, `service`: the side of the board;
//! - `mesh`: connections between all ranks, for elements.

mod bytes;
mod client;
mod door;
mod frames;
mod handshake;
mod limits;
mod mesh;
mod messages;
mod remote;
mod rooms;
mod secret;
mod service;
mod strings;
mod visitor;
mod words;

pub(super) use client::Client;
pub(super) use limits::MOST_GIVEN;
pub(crate) use limits::MOST_PROCESSES;
pub use mesh::Mesh;
pub(crate) use remote::{Find, Known, Place, Remote};
pub(crate) use secret::{Secret, random};
pub(crate) use service::Service;
