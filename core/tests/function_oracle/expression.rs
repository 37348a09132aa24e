//! Random expressions: a tape of numbers decides, so that a shorter tape of smaller numbers is a
//! simpler expression.

use std::fmt;

use devarray::function::ElementType;

use super::value::{Value, width};

/// The numbers that decide, one after another; 0 when they are used up.
pub(crate) struct Tape<'a> {
    numbers: std::slice::Iter<'a, u64>,
}

impl<'a> Tape<'a> {
    pub(crate) fn new(numbers: &'a [u64]) -> Self {
        Self { numbers: numbers.iter() }
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.numbers.next().copied().unwrap_or(0)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.number() % limit as u64) as usize
    }

    pub(crate) fn choice<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// An element: a remarkable one, a small number, or any bits.
    pub(crate) fn element(&mut self, element_type: ElementType) -> Value {
        const REMARKABLE: [f64; 14] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -2.5,
            3.0,
            1e30,
            -1e-40,
            5e-324,
            65504.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        let (kind, bits) = (self.below(4), self.number());
        match kind {
            0 | 1 if element_type.is_float() => Value::F64(REMARKABLE[bits as usize % 14]).cast(element_type),
            2 if element_type.is_float() => Value::F64((bits % 2001) as f64 / 8.0 - 125.0).cast(element_type),
            0 | 1 => Value::from_bits(element_type, (bits % 7).wrapping_sub(3)),
            // The ends of the range.
            2 => Value::from_bits(element_type, (bits % 5).wrapping_sub(2) ^ 1 << (width(element_type) - 1)),
            _ => Value::from_bits(element_type, bits),
        }
    }
}

pub(crate) enum Expression {
    Input(usize),
    Scalar(usize),
    Position(usize),
    Literal(Value),
    Unary(&'static str, Box<Self>),
    Binary(&'static str, Box<Self>, Box<Self>),
    Fma(Box<Self>, Box<Self>, Box<Self>),
    Clip(Box<Self>, Box<Self>, Box<Self>),
    Where(Box<Self>, Box<Self>, Box<Self>),
    Cast(Box<Self>, ElementType),
    Bitcast(Box<Self>, ElementType),
}

/// The parts that expressions are made from.
pub(crate) struct Grammar<'a> {
    pub(crate) inputs: &'a [ElementType],
    pub(crate) scalars: &'a [ElementType],
    pub(crate) rank: usize,
}

const FLOAT_UNARY: [&str; 11] =
    ["-", "abs", "sign", "square", "reciprocal", "sqrt", "rsqrt", "floor", "ceil", "trunc", "rint"];
const FLOAT_BINARY: [&str; 12] =
    ["+", "-", "*", "/", "//", "%", "fmod", "minimum", "maximum", "fmin", "fmax", "copysign"];
const INTEGER_BINARY: [&str; 16] =
    ["+", "-", "*", "//", "%", "fmod", "minimum", "maximum", "fmin", "fmax", "&", "|", "^", "<<", ">>", "**"];
const COMPARISONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

impl Grammar<'_> {
    /// An expression of a type, at most `depth` deep.
    pub(crate) fn expression(&self, tape: &mut Tape<'_>, of: ElementType, depth: usize) -> Expression {
        let part = |tape: &mut Tape<'_>, of| Box::new(self.expression(tape, of, depth - 1));
        if depth == 0 || tape.below(8) == 0 {
            return self.atom(tape, of);
        }
        match tape.below(10) {
            0 => {
                let from = tape.choice(&ElementType::ALL);
                Expression::Cast(part(tape, from), of)
            }
            1 => Expression::Where(part(tape, ElementType::Bool), part(tape, of), part(tape, of)),
            2 if of != ElementType::Bool => {
                let same: Vec<ElementType> = ElementType::ALL
                    .into_iter()
                    .filter(|&other| other != ElementType::Bool && width(other) == width(of))
                    .collect();
                let from = tape.choice(&same);
                Expression::Bitcast(part(tape, from), of)
            }
            3 if of != ElementType::Bool => Expression::Clip(part(tape, of), part(tape, of), part(tape, of)),
            4 if of.is_float() => Expression::Fma(part(tape, of), part(tape, of), part(tape, of)),
            5 | 6 => Expression::unary(tape, of, part),
            _ if of == ElementType::Bool => {
                let from = tape.choice(&ElementType::ALL);
                let name = match from {
                    ElementType::Bool => tape.choice(&["&", "|", "^", "==", "!="]),
                    _ => tape.choice(&COMPARISONS),
                };
                Expression::Binary(name, part(tape, from), part(tape, from))
            }
            _ => {
                let name =
                    if of.is_float() { tape.choice(&FLOAT_BINARY) } else { tape.choice(&INTEGER_BINARY) };
                Expression::Binary(name, part(tape, of), part(tape, of))
            }
        }
    }

