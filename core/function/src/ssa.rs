//! A function: typed values, each computed from earlier values.

use std::{
    hash::{Hash, Hasher},
    sync::{Arc, OnceLock},
};

use super::{BinaryOperation, ElementType, UnaryOperation, primitive::Program};

/// A value of a [`Function`], or of the [`FunctionBuilder`](super::FunctionBuilder) that builds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub(super) u32);

impl Value {
    /// The number of the node that computes it.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The operation that makes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// The element of an input.
    Input(u8),
    /// A scalar argument.
    Scalar(u8),
    /// The position along an axis of the shape that the operands have together, an `i64`. In a
    /// reduction, it is the shape before anything is reduced.
    Position(u8),
    /// A constant, given by its bits in the width of its type. A NaN is the canonical one.
    Constant(u64),
    /// An operation of one value.
    Unary(UnaryOperation, Value),
    /// An operation of two values of one type.
    Binary(BinaryOperation, Value, Value),
    /// `a * b + c`, rounded once.
    Fma(Value, Value, Value),
    /// `clip(x, lo, hi)`.
    Clip(Value, Value, Value),
    /// `where(c, a, b)`.
    Where(Value, Value, Value),
    /// Converts a value to another type, like Rust's `as`.
    Cast(Value),
    /// Takes the bits of a value as another type of the same width.
    Bitcast(Value),
}

impl Operation {
    /// The values that it reads.
    #[must_use = "an iterator"]
    pub fn operands(self) -> impl DoubleEndedIterator<Item = Value> {
        let all = match self {
            Self::Input(_) | Self::Scalar(_) | Self::Position(_) | Self::Constant(_) => [None; 3],
            Self::Unary(_, a) | Self::Cast(a) | Self::Bitcast(a) => [Some(a), None, None],
            Self::Binary(_, a, b) => [Some(a), Some(b), None],
            Self::Fma(a, b, c) | Self::Clip(a, b, c) | Self::Where(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        all.into_iter().flatten()
    }

    /// The name in messages: its name in a text, if it has one.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Input(_) => "input",
            Self::Scalar(_) => "scalar",
            Self::Position(_) => "position",
            Self::Constant(_) => "constant",
            Self::Unary(operation, _) => operation.name(),
            Self::Binary(operation, ..) => operation.name(),
            Self::Fma(..) => "fma",
            Self::Clip(..) => "clip",
            Self::Where(..) => "where",
            Self::Cast(_) => "cast",
            Self::Bitcast(_) => "bitcast",
        }
    }

    /// Returns this operation with other values as operands.
    pub(super) fn with_operands(self, mut at: impl FnMut(Value) -> Value) -> Self {
        match self {
            Self::Input(_) | Self::Scalar(_) | Self::Position(_) | Self::Constant(_) => self,
            Self::Unary(operation, a) => Self::Unary(operation, at(a)),
            Self::Binary(operation, a, b) => Self::Binary(operation, at(a), at(b)),
            Self::Fma(a, b, c) => Self::Fma(at(a), at(b), at(c)),
            Self::Clip(a, b, c) => Self::Clip(at(a), at(b), at(c)),
            Self::Where(a, b, c) => Self::Where(at(a), at(b), at(c)),
            Self::Cast(a) => Self::Cast(at(a)),
            Self::Bitcast(a) => Self::Bitcast(at(a)),
        }
    }

    /// Numbers that identify it, of a fixed length, for the digest.
    fn code(self) -> [u64; 5] {
        let value = |value: Value| u64::from(value.0);
        match self {
            Self::Input(at) => [0, at.into(), 0, 0, 0],
            Self::Scalar(at) => [1, at.into(), 0, 0, 0],
            Self::Position(axis) => [2, axis.into(), 0, 0, 0],
            Self::Constant(bits) => [3, bits, 0, 0, 0],
            Self::Unary(operation, a) => [4, operation as u64, value(a), 0, 0],
            Self::Binary(operation, a, b) => [5, operation as u64, value(a), value(b), 0],
            Self::Fma(a, b, c) => [6, value(a), value(b), value(c), 0],
            Self::Clip(a, b, c) => [7, value(a), value(b), value(c), 0],
            Self::Where(a, b, c) => [8, value(a), value(b), value(c), 0],
            Self::Cast(a) => [9, value(a), 0, 0, 0],
            Self::Bitcast(a) => [10, value(a), 0, 0, 0],
        }
    }
}

/// A value's operation and type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    pub(super) operation: Operation,
    pub(super) element_type: ElementType,
}

impl Node {
    /// The operation that computes the value.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// The type of the value.
    #[must_use]
    pub const fn element_type(&self) -> ElementType {
        self.element_type
    }
}

/// A function of one element of each input, and of scalars. It is typed, checked and in canonical
/// form.
///
/// Two functions built from the same operations on the same values are equal, whatever the order of
/// building; values that the result does not need are removed. [`Function::parse`] makes one from a
/// text, and [`FunctionBuilder`](super::FunctionBuilder) step by step. It is displayed as a text
/// that parses to the same function.
///
/// ```
/// use devarray::function::{ElementType, Function};
///
/// let f32 = ElementType::F32;
/// let function = Function::parse("x0 * k0 + where(x1 < 0, -x1, x1)", &[f32, f32], &[f32])?;
/// assert_eq!(function.result_type(), f32);
/// assert_eq!(function.to_string(), "x0 * k0 + where(x1 < 0.0, -x1, x1)");
/// # Ok::<(), devarray::function::FunctionError>(())
/// ```
#[derive(Clone)]
pub struct Function(Arc<Parts>);

