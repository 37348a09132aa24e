//! One element, naively: integers as `i128`, floats as Rust's and the `half` crate's.

use std::cmp::Ordering;

use devarray::function::ElementType;
use half::{bf16, f16};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    Bool(bool),
    Integer(ElementType, i128),
    F16(f16),
    BF16(bf16),
    F32(f32),
    F64(f64),
}

pub(crate) fn width(element_type: ElementType) -> u32 {
    u32::try_from(element_type.len_bytes() * 8).unwrap()
}

/// The integer of a type that is equal modulo 2^width.
pub(crate) fn wrap(element_type: ElementType, value: i128) -> Value {
    let modulus = 1_i128 << width(element_type);
    let low = value.rem_euclid(modulus);
    let negative = element_type.is_signed() && low >= modulus / 2;
    Value::Integer(element_type, if negative { low - modulus } else { low })
}

impl Value {
    pub(crate) fn element_type(self) -> ElementType {
        match self {
            Self::Bool(_) => ElementType::Bool,
            Self::Integer(element_type, _) => element_type,
            Self::F16(_) => ElementType::F16,
            Self::BF16(_) => ElementType::BF16,
            Self::F32(_) => ElementType::F32,
            Self::F64(_) => ElementType::F64,
        }
    }

    pub(crate) fn from_bits(element_type: ElementType, bits: u64) -> Self {
        match element_type {
            ElementType::Bool => Self::Bool(bits & 1 == 1),
            ElementType::F16 => Self::F16(f16::from_bits(bits as u16)),
            ElementType::BF16 => Self::BF16(bf16::from_bits(bits as u16)),
            ElementType::F32 => Self::F32(f32::from_bits(bits as u32)),
            ElementType::F64 => Self::F64(f64::from_bits(bits)),
            _ => wrap(element_type, i128::from(bits)),
        }
    }

    /// The stored bits; a NaN has the canonical ones.
    pub(crate) fn bits(self) -> u64 {
        match self {
            Self::Bool(value) => value.into(),
            Self::Integer(element_type, value) => (value as u64) & (u64::MAX >> (64 - width(element_type))),
            Self::F16(value) => if value.is_nan() { 0x7e00 } else { value.to_bits() }.into(),
            Self::BF16(value) => if value.is_nan() { 0x7fc0 } else { value.to_bits() }.into(),
            Self::F32(value) => if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() }.into(),
            Self::F64(value) => {
                if value.is_nan() {
                    0x7ff8_0000_0000_0000
                } else {
                    value.to_bits()
                }
            }
        }
    }

    pub(crate) fn truth(self) -> bool {
        matches!(self, Self::Bool(true))
    }

    /// The cast of Rust's `as`.
    pub(crate) fn cast(self, to: ElementType) -> Self {
        match self {
            Self::Bool(value) => Self::Integer(ElementType::U8, value.into()).cast_number(to),
            other if other.element_type() == to => other,
            other => other.cast_number(to),
        }
    }

    fn cast_number(self, to: ElementType) -> Self {
        let (negative, size) = match self {
            Self::Integer(_, value) => (value < 0, Size::Integer(value.unsigned_abs())),
            Self::F16(value) => (value.is_sign_negative(), Size::Float(value.to_f64().abs())),
            Self::BF16(value) => (value.is_sign_negative(), Size::Float(value.to_f64().abs())),
            Self::F32(value) => (value.is_sign_negative(), Size::Float(f64::from(value).abs())),
            Self::F64(value) => (value.is_sign_negative(), Size::Float(value.abs())),
            Self::Bool(_) => unreachable!("cast as an integer"),
        };
        let sign = u16::from(negative) << 15;
        match (to, self) {
            (ElementType::F16, _) => {
                let bits = size.rounded(0x7c00, 65536.0, |bits| f16::from_bits(bits).to_f64());
                Self::F16(f16::from_bits(bits | sign))
            }
            (ElementType::BF16, _) => {
                let bits = size.rounded(0x7f80, 2.0_f64.powi(128), |bits| bf16::from_bits(bits).to_f64());
                Self::BF16(bf16::from_bits(bits | sign))
            }
            (ElementType::Bool, Self::Integer(_, value)) => Self::Bool(value != 0),
            (ElementType::F32, Self::Integer(_, value)) => Self::F32(value as f32),
            (ElementType::F64, Self::Integer(_, value)) => Self::F64(value as f64),
            (_, Self::Integer(_, value)) => wrap(to, value),
            (_, Self::F64(value)) => cast_f64(value, to),
            (_, Self::F32(value)) => cast_f64(value.into(), to),
            (_, Self::F16(value)) => cast_f64(value.to_f64(), to),
            (_, Self::BF16(value)) => cast_f64(value.to_f64(), to),
            (_, Self::Bool(_)) => unreachable!("cast as an integer"),
        }
    }
}

fn cast_f64(value: f64, to: ElementType) -> Value {
    match to {
        ElementType::Bool => Value::Bool(value != 0.0),
        ElementType::F32 => Value::F32(value as f32),
        ElementType::F64 => Value::F64(value),
        ElementType::I8 => wrap(to, (value as i8).into()),
        ElementType::U8 => wrap(to, (value as u8).into()),
        ElementType::I16 => wrap(to, (value as i16).into()),
        ElementType::U16 => wrap(to, (value as u16).into()),
        ElementType::I32 => wrap(to, (value as i32).into()),
        ElementType::U32 => wrap(to, (value as u32).into()),
        ElementType::I64 => wrap(to, (value as i64).into()),
        _ => wrap(to, (value as u64).into()),
    }
}

/// A number without its sign, exactly.
#[derive(Clone, Copy)]
enum Size {
    Integer(u128),
    Float(f64),
}

impl Size {
    /// Compares with a number that an `f64` holds.
    fn compare(self, other: f64) -> Ordering {
        match self {
            Self::Float(value) => value.partial_cmp(&other).unwrap(),
            Self::Integer(value) if value < 1 << 53 => (value as f64).partial_cmp(&other).unwrap(),
            // A number with a fraction is below 2^53.
            Self::Integer(value) => value.cmp(&(other as u128)),
        }
    }

    /// The bits of the nearest half, ties to even: `values` gives the numbers of the bits below
    /// `infinity`, and `top` stands for infinity.
    fn rounded(self, infinity: u16, top: f64, values: impl Fn(u16) -> f64) -> u16 {
        match self {
            Self::Float(value) if value.is_nan() => return infinity + 1,
            Self::Float(value) if value.is_infinite() => return infinity,
            _ => {}
        }
        let value = |bits: u16| if bits >= infinity { top } else { values(bits) };
        let (mut low, mut high) = (0, infinity);
        if self.compare(top).is_ge() {
            return infinity;
        }
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            *(if self.compare(value(middle)).is_lt() { &mut high } else { &mut low }) = middle;
        }
        match self.compare(value(low) / 2.0 + value(high) / 2.0) {
            Ordering::Less => low,
            Ordering::Greater => high,
            Ordering::Equal => low + low % 2,
        }
    }
}
