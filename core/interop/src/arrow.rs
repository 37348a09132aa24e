//! Arrow's C device arrays, for exchange with PyArrow: a column of numbers in device memory.
//!
//! - **Out** ([`Tensor::to_arrow`], safe): an array of one axis without gaps, with an event that is
//!   recorded after all work on it; on a device of the host the call waits instead.
//! - **In** ([`Tensor::from_arrow`], `unsafe`): primitive types without nulls, except truth values,
//!   which Arrow packs. The stream waits for the event. Memory is read-only, as Arrow has it by
//!   convention. A buffer of bytes comes as a column of `uint8`.

pub mod abi;
mod export;
mod import;

pub use import::{OwnedArray, OwnedSchema};

#[cfg(doc)]
use crate::Tensor;
