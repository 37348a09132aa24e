//! Prints functions as texts that parse to the same function.

use std::fmt;

use super::parser::MAX_DEPTH;
use crate::{
    BinaryOperation, ElementType, Function, Node, Operation, UnaryOperation, Value, builder::MAX_NODES,
    literal::value_of,
};

/// The binding of an atom, which is stronger than every operator's.
const ATOM: u8 = u8::MAX;

/// Prints a text that [`Function::parse`] takes. The text repeats every value that is used more
/// than once, and literals can need a cast. If it would be too large or too deep to parse, the
/// function is printed as a list of its values instead.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fits_a_text() {
            return write(self, f, self.result(), 0, true);
        }
        for (at, node) in self.nodes().iter().enumerate() {
            writeln!(f, "v{at}: {} = {:?}", node.element_type, node.operation)?;
        }
        Ok(())
    }
}

impl Function {
    fn fits_a_text(&self) -> bool {
        let mut sizes: Vec<(usize, usize)> = Vec::with_capacity(self.nodes().len());
        for node in self.nodes() {
            let operands = || node.operation.operands().map(|operand| sizes[operand.index()]);
            // A literal can need a cast.
            let own = 1 + usize::from(matches!(node.operation, Operation::Constant(_)));
            let size = operands().fold(own, |sum, (size, _)| sum.saturating_add(size));
            // Counts like the parser, plus one for the whole. Operands of a call or of a prefix operator,
            // right operands, and texts in parentheses are one level deeper.
            let depth = |operand: Value, weakest: u8| {
                let in_parentheses = binding(self.nodes()[operand.index()], false) < weakest;
                sizes[operand.index()].1 + usize::from(in_parentheses)
            };
            let depth = match node.operation {
                Operation::Constant(_) => 2,
                Operation::Unary(UnaryOperation::Negate | UnaryOperation::Not, a) => {
                    1 + depth(a, BinaryOperation::UNARY_BINDING)
                }
                Operation::Binary(operation, a, b) if operation.binding().is_some() => {
                    let (left, right) = sides(operation, operation.binding().unwrap_or(ATOM));
                    depth(a, left).max(1 + depth(b, right))
                }
                _ => 1 + operands().map(|(_, depth)| depth).max().unwrap_or(0),
            };
            sizes.push((size, depth));
        }
        sizes.last().is_some_and(|&(size, depth)| size <= MAX_NODES && depth <= MAX_DEPTH + 1)
    }

    /// The left operand, if it is an operation itself and is written without parentheses: `a + b`
    /// of `a + b - c`.
    fn chained(&self, operation: Operation) -> Option<Value> {
        let Operation::Binary(operation, left, _) = operation else { return None };
        let (weakest, _) = sides(operation, operation.binding()?);
        match self.nodes()[left.index()].operation {
            Operation::Binary(inner, ..) => inner.binding().filter(|&inner| inner >= weakest).map(|_| left),
            _ => None,
        }
    }

    fn is_literal(&self, value: Value) -> bool {
        let node = &self.nodes()[value.index()];
        matches!(node.operation, Operation::Constant(_)) && node.element_type != ElementType::Bool
    }
}

/// Writes a value, in parentheses if it binds less strongly than `weakest`. A literal is `bare` if
/// the operand next to it gives its type.
fn write(
    function: &Function,
    f: &mut fmt::Formatter<'_>,
    value: Value,
    weakest: u8,
    bare: bool,
) -> fmt::Result {
    let node = function.nodes()[value.index()];
    let bare = bare && value != function.result();
    let binding = binding(node, bare);
    if binding < weakest {
        f.write_str("(")?;
    }
    let call = |f: &mut fmt::Formatter<'_>, name: &str, arguments: &[Value], bare: &[bool]| {
        write!(f, "{name}(")?;
        for (at, (&argument, &bare)) in arguments.iter().zip(bare).enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            write(function, f, argument, 0, bare)?;
        }
        f.write_str(")")
    };
    match node.operation {
        Operation::Input(at) => write!(f, "x{at}"),
        Operation::Scalar(at) => write!(f, "k{at}"),
        Operation::Position(axis) => write!(f, "i{axis}"),
        Operation::Constant(bits) => constant(f, node.element_type, bits, bare),
        Operation::Unary(operation @ (UnaryOperation::Negate | UnaryOperation::Not), a) => {
            f.write_str(operation.name())?;
            write(function, f, a, BinaryOperation::UNARY_BINDING, false)
        }
        Operation::Unary(operation, a) => call(f, operation.name(), &[a], &[false]),
        Operation::Binary(operation, a, b) if operation.binding().is_none() => {
            call(f, operation.name(), &[a, b], &bare_beside_one(function, a, b))
        }
        Operation::Binary(..) => chain(function, f, value),
        Operation::Fma(a, b, c) => call(f, "fma", &[a, b, c], &bare_beside(function, [a, b, c])),
        Operation::Clip(a, b, c) => call(f, "clip", &[a, b, c], &bare_beside(function, [a, b, c])),
        Operation::Where(condition, a, b) => {
            let [a_bare, b_bare] = bare_beside(function, [a, b]);
            call(f, "where", &[condition, a, b], &[false, a_bare, b_bare])
        }
        Operation::Cast(a) => cast(function, f, "cast", a, node.element_type),
        Operation::Bitcast(a) => cast(function, f, "bitcast", a, node.element_type),
    }?;
    if binding < weakest { f.write_str(")") } else { Ok(()) }
}

