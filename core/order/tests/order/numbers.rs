//! Elements as numbers: their order, and their sums.

use std::cmp::Ordering;

use devarray_function::ElementType::{self, BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Whole(i128),
    Real(f64),
}

pub(crate) fn number(of: ElementType, bytes: &[u8]) -> Number {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    match of {
        Bool => Number::Whole(i128::from(bits != 0)),
        I8 => Number::Whole((bits as i8).into()),
        I16 => Number::Whole((bits as i16).into()),
        I32 => Number::Whole((bits as i32).into()),
        I64 => Number::Whole((bits as i64).into()),
        U8 | U16 | U32 | U64 => Number::Whole(bits.into()),
        F16 => Number::Real(half::f16::from_bits(bits as u16).to_f64()),
        BF16 => Number::Real(half::bf16::from_bits(bits as u16).to_f64()),
        F32 => Number::Real(f32::from_bits(bits as u32).into()),
        F64 => Number::Real(f64::from_bits(bits)),
    }
}

/// The bytes of a number, rounded once. NaN becomes the canonical NaN.
pub(crate) fn bytes_of(of: ElementType, number: Number) -> Vec<u8> {
    let bits = match (of, number) {
        (_, Number::Whole(value)) => value as u64,
        (F16, Number::Real(value)) => {
            if value.is_nan() {
                0x7e00
            } else {
                half::f16::from_f32(value as f32).to_bits().into()
            }
        }
        (BF16, Number::Real(value)) => {
            if value.is_nan() {
                0x7fc0
            } else {
                half::bf16::from_f32(value as f32).to_bits().into()
            }
        }
        (F32, Number::Real(value)) => {
            if value.is_nan() {
                0x7fc0_0000
            } else {
                (value as f32).to_bits().into()
            }
        }
        (_, Number::Real(value)) => {
            if value.is_nan() {
                0x7ff8_0000_0000_0000
            } else {
                value.to_bits()
            }
        }
    };
    bits.to_le_bytes()[..of.len_bytes()].to_vec()
}

pub(crate) fn order(a: Number, b: Number) -> Ordering {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => a.cmp(&b),
        (Number::Real(a), Number::Real(b)) => match (a.is_nan(), b.is_nan()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => a.partial_cmp(&b).expect("numbers"),
        },
        _ => unreachable!(),
    }
}

pub(crate) fn whole(number: Number) -> i128 {
    match number {
        Number::Whole(value) => value,
        Number::Real(_) => unreachable!(),
    }
}

pub(crate) fn real(number: Number) -> f64 {
    match number {
        Number::Real(value) => value,
        Number::Whole(_) => unreachable!(),
    }
}

/// A sum rounded to `f64`, or to `f32` for every other float type.
pub(crate) fn plus(of: ElementType, a: f64, b: f64) -> f64 {
    if of == F64 { a + b } else { f64::from(a as f32 + b as f32) }
}

/// The manual's "A sum has one value".
pub(crate) fn sum(of: ElementType, mut x: Vec<f64>) -> f64 {
    fn pairs(of: ElementType, mut x: Vec<f64>) -> f64 {
        while x.len() > 1 {
            x = x.chunks(2).map(|two| if let [a, b] = two { plus(of, *a, *b) } else { two[0] }).collect();
        }
        x[0]
    }
    if x.is_empty() {
        return 0.0;
    }
    while x.len() > 1 {
        let segment = |part: &[f64]| {
            let mut lanes = part[..part.len().min(1024)].to_vec();
            for k in 1024..part.len() {
                lanes[k % 1024] = plus(of, lanes[k % 1024], part[k]);
            }
            pairs(of, lanes)
        };
        x = x.chunks(16384).map(segment).collect();
    }
    plus(of, 0.0, x[0])
}

pub(crate) fn extreme(greater: bool, a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Whole(a), Number::Whole(b)) => Number::Whole(if greater { a.max(b) } else { a.min(b) }),
        (Number::Real(a), Number::Real(b)) if a.is_nan() || b.is_nan() => Number::Real(f64::NAN),
        (Number::Real(a), Number::Real(b)) => {
            let b_is_less = b < a || (a == b && b.is_sign_negative());
            Number::Real(if b_is_less == greater { a } else { b })
        }
        _ => unreachable!(),
    }
}
