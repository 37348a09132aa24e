#![doc = include_str!("../README.md")]

mod backend;
mod builder;
mod captured;
mod device;
mod execute;
mod index_errors;
mod machine;
mod memory;
mod moves;
mod order;
mod shared;
mod stream;
mod threads;

pub use builder::Builder;
pub use device::{HostCommunicator, HostDevice, HostExportable, HostOpened};
pub use memory::{DeviceMemory, HostMemory};
pub use order::HostEvent;
pub use stream::HostStream;
