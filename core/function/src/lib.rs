#![doc = include_str!("../README.md")]
//!
//! # Contents
//!
//! A [`Function`] is a computation for one element; [`Function::parse`] makes one from a text,
//! [`FunctionBuilder`] step by step. [`primitive`] holds the few operations that backends compute.

mod arithmetic;
mod builder;
mod cache;
mod combine;
mod composition;
mod debug;
mod element_type;
pub mod elementary;
mod error;
#[cfg(feature = "executor")]
pub mod executor;
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
mod slices;
mod ssa;
mod text;
mod workers;

pub use builder::{FunctionBuilder, MAX_INPUTS, MAX_NODES, MAX_SCALARS};
pub use combine::Combine;
pub use element_type::ElementType;
pub use error::{FunctionError, FunctionErrorKind};
pub use expand::cost::MAX_INSTRUCTIONS;
pub use expression::{Arguments, Choice, Expression, IntoExpression, Lit, lit};
pub use form::ReduceForm;
pub use number::{Bits, Computable, Float, Number, Signed, WholeNumber};
pub use operation::{BinaryOperation, UnaryOperation};
pub use real::Real;
pub use reduction::{ReduceOperation, Reduction, Scan, ScanOperation};
pub use slices::SliceInput;
pub use ssa::{Function, Node, Operation, Value};
pub use workers::{Alone, Workers};

// For packages of this repository that require exactly this version; not part of the interface.
#[doc(hidden)]
pub use expression::{Parameter, trace, trace_masked};
#[doc(hidden)]
pub use halves::{f32_to_bfloat, f32_to_half, half_to_f32};
#[doc(hidden)]
pub use interpreter::environment::FloatEnvironment;
#[doc(hidden)]
pub use number::TakesLiteral;
#[doc(hidden)]
pub use reduction::{Lowered, Outcome, Reduced, Spread, lower_reduction, squared_deviation, sum_type};
#[doc(hidden)]
pub use workers::each_piece;
