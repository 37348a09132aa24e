//! Makes random functions, layouts and elements.

use devarray_layout::Layout;

use crate::{BinaryOperation, ElementType, Function, FunctionBuilder, UnaryOperation, Value};

/// Numbers that follow from a seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.bits() % bound as u64).unwrap()
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// An element of a type: a small number, a special one, or any bits.
    pub(super) fn element(&mut self, of: ElementType) -> u64 {
        let bits = match self.below(4) {
            0 => self.bits(),
            1 => self.special(of),
            _ => self.small(of),
        };
        bits & (u64::MAX >> (64 - 8 * of.len_bytes()))
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any number will do")]
    fn small(&mut self, of: ElementType) -> u64 {
        let value = self.below(2001) as f64 / 100.0 - 10.0;
        match of {
            ElementType::F64 => value.to_bits(),
            ElementType::F32 => (value as f32).to_bits().into(),
            ElementType::F16 => half::f16::from_f64(value).to_bits().into(),
            ElementType::BF16 => half::bf16::from_f64(value).to_bits().into(),
            ElementType::Bool => self.bits() & 1,
            _ => (value as i64).cast_unsigned(),
        }
    }

    fn special(&mut self, of: ElementType) -> u64 {
        let (infinity, one, quiet): (u64, u64, u64) = match of {
            ElementType::F64 => (0x7ff0 << 48, 0x3ff0 << 48, 1 << 51),
            ElementType::F32 => (0x7f80_0000, 0x3f80_0000, 1 << 22),
            ElementType::F16 => (0x7c00, 0x3c00, 1 << 9),
            ElementType::BF16 => (0x7f80, 0x3f80, 1 << 6),
            _ => {
                return self.pick(&[
                    0,
                    1,
                    u64::MAX,
                    1 << (8 * of.len_bytes() - 1),
                    0x7f,
                    0x7fff,
                    0x7fff_ffff,
                ]);
            }
        };
        let bits =
            self.pick(&[0, 1, infinity - 1, infinity, infinity | quiet, infinity | 1, one, one + 1, quiet]);
        bits | if self.one_in(2) { 1 << (8 * of.len_bytes() - 1) } else { 0 }
    }

    /// A layout of a shape, and the number of elements that its memory needs. `shared` allows
    /// strides of 0.
    pub(super) fn layout(&mut self, shape: &[usize], shared: bool) -> (Layout, usize) {
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        if self.one_in(2) {
            for at in (1..axes.len()).rev() {
                axes.swap(at, self.below(at + 1));
            }
        }
        let plain = self.one_in(2);
        let seldom = if self.one_in(4) { 2 } else { 8 };
        let mut step = if !plain && self.one_in(3) { 2 } else { 1 };
        let (mut strides, mut offset) = (vec![0_isize; shape.len()], 0_usize);
        for &axis in axes.iter().rev() {
            if shared && self.one_in(seldom) {
                continue;
            }
            strides[axis] = step;
            if !plain && self.one_in(4) {
                strides[axis] = -step;
                offset += step.unsigned_abs() * (shape[axis] - 1);
            }
            step *= shape[axis].cast_signed();
            if !plain && self.one_in(4) {
                step += 3;
            }
        }
        let before = if plain { 0 } else { self.below(5) };
        let layout = Layout::new(shape, &strides, offset + before).unwrap();
        (layout, step.unsigned_abs() + before + 1)
    }

    pub(super) fn shape(&mut self) -> Vec<usize> {
        match self.below(8) {
            // Makes short rows, so that a block holds many of them.
            6 => vec![self.below(900) + 1, self.below(12) + 1],
            7 => vec![self.below(120) + 1, self.below(20) + 1, self.below(6) + 1],
            0 => vec![self.below(3000) + 1],
            1 => vec![self.below(60) + 1, self.below(300) + 1],
            2 => vec![self.below(300) + 1, self.below(60) + 1],
            3 => vec![self.below(12) + 1, self.below(12) + 1, self.below(30) + 1],
            4 => vec![self.below(5) + 1, self.below(5) + 1, self.below(5) + 1, self.below(40) + 1],
            _ => (0..self.below(4)).map(|_| self.below(9) + 1).collect(),
        }
    }

    /// A function of some inputs and scalars, with positions on axes below `rank`.
    pub(super) fn function(&mut self, rank: usize, of: Option<ElementType>) -> Function {
        let mut types: Vec<ElementType> =
            (0..self.below(3) + 1).map(|_| self.pick(&ElementType::ALL)).collect();
        if self.one_in(2) {
            let first = types[0];
            types.fill(first);
        }
        let scalars: Vec<ElementType> =
            if self.one_in(3) { vec![types[0], self.pick(&ElementType::ALL)] } else { Vec::new() };
        let mut builder = FunctionBuilder::new(&types, &scalars).unwrap();
        let mut values: Vec<Value> = (0..types.len()).map(|at| builder.input(at).unwrap()).collect();
        values.extend((0..scalars.len()).map(|at| builder.scalar(at).unwrap()));
        if self.one_in(3) {
            let of = self.pick(&types);
            values.push(builder.constant(of, self.element(of)).unwrap());
        }
        if rank > 0 && self.one_in(8) {
            values.push(builder.position(self.below(rank)).unwrap());
        }
        for _ in 0..self.pick(&[0, 1, 1, 2, 3, 5, 8, 12]) {
            for _attempt in 0..20 {
                if let Some(value) = self.operation(&mut builder, &values) {
                    values.push(value);
                    break;
                }
            }
        }
        let mut result = *values.last().unwrap();
        if let Some(of) = of {
            result = builder.cast(result, of).unwrap();
        }
        builder.finish(result).unwrap()
    }

    fn operation(&mut self, builder: &mut FunctionBuilder, values: &[Value]) -> Option<Value> {
        // Mostly takes recent values, so that they are needed.
        let last = values[values.len() - 1 - self.below(values.len().min(3))];
        let of = builder.type_of(last).unwrap();
        let other = |random: &mut Self, builder: &mut FunctionBuilder| {
            let value = random.pick(values);
            builder.cast(value, of).unwrap()
        };
        match self.below(10) {
            0..=2 => builder.unary(self.pick(&UNARY), last).ok(),
            3..=6 => {
                let b = other(self, builder);
                let (a, b) = if self.one_in(2) { (last, b) } else { (b, last) };
                builder.binary(self.pick(&BINARY), a, b).ok()
            }
            7 => {
                let (b, c) = (other(self, builder), other(self, builder));
                if self.one_in(2) { builder.fma(last, b, c).ok() } else { builder.clip(last, b, c).ok() }
            }
            8 => {
                let b = other(self, builder);
                let condition = builder.cast(self.pick(values), ElementType::Bool).unwrap();
                builder.select(condition, last, b).ok()
            }
            _ => {
                let to = self.pick(&ElementType::ALL);
                if self.one_in(2) { builder.cast(last, to).ok() } else { builder.bitcast(last, to).ok() }
            }
        }
    }
}

