//! Expands `cast`, which works like Rust's `as`, and `bitcast`.

use super::Emitter;
use crate::{
    ElementType,
    primitive::{Binary, Register, RegisterType, Unary},
};

impl Emitter {
    pub(super) fn cast(&mut self, from: ElementType, to: ElementType, a: Register) -> Register {
        match (from, to) {
            _ if from == to => a,
            (ElementType::Bool, _) => self.cast_bool(to, a),
            (_, ElementType::Bool) => {
                let zero = if from.is_float() { self.float(a, 0.0) } else { self.integer(a, 0) };
                let is_zero = self.binary(Binary::Equal, a, zero);
                self.unary(Unary::Not, is_zero)
            }
            _ if from.is_float() && to.is_float() => self.cast_float(from, to, a),
            _ if from.is_float() => self.float_to_integer(to, a),
            _ if to.is_float() => self.integer_to_float(from, to, a),
            _ => self.cast_integer(from, to, a),
        }
    }

    fn cast_bool(&mut self, to: ElementType, a: Register) -> Register {
        if to.is_float() {
            let (one, zero) = match to {
                ElementType::F64 => (self.f64(1.0), self.f64(0.0)),
                _ => (self.f32(1.0), self.f32(0.0)),
            };
            return self.select(a, one, zero);
        }
        let bit = self.unary(Unary::BoolToB32, a);
        self.cast_integer(ElementType::U32, to, bit)
    }

    fn cast_float(&mut self, from: ElementType, to: ElementType, a: Register) -> Register {
        match (from, to) {
            (ElementType::F64, ElementType::F32) => self.unary(Unary::Narrow, a),
            (ElementType::F64, _) => {
                let odd = self.narrowed_to_odd(a);
                self.rounded(to, odd)
            }
            (_, ElementType::F64) => self.unary(Unary::Widen, a),
            _ => self.rounded(to, a),
        }
    }

    /// Converts an `f64` to a neighbouring `f32` with an odd last bit, unless an `f32` holds it
    /// exactly. Rounding that once more has the effect of rounding once.
    fn narrowed_to_odd(&mut self, a: Register) -> Register {
        let near = self.unary(Unary::Narrow, a);
        let back = self.unary(Unary::Widen, near);
        let bits = self.unary(Unary::ToBits, near);
        let (zero, one) = (self.b32(0), self.b32(1));
        let (up, down) = (self.binary(Binary::Add, bits, one), self.binary(Binary::Subtract, bits, one));
        let (size, back_size) = (self.unary(Unary::Absolute, a), self.unary(Unary::Absolute, back));
        let below = self.binary(Binary::Less, back_size, size);
        let neighbour = self.select(below, up, down);
        let last = self.binary(Binary::And, bits, one);
        let even = self.binary(Binary::Equal, last, zero);
        let exact = self.binary(Binary::Equal, back, a);
        let inexact = self.unary(Unary::Not, exact);
        let moves = self.binary(Binary::And, even, inexact);
        // A NaN with an even last bit has a neighbour above it, so one less is still a NaN.
        let bits = self.select(moves, neighbour, bits);
        self.unary(Unary::FromBits, bits)
    }

    fn float_to_integer(&mut self, to: ElementType, a: Register) -> Register {
        let op = match to {
            ElementType::I64 => return self.unary(Unary::ToSigned64, a),
            ElementType::U64 => return self.unary(Unary::ToUnsigned64, a),
            _ if to.is_signed() => Unary::ToSigned32,
            _ => Unary::ToUnsigned32,
        };
        let mut wide = self.unary(op, a);
        let (low, high) = match to {
            ElementType::I8 => (-0x80, 0x7f),
            ElementType::U8 => (0, 0xff),
            ElementType::I16 => (-0x8000, 0x7fff),
            ElementType::U16 => (0, 0xffff),
            _ => return wide,
        };
        let (low, high) = (self.integer(wide, low), self.integer(wide, high));
        let above = self.less(to, high, wide);
        wide = self.select(above, high, wide);
        if to.is_signed() {
            let below = self.less(to, wide, low);
            wide = self.select(below, low, wide);
        }
        wide
    }

    fn integer_to_float(&mut self, from: ElementType, to: ElementType, a: Register) -> Register {
        let (to_f32, to_f64) = if from.is_signed() {
            (Unary::SignedToF32, Unary::SignedToF64)
        } else {
            (Unary::UnsignedToF32, Unary::UnsignedToF64)
        };
        match (to, from.len_bytes()) {
            (ElementType::F64, _) => self.unary(to_f64, a),
            (ElementType::F32, _) => self.unary(to_f32, a),
            // The value is exact in f32, or so large that it overflows an f16 by far.
            (ElementType::F16, _) | (_, 1 | 2) => {
                let wide = self.unary(to_f32, a);
                self.rounded(to, wide)
            }
            (_, bytes) => {
                let held = if bytes == 8 { self.jammed(from, a) } else { a };
                let exact = self.unary(to_f64, held);
                self.cast_float(ElementType::F64, to, exact)
            }
        }
    }

    /// Changes a 64-bit integer so that `f64` holds it exactly: the low 12 bits of large ones
    /// become one bit, which says whether any of them was set. The result is on the same side of
    /// every tie of narrower types.
    fn jammed(&mut self, from: ElementType, a: Register) -> Register {
        let [zero, low, sticky, limit] = [0, 0xfff, 0x800, 1 << 53].map(|value| self.integer(a, value));
        let size = if from.is_signed() {
            let places = self.b32(63);
            let signs = self.binary(Binary::ShiftRightSigned, a, places);
            self.binary(Binary::Xor, a, signs)
        } else {
            a
        };
        let small = self.binary(Binary::LessUnsigned, size, limit);
        let rest = self.binary(Binary::And, a, low);
        let kept = self.binary(Binary::Xor, a, rest);
        let none = self.binary(Binary::Equal, rest, zero);
        let bit = self.select(none, zero, sticky);
        let jammed = self.binary(Binary::Or, kept, bit);
        self.select(small, a, jammed)
    }

    fn cast_integer(&mut self, from: ElementType, to: ElementType, a: Register) -> Register {
        match (RegisterType::of(from), RegisterType::of(to)) {
            (RegisterType::B64, RegisterType::B64) => a,
            (RegisterType::B64, _) => {
                let low = self.unary(Unary::Wrap, a);
                self.narrowed(to, low)
            }
            (_, RegisterType::B64) if from.is_signed() => self.unary(Unary::SignExtend, a),
            (_, RegisterType::B64) => self.unary(Unary::ZeroExtend, a),
            _ => {
                let fits = to.len_bytes() > from.len_bytes() && (to.is_signed() || !from.is_signed());
                if fits { a } else { self.narrowed(to, a) }
            }
        }
    }

    pub(super) fn bitcast(&mut self, from: ElementType, to: ElementType, a: Register) -> Register {
        let bits = if from.is_float() { self.bits_of(from, a) } else { a };
        match to {
            ElementType::F16 | ElementType::BF16 => {
                // A signed integer has copies of its sign in the upper bits.
                let low = self.narrowed(ElementType::U16, bits);
                self.loaded(to, low)
            }
            ElementType::F32 | ElementType::F64 => self.unary(Unary::FromBits, bits),
            _ => self.narrowed(to, bits),
        }
    }
}
