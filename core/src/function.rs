//! Functions on arrays: one small typed language, one meaning to the bit on every backend.
//!
//! A [`Function`] is a computation for one element; [`Function::parse`] makes one from a text,
//! [`FunctionBuilder`] step by step. [`primitive`] holds the few operations that backends compute.

mod arithmetic;
mod brief;
mod builder;
mod cache;
mod combine;
mod element_type;
pub mod elementary;
mod error;
mod expand;
mod expression;
mod form;
mod halves;
pub mod interpreter;
mod literal;
mod number;
mod operation;
pub mod primitive;
mod real;
mod reduction;
mod ssa;
mod text;

// What arrays add to functions is found here too. Nothing below this page uses it.
pub use crate::array::{Call, Operand, Operands, ReducedAxes, Summable};

pub use builder::{FunctionBuilder, MAX_INPUTS, MAX_NODES, MAX_SCALARS};
pub use combine::Combine;
pub use element_type::ElementType;
pub use error::{FunctionError, FunctionErrorKind};
pub use expand::cost::MAX_INSTRUCTIONS;
pub use expression::{Arguments, Choice, Expression, IntoExpression, Lit, lit};
pub(crate) use expression::{Parameter, trace, trace_masked};
pub use form::ReduceForm;
pub(crate) use number::TakesLiteral;
pub use number::{Bits, Computable, Float, Number, Signed, WholeNumber};
pub use operation::{BinaryOperation, UnaryOperation};
pub use real::Real;
pub(crate) use reduction::{Lowered, lower_reduction, squared_deviation, sum_type};
pub use reduction::{ReduceOperation, Reduction, Scan, ScanOperation};
pub use ssa::{Function, Node, Operation, Value};
