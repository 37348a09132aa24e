//! Lowers a function to steps, operation by operation. An elementary function is one step.
//!
//! A half is computed in `f32`, and must be rounded after each operation whose result may not fit
//! its type. The rounding waits until the value is read, because storing rounds too.

use super::{
    casts::{self, Half},
    code::{Code, Origin, Value, Writer},
    functions,
    kernels::{self, Fixed, Part},
    last::Last,
    machine::{Compiled, Machine},
};
use crate::{
    BinaryOperation, ElementType, Function, Operation, UnaryOperation, elementary::Elementary,
    halves::half_to_f32,
};

/// The value of a node. A half is an `f32`, which may still have to be rounded.
#[derive(Clone, Copy)]
struct Held {
    value: Value,
    is_exact: bool,
}

/// The type in which values are computed.
fn computed(of: ElementType) -> ElementType {
    if is_half(of) { ElementType::F32 } else { of }
}

fn is_half(of: ElementType) -> bool {
    matches!(of, ElementType::F16 | ElementType::BF16)
}

struct Lowering<'a> {
    writer: Writer,
    function: &'a Function,
    held: Vec<Held>,
    /// The number of reads of each node.
    reads: Vec<usize>,
}

/// Lowers a function to steps. If 32-bit and 64-bit floats are combined instead of stored, their
/// NaNs may have any bits.
pub(super) fn function(machine: Machine, function: &Function, is_stored: bool) -> Code {
    let mut reads = vec![0; function.nodes().len()];
    for node in function.nodes() {
        node.operation().operands().for_each(|value| reads[value.index()] += 1);
    }
    let mut lowering = Lowering { writer: Writer::new(machine), function, held: Vec::new(), reads };
    for node in function.nodes() {
        let of = node.element_type();
        let held = lowering.node(node.operation(), of);
        lowering.held.push(held);
    }
    let (of, last) = (function.result_type(), lowering.held[function.result().index()].value);
    let result = match of {
        _ if is_half(of) => {
            lowering.stored(last, of).unwrap_or_else(|| lowering.half(Half::Narrow, of, last))
        }
        ElementType::F32 | ElementType::F64 if is_stored => {
            lowering.stored(last, of).unwrap_or_else(|| lowering.canonical(last))
        }
        _ => last,
    };
    lowering.writer.finish(function.inputs(), function.scalars(), result, of)
}