struct Parts {
    inputs: Vec<ElementType>,
    scalars: Vec<ElementType>,
    nodes: Vec<Node>,
    needed_rank: usize,
    /// Programs, made when they are first needed: one for elements that are stored, one for
    /// elements that are combined.
    programs: [OnceLock<Program>; 2],
}

impl Function {
    /// Makes the function of `result` from the nodes that it needs, numbered by first use. All
    /// nodes of `nodes` are different.
    pub(super) fn canonical(
        inputs: Vec<ElementType>,
        scalars: Vec<ElementType>,
        nodes: &[Node],
        result: Value,
    ) -> Self {
        let mut places: Vec<Option<Value>> = vec![None; nodes.len()];
        let mut kept: Vec<Node> = Vec::with_capacity(nodes.len());
        let mut waiting = vec![result];
        while let Some(&value) = waiting.last() {
            let node = nodes[value.index()];
            let before = waiting.len();
            waiting
                .extend(node.operation.operands().rev().filter(|operand| places[operand.index()].is_none()));
            if waiting.len() > before {
                continue;
            }
            waiting.pop();
            if places[value.index()].is_some() {
                continue;
            }
            let operation =
                node.operation.with_operands(|operand| places[operand.index()].unwrap_or(operand));
            places[value.index()] = Some(Value(u32::try_from(kept.len()).unwrap_or(u32::MAX)));
            kept.push(Node { operation, ..node });
        }
        let needed_rank = needed_rank(&kept);
        Self(Arc::new(Parts { inputs, scalars, nodes: kept, needed_rank, programs: Default::default() }))
    }

    /// The identity: `x0`. It is made once for each type.
    #[doc(hidden)]
    #[inline]
    pub fn of_elements(element_type: ElementType) -> &'static Self {
        static ALL: [OnceLock<Function>; ElementType::ALL.len()] =
            [const { OnceLock::new() }; ElementType::ALL.len()];
        ALL[element_type as usize].get_or_init(|| {
            let node = Node { operation: Operation::Input(0), element_type };
            Self::canonical(vec![element_type], Vec::new(), &[node], Value(0))
        })
    }

    /// Returns the same function, without the programs that are kept with this one.
    #[cfg(feature = "executor")]
    pub(super) fn alone(&self) -> Self {
        self.of_nodes(self.nodes().to_vec())
    }

    /// Moves its axes to where `place` puts them; `None` if an axis has no place.
    #[cfg(feature = "executor")]
    pub(super) fn with_positions(&self, place: impl Fn(u8) -> Option<u8>) -> Option<Self> {
        let moved = |node: &Node| match node.operation {
            Operation::Position(axis) => Some(Node { operation: Operation::Position(place(axis)?), ..*node }),
            _ => Some(*node),
        };
        Some(self.of_nodes(self.nodes().iter().map(moved).collect::<Option<_>>()?))
    }

    #[cfg(feature = "executor")]
    fn of_nodes(&self, nodes: Vec<Node>) -> Self {
        let (inputs, scalars) = (self.inputs().to_vec(), self.scalars().to_vec());
        let needed_rank = needed_rank(&nodes);
        Self(Arc::new(Parts { inputs, scalars, nodes, needed_rank, programs: Default::default() }))
    }

    /// The cells that keep its programs. Looking a program up among all functions' programs would
    /// take 9 to 34 % of a small call.
    pub(super) fn kept_programs(&self) -> &[OnceLock<Program>; 2] {
        &self.0.programs
    }

    /// The types of the inputs `x0`, `x1` ….
    #[must_use]
    #[inline]
    pub fn inputs(&self) -> &[ElementType] {
        &self.0.inputs
    }

    /// The types of the scalar arguments `k0`, `k1` ….
    #[must_use]
    #[inline]
    pub fn scalars(&self) -> &[ElementType] {
        &self.0.scalars
    }

    /// The nodes that compute the values, in order. Each reads earlier values, and the last is the
    /// result.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.0.nodes
    }

    /// The value that is the result.
    #[must_use]
    pub fn result(&self) -> Value {
        Value(u32::try_from(self.nodes().len() - 1).unwrap_or(u32::MAX))
    }

    /// The type of the result's elements.
    #[must_use]
    #[inline]
    pub fn result_type(&self) -> ElementType {
        self.nodes()[self.result().index()].element_type
    }

    /// The least number of axes of the result: one more than the last axis whose position is taken.
    #[must_use]
    #[inline]
    pub fn needed_rank(&self) -> usize {
        self.0.needed_rank
    }

    /// A number for the function, the same in every process, for keys of persistent caches.
    #[must_use]
    pub fn digest(&self) -> u128 {
        let types = |types: &[ElementType]| types.iter().map(|&t| t as u64).collect::<Vec<_>>();
        let lengths = [self.inputs().len() as u64, self.scalars().len() as u64];
        let nodes = self.nodes().iter().flat_map(|node| {
            let code = node.operation.code();
            code.into_iter().chain([node.element_type as u64])
        });
        let words = lengths.into_iter().chain(types(self.inputs())).chain(types(self.scalars())).chain(nodes);
        // FNV-1a of 128 bits.
        words.flat_map(u64::to_le_bytes).fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
        })
    }
}

/// One more than the last axis whose position is taken.
fn needed_rank(nodes: &[Node]) -> usize {
    let axes = nodes.iter().filter_map(|node| match node.operation {
        Operation::Position(axis) => Some(usize::from(axis) + 1),
        _ => None,
    });
    axes.max().unwrap_or(0)
}

impl Parts {
    /// The parts that functions are compared by.
    fn identity(&self) -> (&[ElementType], &[ElementType], &[Node]) {
        (&self.inputs, &self.scalars, &self.nodes)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.identity() == other.0.identity()
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.identity().hash(state);
    }
}
