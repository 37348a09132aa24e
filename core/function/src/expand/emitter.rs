//! Pushes primitives: constants, comparisons, and the register forms of each type.

use crate::{
    ElementType,
    literal::canonical_nan,
    primitive::{Binary, Constant, ProgramBuilder, Register, RegisterType, Unary, fold},
};

/// A program under construction.
pub(super) struct Emitter {
    pub(super) builder: ProgramBuilder,
}

impl Emitter {
    pub(super) fn new(inputs: &[ElementType], scalars: &[ElementType]) -> Self {
        Self { builder: ProgramBuilder::new(inputs, scalars) }
    }

    pub(super) fn unary(&mut self, op: Unary, a: Register) -> Register {
        self.builder.unary(op, a)
    }

    pub(super) fn binary(&mut self, op: Binary, a: Register, b: Register) -> Register {
        self.builder.binary(op, a, b)
    }

    pub(super) fn select(&mut self, condition: Register, a: Register, b: Register) -> Register {
        self.builder.select(condition, a, b)
    }

    pub(super) fn b32(&mut self, value: u32) -> Register {
        self.builder.constant(Constant::B32(value))
    }

    pub(super) fn f64(&mut self, value: f64) -> Register {
        self.builder.constant(Constant::F64(value.to_bits()))
    }

    pub(super) fn f32(&mut self, value: f32) -> Register {
        self.builder.constant(Constant::F32(value.to_bits()))
    }

    /// An integer as wide as another register, sign-extended.
    pub(super) fn integer(&mut self, like: Register, value: i64) -> Register {
        #[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
        match self.builder.type_of(like) {
            RegisterType::B64 => self.builder.constant(Constant::B64(value.cast_unsigned())),
            _ => self.builder.constant(Constant::B32((value as i32).cast_unsigned())),
        }
    }

    /// A small number in the float type of another register.
    pub(super) fn float(&mut self, like: Register, value: f32) -> Register {
        match self.builder.type_of(like) {
            RegisterType::F64 => self.f64(f64::from(value)),
            _ => self.f32(value),
        }
    }

    /// Only the sign bit, as wide as another register.
    pub(super) fn sign_bit(&mut self, like: Register) -> Register {
        match self.builder.type_of(like) {
            RegisterType::B64 => self.builder.constant(Constant::B64(1 << 63)),
            _ => self.b32(1 << 31),
        }
    }

    /// An element given by its bits, in the form in which it would be loaded.
    pub(super) fn element(&mut self, element_type: ElementType, bits: u64) -> Register {
        self.builder.constant(fold::held(element_type, bits))
    }

    /// The form in which a loaded element is computed: halves become `f32`.
    pub(super) fn loaded(&mut self, element_type: ElementType, register: Register) -> Register {
        match element_type {
            ElementType::F16 => self.unary(Unary::HalfToF32, register),
            ElementType::BF16 => {
                let sixteen = self.b32(16);
                let bits = self.binary(Binary::ShiftLeft, register, sixteen);
                self.unary(Unary::FromBits, bits)
            }
            _ => register,
        }
    }

    /// The form in which a computed value is stored: with the canonical NaN.
    pub(super) fn stored(&mut self, element_type: ElementType, register: Register) -> Register {
        match element_type {
            ElementType::F16 | ElementType::BF16 => self.bits_of(element_type, register),
            ElementType::F32 | ElementType::F64 => {
                let number = self.binary(Binary::Equal, register, register);
                let nan = self.element(element_type, canonical_nan(element_type));
                self.select(number, register, nan)
            }
            _ => register,
        }
    }

    /// The bits of a float in the type's width, with the canonical NaN, and zeros above.
    pub(super) fn bits_of(&mut self, element_type: ElementType, register: Register) -> Register {
        let bits = match element_type {
            ElementType::F16 => self.unary(Unary::F32ToHalf, register),
            ElementType::BF16 => {
                let (bits, sixteen) = (self.unary(Unary::ToBits, register), self.b32(16));
                self.binary(Binary::ShiftRight, bits, sixteen)
            }
            _ => self.unary(Unary::ToBits, register),
        };
        let number = self.binary(Binary::Equal, register, register);
        let nan = self.integer(bits, canonical_nan(element_type).cast_signed());
        self.select(number, bits, nan)
    }

    /// Rounds an `f32` to a half type, and keeps it as `f32`. Other types stay.
    pub(super) fn rounded(&mut self, element_type: ElementType, register: Register) -> Register {
        match element_type {
            ElementType::F16 => {
                let half = self.unary(Unary::F32ToHalf, register);
                self.unary(Unary::HalfToF32, half)
            }
            ElementType::BF16 => {
                let bits = self.unary(Unary::ToBits, register);
                let (one, sixteen) = (self.b32(1), self.b32(16));
                let last = self.binary(Binary::ShiftRight, bits, sixteen);
                let odd = self.binary(Binary::And, last, one);
                let half = self.b32(0x7fff);
                let up = self.binary(Binary::Add, bits, half);
                let up = self.binary(Binary::Add, up, odd);
                let mask = self.b32(0xffff_0000);
                let kept = self.binary(Binary::And, up, mask);
                let near = self.unary(Unary::FromBits, kept);
                // The addition could turn a NaN into an infinity.
                let number = self.binary(Binary::Equal, register, register);
                self.select(number, near, register)
            }
            _ => register,
        }
    }

    /// Extends an integer by its type's rule, because bits above the type's width are wrong. Other
    /// values stay.
    pub(super) fn narrowed(&mut self, element_type: ElementType, register: Register) -> Register {
        let (shift, mask) = match element_type {
            ElementType::I8 | ElementType::U8 => (24, 0xff),
            ElementType::I16 | ElementType::U16 => (16, 0xffff),
            _ => return register,
        };
        if element_type.is_signed() {
            let shift = self.b32(shift);
            let up = self.binary(Binary::ShiftLeft, register, shift);
            self.binary(Binary::ShiftRightSigned, up, shift)
        } else {
            let mask = self.b32(mask);
            self.binary(Binary::And, register, mask)
        }
    }

    pub(super) fn equal(&mut self, of: ElementType, a: Register, b: Register) -> Register {
        if of == ElementType::Bool {
            let different = self.binary(Binary::Xor, a, b);
            return self.unary(Unary::Not, different);
        }
        self.binary(Binary::Equal, a, b)
    }

    pub(super) fn less(&mut self, of: ElementType, a: Register, b: Register) -> Register {
        let op = match of {
            _ if of.is_float() => Binary::Less,
            _ if of.is_signed() => Binary::LessSigned,
            _ => Binary::LessUnsigned,
        };
        self.binary(op, a, b)
    }

    pub(super) fn less_equal(&mut self, of: ElementType, a: Register, b: Register) -> Register {
        if of.is_float() {
            return self.binary(Binary::LessEqual, a, b);
        }
        let greater = self.less(of, b, a);
        self.unary(Unary::Not, greater)
    }
}