    fn atom(&self, tape: &mut Tape<'_>, of: ElementType) -> Expression {
        let of_type = |types: &[ElementType]| -> Vec<usize> {
            (0..types.len()).filter(|&at| types[at] == of).collect()
        };
        let (inputs, scalars) = (of_type(self.inputs), of_type(self.scalars));
        match tape.below(6) {
            0 => Expression::Literal(tape.element(of)),
            1 if !scalars.is_empty() => Expression::Scalar(tape.choice(&scalars)),
            2 if of == ElementType::I64 && self.rank > 0 => Expression::Position(tape.below(self.rank)),
            _ if !inputs.is_empty() => Expression::Input(tape.choice(&inputs)),
            _ => {
                let at = tape.below(self.inputs.len());
                Expression::Cast(Box::new(Expression::Input(at)), of)
            }
        }
    }
}

impl Expression {
    fn unary(
        tape: &mut Tape<'_>,
        of: ElementType,
        part: impl Fn(&mut Tape<'_>, ElementType) -> Box<Self>,
    ) -> Self {
        if of.is_float() {
            return Self::Unary(tape.choice(&FLOAT_UNARY), part(tape, of));
        }
        if of == ElementType::Bool {
            let float =
                [ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64][tape.below(4)];
            return match tape.choice(&["~", "isnan", "isinf", "isfinite", "signbit"]) {
                "~" => Self::Unary("~", part(tape, of)),
                name => Self::Unary(name, part(tape, float)),
            };
        }
        let name = tape.choice(&["~", "abs", "sign", "square", "bitwise_count", "-"]);
        Self::Unary(if name == "-" && !of.is_signed() { "~" } else { name }, part(tape, of))
    }
}

/// The text of the expression.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(at) => write!(f, "x{at}"),
            Self::Scalar(at) => write!(f, "k{at}"),
            Self::Position(axis) => write!(f, "i{axis}"),
            Self::Literal(value) => literal(f, *value),
            Self::Unary(name @ ("-" | "~"), a) => write!(f, "{name}({a})"),
            Self::Unary(name, a) => write!(f, "{name}({a})"),
            Self::Binary(name, a, b) if name.as_bytes()[0].is_ascii_alphabetic() => {
                write!(f, "{name}({a}, {b})")
            }
            Self::Binary(name, a, b) => write!(f, "({a}) {name} ({b})"),
            Self::Fma(a, b, c) => write!(f, "fma({a}, {b}, {c})"),
            Self::Clip(a, b, c) => write!(f, "clip({a}, {b}, {c})"),
            Self::Where(a, b, c) => write!(f, "where({a}, {b}, {c})"),
            Self::Cast(a, to) => write!(f, "cast({a}, {to})"),
            Self::Bitcast(a, to) => write!(f, "bitcast({a}, {to})"),
        }
    }
}

fn literal(f: &mut fmt::Formatter<'_>, value: Value) -> fmt::Result {
    let of = value.element_type();
    match value {
        Value::Bool(value) => write!(f, "{value}"),
        Value::Integer(_, value) => write!(f, "cast({value}, {of})"),
        Value::F16(value) => float(f, value.to_f64(), of),
        Value::BF16(value) => float(f, value.to_f64(), of),
        Value::F32(value) => float(f, value.into(), of),
        Value::F64(value) => float(f, value, of),
    }
}

fn float(f: &mut fmt::Formatter<'_>, value: f64, of: ElementType) -> fmt::Result {
    if value.is_nan() { write!(f, "cast(nan, {of})") } else { write!(f, "cast({value:?}, {of})") }
}
