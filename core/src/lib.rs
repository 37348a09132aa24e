#![doc = include_str!("../README.md")]

pub mod backend;
pub mod copy;
mod error;
pub mod layout;
mod order;

pub use backend::Device;
pub use error::{Error, Result};
pub use layout::{Axes, Layout, LayoutError, NdLayout, Order};
pub use order::Hazard;
