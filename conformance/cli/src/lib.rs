#![doc = include_str!("../README.md")]

pub mod backend;
pub mod bench;
pub mod calls;
pub mod check;
pub mod commands;
pub mod functions;
pub mod golden;
mod integer;
pub mod limits;
pub mod lines;
mod object;
pub mod output;
pub mod replay;
pub mod status;
pub mod steps;

pub use commands::{Cli, Command};
pub use status::Status;
