//! Primitives over blocks of elements, in tight loops over slices that compilers vectorize.
//!
//! Everything is inlined into the functions that are compiled for a set of instructions.

use bytemuck::Pod;

use crate::{
    halves::{f32_to_half, half_to_f32},
    primitive::{Binary, RegisterType, Unary},
};

/// The values of one register for a block of elements: it has room for 8 bytes per value, and
/// values are as wide as their type, from the start on. `Bool` is a `u32` of 0 or 1, as wide as the
/// values that it most often selects.
pub(crate) type Slot = Box<[u64]>;

/// A slot for a block.
pub(crate) fn slot(len: usize) -> Slot {
    vec![0; len].into_boxed_slice()
}

#[inline(always)]
pub(crate) fn read<T: Pod>(slot: &Slot, len: usize) -> &[T] {
    &bytemuck::cast_slice(slot)[..len]
}

#[inline(always)]
pub(crate) fn write<T: Pod>(slot: &mut Slot, len: usize) -> &mut [T] {
    &mut bytemuck::cast_slice_mut(slot)[..len]
}

#[inline(always)]
fn map1<A: Pod, R: Pod>(a: &Slot, out: &mut Slot, len: usize, f: impl Fn(A) -> R) {
    for (out, &a) in write::<R>(out, len).iter_mut().zip(read::<A>(a, len)) {
        *out = f(a);
    }
}

#[inline(always)]
fn map2<A: Pod, B: Pod, R: Pod>(a: &Slot, b: &Slot, out: &mut Slot, len: usize, f: impl Fn(A, B) -> R) {
    let operands = read::<A>(a, len).iter().zip(read::<B>(b, len));
    for (out, (&a, &b)) in write::<R>(out, len).iter_mut().zip(operands) {
        *out = f(a, b);
    }
}

#[inline(always)]
fn map3<A: Pod, B: Pod, R: Pod>([a, b, c]: [&Slot; 3], out: &mut Slot, len: usize, f: impl Fn(A, B, B) -> R) {
    let operands = read::<A>(a, len).iter().zip(read::<B>(b, len)).zip(read::<B>(c, len));
    for (out, ((&a, &b), &c)) in write::<R>(out, len).iter_mut().zip(operands) {
        *out = f(a, b, c);
    }
}

/// Sets every element of a slot to one value, given by its bits.
pub(crate) fn fill(register_type: RegisterType, bits: u64, out: &mut Slot, len: usize) {
    match register_type {
        RegisterType::B64 | RegisterType::F64 => write::<u64>(out, len).fill(bits),
        #[expect(clippy::cast_possible_truncation, reason = "the value has 32 bits")]
        _ => write::<u32>(out, len).fill(bits as u32),
    }
}

/// An operation of one register of type `of`.
#[inline(always)]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "Rust's `as` is what the primitives mean"
)]
pub(crate) fn unary(op: Unary, of: RegisterType, a: &Slot, out: &mut Slot, len: usize) {
    use RegisterType::{B64, Bool, F32};
    macro_rules! float {
        ($f:ident) => {
            if of == F32 { map1(a, out, len, f32::$f) } else { map1(a, out, len, f64::$f) }
        };
    }
    // Takes one expression for the narrower type, and one for the wider.
    macro_rules! by_width {
        ($narrow:ty, $f:expr, $wide:ty, $g:expr) => {
            if matches!(of, B64 | RegisterType::F64) {
                map1::<$wide, _>(a, out, len, $g)
            } else {
                map1::<$narrow, _>(a, out, len, $f)
            }
        };
    }
    match op {
        // Works on the bits, so that a NaN keeps its sign.
        Unary::Negate => by_width!(u32, |a| a ^ 1 << 31, u64, |a| a ^ 1 << 63),
        Unary::Absolute => by_width!(u32, |a| a & !(1 << 31), u64, |a| a & !(1 << 63)),
        Unary::SquareRoot => float!(sqrt),
        Unary::Floor => float!(floor),
        Unary::Ceil => float!(ceil),
        Unary::Truncate => float!(trunc),
        Unary::RoundEven => float!(round_ties_even),
        Unary::Not if of == Bool => map1(a, out, len, |a: u32| a ^ 1),
        Unary::Not => by_width!(u32, |a| !a, u64, |a| !a),
        Unary::CountOnes => by_width!(u32, u32::count_ones, u64, u64::count_ones),
        Unary::LeadingZeros => by_width!(u32, u32::leading_zeros, u64, u64::leading_zeros),
        Unary::BoolToB32 => map1(a, out, len, |a: u32| a),
        Unary::SignExtend => map1(a, out, len, |a: i32| i64::from(a)),
        Unary::ZeroExtend => map1(a, out, len, |a: u32| u64::from(a)),
        Unary::Wrap => map1(a, out, len, |a: u64| a as u32),
        Unary::ToBits | Unary::FromBits => by_width!(u32, |a| a, u64, |a| a),
        Unary::Widen => map1(a, out, len, |a: f32| f64::from(a)),
        Unary::Narrow => map1(a, out, len, |a: f64| a as f32),
        Unary::HalfToF32 => map1(a, out, len, half_to_f32),
        Unary::F32ToHalf => map1(a, out, len, f32_to_half),
        Unary::SignedToF32 => by_width!(i32, |a| a as f32, i64, |a| a as f32),
        Unary::UnsignedToF32 => by_width!(u32, |a| a as f32, u64, |a| a as f32),
        Unary::SignedToF64 => by_width!(i32, f64::from, i64, |a| a as f64),
        Unary::UnsignedToF64 => by_width!(u32, f64::from, u64, |a| a as f64),
        Unary::ToSigned32 => by_width!(f32, |a| a as i32, f64, |a| a as i32),
        Unary::ToUnsigned32 => by_width!(f32, |a| a as u32, f64, |a| a as u32),
        Unary::ToSigned64 => by_width!(f32, |a| a as i64, f64, |a| a as i64),
        Unary::ToUnsigned64 => by_width!(f32, |a| a as u64, f64, |a| a as u64),
    }
}

