//! Builds functions, and checks each step.

use std::{collections::HashMap, fmt};

use super::{
    BinaryOperation, ElementType, Function, FunctionError, FunctionErrorKind, Node, Operation,
    UnaryOperation, Value,
    expand::cost::{self, MAX_INSTRUCTIONS},
    literal::canonical_nan,
    literal::value_of,
    operation::Domain,
};

/// The most inputs of a function.
pub const MAX_INPUTS: usize = 16;
/// The most scalar arguments of a function.
pub const MAX_SCALARS: usize = 16;
/// The most different values that a function can compute.
pub const MAX_NODES: usize = 4096;
/// Up to this many values, a linear search is faster than hashing.
const FEW: usize = 16;

/// Builds a [`Function`]; every step is checked. An existing value is reused.
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
#[derive(Clone, Default)]
pub struct FunctionBuilder {
    inputs: Vec<ElementType>,
    scalars: Vec<ElementType>,
    nodes: Vec<Node>,
    /// All nodes, once there are more than a few.
    known: HashMap<Node, Value>,
    /// An upper limit of the instructions that the nodes expand to.
    instructions: usize,
}

/// Prints how many parts were built so far.
impl fmt::Debug for FunctionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FunctionBuilder({} values of {} inputs)", self.nodes.len(), self.inputs.len())
    }
}

type Built = Result<Value, FunctionError>;

impl FunctionBuilder {
    /// Begins a function with these inputs and scalars, without values yet.
    ///
    /// # Errors
    ///
    /// More than 16 inputs or scalars.
    pub fn new(inputs: &[ElementType], scalars: &[ElementType]) -> Result<Self, FunctionError> {
        let mut builder = Self::default();
        builder.begin(inputs.iter().copied(), scalars.iter().copied())?;
        Ok(builder)
    }

    /// Begins another function, without values yet. The old function is lost; its memory is reused.
    ///
    /// # Errors
    ///
    /// The errors of [`new`](Self::new).
    pub(super) fn begin(
        &mut self,
        inputs: impl Iterator<Item = ElementType>,
        scalars: impl Iterator<Item = ElementType>,
    ) -> Result<(), FunctionError> {
        let Self { inputs: own_inputs, scalars: own_scalars, nodes, known, instructions } = self;
        own_inputs.clear();
        own_inputs.extend(inputs);
        own_scalars.clear();
        own_scalars.extend(scalars);
        nodes.clear();
        known.clear();
        *instructions = 0;
        let limits = [("inputs", own_inputs.len(), MAX_INPUTS), ("scalars", own_scalars.len(), MAX_SCALARS)];
        match limits.into_iter().find(|&(_, count, most)| count > most) {
            None => Ok(()),
            Some((what, count, most)) => {
                let message = format!("{count} {what}, at most {most} are possible");
                Err(FunctionError::new(FunctionErrorKind::Size, message))
            }
        }
    }

    /// Begins with the result of another function, and adds more inputs after its own.
    ///
    /// # Errors
    ///
    /// More than 16 inputs.
    pub fn continuing(
        function: &Function,
        more_inputs: &[ElementType],
    ) -> Result<(Self, Value), FunctionError> {
        let mut builder = Self::new(&[function.inputs(), more_inputs].concat(), function.scalars())?;
        for node in function.nodes() {
            builder.push(node.operation, node.element_type)?;
        }
        Ok((builder, function.result()))
    }

    /// Adds the result of another function of the same inputs and scalars.
    ///
    /// # Errors
    ///
    /// It has other inputs or scalars, or both together are too large.
    pub fn include(&mut self, function: &Function) -> Built {
        if (function.inputs(), function.scalars()) != (&self.inputs[..], &self.scalars[..]) {
            return Err(type_error("a function of other inputs or scalars".to_owned()));
        }
        let mut places: Vec<Value> = Vec::with_capacity(function.nodes().len());
        for node in function.nodes() {
            let operation = node.operation.with_operands(|value| places[value.index()]);
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

    /// The position along an axis of the operands' common shape, an `i64`. In a reduction, it is the
    /// shape before the reduction.
    ///
    /// # Errors
    ///
    /// No array has the axis (it is above 255), or the function is too large.
    pub fn position(&mut self, axis: usize) -> Built {
        let out_of_range =
            |_| FunctionError::new(FunctionErrorKind::Shape, format!("no result has an axis {axis}"));
        let axis = u8::try_from(axis).map_err(out_of_range)?;
        self.push(Operation::Position(axis), ElementType::I64)
    }

    /// A constant of a type, given by its bits. Bits above the type's width are ignored.
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
        in_domain(|| operation.name(), operation.domain(), of)?;
        self.push(Operation::Unary(operation, a), operation.result_type(of))
    }

    /// An operation of two values of one type.
    ///
    /// # Errors
    ///
    /// The types differ, the operation is not defined for them, or the function is too large.
    pub fn binary(&mut self, operation: BinaryOperation, a: Value, b: Value) -> Built {
        let of = self.operands(|| operation.name(), operation.domain(), &[a, b])?;
        self.push(Operation::Binary(operation, a, b), operation.result_type(of))
    }

    /// `a * b + c`, rounded once.
    ///
    /// # Errors
    ///
    /// The types differ or are not floats, or the function is too large.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Built {
        let of = self.operands(|| "fma", Domain::Floats, &[a, b, c])?;
        self.push(Operation::Fma(a, b, c), of)
    }

