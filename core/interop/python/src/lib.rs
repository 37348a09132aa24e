#![doc = include_str!("../README.md")]

mod any;
mod array;
mod capsule;
mod cupy;
mod dispatch;
mod error;
mod exchange;
mod export;
mod import;
mod interface;
mod kept;
mod known;
mod method;
mod once;
mod others;
mod serve;

// The public interface is:
pub use array::DeviceArray;
pub use error::to_py;
pub use serve::{serve, served};
