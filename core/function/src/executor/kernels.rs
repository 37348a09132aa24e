//! The compiled loop of each operation and type.
#![allow(unsafe_code)] // kernels read and write the elements that the caller of a kernel vouches for

use std::marker::PhantomData;

use bytemuck::Pod;

use super::{
    floats::Real,
    integers::Integer,
    machine::{Call, Compiled, Kernel, Machine},
    raw::{map1, map2, map3},
};
use crate::{BinaryOperation, ElementType, UnaryOperation};

/// Defines a kernel by its loop.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident [$($generics:tt)*] [$($arguments:ident)*] $call:ident => $run:expr) => {
        $(#[$doc])*
        struct $name<$($generics)*>(PhantomData<fn() -> ($($arguments,)*)>);

        impl<$($generics)*> Kernel for $name<$($arguments),*> {
            #[inline(always)]
            unsafe fn run($call: &Call) {
                // SAFETY: as the caller promises of the operands and the result
                #[allow(clippy::multiple_unsafe_ops_per_block, reason = "one promise for all operands")]
                unsafe { $run }
            }
        }
    };
}

macro_rules! constant_kernels {
    ($($name:ident $of:ident $call:ident => $run:expr;)*) => {$(
        struct $name<const OP: u8, T>(PhantomData<T>);

        impl<const OP: u8, T: $of> Kernel for $name<OP, T> {
            #[inline(always)]
            unsafe fn run($call: &Call) {
                // SAFETY: as the caller promises of the operands and the result
                #[allow(clippy::multiple_unsafe_ops_per_block, reason = "one promise for all operands")]
                unsafe { $run }
            }
        }
    )*};
}

constant_kernels! {
    IntegerUnary Integer call => map1(call.operand(0), call.out(), |a: T| a.unary::<OP>());
    IntegerBinary Integer call => map2(call.operand(0), call.operand(1), call.out(), |a: T, b: T| a.binary::<OP>(b));
    FloatUnary Real call => map1(call.operand(0), call.out(), |a: T| a.unary::<OP>());
    FloatBinary Real call => map2(call.operand(0), call.operand(1), call.out(), |a: T, b: T| a.binary::<OP>(b));
    // One operand is the same for all elements, and stays in a register.
    FloatLeft Real call => {
        let a = first::<T>(call, 0);
        map1(call.operand(1), call.out(), |b: T| a.binary::<OP>(b));
    };
    FloatRight Real call => {
        let b = first::<T>(call, 1);
        map1(call.operand(0), call.out(), |a: T| a.binary::<OP>(b));
    };
    FloatTest Real call => map1(call.operand(0), call.out(), |a: T| u8::from(a.test::<OP>()));
    Compare PartialOrdered call => map2(call.operand(0), call.operand(1), call.out(), |a: T, b: T| {
        use BinaryOperation as Op;
        u8::from(match OP {
            op if op == Op::Equal as u8 => a == b,
            op if op == Op::NotEqual as u8 => a != b,
            op if op == Op::Less as u8 => a < b,
            _ => a <= b,
        })
    });
}

/// # Safety
///
/// An element may be read from the operand.
#[inline(always)]
unsafe fn first<T: Pod>(call: &Call, operand: usize) -> T {
    // SAFETY: as the caller promises; no alignment is needed
    unsafe { call.operands[operand].cast::<T>().read_unaligned() }
}

/// A type with comparisons.
trait PartialOrdered: Pod + PartialOrd {}

impl<T: Pod + PartialOrd> PartialOrdered for T {}

kernel! { Select [T: Pod] [T] call => {
    let condition = call.operand::<u8>(0);
    map3(condition, [call.operand(1), call.operand(2)], call.out(), |c, a: T, b: T| if c != 0 { a } else { b })
} }
kernel! { Fma [T: Real] [T] call => {
    map3(call.operand(0), [call.operand(1), call.operand(2)], call.out(), |a: T, b: T, c: T| a.fma(b, c))
} }
kernel! { MultiplyAdd [T: Real] [T] call => {
    map3(call.operand(0), [call.operand(1), call.operand(2)], call.out(), T::multiply_add)
} }
kernel! { MultiplyAddRight [T: Real] [T] call => {
    let c = first::<T>(call, 2);
    map2(call.operand(0), call.operand(1), call.out(), |a: T, b: T| a.multiply_add(b, c))
} }
kernel! { Fmod [T: Real] [T] call => {
    let (a, b) = (call.operand::<T>(0), call.operand::<T>(1));
    let in_one = a.iter().zip(b).fold(true, |all, (a, b)| all & a.get().divides_in_one(b.get()));
    if in_one { map2(a, b, call.out(), T::fmod_in_one) } else { map2(a, b, call.out(), T::fmod) }
} }
kernel! { Remainder [T: Real] [T] call => {
    map3(call.operand(0), [call.operand(1), call.operand(2)], call.out(), T::remainder)
} }
kernel! { FloorDivide [T: Real] [T] call => {
    map3(call.operand(0), [call.operand(1), call.operand(2)], call.out(), T::floor_divide)
} }
#[rustfmt::skip]
kernel! {
    /// Puts in the canonical NaN.
    Canonical [T: Real] [T] call => {
        map1(call.operand(0), call.out(), |a: T| if a.partial_cmp(&a).is_none() { T::NAN } else { a })
    }
}
kernel! { Divided [T: Integer] [T] call => map2(call.operand(0), call.operand(1), call.out(), T::divided) }
kernel! { Truth [T: Pod + PartialEq] [T] call => {
    map1(call.operand(0), call.out(), |a: T| u8::from(a != T::zeroed()))
} }