use BinaryOperation as B;
use UnaryOperation as U;

const UNARY: [U; 40] = [
    U::Negate,
    U::Not,
    U::Abs,
    U::Sign,
    U::Square,
    U::Reciprocal,
    U::Sqrt,
    U::Rsqrt,
    U::Cbrt,
    U::Exp,
    U::Exp2,
    U::Expm1,
    U::Log,
    U::Log2,
    U::Log10,
    U::Log1p,
    U::Sin,
    U::Cos,
    U::Tan,
    U::Asin,
    U::Acos,
    U::Atan,
    U::Sinh,
    U::Cosh,
    U::Tanh,
    U::Asinh,
    U::Acosh,
    U::Atanh,
    U::Erf,
    U::Erfc,
    U::Sigmoid,
    U::Floor,
    U::Ceil,
    U::Trunc,
    U::Rint,
    U::BitwiseCount,
    U::IsNan,
    U::IsInf,
    U::IsFinite,
    U::Signbit,
];

const BINARY: [B; 27] = [
    B::Add,
    B::Subtract,
    B::Multiply,
    B::Divide,
    B::FloorDivide,
    B::Remainder,
    B::Power,
    B::Fmod,
    B::Minimum,
    B::Maximum,
    B::Fmin,
    B::Fmax,
    B::Atan2,
    B::Hypot,
    B::Copysign,
    B::MultiplyHigh,
    B::And,
    B::Or,
    B::Xor,
    B::ShiftLeft,
    B::ShiftRight,
    B::Equal,
    B::NotEqual,
    B::Less,
    B::LessEqual,
    B::Greater,
    B::GreaterEqual,
];