    /// `minimum(maximum(x, low), high)`.
    ///
    /// # Errors
    ///
    /// The types differ or are bool, or the function is too large.
    pub fn clip(&mut self, x: Value, low: Value, high: Value) -> Built {
        let of = self.operands(|| "clip", Domain::Numbers, &[x, low, high])?;
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
        let of = self.operands(|| "where", Domain::NumbersOrBool, &[a, b])?;
        self.push(Operation::Where(condition, a, b), of)
    }

    /// Converts a value to another type, like Rust's `as`.
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

    /// Takes the bits of a value as another type of the same width.
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
    /// The value does not belong to this builder.
    pub fn type_of(&self, value: Value) -> Result<ElementType, FunctionError> {
        let node = self.nodes.get(value.index());
        node.map(|node| node.element_type).ok_or_else(|| type_error("a value of another function".to_owned()))
    }

    /// The function that returns this value.
    ///
    /// # Errors
    ///
    /// The value does not belong to this builder.
    pub fn finish(self, result: Value) -> Result<Function, FunctionError> {
        self.built(result)
    }

    /// Like [`finish`](Self::finish), but keeps the builder.
    pub(super) fn built(&self, result: Value) -> Result<Function, FunctionError> {
        self.type_of(result)?;
        Ok(Function::canonical(self.inputs.clone(), self.scalars.clone(), &self.nodes, result))
    }

    /// Everything that defines the function, except its result.
    pub(super) fn parts(&self) -> (&[ElementType], &[ElementType], &[Node]) {
        (&self.inputs, &self.scalars, &self.nodes)
    }

    /// An upper limit of the instructions that the function expands to.
    pub(super) fn instructions(&self) -> usize {
        self.instructions
    }

    /// The common type of some values, which the operation must take.
    pub(super) fn operands(
        &self,
        name: impl Fn() -> &'static str,
        domain: Domain,
        values: &[Value],
    ) -> Result<ElementType, FunctionError> {
        let first = self.type_of(values[0])?;
        for &value in &values[1..] {
            let other = self.type_of(value)?;
            if other != first {
                return Err(type_error(format!("{} of {first} and {other}: write a cast", name())));
            }
        }
        in_domain(name, domain, first)?;
        Ok(first)
    }

    fn find(&self, node: &Node) -> Option<Value> {
        if self.nodes.len() > FEW {
            return self.known.get(node).copied();
        }
        self.nodes.iter().position(|known| known == node).map(value)
    }

    fn push(&mut self, operation: Operation, element_type: ElementType) -> Built {
        let node = Node { operation, element_type };
        if let Some(value) = self.find(&node) {
            return Ok(value);
        }
        if self.nodes.len() >= MAX_NODES {
            let message = format!("the function computes more than {MAX_NODES} values");
            return Err(FunctionError::new(FunctionErrorKind::Size, message));
        }
        let instructions = self.instructions + self.cost(&node);
        if instructions > MAX_INSTRUCTIONS {
            return Err(self.too_long(&node));
        }
        self.instructions = instructions;
        self.nodes.push(node);
        match self.nodes.len() {
            0..=FEW => {}
            len if self.known.is_empty() => {
                self.known.extend(self.nodes.iter().copied().zip((0..len).map(value)));
            }
            len => {
                self.known.insert(node, value(len - 1));
            }
        }
        Ok(value(self.nodes.len() - 1))
    }

    /// An upper limit of the instructions that a node expands to.
    fn cost(&self, node: &Node) -> usize {
        let first = node.operation.operands().next();
        let of = first.map_or(node.element_type, |first| self.nodes[first.index()].element_type);
        cost::instructions(node.operation, of, node.element_type)
    }

    /// The error of a function with too many instructions. It names the costliest operation.
    fn too_long(&self, last: &Node) -> FunctionError {
        let mut shares: Vec<(&str, usize, usize)> = Vec::new();
        for node in self.nodes.iter().chain([last]) {
            let (name, cost) = (node.operation.name(), self.cost(node));
            match shares.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, count, sum)) => (*count, *sum) = (*count + 1, *sum + cost),
                None => shares.push((name, 1, cost)),
            }
        }
        let (name, count, sum) = shares.into_iter().max_by_key(|&(.., sum)| sum).unwrap_or(("nothing", 0, 0));
        let message = format!(
            "the function expands to more than {MAX_INSTRUCTIONS} instructions, {sum} of them for `{name}`, \
             which it computes {count} times"
        );
        FunctionError::new(FunctionErrorKind::Size, message)
    }
}

/// The value of a node, by the node's number, which the limit keeps small.
fn value(number: usize) -> Value {
    Value(u32::try_from(number).unwrap_or(u32::MAX))
}

fn in_domain(name: impl Fn() -> &'static str, domain: Domain, of: ElementType) -> Result<(), FunctionError> {
    if domain.contains(of) {
        return Ok(());
    }
    Err(type_error(format!("{} takes {}, not {of}", name(), domain.name())))
}

fn type_error(message: String) -> FunctionError {
    FunctionError::new(FunctionErrorKind::Type, message)
}

fn not_given(name: &str, at: usize, given: usize) -> FunctionError {
    let kind = if name == "x" { "inputs" } else { "scalars" };
    FunctionError::new(FunctionErrorKind::Text, format!("{name}{at}: only {given} {kind} are given"))
}