/// Defines kernels of operations without a parameter.
macro_rules! single_kernels {
    ($($(#[$doc:meta])* $name:ident $call:ident => $run:expr;)*) => {$(
        $(#[$doc])*
        struct $name;

        impl Kernel for $name {
            #[inline(always)]
            unsafe fn run($call: &Call) {
                // SAFETY: as the caller promises of the operands and the result
                #[allow(clippy::multiple_unsafe_ops_per_block, reason = "one promise for all operands")]
                unsafe { $run }
            }
        }
    )*};
}

single_kernels! {
    BoolNot call => map1(call.operand(0), call.out(), |a: u8| a ^ 1);
    LeadingZeros32 call => map1(call.operand(0), call.out(), u32::leading_zeros);
    LeadingZeros64 call => map1(call.operand(0), call.out(), u64::leading_zeros);
}

/// Picks the Rust type of an integer type.
macro_rules! by_integer {
    ($of:expr, $t:ident => $body:expr) => {
        match $of {
            ElementType::I8 => {
                type $t = i8;
                $body
            }
            ElementType::U8 | ElementType::Bool => {
                type $t = u8;
                $body
            }
            ElementType::I16 => {
                type $t = i16;
                $body
            }
            ElementType::U16 | ElementType::F16 | ElementType::BF16 => {
                type $t = u16;
                $body
            }
            ElementType::I32 => {
                type $t = i32;
                $body
            }
            ElementType::U32 | ElementType::F32 => {
                type $t = u32;
                $body
            }
            ElementType::I64 => {
                type $t = i64;
                $body
            }
            ElementType::U64 | ElementType::F64 => {
                type $t = u64;
                $body
            }
        }
    };
}

/// Picks the unsigned Rust type that is as wide as a type.
macro_rules! by_width {
    ($of:expr, $t:ident => $body:expr) => {
        match $of.len_bytes() {
            1 => {
                type $t = u8;
                $body
            }
            2 => {
                type $t = u16;
                $body
            }
            4 => {
                type $t = u32;
                $body
            }
            _ => {
                type $t = u64;
                $body
            }
        }
    };
}

/// Picks `f32` or `f64`.
macro_rules! by_float {
    ($of:expr, $t:ident => $body:expr) => {
        match $of {
            ElementType::F64 => {
                type $t = f64;
                $body
            }
            _ => {
                type $t = f32;
                $body
            }
        }
    };
}

/// Calls a macro of types for one of the operations.
macro_rules! by_operation {
    ($machine:ident, $op:expr, $operation:ident { $($name:ident)* }, $by:ident $of:expr, $kernel:ident) => {
        match $op {
            $($operation::$name =>
                $by!($of, T => $machine.compiled::<$kernel<{ $operation::$name as u8 }, T>>()),)*
            other => unreachable!("{other:?} is no operation of {:?}", $of),
        }
    };
}

pub(super) use {by_float, by_integer, by_width, constant_kernels, kernel};

/// An operation of one value that returns the value's type. It is computed in that type, halves in
/// `f32`.
pub(super) fn unary(machine: Machine, op: UnaryOperation, of: ElementType) -> Compiled {
    use UnaryOperation as Op;
    if of == ElementType::Bool {
        return machine.compiled::<BoolNot>();
    }
    if of.is_float() {
        return by_operation!(machine, op, Op {
            Negate Abs Sign Square Reciprocal Sqrt Floor Ceil Trunc Rint
        }, by_float of, FloatUnary);
    }
    match op {
        Op::Abs | Op::Sign => by_operation!(machine, op, Op { Abs Sign }, by_integer of, IntegerUnary),
        _ => by_operation!(machine, op, Op { Negate Not Square BitwiseCount }, by_width of, IntegerUnary),
    }
}

/// A question about a float.
pub(super) fn test(machine: Machine, op: UnaryOperation, of: ElementType) -> Compiled {
    use UnaryOperation as Op;
    by_operation!(machine, op, Op { IsNan IsInf IsFinite Signbit }, by_float of, FloatTest)
}

/// An operation of two values that returns their type.
pub(super) fn binary(machine: Machine, op: BinaryOperation, of: ElementType) -> Compiled {
    use BinaryOperation as Op;
    if of.is_float() {
        return by_operation!(machine, op, Op {
            Add Subtract Multiply Divide Minimum Maximum Fmin Fmax Copysign
        }, by_float of, FloatBinary);
    }
    match op {
        Op::Add | Op::Subtract | Op::Multiply | Op::And | Op::Or | Op::Xor | Op::ShiftLeft => by_operation!(
            machine, op, Op { Add Subtract Multiply And Or Xor ShiftLeft }, by_width of, IntegerBinary
        ),
        Op::Fmin => binary(machine, Op::Minimum, of),
        Op::Fmax => binary(machine, Op::Maximum, of),
        _ => by_operation!(machine, op, Op {
            FloorDivide Remainder Fmod Power Minimum Maximum MultiplyHigh ShiftRight
        }, by_integer of, IntegerBinary),
    }
}

/// The operand of a loop that is the same for all elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fixed {
    Left,
    Right,
}

/// An operation of floats in which one operand is the same for all elements.
pub(super) fn with_fixed(machine: Machine, op: BinaryOperation, of: ElementType, fixed: Fixed) -> Compiled {
    use BinaryOperation as Op;
    match (op, fixed) {
        (Op::Subtract | Op::Divide, Fixed::Left) => {
            by_operation!(machine, op, Op { Subtract Divide }, by_float of, FloatLeft)
        }
        // The order of the two operands only matters for the bits of a NaN.
        (_, Fixed::Left) => binary(machine, op, of),
        _ => by_operation!(machine, op, Op {
            Add Subtract Multiply Divide
        }, by_float of, FloatRight),
    }
}

/// `==`, `!=`, `<` and `<=`.
pub(super) fn compare(machine: Machine, op: BinaryOperation, of: ElementType) -> Compiled {
    use BinaryOperation as Op;
    if of.is_float() {
        return by_operation!(machine, op, Op { Equal NotEqual Less LessEqual }, by_float of, Compare);
    }
    match op {
        Op::Equal | Op::NotEqual => by_operation!(machine, op, Op { Equal NotEqual }, by_width of, Compare),
        _ => by_operation!(machine, op, Op { Less LessEqual }, by_integer of, Compare),
    }
}

/// Loops of floats that are only part of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    Fma,
    /// A product and a sum, each rounded.
    MultiplyAdd,
    /// A product and a sum, where the addend is the same for all elements.
    MultiplyAddRight,
    Fmod,
    Remainder,
    FloorDivide,
    Canonical,
}

