//! Functions written as Rust closures.
//!
//! A closure is called once, with expressions in place of numbers, and its operations are recorded
//! as a [`Function`]. So a Rust branch is decided once, while the function is recorded;
//! [`select`](Expression::select) decides for each element.

mod literals;
mod methods;
mod operators;
mod recent;
mod side;
mod std_names;

use std::{
    cell::{Cell, RefCell},
    fmt,
    marker::PhantomData,
};

use devarray_layout::Bool;

pub use literals::{Choice, Lit, lit};
pub use side::IntoExpression;

use super::{
    BinaryOperation, Computable, ElementType, Function, FunctionBuilder, FunctionError, FunctionErrorKind,
    UnaryOperation, Value, elementary::Elementary,
};

thread_local! {
    /// The functions that this thread is recording, the innermost last.
    static TRACES: RefCell<Vec<Trace>> = const { RefCell::new(Vec::new()) };
    /// The builder of the last function. The next function reuses its memory, which saves 5 to 19 %
    /// of a small call.
    static IDLE: RefCell<Option<FunctionBuilder>> = const { RefCell::new(None) };
}

/// Builders of longer functions are not kept, so that a thread holds little memory.
const MAX_IDLE_INSTRUCTIONS: usize = 4096;

/// A function that is being recorded.
#[derive(Debug)]
struct Trace {
    number: u64,
    builder: FunctionBuilder,
    /// The first mistake.
    error: Option<FunctionError>,
}

/// A value of type `T` inside a function that is being recorded.
///
/// Binary operators take expressions of one type, and Rust numbers of that type as literals:
/// [`IntoExpression`] says which. `minimum(a, b)` of the language is `a.minimum(b)`; the
/// [manual](https://docs.rs/devarray/latest/devarray/manual) gives the meaning of each operation to the bit.
///
/// The closure runs once, before there are elements, so a Rust condition cannot ask for them.
/// Compare code for numbers in Rust with code for expressions:
///
/// | Rust | here |
/// |---|---|
/// | `x > 0.0`, `x == y` | `x.gt(0.0)`, `x.eq(y)`: a value of `Expression<Bool>` |
/// | `if x > 0.0 { x } else { y }` | `x.gt(0.0).select(x, y)`; both are computed |
/// | `a && b`, <code>a \|\| b</code>, `!a` | `a & b`, <code>a \| b</code>, `!a` |
/// | `x.max(y)`, `x.min(y)` | `x.maximum(y)`, NaN if one is; `x.fmax(y)`, the other then |
/// | `x.clamp(a, b)` | `x.clip(a, b)` |
/// | `x % y` | `x.fmod(y)`, as Rust's; `x.remainder(y)`, as NumPy's |
/// | `i / j` of integers | `i.floor_divide(j)`, or `cast` to a float first |
/// | `0.5 * x` of a parameter `T: Float` | `x * 0.5`, or [`lit(0.5) * x`](lit) |
///
/// An expression belongs to the closure that received it. Used in another closure, it makes that
/// function an error.
pub struct Expression<T> {
    trace: u64,
    /// `None` after an error, which the trace holds.
    node: Option<Value>,
    /// Keeps the value on its thread: other threads do not know its function.
    of: PhantomData<*const T>,
}

impl<T> Clone for Expression<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Expression<T> {}

impl<T: Computable> fmt::Debug for Expression<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression<{}>", T::TYPE)
    }
}

/// Calls back with this thread's traces; `None` if they are gone because the thread ends.
fn with_traces<R>(call: impl FnOnce(&mut Vec<Trace>) -> R) -> Option<R> {
    TRACES.try_with(|traces| call(&mut traces.borrow_mut())).ok()
}

/// Dropping this ends a trace, also if the closure panics.
struct Tracing(u64);

impl Tracing {
    fn begin(parameters: &[Parameter]) -> Result<Self, FunctionError> {
        thread_local!(static NEXT: Cell<u64> = const { Cell::new(1) });
        let number = NEXT.replace(NEXT.get() + 1);
        let inputs = parameters.iter().filter_map(|parameter| match *parameter {
            Parameter::Input(element_type) => Some(element_type),
            Parameter::Scalar(_) => None,
        });
        let scalars = parameters.iter().filter_map(|parameter| match *parameter {
            Parameter::Scalar(element_type) => Some(element_type),
            Parameter::Input(_) => None,
        });
        let idle = IDLE.try_with(|idle| idle.try_borrow_mut().ok()?.take());
        let mut builder = idle.ok().flatten().unwrap_or_default();
        builder.begin(inputs, scalars)?;
        let trace = Trace { number, builder, error: None };
        with_traces(|traces| traces.push(trace)).ok_or_else(thread_ended)?;
        Ok(Self(number))
    }

