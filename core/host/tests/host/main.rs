//! What is special about the CPU as a device.

mod gates;
mod memory;
mod order;
mod results;
mod threads;
