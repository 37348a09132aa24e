//! Lowers reductions to combinations that backends know.

use super::{Outcome, ReduceOperation, Reduction, Scan, ScanOperation};
use crate::{
    BinaryOperation, Combine, ElementType, Function, FunctionBuilder, FunctionError, FunctionErrorKind,
    UnaryOperation, Value, interpreter::interpret_one, literal::infinity,
};

/// A function of each element, the combination of its values, and a function of the outcome.
#[doc(hidden)]
#[derive(Debug)]
pub struct Lowered {
    pub element: Function,
    pub combine: Combine,
    /// The bits of the outcome if there are no elements; `None` if that is an error.
    pub of_nothing: Option<u64>,
    /// The function of the outcome. It has at most one scalar: the count, or a value that is
    /// combined with the result.
    pub finish: Function,
    /// The bits of that value.
    pub initial: Option<u64>,
    /// This is subtracted from the count before the count becomes a scalar of the finish.
    pub ddof: u64,
    /// The mean that a variance needs first. The function of the element reads the mean as its last
    /// input.
    pub spread: Option<Spread>,
}

/// The mean from which a variance counts deviations, in the type of sums.
#[doc(hidden)]
#[derive(Debug)]
pub struct Spread {
    pub element: Function,
    pub finish: Function,
}

impl Lowered {
    /// The bits of a result without elements to reduce.
    ///
    /// # Errors
    ///
    /// [`FunctionErrorKind::Empty`]: the operation has no value without elements.
    pub fn result_of_nothing(&self) -> Result<u64, FunctionError> {
        let Some(outcome) = self.of_nothing else {
            let message = "no elements are reduced to an element of the result, which has no value then";
            return Err(FunctionError::new(FunctionErrorKind::Empty, message));
        };
        Ok(interpret_one(self.finish.program(), &[outcome], &self.finish_scalars(0)))
    }

    /// The scalar of the finish: the count in the combined type, or the initial value.
    #[must_use]
    pub fn finish_scalars(&self, count: usize) -> Vec<u64> {
        match self.initial {
            Some(initial) => vec![initial],
            None => scalars_of(&self.finish, (count as u64).saturating_sub(self.ddof)),
        }
    }
}

impl Lowered {
    /// Combines the reduction's initial value with the result, before the result is rounded to its
    /// type.
    fn with_initial(self, reduction: &Reduction) -> Result<Self, FunctionError> {
        let Some((given, bits)) = reduction.initial else { return Ok(self) };
        let of_bool = given == ElementType::Bool;
        let operation = match reduction.operation {
            ReduceOperation::Sum => BinaryOperation::Add,
            ReduceOperation::Product => BinaryOperation::Multiply,
            ReduceOperation::Minimum if of_bool => BinaryOperation::And,
            ReduceOperation::Maximum if of_bool => BinaryOperation::Or,
            ReduceOperation::Minimum => BinaryOperation::Minimum,
            ReduceOperation::Maximum => BinaryOperation::Maximum,
            other => {
                let message = format!("{} takes no initial value", other.name());
                return Err(FunctionError::new(FunctionErrorKind::Type, message));
            }
        };
        let (combined, result) = (self.finish.inputs()[0], self.finish.result_type());
        if given != result {
            let message = format!("an initial value of {given} for a result of {result}");
            return Err(FunctionError::new(FunctionErrorKind::Type, message));
        }
        let mut builder = FunctionBuilder::new(&[combined], &[result])?;
        let (total, initial) = (builder.input(0)?, builder.scalar(0)?);
        let initial = builder.cast(initial, combined)?;
        let value = builder.binary(operation, initial, total)?;
        let value = builder.cast(value, result)?;
        let finish = builder.finish(value)?;
        // Combining a minimum or maximum with itself does not change it.
        let of_nothing = self.of_nothing.or(Some(bits));
        Ok(Self { finish, initial: Some(bits), of_nothing, ..self })
    }
}

impl Spread {
    #[must_use]
    pub fn finish_scalars(&self, count: usize) -> Vec<u64> {
        scalars_of(&self.finish, count as u64)
    }
}

/// The count in the type of each scalar. There is at most one scalar.
fn scalars_of(finish: &Function, count: u64) -> Vec<u64> {
    let bits = |element_type: &ElementType| match element_type {
        ElementType::F32 => u64::from((count as f32).to_bits()),
        _ => (count as f64).to_bits(),
    };
    finish.scalars().iter().map(bits).collect()
}

