#![doc = include_str!("../README.md")]

mod block;
mod call;
mod chains;
mod dots;
mod error;
mod execute;
mod kind;
mod lanes;
mod lines;
mod machine;
mod number;
mod operands;
mod pack;
mod plan;
mod shape;
mod slices;
mod tile;

pub use chains::CHAIN;
pub use error::{ProductError, ProductErrorKind};
pub use execute::{accumulate, execute};
pub use shape::product_shape;
pub use slices::matmul;

// For tests, which run products with every set of instructions; not part of the interface.
#[doc(hidden)]
pub use execute::execute_with;
#[doc(hidden)]
pub use machine::Machine;
