//! Functions of the language that are composed of other operations while a function is built.

use super::{
    BinaryOperation::{self, Add, Equal, Greater, Less, Maximum, Or, Subtract},
    ElementType, FunctionBuilder, FunctionError, UnaryOperation, Value,
    literal::canonical_nan,
    operation::Domain,
};

/// A function of two values that is composed of other operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Composition {
    NextAfter,
    LogAddExp,
}

type Built = Result<Value, FunctionError>;

impl Composition {
    /// The function of that name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        [Self::NextAfter, Self::LogAddExp].into_iter().find(|composition| composition.name() == name)
    }

    /// The name in expressions and messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::NextAfter => "nextafter",
            Self::LogAddExp => "logaddexp",
        }
    }

    /// Builds the function of two values of one float type from other operations.
    pub(super) fn build(self, builder: &mut FunctionBuilder, x: Value, y: Value) -> Built {
        let of = builder.operands(|| self.name(), Domain::Floats, &[x, y])?;
        match self {
            Self::NextAfter => next_after(builder, of, x, y),
            Self::LogAddExp => log_add_exp(builder, of, x, y),
        }
    }
}

/// For floats of one sign, the bits count up with the magnitude, and infinity follows the greatest
/// number.
fn next_after(builder: &mut FunctionBuilder, of: ElementType, x: Value, y: Value) -> Built {
    let bits = match of.len_bytes() {
        2 => ElementType::U16,
        4 => ElementType::U32,
        _ => ElementType::U64,
    };
    let zero = builder.constant(of, 0)?;
    let below = builder.binary(Less, x, y)?;
    let positive = builder.binary(Greater, x, zero)?;
    let away = builder.binary(Equal, below, positive)?;
    let (one, minus_one) = (builder.constant(bits, 1)?, builder.constant(bits, u64::MAX)?);
    let step = builder.select(away, one, minus_one)?;
    let start = builder.bitcast(x, bits)?;
    let stepped = builder.binary(Add, start, step)?;
    let stepped = builder.bitcast(stepped, of)?;
    // From either zero, the next number is the least number with the sign of y.
    let least = builder.bitcast(one, of)?;
    let least = builder.binary(BinaryOperation::Copysign, least, y)?;
    let is_zero = builder.binary(Equal, x, zero)?;
    let next = builder.select(is_zero, least, stepped)?;
    let is_there = builder.binary(Equal, x, y)?;
    let next = builder.select(is_there, y, next)?;
    let (of_x, of_y) = (builder.unary(UnaryOperation::IsNan, x)?, builder.unary(UnaryOperation::IsNan, y)?);
    let is_nan = builder.binary(Or, of_x, of_y)?;
    let nan = builder.constant(of, canonical_nan(of))?;
    builder.select(is_nan, nan, next)
}

/// Halves are rounded once, as in NumPy.
fn log_add_exp(builder: &mut FunctionBuilder, of: ElementType, x: Value, y: Value) -> Built {
    let wide = if of == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
    let (x, y) = (builder.cast(x, wide)?, builder.cast(y, wide)?);
    let greatest = builder.binary(Maximum, x, y)?;
    let difference = builder.binary(Subtract, x, y)?;
    let distance = builder.unary(UnaryOperation::Abs, difference)?;
    let negative = builder.unary(UnaryOperation::Negate, distance)?;
    // The difference of two equal infinities would be NaN.
    let equal = builder.binary(Equal, x, y)?;
    let zero = builder.constant(wide, 0)?;
    let exponent = builder.select(equal, zero, negative)?;
    let share = builder.unary(UnaryOperation::Exp, exponent)?;
    let more = builder.unary(UnaryOperation::Log1p, share)?;
    let sum = builder.binary(Add, greatest, more)?;
    builder.cast(sum, of)
}
