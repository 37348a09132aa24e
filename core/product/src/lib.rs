#![doc = include_str!("../README.md")]

mod chains;
mod error;
mod execute;
mod kind;
mod operands;
mod shape;
mod slices;

pub use chains::CHAIN;
pub use error::{ProductError, ProductErrorKind};
pub use execute::{accumulate, execute};
pub use shape::product_shape;
pub use slices::matmul;