    fn end(self) -> Option<Trace> {
        with_traces(|traces| {
            let at = traces.iter().rposition(|trace| trace.number == self.0)?;
            Some(traces.remove(at))
        })?
    }

    fn with<R>(&self, call: impl FnOnce(&mut Trace) -> R) -> Option<R> {
        with_traces(|traces| traces.iter_mut().rfind(|trace| trace.number == self.0).map(call))?
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        // The traces are gone if the thread ends.
        let _ = TRACES.try_with(|traces| {
            if let Ok(mut traces) = traces.try_borrow_mut() {
                traces.retain(|trace| trace.number != self.0);
            }
        });
    }
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "trace {}", self.0)
    }
}

/// An argument of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
#[non_exhaustive]
pub enum Parameter {
    /// An element of the next input.
    Input(ElementType),
    /// The next scalar.
    Scalar(ElementType),
}

/// Makes the arguments of a function that is being recorded.
#[derive(Debug)]
pub struct Arguments<'a> {
    trace: &'a Tracing,
    parameters: std::slice::Iter<'a, Parameter>,
    inputs: usize,
    scalars: usize,
}

impl Arguments<'_> {
    /// The next argument.
    #[doc(hidden)]
    pub fn next_argument<T: Computable>(&mut self) -> Expression<T> {
        let Some(parameter) = self.parameters.next() else { return Expression::lost() };
        let count = match parameter {
            Parameter::Input(_) => &mut self.inputs,
            Parameter::Scalar(_) => &mut self.scalars,
        };
        let at = *count;
        *count += 1;
        let node = self.trace.with(|trace| {
            let made = match parameter {
                Parameter::Input(_) => trace.builder.input(at),
                Parameter::Scalar(_) => trace.builder.scalar(at),
            };
            trace.keep(made)
        });
        Expression { trace: self.trace.0, node: node.flatten(), of: PhantomData }
    }
}

impl Trace {
    /// The function that computes a result. The result's type is checked again, because an
    /// implementor of `Operand` may be wrong about the type of an argument, and arrays are made
    /// from this function.
    fn function_of<R: Computable>(&self, result: Expression<R>) -> Result<Function, FunctionError> {
        let node = result.node.filter(|_| result.trace == self.number).ok_or_else(of_another_function)?;
        let function = recent::function(&self.builder, node)?;
        if function.result_type() == R::TYPE {
            return Ok(function);
        }
        let message = format!("the result is {}, not {}", function.result_type(), R::TYPE);
        Err(FunctionError::new(FunctionErrorKind::Type, message))
    }

    /// Keeps the builder's memory for the next closure of this thread.
    fn end(self) {
        if self.builder.instructions() <= MAX_IDLE_INSTRUCTIONS {
            let _ = IDLE.try_with(|idle| idle.try_borrow_mut().map(|mut idle| *idle = Some(self.builder)));
        }
    }

