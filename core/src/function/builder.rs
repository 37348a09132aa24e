//! Building functions, checked step by step.

use std::{collections::HashMap, fmt};

use super::{
    BinaryOperation, ElementType, Function, FunctionError, FunctionErrorKind, Node, Operation,
    UnaryOperation, Value, literal::canonical_nan, literal::value_of, operation::Domain,
};

/// Inputs that a function can have.
pub const MAX_INPUTS: usize = 16;
/// Scalar arguments that a function can have.
pub const MAX_SCALARS: usize = 16;
/// Different values that a function can compute.
pub const MAX_NODES: usize = 4096;

/// Builds a [`Function`]; every step is checked. A value that is there already is not made again.
///
/// ```
/// use devarray::function::{BinaryOperation, ElementType, Function, FunctionBuilder};
///
/// let mut builder = FunctionBuilder::new(&[ElementType::F32], &[ElementType::F32])?;
/// let (x, k) = (builder.input(0)?, builder.scalar(0)?);
/// let product = builder.binary(BinaryOperation::Multiply, x, k)?;
/// let function = builder.finish(product)?;
/// assert_eq!(function, Function::parse("x0 * k0", &[ElementType::F32], &[ElementType::F32])?);
/// # Ok::<(), devarray::function::FunctionError>(())
/// ```
#[derive(Clone)]
pub struct FunctionBuilder {
    inputs: Vec<ElementType>,
    scalars: Vec<ElementType>,
    nodes: Vec<Node>,
    known: HashMap<Node, Value>,
}

/// How much is built.
impl fmt::Debug for FunctionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FunctionBuilder({} values of {} inputs)", self.nodes.len(), self.inputs.len())
    }
}

type Built = Result<Value, FunctionError>;

impl FunctionBuilder {
    /// A function of such inputs and scalars, without values yet.
    ///
    /// # Errors
    ///
    /// More than 16 inputs or scalars.
    pub fn new(inputs: &[ElementType], scalars: &[ElementType]) -> Result<Self, FunctionError> {
        for (what, types, most) in [("inputs", inputs, MAX_INPUTS), ("scalars", scalars, MAX_SCALARS)] {
            if types.len() > most {
                let message = format!("{} {what}, at most {most} are possible", types.len());
                return Err(FunctionError::new(FunctionErrorKind::Size, message));
            }
        }
        let (inputs, scalars) = (inputs.to_vec(), scalars.to_vec());
        Ok(Self { inputs, scalars, nodes: Vec::new(), known: HashMap::new() })
    }

    /// A function to be built on from the result of another, with more inputs behind its own.
    ///
    /// # Errors
    ///
    /// More than 16 inputs.
    pub(crate) fn continuing(
        function: &Function,
        more_inputs: &[ElementType],
    ) -> Result<(Self, Value), FunctionError> {
        let mut builder = Self::new(&[function.inputs(), more_inputs].concat(), function.scalars())?;
        builder.nodes.extend_from_slice(function.nodes());
        let numbered = (0..).map(Value);
        builder.known.extend(function.nodes().iter().copied().zip(numbered));
        Ok((builder, function.result()))
    }

    /// The result of another function of the same inputs and scalars.
    ///
    /// # Errors
    ///
    /// It has other inputs or scalars, or both together are too large.
    pub(crate) fn include(&mut self, function: &Function) -> Built {
        if (function.inputs(), function.scalars()) != (&self.inputs[..], &self.scalars[..]) {
            return Err(type_error("a function of other inputs or scalars".to_owned()));
        }
        let mut places: Vec<Value> = Vec::with_capacity(function.nodes().len());
        for node in function.nodes() {
            let operation = node.operation.moved(|value| places[value.index()]);
            places.push(self.push(operation, node.element_type)?);
        }
        Ok(places[function.result().index()])
    }

    /// The element of an input.
    ///
    /// # Errors
    ///
    /// There is no such input, or the function is too large.
    pub fn input(&mut self, at: usize) -> Built {
        match (self.inputs.get(at), u8::try_from(at)) {
            (Some(&element_type), Ok(number)) => self.push(Operation::Input(number), element_type),
            _ => Err(not_given("x", at, self.inputs.len())),
        }
    }

    /// A scalar argument.
    ///
    /// # Errors
    ///
    /// There is no such scalar, or the function is too large.
    pub fn scalar(&mut self, at: usize) -> Built {
        match (self.scalars.get(at), u8::try_from(at)) {
            (Some(&element_type), Ok(number)) => self.push(Operation::Scalar(number), element_type),
            _ => Err(not_given("k", at, self.scalars.len())),
        }
    }

    /// The position along an axis of the result, an `i64`.
    ///
    /// # Errors
    ///
    /// An axis that no array has (above 255), or the function is too large.
    pub fn position(&mut self, axis: usize) -> Built {
        let out_of_range =
            |_| FunctionError::new(FunctionErrorKind::Shape, format!("no result has an axis {axis}"));
        let axis = u8::try_from(axis).map_err(out_of_range)?;
        self.push(Operation::Position(axis), ElementType::I64)
    }

    /// A constant of a type, by its bits; those above the type's width are ignored.
    ///
    /// # Errors
    ///
    /// The function is too large.
    pub fn constant(&mut self, element_type: ElementType, bits: u64) -> Built {
        let bits = bits & (u64::MAX >> (64 - element_type.len_bytes() * 8));
        let bits = match element_type {
            ElementType::Bool => u64::from(bits != 0),
            float if float.is_float() && value_of(float, bits).is_nan() => canonical_nan(float),
            _ => bits,
        };
        self.push(Operation::Constant(bits), element_type)
    }

