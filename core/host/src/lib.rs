#![doc = include_str!("../README.md")]

mod builder;
mod device;
mod execute;
mod machine;
mod memory;
mod order;
mod stream;
mod threads;

pub use builder::Builder;
pub use device::{HostDevice, HostNothing};
pub use memory::{DeviceMemory, HostMemory};
pub use order::HostEvent;
pub use stream::HostStream;