    fn keep(&mut self, made: Result<Value, FunctionError>) -> Option<Value> {
        match made {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }
}

/// The mistake of using an expression outside the closure that received it.
fn of_another_function() -> FunctionError {
    let message = "an expression is used outside the closure that it was given to";
    FunctionError::new(FunctionErrorKind::Type, message)
}

/// The mistake of recording a function while the thread ends, when this library's thread-local values
/// are gone.
fn thread_ended() -> FunctionError {
    FunctionError::new(FunctionErrorKind::Type, "the thread ends, and no function can be written on it")
}

/// Records the function that a closure describes.
#[doc(hidden)]
pub fn trace<R: Computable>(
    parameters: &[Parameter],
    write: impl FnOnce(&mut Arguments<'_>) -> Expression<R>,
) -> Result<Function, FunctionError> {
    let (result, trace) = written(parameters, write)?;
    let function = trace.function_of(result);
    trace.end();
    function
}

/// Records the functions of the mask and of the elements that a closure describes.
#[doc(hidden)]
pub fn trace_masked<R: Computable>(
    parameters: &[Parameter],
    write: impl FnOnce(&mut Arguments<'_>) -> (Expression<Bool>, Expression<R>),
) -> Result<[Function; 2], FunctionError> {
    let ((mask, result), trace) = written(parameters, write)?;
    let functions = [trace.function_of(mask), trace.function_of(result)];
    trace.end();
    let [mask, result] = functions;
    Ok([mask?, result?])
}

/// Runs a closure. Returns its result, and the functions that it recorded.
fn written<R>(
    parameters: &[Parameter],
    write: impl FnOnce(&mut Arguments<'_>) -> R,
) -> Result<(R, Trace), FunctionError> {
    let trace = Tracing::begin(parameters)?;
    let arguments = &mut Arguments { trace: &trace, parameters: parameters.iter(), inputs: 0, scalars: 0 };
    let result = write(arguments);
    let mut trace = trace.end().ok_or_else(of_another_function)?;
    match trace.error.take() {
        Some(error) => Err(error),
        None => Ok((result, trace)),
    }
}

impl<T: Computable> Expression<T> {
    /// A literal, which is part of the function: another value makes another function. Pass a value
    /// that changes from call to call as an argument instead.
    #[must_use]
    pub fn constant(value: T) -> Self {
        Self::made(|builder| builder.constant(T::TYPE, value.to_bits()))
    }

    /// Adds a node to the innermost function.
    fn made(make: impl FnOnce(&mut FunctionBuilder) -> Result<Value, FunctionError>) -> Self {
        let made = with_traces(|traces| {
            let trace = traces.last_mut()?;
            let made = make(&mut trace.builder);
            Some(Self { trace: trace.number, node: trace.keep(made), of: PhantomData })
        });
        made.flatten().unwrap_or_else(Self::lost)
    }

    /// Applies an operation to values of the innermost function. A value of another function makes
    /// this function an error.
    fn applied<const N: usize>(
        arguments: [(u64, Option<Value>); N],
        apply: impl FnOnce(&mut FunctionBuilder, [Value; N]) -> Result<Value, FunctionError>,
    ) -> Self {
        let applied = with_traces(|traces| {
            let trace = traces.last_mut()?;
            let mut values = Vec::with_capacity(N);
            values.extend(
                arguments.iter().filter(|(number, _)| *number == trace.number).filter_map(|(_, node)| *node),
            );
            let made = match <[Value; N]>::try_from(values) {
                Ok(values) => apply(&mut trace.builder, values),
                Err(_) => Err(of_another_function()),
            };
            Some(Self { trace: trace.number, node: trace.keep(made), of: PhantomData })
        });
        applied.flatten().unwrap_or_else(Self::lost)
    }

    /// An expression without a value.
    fn lost() -> Self {
        Self { trace: 0, node: None, of: PhantomData }
    }

    fn unary(self, operation: UnaryOperation) -> Self {
        Self::applied([self.part()], |builder, [a]| builder.unary(operation, a))
    }

    fn binary(self, operation: BinaryOperation, other: impl IntoExpression<T>) -> Self {
        let other = other.into_expression();
        Self::applied([self.part(), other.part()], |builder, [a, b]| builder.binary(operation, a, b))
    }

    /// An elementary function, by its name in the language.
    pub(super) fn of_elementary(self, function: Elementary, other: Self) -> Self {
        match (UnaryOperation::from_name(function.name()), BinaryOperation::from_name(function.name())) {
            (Some(operation), _) => self.unary(operation),
            (None, Some(operation)) => self.binary(operation, other),
            (None, None) => self.binary(BinaryOperation::Power, other),
        }
    }

    fn question(self, operation: UnaryOperation) -> Expression<Bool> {
        Expression::applied([self.part()], |builder, [a]| builder.unary(operation, a))
    }

    fn comparison(self, operation: BinaryOperation, other: impl IntoExpression<T>) -> Expression<Bool> {
        let other = other.into_expression();
        Expression::applied([self.part(), other.part()], |builder, [a, b]| builder.binary(operation, a, b))
    }

    fn part(self) -> (u64, Option<Value>) {
        (self.trace, self.node)
    }
}

#[cfg(test)]
mod tests;
