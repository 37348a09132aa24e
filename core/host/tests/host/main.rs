//! What is special about the CPU as a device.
