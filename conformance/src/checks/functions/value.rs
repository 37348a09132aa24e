//! Values of the function language, one at a time, and operations on them: plain Rust that shares
//! no code with core.

use devarray::function::ElementType;

/// A value. The user of the value knows its type; halves are held as an equal `f32`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value {
    Bool(bool),
    Int(i128),
    Single(f32),
    Double(f64),
}

/// The numbers of bits of the exponent and of the fraction.
fn parts(of: ElementType) -> (u32, u32) {
    if of == ElementType::F16 { (5, 10) } else { (8, 7) }
}

/// The value of a half's bits if the highest exponent were an ordinary one: infinity then becomes
/// the next power of two.
fn magnitude(of: ElementType, bits: u64) -> f64 {
    let (exponent_bits, fraction_bits) = parts(of);
    let bias = (1 << (exponent_bits - 1)) - 1;
    #[expect(clippy::cast_possible_truncation, reason = "16 bits")]
    let (exponent, fraction) = ((bits >> fraction_bits) as i32, (bits & ((1 << fraction_bits) - 1)) as u32);
    let fraction = f64::from(fraction) / f64::from(1 << fraction_bits);
    if exponent == 0 {
        fraction * 2_f64.powi(1 - bias)
    } else {
        (1.0 + fraction) * 2_f64.powi(exponent - bias)
    }
}

/// The bits of infinity.
fn infinity(of: ElementType) -> u64 {
    let (exponent_bits, fraction_bits) = parts(of);
    ((1 << exponent_bits) - 1) << fraction_bits
}

/// The value of a half's bits.
pub(crate) fn half_value(of: ElementType, bits: u64) -> f32 {
    let size = bits & 0x7fff;
    #[expect(clippy::cast_possible_truncation, reason = "every half is an f32")]
    let value = match size.cmp(&infinity(of)) {
        std::cmp::Ordering::Less => magnitude(of, size) as f32,
        std::cmp::Ordering::Equal => f32::INFINITY,
        std::cmp::Ordering::Greater => return f32::NAN,
    };
    if bits >> 15 == 1 { -value } else { value }
}

/// The bits of the half that is nearest to a number, or of the even one of two, found by bisection.
pub(crate) fn half_bits(of: ElementType, value: f64) -> u64 {
    let infinity = infinity(of);
    if value.is_nan() {
        return infinity | 1 << (parts(of).1 - 1);
    }
    let (size, sign) = (value.abs(), u64::from(value.is_sign_negative()) << 15);
    let (mut low, mut high) = (0, infinity);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if magnitude(of, middle) <= size { low = middle } else { high = middle - 1 }
    }
    if low < infinity {
        let middle = f64::midpoint(magnitude(of, low), magnitude(of, low + 1));
        low += u64::from(size > middle || (size == middle && low % 2 == 1));
    }
    sign | low
}

