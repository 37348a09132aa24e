//! Collectives: exchanges of elements between ranks, which have a device each.
//!
//! A *rank* is a thread of the program with a [context](crate::Context) of its own, in one process or in
//! [several](crate::processes). All ranks of a
//! [`Communicator`] make the same calls in the same order. Each call takes the rank's stream, and is an
//! operation in its order like any other.
//!
//! | call | result of rank `k` of `r` |
//! |---|---|
//! | [`all_reduce`](Communicator::all_reduce) | all sources combined |
//! | [`reduce`](Communicator::reduce) | the same, for the root alone |
//! | [`reduce_scatter`](Communicator::reduce_scatter) | index `k` of all sources combined |
//! | [`broadcast`](Communicator::broadcast) | the root's elements |
//! | [`all_gather`](Communicator::all_gather) | all sources, along a new first axis of `r` |
//! | [`all_to_all`](Communicator::all_to_all) | index `k` of each source |
//! | [`all_to_all_counted`](Communicator::all_to_all_counted) | the rows that each source has for it |
//! | [`send`](Communicator::send), [`receive`](Communicator::receive) | the source of one rank, for one other |
//! | [`transfers`](Communicator::transfers) | several of both, in no order that must fit |
//! | [`barrier`](Communicator::barrier) | none: the hosts wait for each other |
//!
//! One thread that has several devices makes the calls of their ranks at once, by a [`Group`].
//!
//! # Values
//!
//! Elements are combined in the order of ranks, from rank 0: a sum of floats has one value, to the bit,
//! whatever the threads did. Today all backends with collectives keep this order. A backend of a library
//! that adds in another order would have a [capability](crate::backend::Capability) of its own for it,
//! and a call that asks for it.
//!
//! # Blocking
//!
//! Ranks compare their calls before anything is enqueued: the operation, the combination, the type of
//! the elements, their number, the root, and the counts of rows, if the call takes such. So **each call
//! blocks the host until all ranks it needs have made it**, up to the time limit of the [id](CommunicatorId::with_time_limit). No call waits
//! for what is on a stream, unless the device runs operations when they are enqueued. [Unchecked
//! communicators](Communicator::into_unchecked) compare nothing and do not block for that.
//!
//! # Recorded work
//!
//! A communicator may be an argument of [recorded work](crate::recorded#ranks): its exchanges are recorded among
//! functions and copies, and each launch makes them. All calls of the table but `barrier` and `all_to_all_counted` are
//! recorded, and so is `all_to_all_counted_into`.
//!
//! # Errors
//!
//! If the calls of ranks do not fit, each rank of the communicator gets one and the same
//! [`Error::Collective`](crate::Error::Collective), which says what each rank was doing, and where:
//!
//! ```text
//! all_reduce: the calls of the ranks differ: rank 0 calls all_reduce(sum) of 8 f32 (call 3, at
//! src/main.rs:10:5); rank 1 calls all_reduce(sum) of 4 f32 (call 3, at src/main.rs:10:5)
//! ```
//!
//! | | |
//! |---|---|
//! | [`Disagree`](CollectiveError::Disagree) | operations, types, counts or roots differ, or a rank is to get other rows than another sends |
//! | [`Stuck`](CollectiveError::Stuck) | ranks wait for each other, as two that both send first |
//! | [`Gone`](CollectiveError::Gone) | a rank dropped its communicator, its thread panicked, or its process is lost |
//! | [`TimeLimit`](CollectiveError::TimeLimit) | a rank did not come in time |
//! | [`Processes`](CollectiveError::Processes) | processes did not find each other, or lost each other |
//! | [`Aborted`](CollectiveError::Aborted) | a rank [aborted](Communicator::abort), or a call failed on another rank after all had come |
//!
//! Nothing was enqueued, and all later calls of the communicator fail likewise. Mistakes that one rank
//! can find alone, such as a shape, are told to that rank alone, and its next call is compared as if the
//! refused one had not been made.

mod aborter;
mod board;
mod call;
mod channel;
mod collect;
mod communicator;
mod counted;
mod counts;
mod error;
mod exchange;
mod group;
mod id;
mod link;
mod meeting;
mod meets;
mod moved;
mod numbers;
mod place;
mod recorded;
mod reduced;
mod rendezvous;
mod seated;
mod transfers;
mod waits;
mod watcher;

pub use aborter::Aborter;
pub use call::{RankCall, RankState, RankStates};
pub use channel::Mesh;
pub(crate) use channel::{Find, Known, MOST_PROCESSES, Place, Remote, Secret, Service, random};
pub use communicator::Communicator;
pub use counts::RowCounts;
pub use error::CollectiveError;
pub(crate) use exchange::Exchanged;
pub use exchange::{Combination, Combining, Exchange, Piece};
pub use group::Group;
pub use id::CommunicatorId;
pub(crate) use id::TIME_LIMIT;
pub(crate) use place::SharedPlace;
pub use rendezvous::{Met, Participant, Rendezvous};
pub use transfers::Transfers;