impl Lowering<'_> {
    fn machine(&self) -> Machine {
        self.writer.machine
    }

    fn type_of(&self, value: crate::Value) -> ElementType {
        self.function.nodes()[value.index()].element_type()
    }

    /// The value of a node, rounded to its type.
    fn at(&mut self, node: crate::Value) -> Value {
        let held = self.held[node.index()];
        if held.is_exact {
            return held.value;
        }
        let value = self.half(Half::Round, self.type_of(node), held.value);
        self.held[node.index()] = Held { value, is_exact: true };
        value
    }

    fn half(&mut self, half: Half, of: ElementType, a: Value) -> Value {
        let to = if matches!(half, Half::Narrow) { of } else { ElementType::F32 };
        self.writer.step(casts::half(self.machine(), half, of), &[a], to)
    }

    fn canonical(&mut self, a: Value) -> Value {
        self.part(Part::Canonical, &[a])
    }

    /// The result in its stored form, computed by a last step.
    fn stored(&mut self, a: Value, of: ElementType) -> Option<Value> {
        let machine = self.machine();
        let last = self.writer.noted_last(a);
        if let Some(loops) = last.and_then(|last| last.loops(machine, of))
            && let Some(operands) = self.writer.take_back(a)
        {
            return Some(self.writer.last_step(loops, &operands, of));
        }
        let loops = Last::Nothing.loops(machine, of)?;
        Some(self.writer.last_step(loops, &[a], of))
    }

    fn part(&mut self, part: Part, operands: &[Value]) -> Value {
        let of = operands[0].of;
        self.writer.step(kernels::part(self.machine(), part, of), operands, of)
    }

    fn unary(&mut self, op: UnaryOperation, a: Value) -> Value {
        let value = self.writer.step(kernels::unary(self.machine(), op, a.of), &[a], a.of);
        if op == UnaryOperation::Sqrt {
            self.writer.note_last(value, Last::Sqrt);
        }
        value
    }

    fn binary(&mut self, op: BinaryOperation, a: Value, b: Value) -> Value {
        use BinaryOperation as Op;
        let (left, right) = (self.writer.is_fixed(a), self.writer.is_fixed(b));
        let ordinary = matches!(op, Op::Add | Op::Subtract | Op::Multiply | Op::Divide);
        if ordinary && a.of.is_float() && left != right {
            let commutes = matches!(op, Op::Add | Op::Multiply);
            let (a, b, fixed) = match (left, commutes) {
                (true, true) => (b, a, Fixed::Right),
                (true, false) => (a, b, Fixed::Left),
                _ => (a, b, Fixed::Right),
            };
            let compiled = kernels::with_fixed(self.machine(), op, a.of, fixed);
            return self.noted(op, compiled, [a, b]);
        }
        self.noted(op, kernels::binary(self.machine(), op, a.of), [a, b])
    }

    fn noted(&mut self, op: BinaryOperation, compiled: Compiled, operands: [Value; 2]) -> Value {
        let value = self.writer.step(compiled, &operands, operands[0].of);
        self.writer.note_last(value, Last::Binary(op));
        value
    }

    fn compare(&mut self, op: BinaryOperation, a: Value, b: Value) -> Value {
        self.writer.step(kernels::compare(self.machine(), op, a.of), &[a, b], ElementType::Bool)
    }

    fn elementary(&mut self, name: &str, operands: &[Value]) -> Value {
        let known = Elementary::ALL.iter().find(|function| function.name() == name);
        // The tests go through all operations.
        let function = *known.unwrap_or_else(|| unreachable!("{name} is no elementary function"));
        let of = operands[0].of;
        let loops = functions::elementary(self.machine(), function, of);
        let value = self.writer.step(loops.step, operands, of);
        if let Some(last) = loops.last {
            self.writer.note_last(value, Last::Whole(last));
        }
        value
    }

    /// Loads an element of memory in the type in which it is computed.
    fn loaded(&mut self, origin: Origin, of: ElementType) -> Value {
        let raw = self.writer.value(origin, of);
        match of {
            _ if is_half(of) => self.half(Half::Widen, of, raw),
            ElementType::Bool => {
                let truth = kernels::truth(self.machine(), of);
                self.writer.step(truth, &[raw], of)
            }
            _ => raw,
        }
    }

    fn node(&mut self, operation: Operation, of: ElementType) -> Held {
        // `exact` marks a value that needs no rounding, because its type holds it already.
        let exact = |value| Held { value, is_exact: true };
        let rounded = |value| Held { value, is_exact: !is_half(of) };
        match operation {
            Operation::Input(number) => exact(self.loaded(Origin::Input(number.into()), of)),
            Operation::Scalar(number) => exact(self.loaded(Origin::Scalar(number.into()), of)),
            Operation::Position(axis) => exact(self.writer.value(Origin::Position(axis.into()), of)),
            Operation::Constant(bits) => {
                #[expect(clippy::cast_possible_truncation, reason = "a half has 16 bits")]
                let bits = match of {
                    ElementType::F16 => half_to_f32(bits as u32).to_bits().into(),
                    ElementType::BF16 => bits << 16,
                    _ => bits,
                };
                exact(self.writer.value(Origin::Constant(bits), computed(of)))
            }
            Operation::Unary(op, a) => self.unary_node(op, a, of),
            Operation::Binary(op, a, b) => self.binary_node(op, a, b, of),
            Operation::Fma(a, b, c) => {
                let operands = [a, b, c].map(|value| self.at(value));
                rounded(self.part(Part::Fma, &operands))
            }
            Operation::Clip(x, low, high) => {
                let [x, low, high] = [x, low, high].map(|value| self.at(value));
                let above = self.binary(BinaryOperation::Maximum, x, low);
                exact(self.binary(BinaryOperation::Minimum, above, high))
            }
            Operation::Where(condition, a, b) => {
                let operands = [condition, a, b].map(|value| self.at(value));
                let select = kernels::select(self.machine(), computed(of));
                exact(self.writer.step(select, &operands, computed(of)))
            }
            Operation::Cast(a) => self.cast(a, of),
            Operation::Bitcast(a) => {
                let (from, value) = (self.type_of(a), self.at(a));
                let bits = match from {
                    _ if is_half(from) => self.half(Half::Narrow, from, value),
                    _ if from.is_float() => self.canonical(value),
                    _ => value,
                };
                exact(if is_half(of) { self.half(Half::Widen, of, bits) } else { bits.as_type(of) })
            }
        }
    }

    fn unary_node(&mut self, op: UnaryOperation, a: crate::Value, of: ElementType) -> Held {
        use UnaryOperation as Op;
        let (from, a) = (self.type_of(a), self.at(a));
        let exact = |value| Held { value, is_exact: true };
        let rounded = |value| Held { value, is_exact: !is_half(of) };
        if !from.is_float() {
            return exact(self.unary(op, a));
        }
        match op {
            Op::Negate | Op::Abs | Op::Sign | Op::Floor | Op::Ceil | Op::Trunc | Op::Rint => {
                exact(self.unary(op, a))
            }
            Op::Square | Op::Reciprocal | Op::Sqrt => rounded(self.unary(op, a)),
            Op::IsNan | Op::IsInf | Op::IsFinite | Op::Signbit => {
                exact(self.writer.step(kernels::test(self.machine(), op, a.of), &[a], of))
            }
            Op::Rsqrt => {
                let root = self.unary(Op::Sqrt, a);
                let root = self.round(of, root);
                rounded(self.unary(Op::Reciprocal, root))
            }
            Op::Sigmoid => {
                let negative = self.unary(Op::Negate, a);
                let power = self.elementary("exp", &[negative]);
                let power = self.round(of, power);
                let one = if a.of == ElementType::F64 { 1.0_f64.to_bits() } else { 1.0_f32.to_bits().into() };
                let one = self.writer.value(Origin::Constant(one), a.of);
                let sum = self.binary(BinaryOperation::Add, one, power);
                let sum = self.round(of, sum);
                rounded(self.unary(Op::Reciprocal, sum))
            }
            _ => rounded(self.elementary(op.name(), &[a])),
        }
    }

    fn round(&mut self, of: ElementType, a: Value) -> Value {
        if is_half(of) { self.half(Half::Round, of, a) } else { a }
    }

    fn binary_node(
        &mut self,
        op: BinaryOperation,
        a: crate::Value,
        b: crate::Value,
        of: ElementType,
    ) -> Held {
        use BinaryOperation as Op;
        if op == Op::Add
            && let Some(sum) = self.product_and_sum(a, b, of).or_else(|| self.product_and_sum(b, a, of))
        {
            return Held { value: sum, is_exact: true };
        }
        let (from, a, b) = (self.type_of(a), self.at(a), self.at(b));
        let exact = |value| Held { value, is_exact: true };
        let rounded = |value| Held { value, is_exact: !is_half(of) };
        match op {
            Op::Equal | Op::NotEqual | Op::Less | Op::LessEqual => exact(self.compare(op, a, b)),
            Op::Greater => exact(self.compare(Op::Less, b, a)),
            Op::GreaterEqual => exact(self.compare(Op::LessEqual, b, a)),
            _ if !from.is_float() => exact(self.binary(op, a, b)),
            Op::Minimum | Op::Maximum | Op::Fmin | Op::Fmax | Op::Copysign => exact(self.binary(op, a, b)),
            Op::Add | Op::Subtract | Op::Multiply | Op::Divide => rounded(self.binary(op, a, b)),
            Op::Fmod => exact(self.part(Part::Fmod, &[a, b])),
            Op::Remainder => {
                let modulo = self.part(Part::Fmod, &[a, b]);
                let sum = self.binary(Op::Add, modulo, b);
                let sum = self.round(of, sum);
                exact(self.part(Part::Remainder, &[modulo, b, sum]))
            }
            Op::FloorDivide => {
                let modulo = self.part(Part::Fmod, &[a, b]);
                rounded(self.part(Part::FloorDivide, &[a, b, modulo]))
            }
            Op::Power => rounded(self.elementary("pow", &[a, b])),
            _ => rounded(self.elementary(op.name(), &[a, b])),
        }
    }

    /// `product + c` in one step, if nothing else reads the product and its step is the latest.
    fn product_and_sum(&mut self, product: crate::Value, c: crate::Value, of: ElementType) -> Option<Value> {
        let is_product = match self.function.nodes()[product.index()].operation() {
            Operation::Binary(BinaryOperation::Multiply, a, b) => {
                let fixed = |node: crate::Value| self.writer.is_fixed(self.held[node.index()].value);
                // A product with a fixed factor has a loop of its own.
                !fixed(a) && !fixed(b)
            }
            _ => false,
        };
        if !is_product
            || !matches!(of, ElementType::F32 | ElementType::F64)
            || self.reads[product.index()] != 1
        {
            return None;
        }
        let c = self.held[c.index()].value;
        let [a, b] = self.writer.take_back(self.held[product.index()].value)?;
        let part = if self.writer.is_fixed(c) { Part::MultiplyAddRight } else { Part::MultiplyAdd };
        Some(self.part(part, &[a, b, c]))
    }

    fn cast(&mut self, a: crate::Value, to: ElementType) -> Held {
        let (from, a) = (self.type_of(a), self.at(a));
        let held = |value| Held { value, is_exact: !is_half(to) };
        let machine = self.machine();
        if to == ElementType::Bool {
            return held(self.writer.step(kernels::truth(machine, a.of), &[a], to));
        }
        // A number that `f32` cannot hold is rounded to odd first. Numbers far beyond the largest
        // `f16` overflow either way.
        let loses = match to {
            ElementType::F16 => from == ElementType::F64,
            ElementType::BF16 => from == ElementType::F64 || (!from.is_float() && from.len_bytes() >= 4),
            _ => false,
        };
        if loses {
            return held(self.writer.step(casts::to_odd(machine, from), &[a], ElementType::F32));
        }
        let to = computed(to);
        held(match casts::cast(machine, a.of, to) {
            Some(compiled) => self.writer.step(compiled, &[a], to),
            None => a.as_type(to),
        })
    }
}
