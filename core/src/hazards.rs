//! Hazard tracking: which stream touched which bytes.
//!
//! Policy lives here; the backend has the mechanism (record an event, wait for one). Every
//! operation is submitted under one lock per device, in three steps: *order* it after the accesses
//! it conflicts with, *note* its own accesses, *enqueue* it.
//!
//! - Each stream is a *lane* with a sequence number that grows by one with each operation.
//! - Each allocation keeps its unretired accesses ([`AccessLog`]): lane, sequence, bytes, read or
//!   write. All readers are kept: a writer that waited for the last of two readers alone would race
//!   with the first.
//! - A lane remembers the work it is ordered after (`seen`), so an edge is made once. It also takes
//!   over `seen` of a lane it waits for, so edges are transitive (clause S5 of
//!   [`Stream`](crate::backend::Stream)).
//! - Events are recorded lazily, when an edge to another lane is needed. Work on one stream costs
//!   no driver call.
//! - Work that the host waited for (`done`) precedes everything submitted later and is forgotten.
//!   An index out of range that was not reported is remembered apart: each point of a stream knows
//!   which such gathers come before it, and a wait for the point reports them.
//! - An allocation and a free each count as a write to the whole allocation.

mod access_log;
mod covering;
mod cut_off;
mod footprint;
mod hazard;
mod index_errors;
mod lane;
mod tracker;
mod untold;

pub(crate) use access_log::{AccessLog, Touch};
pub(crate) use covering::Covered;
pub(crate) use footprint::Footprint;
pub use hazard::Hazard;
pub(crate) use index_errors::Reporting;
pub(crate) use lane::{Clock, LaneId, Position, RecordedEvent};
pub(crate) use tracker::HazardTracker;
pub(crate) use untold::Untold;

/// How a stream treats an access that is not ordered before its operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Mode {
    /// The device waits.
    Automatic,
    /// The operation is refused with [`Error::Hazard`](crate::Error::Hazard).
    Strict,
    /// Nothing happens: the caller vouches for order.
    Unchecked,
}
