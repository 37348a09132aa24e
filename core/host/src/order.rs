//! The order of operations that run in the threads that call for them.
//!
//! A stream is a *lane* of numbered turns. A turn waits until the turns before it are over, and
//! whatever the stream was made to wait for. So the turns of a lane end in order, and one number says
//! how far it is. A *point* names what must be over, by lane and number; an event is a point. Waiting
//! blocks a thread only at its turn, or where the program asks for it. What another process waits for, or
//! is waited for, is a *flag* in memory that both have.

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
