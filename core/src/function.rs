//! Functions on arrays, for programs that compute: one small typed language that means the same on
//! every backend, to the bit.
//!
//! A [`Function`] is a computation for one element; [`Function::parse`] makes one from a text,
//! [`FunctionBuilder`] step by step. [`primitive`] holds the few operations that backends compute.
//! The package `devarray-function` defines the language, and computes on slices without this
//! package; arrays add [`DeviceFunction`] and [`Operands`].

pub use crate::array::{Call, DeviceFunction, Operand, Operands, ReducedAxes, Summable};

#[doc(inline)]
pub use devarray_function::{
    Arguments, BinaryOperation, Bits, Choice, Combine, Computable, ElementType, Expression, Float, Function,
    FunctionBuilder, FunctionError, FunctionErrorKind, IntoExpression, Lit, MAX_INPUTS, MAX_INSTRUCTIONS,
    MAX_NODES, MAX_SCALARS, Node, Number, Operation, Real, ReduceForm, ReduceOperation, Reduction, Scan,
    ScanOperation, Signed, SliceInput, UnaryOperation, Value, WholeNumber, elementary, interpreter, lit,
    primitive,
};
pub(crate) use devarray_function::{
    Lowered, Parameter, Reduced, lower_reduction, squared_deviation, sum_type, trace, trace_masked,
};
