//! The order of operations, which run in the threads that call for them.
//!
//! A stream is a *lane* of numbered turns. A turn waits until the turns before it are over, and everything
//! that the stream was made to wait for. So the turns of a lane end in order, and one number tells how many
//! are over. A *point* is a set of turns that must be over, given by lane and number; an event is a point. A
//! thread blocks only at its turn, or where the program asks for it. Processes wait for each other by *flags*
//! in memory that both have.

mod event;
mod flag;
mod lane;
mod later;
mod point;
mod turn;

pub use event::HostEvent;
pub(crate) use flag::{Flag, Flags};
pub(crate) use lane::Lane;
pub(crate) use later::{Later, Stamp, Then};
pub(crate) use point::Point;
pub(crate) use turn::Turn;