/// An operation of two registers of type `of`; the distance of a shift is `B32`.
#[inline(always)]
pub(crate) fn binary(op: Binary, of: RegisterType, a: &Slot, b: &Slot, out: &mut Slot, len: usize) {
    use RegisterType::{B64, F32, F64};
    macro_rules! on {
        ($t:ty, $f:expr) => {
            map2::<$t, $t, _>(a, b, out, len, $f)
        };
    }
    macro_rules! bits {
        (|$a:ident, $b:ident| $f:expr) => {
            if of == B64 { on!(u64, |$a, $b| $f) } else { on!(u32, |$a, $b| $f) }
        };
    }
    macro_rules! signed {
        (|$a:ident, $b:ident| $f:expr) => {
            if of == B64 { on!(i64, |$a, $b| $f) } else { on!(i32, |$a, $b| $f) }
        };
    }
    macro_rules! float {
        (|$a:ident, $b:ident| $f:expr) => {
            if of == F64 { on!(f64, |$a, $b| $f) } else { on!(f32, |$a, $b| $f) }
        };
    }
    macro_rules! arithmetic {
        ($wrapping:ident, $op:tt) => {
            match of {
                F32 | F64 => float!(|a, b| a $op b),
                _ => bits!(|a, b| a.$wrapping(b)),
            }
        };
    }
    // Shifts beyond the width never occur. Distances are masked, so that the shift cannot panic.
    macro_rules! shift {
        ($narrow:ty, $wide:ty, $shift:ident) => {
            if of == B64 {
                map2(a, b, out, len, |a: $wide, b: u32| a.$shift(b))
            } else {
                map2(a, b, out, len, |a: $narrow, b: u32| a.$shift(b))
            }
        };
    }
    match op {
        Binary::Add => arithmetic!(wrapping_add, +),
        Binary::Subtract => arithmetic!(wrapping_sub, -),
        Binary::Multiply => arithmetic!(wrapping_mul, *),
        Binary::Divide => float!(|a, b| a / b),
        Binary::MultiplyHigh if of == B64 => {
            on!(u64, |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64);
        }
        Binary::MultiplyHigh => on!(u32, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32),
        // The expansion keeps zeros out of the divisors of selected results. Other results may be
        // anything, but must not trap.
        Binary::DivideSigned => signed!(|a, b| a.wrapping_div(if b == 0 { 1 } else { b })),
        Binary::DivideUnsigned => bits!(|a, b| a / b.max(1)),
        Binary::RemainderSigned => signed!(|a, b| a.wrapping_rem(if b == 0 { 1 } else { b })),
        Binary::RemainderUnsigned => bits!(|a, b| a % b.max(1)),
        Binary::And => bits!(|a, b| a & b),
        Binary::Or => bits!(|a, b| a | b),
        Binary::Xor => bits!(|a, b| a ^ b),
        Binary::ShiftLeft => shift!(u32, u64, wrapping_shl),
        Binary::ShiftRight => shift!(u32, u64, wrapping_shr),
        Binary::ShiftRightSigned => shift!(i32, i64, wrapping_shr),
        Binary::Equal => match of {
            F32 | F64 => float!(|a, b| u32::from(a == b)),
            _ => bits!(|a, b| u32::from(a == b)),
        },
        Binary::Less => float!(|a, b| u32::from(a < b)),
        Binary::LessEqual => float!(|a, b| u32::from(a <= b)),
        Binary::LessSigned => signed!(|a, b| u32::from(a < b)),
        Binary::LessUnsigned => bits!(|a, b| u32::from(a < b)),
    }
}

/// `a * b + c`, rounded once.
#[inline(always)]
pub(crate) fn fma(of: RegisterType, operands: [&Slot; 3], out: &mut Slot, len: usize) {
    match of {
        RegisterType::F64 => map3(operands, out, len, f64::mul_add),
        _ => map3(operands, out, len, f32::mul_add),
    }
}

/// For each element: `operands[1]` where `operands[0]`, a `Bool`, is true; otherwise `operands[2]`.
#[inline(always)]
pub(crate) fn select(of: RegisterType, operands: [&Slot; 3], out: &mut Slot, len: usize) {
    match of {
        RegisterType::B64 | RegisterType::F64 => {
            map3(operands, out, len, |c: u32, a: u64, b: u64| if c != 0 { a } else { b });
        }
        _ => map3(operands, out, len, |c: u32, a: u32, b: u32| if c != 0 { a } else { b }),
    }
}