/// The type in which elements are added.
#[doc(hidden)]
#[must_use]
pub fn sum_type(element_type: ElementType) -> ElementType {
    match element_type {
        ElementType::F64 => ElementType::F64,
        float if float.is_float() => ElementType::F32,
        ElementType::U8 | ElementType::U16 | ElementType::U32 | ElementType::U64 => ElementType::U64,
        _ => ElementType::I64,
    }
}

/// The type of a sum.
fn total_type(element_type: ElementType) -> ElementType {
    if element_type.is_float() { element_type } else { sum_type(element_type) }
}

/// The part of a reduction that a backend computes. `mask` is a function of the same inputs;
/// elements for which it is not true do not take part.
#[doc(hidden)]
pub fn lower_reduction(
    function: &Function,
    mask: Option<&Function>,
    reduction: &Reduction,
) -> Result<Lowered, FunctionError> {
    use ReduceOperation as Op;
    let (mut builder, value) = FunctionBuilder::continuing(function, &[])?;
    let value = match reduction.element_type {
        Some(element_type) => builder.cast(value, element_type)?,
        None => value,
    };
    let of = builder.type_of(value)?;
    let (sum, name) = (sum_type(of), reduction.operation.name());
    if matches!(reduction.operation, Op::Mean | Op::Variance | Op::StandardDeviation) && !of.is_float() {
        let message = format!("{name} takes floats, not {of}: cast the elements");
        return Err(FunctionError::new(FunctionErrorKind::Type, message));
    }
    let is_extreme = matches!(reduction.operation, Op::Minimum | Op::Maximum);
    let mask = mask.map(|mask| builder.include(mask)).transpose()?;
    if mask.is_some() && is_extreme && reduction.initial.is_none() {
        let message = format!("{name} of no elements has no value: with a mask it needs an initial one");
        return Err(FunctionError::new(FunctionErrorKind::Empty, message));
    }
    let done = |mut builder: FunctionBuilder, value, combine: Combine, finish| {
        let element_type = builder.type_of(value)?;
        let value = match mask {
            None => value,
            Some(mask) => {
                let neutral = neutral(combine, element_type).ok_or_else(|| {
                    let message = format!("{name} takes no mask");
                    FunctionError::new(FunctionErrorKind::Type, message)
                })?;
                let neutral = builder.constant(element_type, neutral)?;
                builder.select(mask, value, neutral)?
            }
        };
        let element = builder.finish(value)?;
        // `any` and `all` are extremes that have a value without elements. The minimum and maximum
        // of bool have none.
        let of_nothing = if is_extreme { None } else { combine.identity(element_type) };
        let lowered = Lowered { element, combine, of_nothing, finish, initial: None, ddof: 0, spread: None };
        lowered.with_initial(reduction)
    };
    match reduction.operation {
        Op::Sum | Op::Product => {
            let product = reduction.operation == Op::Product;
            let element = builder.cast(value, sum)?;
            let combine = if product { Combine::Product } else { Combine::Sum };
            let own = Outcome { element_type: total_type(of), root: false };
            done(builder, element, combine, outcome(sum, reduction.outcome.unwrap_or(own))?)
        }
        Op::Minimum => done(builder, value, Combine::Minimum, cast(of, of)?),
        Op::Maximum => done(builder, value, Combine::Maximum, cast(of, of)?),
        Op::ArgMinimum => {
            done(builder, value, Combine::ArgMinimum, cast(ElementType::I64, ElementType::I64)?)
        }
        Op::ArgMaximum => {
            done(builder, value, Combine::ArgMaximum, cast(ElementType::I64, ElementType::I64)?)
        }
        Op::Any | Op::All => {
            let truth = builder.cast(value, ElementType::Bool)?;
            let combine = if reduction.operation == Op::Any { Combine::Maximum } else { Combine::Minimum };
            done(builder, truth, combine, cast(ElementType::Bool, ElementType::Bool)?)
        }
        Op::CountNonzero => {
            let truth = builder.cast(value, ElementType::Bool)?;
            let one = builder.cast(truth, ElementType::I64)?;
            done(builder, one, Combine::Sum, cast(ElementType::I64, ElementType::I64)?)
        }
        Op::Mean => {
            let element = builder.cast(value, sum)?;
            done(builder, element, Combine::Sum, mean(sum, of, false)?)
        }
        Op::Variance | Op::StandardDeviation => {
            let element = builder.cast(value, sum)?;
            let element = builder.finish(element)?;
            let root = reduction.operation == Op::StandardDeviation;
            Lowered {
                element: squared_deviation(&element, sum)?,
                combine: Combine::Sum,
                of_nothing: Combine::Sum.identity(sum),
                finish: mean(sum, of, root)?,
                initial: None,
                ddof: reduction.ddof,
                spread: Some(Spread { element, finish: mean(sum, sum, false)? }),
            }
            .with_initial(reduction)
        }
    }
}

