//! Functions on arrays: one small typed language, one meaning to the bit on every backend.
//!
//! A [`Function`] says what is computed for an element; [`Function::parse`] makes one from a text, [`FunctionBuilder`]
//! step by step. [`primitive`] holds the few operations that backends compute.

mod builder;
mod element_type;
mod error;
mod expand;
mod halves;
pub mod interpreter;
mod literal;
mod operation;
pub mod primitive;
mod ssa;
mod text;

pub use builder::{FunctionBuilder, MAX_INPUTS, MAX_NODES, MAX_SCALARS};
pub use element_type::ElementType;
pub use error::{FunctionError, FunctionErrorKind};
pub use operation::{BinaryOperation, UnaryOperation};
pub use ssa::{Function, Node, Operation, Value};