pub(super) fn part(machine: Machine, part: Part, of: ElementType) -> Compiled {
    by_float!(of, T => match part {
        Part::Fma => machine.compiled::<Fma<T>>(),
        Part::MultiplyAdd => machine.compiled::<MultiplyAdd<T>>(),
        Part::MultiplyAddRight => machine.compiled::<MultiplyAddRight<T>>(),
        Part::Fmod => machine.compiled::<Fmod<T>>(),
        Part::Remainder => machine.compiled::<Remainder<T>>(),
        Part::FloorDivide => machine.compiled::<FloorDivide<T>>(),
        Part::Canonical => machine.compiled::<Canonical<T>>(),
    })
}

/// The second where the first, a bool, is true; otherwise the third.
pub(super) fn select(machine: Machine, of: ElementType) -> Compiled {
    by_width!(of, T => machine.compiled::<Select<T>>())
}

/// Whether a value is not 0. NaN is not 0.
pub(super) fn truth(machine: Machine, of: ElementType) -> Compiled {
    match of {
        _ if of.is_float() => by_float!(of, T => machine.compiled::<Truth<T>>()),
        _ => by_width!(of, T => machine.compiled::<Truth<T>>()),
    }
}

/// The quotient of integers, towards zero.
pub(super) fn divided(machine: Machine, of: ElementType) -> Compiled {
    match of {
        ElementType::I32 => machine.compiled::<Divided<i32>>(),
        ElementType::U32 => machine.compiled::<Divided<u32>>(),
        ElementType::I64 => machine.compiled::<Divided<i64>>(),
        _ => machine.compiled::<Divided<u64>>(),
    }
}

/// The number of bits above the highest set bit, as 32 bits.
pub(super) fn leading_zeros(machine: Machine, of: ElementType) -> Compiled {
    match of {
        ElementType::U64 => machine.compiled::<LeadingZeros64>(),
        _ => machine.compiled::<LeadingZeros32>(),
    }
}
