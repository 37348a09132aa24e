//! The arithmetic of registers of a program under construction: an operation pushes the primitive
//! that computes it.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Sub};

use super::{Arithmetic, Bits, Float, Value};
use crate::primitive::{Binary, Constant, ProgramBuilder, Register, Unary};

/// The builder to which a function is traced.
pub(crate) type Tracer<'b> = RefCell<&'b mut ProgramBuilder>;

/// The family of registers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traced<'t, 'b>(PhantomData<&'t Tracer<'b>>);

/// A register that holds a value of the host's type `T`.
pub(crate) struct Handle<'t, 'b, T> {
    tracer: &'t Tracer<'b>,
    register: Register,
    holds: PhantomData<T>,
}

impl<T> Clone for Handle<'_, '_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<'_, '_, T> {}

impl<T> fmt::Debug for Handle<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.register.fmt(f)
    }
}

impl<'t, 'b, T> Handle<'t, 'b, T> {
    /// A register of the program.
    pub(crate) fn new(tracer: &'t Tracer<'b>, register: Register) -> Self {
        Self { tracer, register, holds: PhantomData }
    }

    /// Its register.
    pub(crate) fn register(self) -> Register {
        self.register
    }

    fn unary<R>(self, op: Unary) -> Handle<'t, 'b, R> {
        let register = self.tracer.borrow_mut().unary(op, self.register);
        Handle::new(self.tracer, register)
    }

    fn binary<O, R>(self, op: Binary, other: Handle<'t, 'b, O>) -> Handle<'t, 'b, R> {
        let register = self.tracer.borrow_mut().binary(op, self.register, other.register);
        Handle::new(self.tracer, register)
    }

    fn literal<R>(self, constant: Constant) -> Handle<'t, 'b, R> {
        let register = self.tracer.borrow_mut().constant(constant);
        Handle::new(self.tracer, register)
    }

    /// Shifts by a constant.
    fn shifted(self, op: Binary, distance: u32) -> Self {
        self.binary(op, self.literal::<u32>(Constant::B32(distance)))
    }
}

impl<'t, 'b> Arithmetic for Traced<'t, 'b> {
    type Bool = Handle<'t, 'b, bool>;
    type B32 = Handle<'t, 'b, u32>;
    type B64 = Handle<'t, 'b, u64>;
    type F32 = Handle<'t, 'b, f32>;
    type F64 = Handle<'t, 'b, f64>;

    fn widen(x: Self::F32) -> Self::F64 {
        x.unary(Unary::Widen)
    }

    fn narrow(x: Self::F64) -> Self::F32 {
        x.unary(Unary::Narrow)
    }

    fn low(x: Self::B64) -> Self::B32 {
        x.unary(Unary::Wrap)
    }

    fn zero_extend(x: Self::B32) -> Self::B64 {
        x.unary(Unary::ZeroExtend)
    }

    fn signed_b32_to_f64(x: Self::B32) -> Self::F64 {
        x.unary(Unary::SignedToF64)
    }

    fn signed_to_f64(x: Self::B64) -> Self::F64 {
        x.unary(Unary::SignedToF64)
    }

    fn unsigned_to_f64(x: Self::B64) -> Self::F64 {
        x.unary(Unary::UnsignedToF64)
    }
}

macro_rules! operator {
    ($operator:ident $method:ident $op:expr, $($number:ty)*) => { $(
        impl $operator for Handle<'_, '_, $number> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                self.binary($op, other)
            }
        }

        impl $operator<$number> for Handle<'_, '_, $number> {
            type Output = Self;

            fn $method(self, literal: $number) -> Self {
                self.binary($op, self.constant(literal))
            }
        }
    )* };
}

operator!(Add add Binary::Add, f32 f64);
operator!(Sub sub Binary::Subtract, f32 f64);
operator!(Mul mul Binary::Multiply, f32 f64);
operator!(BitAnd bitand Binary::And, u32 u64);
operator!(BitOr bitor Binary::Or, u32 u64);
operator!(BitXor bitxor Binary::Xor, u32 u64);

impl BitAnd for Handle<'_, '_, bool> {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        self.binary(Binary::And, other)
    }
}

impl BitOr for Handle<'_, '_, bool> {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.binary(Binary::Or, other)
    }
}

