//! The memory of a device: its blocks, and the allocator that hands them out.

mod block;
mod buffer;
mod classes;
mod kept;
mod pages;
mod room;
mod shared_pages;

pub(crate) use block::Block;
pub use buffer::{DeviceMemory, HostMemory};
pub(crate) use pages::{are_mapped, machine_bytes};
pub(crate) use room::Room;
pub(crate) use shared_pages::{ARE_THERE, PagesName, SharedPages};