/// The least and the greatest value of an integer type.
pub(super) fn range(of: ElementType) -> (i128, i128) {
    let width = of.len_bytes() * 8;
    if of.is_signed() { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// The integer of that type with the same low bits.
pub(super) fn wrap(of: ElementType, value: i128) -> i128 {
    let modulus = 1 << (of.len_bytes() * 8);
    let low = value & (modulus - 1);
    if low > range(of).1 { low - modulus } else { low }
}

impl Value {
    pub(super) fn of_bits(of: ElementType, bits: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the bits of the type are the low ones")]
        match of {
            ElementType::Bool => Self::Bool(bits != 0),
            ElementType::F16 | ElementType::BF16 => Self::Single(half_value(of, bits)),
            ElementType::F32 => Self::Single(f32::from_bits(bits as u32)),
            ElementType::F64 => Self::Double(f64::from_bits(bits)),
            _ => Self::Int(wrap(of, i128::from(bits))),
        }
    }

    /// The bits. A NaN may have the bits of any NaN.
    pub(super) fn bits(self, of: ElementType) -> u64 {
        match self {
            Self::Bool(value) => u64::from(value),
            Self::Int(value) => {
                let value = if value < 0 { value + (1 << (of.len_bytes() * 8)) } else { value };
                u64::try_from(value).unwrap_or(0)
            }
            Self::Single(value) if of == ElementType::F32 => u64::from(value.to_bits()),
            Self::Single(value) => half_bits(of, f64::from(value)),
            Self::Double(value) => value.to_bits(),
        }
    }

    pub(super) fn is_true(self) -> bool {
        match self {
            Self::Bool(value) => value,
            Self::Int(value) => value != 0,
            Self::Single(value) => value != 0.0,
            Self::Double(value) => value != 0.0,
        }
    }

    /// Casts like Rust's `as`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "what a cast does")]
    pub(super) fn cast(self, to: ElementType) -> Self {
        let whole = match self {
            Self::Bool(value) => i128::from(value),
            Self::Int(value) => value,
            Self::Single(value) => value as i128,
            Self::Double(value) => value as i128,
        };
        let is_float = matches!(self, Self::Single(_) | Self::Double(_));
        match to {
            ElementType::Bool => Self::Bool(self.is_true()),
            ElementType::F64 => Self::Double(match self {
                Self::Single(value) => f64::from(value),
                Self::Double(value) => value,
                _ => whole as f64,
            }),
            ElementType::F32 => Self::Single(match self {
                Self::Single(value) => value,
                Self::Double(value) => value as f32,
                _ => whole as f32,
            }),
            half if half.is_float() => {
                let Self::Double(value) = self.cast(ElementType::F64) else { return self };
                Self::Single(half_value(half, half_bits(half, value)))
            }
            _ if is_float => {
                let (least, greatest) = range(to);
                Self::Int(whole.clamp(least, greatest))
            }
            _ => Self::Int(wrap(to, whole)),
        }
    }

    /// An operation on two values of one type, except divisions of floats.
    pub(super) fn binary(of: ElementType, name: &str, a: Self, b: Self) -> Self {
        match (a, b) {
            (Self::Bool(a), Self::Bool(b)) => Self::Bool(match name {
                "&" => a & b,
                "|" => a | b,
                "==" => a == b,
                _ => a ^ b,
            }),
            (Self::Int(a), Self::Int(b)) => integer(of, name, a, b),
            (Self::Single(a), Self::Single(b)) => match float(name, f64::from(a), f64::from(b)) {
                Some(Self::Double(value)) => {
                    // One of the two arguments, or NaN.
                    Self::Single(if value.is_nan() {
                        f32::NAN
                    } else if value.to_bits() == f64::from(a).to_bits() {
                        a
                    } else {
                        b
                    })
                }
                Some(truth) => truth,
                None => {
                    let value = match name {
                        "+" => a + b,
                        "-" => a - b,
                        "*" => a * b,
                        _ => a / b,
                    };
                    let rounded = |of| half_value(of, half_bits(of, f64::from(value)));
                    Self::Single(if of == ElementType::F32 { value } else { rounded(of) })
                }
            },
            (Self::Double(a), Self::Double(b)) => float(name, a, b).unwrap_or(Self::Double(match name {
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                _ => a / b,
            })),
            _ => a,
        }
    }
}

/// Operations that do not round: comparisons, minimum and maximum.
fn float(name: &str, a: f64, b: f64) -> Option<Value> {
    let lesser = if a.total_cmp(&b).is_le() { a } else { b };
    let greater = if a.total_cmp(&b).is_ge() { a } else { b };
    let either_nan = a.is_nan() || b.is_nan();
    let other = if a.is_nan() { b } else { a };
    Some(match name {
        "==" => Value::Bool(a == b),
        "!=" => Value::Bool(a != b),
        "<" => Value::Bool(a < b),
        "<=" => Value::Bool(a <= b),
        ">" => Value::Bool(a > b),
        ">=" => Value::Bool(a >= b),
        "minimum" => Value::Double(if either_nan { f64::NAN } else { lesser }),
        "maximum" => Value::Double(if either_nan { f64::NAN } else { greater }),
        "fmin" => Value::Double(if either_nan { other } else { lesser }),
        "fmax" => Value::Double(if either_nan { other } else { greater }),
        _ => return None,
    })
}

/// An operation on integers, computed with more bits than it needs.
pub(super) fn integer(of: ElementType, name: &str, a: i128, b: i128) -> Value {
    let width = i128::try_from(of.len_bytes() * 8).unwrap_or(0);
    let shift = |distance: i128| (0..width).contains(&distance).then_some(distance);
    Value::Int(wrap(
        of,
        match name {
            "+" => a + b,
            "-" => a - b,
            "*" => a.wrapping_mul(b),
            "//" if b == 0 => 0,
            "//" => a / b - i128::from(a % b != 0 && (a < 0) != (b < 0)),
            "%" | "fmod" if b == 0 => 0,
            "%" => {
                let rest = a % b;
                if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
            }
            "fmod" => a % b,
            "&" => a & b,
            "|" => a | b,
            "^" => a ^ b,
            "<<" => shift(b).map_or(0, |distance| a << distance),
            ">>" => shift(b).map_or(if a < 0 { -1 } else { 0 }, |distance| a >> distance),
            "minimum" | "fmin" => a.min(b),
            "maximum" | "fmax" => a.max(b),
            "==" => return Value::Bool(a == b),
            "!=" => return Value::Bool(a != b),
            "<" => return Value::Bool(a < b),
            "<=" => return Value::Bool(a <= b),
            ">" => return Value::Bool(a > b),
            _ => return Value::Bool(a >= b),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_worked_out_by_hand() {
        let f16 = ElementType::F16;
        for (value, bits) in [
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.9, 0x7bff),
            (65520.0, 0x7c00),
            (5.960_464_477_539_063e-8, 1),
            (2.980_232_238_769_531e-8, 0),
            (1.000_488_281_25, 0x3c00),
            (1.001_464_843_75, 0x3c02),
            (f64::NAN, 0x7e00),
        ] {
            assert_eq!(half_bits(f16, value), bits, "{value}");
        }
        assert_eq!(half_bits(ElementType::BF16, 1.0), 0x3f80);
        assert_eq!(half_bits(ElementType::BF16, f64::NAN), 0x7fc0);
        assert_eq!(half_value(f16, 0x3555), 0.333_251_95);
    }

    #[test]
    fn divisions_worked_out_by_hand() {
        let of = |name, a, b| match integer(ElementType::I8, name, a, b) {
            Value::Int(value) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            [of("//", -7, 2), of("//", 7, -2), of("//", -7, -2), of("//", -128, -1)],
            [-4, -4, 3, -128]
        );
        assert_eq!([of("%", -7, 2), of("%", 7, -2), of("fmod", -7, 2), of("fmod", 7, -2)], [1, -1, -1, 1]);
        assert_eq!([of("<<", 1, 8), of(">>", -1, 9), of(">>", 5, -1), of("*", 100, 3)], [0, -1, 0, 44]);
    }
}