macro_rules! not {
    ($($number:ty)*) => { $(
        impl Not for Handle<'_, '_, $number> {
            type Output = Self;

            fn not(self) -> Self {
                self.unary(Unary::Not)
            }
        }
    )* };
}

not!(bool u32 u64);

macro_rules! values {
    ($($number:ty, $literal:ident => $constant:expr;)*) => { $(
        impl<'t, 'b> Value<Traced<'t, 'b>> for Handle<'t, 'b, $number> {
            type Literal = $number;

            fn constant(self, $literal: $number) -> Self {
                self.literal($constant)
            }

            fn when(self, condition: Handle<'t, 'b, bool>, other: Self) -> Self {
                let mut builder = self.tracer.borrow_mut();
                let register = builder.select(condition.register, self.register, other.register);
                Self::new(self.tracer, register)
            }

            fn same(self, other: Self) -> Handle<'t, 'b, bool> {
                self.binary(Binary::Equal, other)
            }
        }
    )* };
}

values! {
    u32, literal => Constant::B32(literal);
    u64, literal => Constant::B64(literal);
    f32, literal => Constant::F32(literal.to_bits());
    f64, literal => Constant::F64(literal.to_bits());
}

macro_rules! bits {
    ($($number:ty)*) => { $(
        impl<'t, 'b> Bits<Traced<'t, 'b>> for Handle<'t, 'b, $number> {
            fn plus(self, other: Self) -> Self {
                self.binary(Binary::Add, other)
            }

            fn minus(self, other: Self) -> Self {
                self.binary(Binary::Subtract, other)
            }

            fn times(self, other: Self) -> Self {
                self.binary(Binary::Multiply, other)
            }

            fn times_high(self, other: Self) -> Self {
                self.binary(Binary::MultiplyHigh, other)
            }

            fn shift_left(self, distance: Handle<'t, 'b, u32>) -> Self {
                self.binary(Binary::ShiftLeft, distance)
            }

            fn shift_right(self, distance: Handle<'t, 'b, u32>) -> Self {
                self.binary(Binary::ShiftRight, distance)
            }

            fn shl(self, distance: u32) -> Self {
                self.shifted(Binary::ShiftLeft, distance)
            }

            fn shr(self, distance: u32) -> Self {
                self.shifted(Binary::ShiftRight, distance)
            }

            fn shr_signed(self, distance: u32) -> Self {
                self.shifted(Binary::ShiftRightSigned, distance)
            }

            fn less_signed(self, other: Self) -> Handle<'t, 'b, bool> {
                self.binary(Binary::LessSigned, other)
            }

            fn less_unsigned(self, other: Self) -> Handle<'t, 'b, bool> {
                self.binary(Binary::LessUnsigned, other)
            }
        }
    )* };
}

bits!(u32 u64);

macro_rules! floats {
    ($($number:ty, $bits:ty;)*) => { $(
        impl Neg for Handle<'_, '_, $number> {
            type Output = Self;

            fn neg(self) -> Self {
                self.unary(Unary::Negate)
            }
        }

        impl<'t, 'b> Float<Traced<'t, 'b>> for Handle<'t, 'b, $number> {
            type Bits = Handle<'t, 'b, $bits>;

            fn over(self, other: Self) -> Self {
                self.binary(Binary::Divide, other)
            }

            fn fma(self, b: Self, c: Self) -> Self {
                let register = self.tracer.borrow_mut().fma(self.register, b.register, c.register);
                Self::new(self.tracer, register)
            }

            fn magnitude(self) -> Self {
                self.unary(Unary::Absolute)
            }

            fn square_root(self) -> Self {
                self.unary(Unary::SquareRoot)
            }

            fn towards_zero(self) -> Self {
                self.unary(Unary::Truncate)
            }

            fn less(self, other: Self) -> Handle<'t, 'b, bool> {
                self.binary(Binary::Less, other)
            }

            fn less_or_same(self, other: Self) -> Handle<'t, 'b, bool> {
                self.binary(Binary::LessEqual, other)
            }

            fn bits(self) -> Handle<'t, 'b, $bits> {
                self.unary(Unary::ToBits)
            }

            fn of_bits(bits: Handle<'t, 'b, $bits>) -> Self {
                bits.unary(Unary::FromBits)
            }
        }
    )* };
}

floats! {
    f32, u32;
    f64, u64;
}