    /// An operation of one value.
    ///
    /// # Errors
    ///
    /// The operation is not defined for the value's type, or the function is too large.
    pub fn unary(&mut self, operation: UnaryOperation, a: Value) -> Built {
        let of = self.type_of(a)?;
        in_domain(operation.name(), operation.domain(), of)?;
        self.push(Operation::Unary(operation, a), operation.result_type(of))
    }

    /// An operation of two values of one type.
    ///
    /// # Errors
    ///
    /// The types differ, the operation is not defined for them, or the function is too large.
    pub fn binary(&mut self, operation: BinaryOperation, a: Value, b: Value) -> Built {
        let of = self.common(operation.name(), &[a, b])?;
        in_domain(operation.name(), operation.domain(), of)?;
        self.push(Operation::Binary(operation, a, b), operation.result_type(of))
    }

    /// `a * b + c`, rounded once.
    ///
    /// # Errors
    ///
    /// The types differ or are no floats, or the function is too large.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Built {
        let of = self.common("fma", &[a, b, c])?;
        in_domain("fma", Domain::Floats, of)?;
        self.push(Operation::Fma(a, b, c), of)
    }

    /// `minimum(maximum(x, low), high)`.
    ///
    /// # Errors
    ///
    /// The types differ or are bool, or the function is too large.
    pub fn clip(&mut self, x: Value, low: Value, high: Value) -> Built {
        let of = self.common("clip", &[x, low, high])?;
        in_domain("clip", Domain::Numbers, of)?;
        self.push(Operation::Clip(x, low, high), of)
    }

    /// `a` where the condition holds, else `b`.
    ///
    /// # Errors
    ///
    /// The condition is not bool, the types differ, or the function is too large.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Built {
        let found = self.type_of(condition)?;
        if found != ElementType::Bool {
            return Err(type_error(format!("the condition of where is {found}, not bool")));
        }
        let of = self.common("where", &[a, b])?;
        self.push(Operation::Where(condition, a, b), of)
    }

    /// The value as another type, as Rust's `as`.
    ///
    /// # Errors
    ///
    /// The function is too large.
    pub fn cast(&mut self, a: Value, element_type: ElementType) -> Built {
        if self.type_of(a)? == element_type {
            return Ok(a);
        }
        self.push(Operation::Cast(a), element_type)
    }

    /// The bits as another type of the same width.
    ///
    /// # Errors
    ///
    /// The widths differ, one of the types is bool, or the function is too large.
    pub fn bitcast(&mut self, a: Value, element_type: ElementType) -> Built {
        let of = self.type_of(a)?;
        if of == ElementType::Bool || element_type == ElementType::Bool {
            return Err(type_error(format!(
                "bitcast from {of} to {element_type}: bool has no bits to look at"
            )));
        }
        if of.len_bytes() != element_type.len_bytes() {
            return Err(type_error(format!("bitcast from {of} to {element_type}, which has another width")));
        }
        if of == element_type {
            return Ok(a);
        }
        self.push(Operation::Bitcast(a), element_type)
    }

    /// The type of a value.
    ///
    /// # Errors
    ///
    /// The value is not one of this builder.
    pub fn type_of(&self, value: Value) -> Result<ElementType, FunctionError> {
        let node = self.nodes.get(value.index());
        node.map(|node| node.element_type).ok_or_else(|| type_error("a value of another function".to_owned()))
    }

    /// The function whose result is that value.
    ///
    /// # Errors
    ///
    /// The value is not one of this builder.
    pub fn finish(self, result: Value) -> Result<Function, FunctionError> {
        self.type_of(result)?;
        Ok(Function::canonical(self.inputs, self.scalars, &self.nodes, result))
    }

    fn common(&self, name: &str, values: &[Value]) -> Result<ElementType, FunctionError> {
        let first = self.type_of(values[0])?;
        for &value in &values[1..] {
            let other = self.type_of(value)?;
            if other != first {
                return Err(type_error(format!("{name} of {first} and {other}: write a cast")));
            }
        }
        Ok(first)
    }

    fn push(&mut self, operation: Operation, element_type: ElementType) -> Built {
        let node = Node { operation, element_type };
        if let Some(&value) = self.known.get(&node) {
            return Ok(value);
        }
        let number = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        if self.nodes.len() >= MAX_NODES {
            let message = format!("the function computes more than {MAX_NODES} values");
            return Err(FunctionError::new(FunctionErrorKind::Size, message));
        }
        self.nodes.push(node);
        self.known.insert(node, Value(number));
        Ok(Value(number))
    }
}

fn in_domain(name: &str, domain: Domain, of: ElementType) -> Result<(), FunctionError> {
    if domain.contains(of) {
        return Ok(());
    }
    Err(type_error(format!("{name} takes {}, not {of}", domain.name())))
}

fn type_error(message: String) -> FunctionError {
    FunctionError::new(FunctionErrorKind::Type, message)
}

fn not_given(name: &str, at: usize, given: usize) -> FunctionError {
    let kind = if name == "x" { "inputs" } else { "scalars" };
    FunctionError::new(FunctionErrorKind::Text, format!("{name}{at}: only {given} {kind} are given"))
}
