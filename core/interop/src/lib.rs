#![doc = include_str!("../README.md")]

mod array_interface;
pub mod arrow;
#[cfg(feature = "arrow-buffer")]
pub mod arrow_rs;
mod backends;
#[cfg(feature = "cudarc")]
pub mod cudarc_slice;

mod data_type;
pub mod device;
pub mod dlpack;
mod error;
mod for_c;
mod incoming;
mod tensor;

#[doc = include_str!("manual.md")]
pub mod manual {}

// The public interface is:
pub use array_interface::ArrayInterface;
pub use data_type::{DataType, DoorElement, Kind};
pub use device::Door;
pub use error::{DoorError, Result};
pub use for_c::catch_for_c;
pub use tensor::{Consumer, Tensor};
