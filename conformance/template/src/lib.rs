//! A backend to start from: a whole one, in one file, that keeps every law of the suite.
//!
//! The device is the host. Every operation runs before the call that enqueues it returns, so order
//! is kept by doing nothing, a wait has nothing to wait for, and an event is always ready. Each
//! feature whose name begins with `broken-` breaks one thing, to show which law tells of it; delete
//! those lines first.

mod host;

pub use host::HostDevice;