/// Writes an operator and its left operands, which can be a long chain. It starts at the first
/// operand, and does not recurse.
fn chain(function: &Function, f: &mut fmt::Formatter<'_>, last: Value) -> fmt::Result {
    let operation = |value: Value| function.nodes()[value.index()].operation;
    let links: Vec<Value> =
        std::iter::successors(Some(last), |&link| function.chained(operation(link))).collect();
    for (nth, &link) in links.iter().rev().enumerate() {
        let Operation::Binary(operation, a, b) = operation(link) else { continue };
        let (left, right) = sides(operation, operation.binding().unwrap_or(ATOM));
        let bare = bare_beside_one(function, a, b);
        if nth == 0 {
            write(function, f, a, left, bare[0])?;
        }
        write!(f, " {} ", operation.name())?;
        write(function, f, b, right, bare[1])?;
    }
    Ok(())
}

/// The binding that each operand of an operator needs to be written without parentheses.
fn sides(operation: BinaryOperation, binding: u8) -> (u8, u8) {
    match operation {
        BinaryOperation::Power => (binding + 1, BinaryOperation::UNARY_BINDING),
        _ if binding == BinaryOperation::COMPARISON_BINDING => (binding + 1, binding + 1),
        _ => (binding, binding + 1),
    }
}

fn cast(
    function: &Function,
    f: &mut fmt::Formatter<'_>,
    name: &str,
    a: Value,
    element_type: ElementType,
) -> fmt::Result {
    write!(f, "{name}(")?;
    write(function, f, a, 0, false)?;
    write!(f, ", {element_type})")
}

/// If both are literals, one must give the type, so only the other is bare.
fn bare_beside_one(function: &Function, a: Value, b: Value) -> [bool; 2] {
    [function.is_literal(a) && !function.is_literal(b), !function.is_literal(a)]
}

/// Literals are bare if at least one of the values next to them is not a literal.
fn bare_beside<const N: usize>(function: &Function, values: [Value; N]) -> [bool; N] {
    [values.iter().any(|&value| !function.is_literal(value)); N]
}

fn binding(node: Node, bare: bool) -> u8 {
    match node.operation {
        Operation::Binary(operation, ..) => operation.binding().unwrap_or(ATOM),
        Operation::Unary(UnaryOperation::Negate | UnaryOperation::Not, _) => BinaryOperation::UNARY_BINDING,
        // A minus before a literal counts as a unary operator.
        Operation::Constant(bits) if bare && is_negative(node.element_type, bits) => {
            BinaryOperation::UNARY_BINDING
        }
        _ => ATOM,
    }
}

fn is_negative(element_type: ElementType, bits: u64) -> bool {
    element_type.is_signed() && bits >> (element_type.len_bytes() * 8 - 1) == 1
}

fn constant(f: &mut fmt::Formatter<'_>, element_type: ElementType, bits: u64, bare: bool) -> fmt::Result {
    if element_type == ElementType::Bool {
        return write!(f, "{}", bits != 0);
    }
    if !bare {
        f.write_str("cast(")?;
    }
    let value = value_of(element_type, bits);
    if element_type.is_float() && value.is_nan() {
        f.write_str("nan")?;
    } else if element_type == ElementType::F64 {
        write!(f, "{value:?}")?;
    } else if element_type.is_float() {
        // Enough digits for an f32 are enough for a half, too.
        #[expect(clippy::cast_possible_truncation, reason = "exact: it was widened")]
        let value = value as f32;
        write!(f, "{value:?}")?;
    } else if is_negative(element_type, bits) {
        let shift = 64 - element_type.len_bytes() * 8;
        write!(f, "{}", (bits << shift).cast_signed() >> shift)?;
    } else {
        write!(f, "{bits}")?;
    }
    if bare { Ok(()) } else { write!(f, ", {element_type})") }
}