pub(super) fn lower_scan(function: &Function, scan: Scan) -> Result<Lowered, FunctionError> {
    let (mut builder, value) = FunctionBuilder::continuing(function, &[])?;
    let of = builder.type_of(value)?;
    let sum = sum_type(of);
    let is_extreme = matches!(scan.operation, ScanOperation::Minimum | ScanOperation::Maximum);
    if is_extreme && scan.exclusive {
        let message =
            format!("the {} of no elements is nothing: it has no exclusive form", scan.operation.name());
        return Err(FunctionError::new(FunctionErrorKind::Type, message));
    }
    let (combine, combined, result) = match scan.operation {
        ScanOperation::Sum => (Combine::Sum, sum, total_type(of)),
        ScanOperation::Product => (Combine::Product, sum, total_type(of)),
        ScanOperation::Minimum => (Combine::Minimum, of, of),
        ScanOperation::Maximum => (Combine::Maximum, of, of),
    };
    let element = builder.cast(value, combined)?;
    let finish = cast(combined, result)?;
    let element = builder.finish(element)?;
    Ok(Lowered { element, combine, of_nothing: None, finish, initial: None, ddof: 0, spread: None })
}

/// The bits of the neutral element.
fn neutral(combine: Combine, of: ElementType) -> Option<u64> {
    let width = of.len_bytes() * 8;
    let top = 1 << (width - 1);
    let greatest = |negative: bool| match (of.is_float(), of.is_signed(), negative) {
        (true, _, false) => infinity(of),
        (true, _, true) => infinity(of) + top,
        (false, true, false) => top - 1,
        (false, true, true) => top,
        (false, false, false) => u64::MAX >> (64 - width),
        (false, false, true) => 0,
    };
    match (combine, combine.identity(of)) {
        (_, Some(identity)) => Some(identity),
        (Combine::Minimum, None) => Some(greatest(false)),
        (Combine::Maximum, None) => Some(greatest(true)),
        _ => None,
    }
}

/// The function of one input that casts it.
fn cast(from: ElementType, to: ElementType) -> Result<Function, FunctionError> {
    outcome(from, Outcome { element_type: to, root: false })
}

/// The function that makes the outcome from a total.
fn outcome(from: ElementType, Outcome { element_type, root }: Outcome) -> Result<Function, FunctionError> {
    let mut builder = FunctionBuilder::new(&[from], &[])?;
    let mut value = builder.input(0)?;
    if root {
        value = builder.unary(UnaryOperation::Sqrt, value)?;
    }
    let value = builder.cast(value, element_type)?;
    builder.finish(value)
}

/// Divides a sum by a count, which is a scalar, and takes the square root if `root` is set.
fn mean(from: ElementType, to: ElementType, root: bool) -> Result<Function, FunctionError> {
    let mut builder = FunctionBuilder::new(&[from], &[from])?;
    let (total, count) = (builder.input(0)?, builder.scalar(0)?);
    let mut value = builder.binary(BinaryOperation::Divide, total, count)?;
    if root {
        value = builder.unary(UnaryOperation::Sqrt, value)?;
    }
    let value = builder.cast(value, to)?;
    builder.finish(value)
}

/// The squared difference between an element and another input, the last.
#[doc(hidden)]
pub fn squared_deviation(element: &Function, mean_type: ElementType) -> Result<Function, FunctionError> {
    let (mut builder, value): (_, Value) = FunctionBuilder::continuing(element, &[mean_type])?;
    let mean = builder.input(element.inputs().len())?;
    let deviation = builder.binary(BinaryOperation::Subtract, value, mean)?;
    let square = builder.binary(BinaryOperation::Multiply, deviation, deviation)?;
    builder.finish(square)
}
