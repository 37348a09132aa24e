//! Literals: numbers in a text, which take the type of the operand next to them.

use std::{cmp::Ordering, num::FpCategory};

use super::{
    ElementType, FunctionError, FunctionErrorKind,
    halves::{f32_to_bfloat, f32_to_half, f64_to_f32_odd, half_to_f32},
    interpreter::environment::FloatEnvironment,
};

/// A number without a type, in its written form.
#[derive(Debug, Clone)]
pub(super) struct Literal {
    pub(super) negative: bool,
    pub(super) magnitude: Magnitude,
}

/// A number without its sign.
#[derive(Debug, Clone)]
pub(super) enum Magnitude {
    /// Digits, without leading zeros.
    Integer(Box<str>),
    /// An integer written in hexadecimal.
    HexInteger(u128),
    /// Digits with a point or an exponent.
    Decimal(Box<str>),
    /// A hexadecimal float: the mantissa, whether digits were dropped below it, and the exponent of
    /// 2.
    HexFloat {
        mantissa: u64,
        sticky: bool,
        exponent: i64,
    },
    Infinity,
    Nan,
}

impl Literal {
    /// The bits of the number in a type.
    ///
    /// # Errors
    ///
    /// The number does not fit: an integer must be exact, and a float must not overflow, nor stand
    /// next to integers.
    pub(super) fn bits_in(&self, element_type: ElementType) -> Result<u64, FunctionError> {
        let _standard = FloatEnvironment::standard();
        let bits = match (&self.magnitude, element_type) {
            (_, ElementType::Bool) => None,
            (Magnitude::Integer(digits), _) => match digits.parse() {
                Ok(magnitude) => self.integer(magnitude, element_type),
                // Beyond 128 bits, only f64 has numbers.
                Err(_) if element_type == ElementType::F64 => self.huge(digits),
                Err(_) => None,
            },
            (&Magnitude::HexInteger(magnitude), _) => self.integer(magnitude, element_type),
            (_, float) if !float.is_float() => None,
            (Magnitude::Decimal(text), float) => self.decimal(text, float),
            (&Magnitude::HexFloat { mantissa, sticky, exponent }, float) => {
                rounded(float, hexadecimal(mantissa, sticky, exponent, float == ElementType::F64))
                    .map(|bits| bits + self.sign(float))
            }
            (Magnitude::Infinity, float) => Some(infinity(float) + self.sign(float)),
            (Magnitude::Nan, float) => Some(canonical_nan(float)),
        };
        bits.ok_or_else(|| {
            FunctionError::new(FunctionErrorKind::Type, format!("the literal is no exact {element_type}"))
                .for_literal(self, element_type)
        })
    }

    fn sign(&self, float: ElementType) -> u64 {
        u64::from(self.negative) << (float.len_bytes() * 8 - 1)
    }

    fn integer(&self, magnitude: u128, element_type: ElementType) -> Option<u64> {
        if element_type.is_float() {
            #[expect(clippy::cast_precision_loss, reason = "compared with what it was")]
            let float = magnitude as f64;
            // The comparison is exact: 2^128 itself cannot come from a `u128` that is exact.
            let exact = float < 2.0_f64.powi(128) && float_to_integer(float) == magnitude;
            // An integer has no negative zero.
            let sign = if magnitude == 0 { 0 } else { self.sign(element_type) };
            let bits = rounded(element_type, float)?;
            return (exact && value_of(element_type, bits) == float).then_some(bits + sign);
        }
        let width = element_type.len_bytes() * 8;
        let largest = (1_u128 << (width - usize::from(element_type.is_signed()))) - 1;
        let fits = if self.negative {
            magnitude == 0 || (element_type.is_signed() && magnitude <= largest + 1)
        } else {
            magnitude <= largest
        };
        let magnitude = u64::try_from(magnitude).ok()?;
        let bits = if self.negative { magnitude.wrapping_neg() } else { magnitude };
        fits.then_some(bits & (u64::MAX >> (64 - width)))
    }

    fn huge(&self, digits: &str) -> Option<u64> {
        let float: f64 = digits.parse().ok()?;
        (format!("{float:.0}") == digits).then(|| float.to_bits() + self.sign(ElementType::F64))
    }

    fn decimal(&self, text: &str, float: ElementType) -> Option<u64> {
        let near: f64 = text.parse().ok()?;
        if float == ElementType::F64 || near.is_infinite() {
            return near.is_finite().then(|| near.to_bits() + self.sign(float));
        }
        // The number is rounded to odd first, so that only the second rounding counts.
        let bits = near.to_bits();
        let odd = match compare(text, near) {
            Ordering::Greater if bits & 1 == 0 => f64::from_bits(bits + 1),
            Ordering::Less if bits & 1 == 0 => f64::from_bits(bits - 1),
            _ => near,
        };
        rounded(float, odd).map(|bits| bits + self.sign(float))
    }
}

impl FunctionError {
    /// Explains why a literal does not fit.
    fn for_literal(self, literal: &Literal, element_type: ElementType) -> Self {
        let message = match literal.magnitude {
            _ if element_type == ElementType::Bool => "a number stands beside bool".to_owned(),
            Magnitude::Integer(_) | Magnitude::HexInteger(_) => {
                format!("the integer is not exact in {element_type}")
            }
            _ if element_type.is_float() => format!("the number overflows {element_type}"),
            _ => format!("a float literal stands beside {element_type}"),
        };
        Self::new(self.kind(), message)
    }
}

/// The bits of an integer in a type.
///
/// # Errors
///
/// The type does not hold it exactly.
pub(super) fn integer_bits(value: i128, element_type: ElementType) -> Result<u64, FunctionError> {
    let magnitude = Magnitude::HexInteger(value.unsigned_abs());
    Literal { negative: value < 0, magnitude }.bits_in(element_type)
}

/// The bits of a float in a type, rounded once.
///
/// # Errors
///
/// The number is finite and overflows, or the type is not a float type.
pub(super) fn float_bits(value: f64, element_type: ElementType) -> Result<u64, FunctionError> {
    let (mantissa, exponent, _) = num_traits::Float::integer_decode(value);
    let magnitude = match value.classify() {
        FpCategory::Nan => Magnitude::Nan,
        FpCategory::Infinite => Magnitude::Infinity,
        _ => Magnitude::HexFloat { mantissa, sticky: false, exponent: exponent.into() },
    };
    Literal { negative: value.is_sign_negative(), magnitude }.bits_in(element_type)
}

/// The bits of the canonical NaN.
pub(super) const fn canonical_nan(float: ElementType) -> u64 {
    match float {
        ElementType::F16 => 0x7e00,
        ElementType::BF16 => 0x7fc0,
        ElementType::F32 => 0x7fc0_0000,
        _ => 0x7ff8_0000_0000_0000,
    }
}

/// The bits of infinity.
pub(super) const fn infinity(float: ElementType) -> u64 {
    match float {
        ElementType::F16 => 0x7c00,
        ElementType::BF16 => 0x7f80,
        ElementType::F32 => 0x7f80_0000,
        _ => 0x7ff0_0000_0000_0000,
    }
}

/// A number without a sign, rounded to a float type; `None` if it overflows.
fn rounded(float: ElementType, value: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
    let bits = match float {
        ElementType::F16 => u64::from(f32_to_half(f64_to_f32_odd(value))),
        ElementType::BF16 => u64::from(f32_to_bfloat(f64_to_f32_odd(value))),
        ElementType::F32 => u64::from((value as f32).to_bits()),
        _ => value.to_bits(),
    };
    (bits < infinity(float)).then_some(bits)
}

/// The value of a float type's bits.
pub(super) fn value_of(float: ElementType, bits: u64) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "the bits of the type are the low ones")]
    let low = bits as u32;
    match float {
        ElementType::F16 => f64::from(half_to_f32(low)),
        ElementType::BF16 => f64::from(f32::from_bits(low << 16)),
        ElementType::F32 => f64::from(f32::from_bits(low)),
        _ => f64::from_bits(bits),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "callers look at the range")]
fn float_to_integer(value: f64) -> u128 {
    value as u128
}

/// Compares a decimal text with a float, exactly.
fn compare(text: &str, value: f64) -> Ordering {
    // An f64 never has as many as 800 digits.
    scientific(text).cmp(&scientific(&format!("{value:.800e}")))
}

/// The decimal exponent of the first digit, and the digits without zeros at either end. Zero sorts
/// first.
fn scientific(text: &str) -> (Option<i64>, Vec<u8>) {
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    // An exponent that overflows gave 0 or infinity when it was parsed, and is not compared
    // closely.
    let exponent = exponent.parse().unwrap_or(if exponent.starts_with('-') { -1 << 40 } else { 1 << 40_i64 });
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = [whole.as_bytes(), fraction.as_bytes()].concat();
    let Some(first) = all.iter().position(|&digit| digit != b'0') else { return (None, Vec::new()) };
    let last = all.iter().rposition(|&digit| digit != b'0').unwrap_or(first);
    let at = i64::try_from(whole.len()).unwrap_or(0) - i64::try_from(first).unwrap_or(0);
    (Some(at.saturating_add(exponent)), all[first..=last].to_vec())
}

/// `mantissa * 2^exponent`, rounded to nearest even or to odd.
fn hexadecimal(mantissa: u64, sticky: bool, exponent: i64, nearest: bool) -> f64 {
    if mantissa == 0 {
        return if sticky && !nearest { f64::from_bits(1) } else { 0.0 };
    }
    let shift = mantissa.leading_zeros();
    let mantissa = mantissa << shift;
    let top = exponent.saturating_sub(i64::from(shift)).saturating_add(63);
    if top > 1023 {
        return f64::INFINITY;
    }
    // The unit of the result, and how many bits of the mantissa are below it.
    let unit = (top - 52).max(-1074);
    let below = (unit - (top - 63)).clamp(11, 127);
    let wide = u128::from(mantissa) * 2 + u128::from(sticky);
    let below = u32::try_from(below).unwrap_or(127) + 1;
    let (kept, rest) = if below > 127 { (0, wide) } else { (wide >> below, wide & ((1 << below) - 1)) };
    let tie = 1_u128 << (below.min(127) - 1);
    let up = match rest.cmp(&tie) {
        _ if !nearest => rest != 0 && kept & 1 == 0,
        Ordering::Greater => true,
        Ordering::Equal => kept & 1 == 1,
        Ordering::Less => false,
    };
    // Neighbouring numbers have neighbouring bits, so a carry into the exponent is right.
    let kept = u64::try_from(kept).unwrap_or(0);
    let biased = u64::try_from(unit + 1074).unwrap_or(0);
    f64::from_bits((biased << 52) + kept + u64::from(up))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str, float: ElementType) -> Option<u64> {
        Literal { negative: false, magnitude: Magnitude::Decimal(text.into()) }.bits_in(float).ok()
    }

    #[test]
    fn decimals_are_rounded_once() {
        // These are above and below the tie 1 + 2^-11 of halves, by less than an f64 can show.
        let tie = "1.00048828125";
        assert_eq!(decimal(tie, ElementType::F16), Some(0x3c00));
        assert_eq!(decimal(&format!("{tie}0000000000000000000000001"), ElementType::F16), Some(0x3c01));
        assert_eq!(decimal("1.00048828124999999999999999999999", ElementType::F16), Some(0x3c00));
        assert_eq!(decimal("65519.99", ElementType::F16), Some(0x7bff));
        assert_eq!(decimal("65520.0", ElementType::F16), None);
        assert_eq!(decimal("1e-40", ElementType::F32), Some(71362));
        assert_eq!(decimal("1e-999999999999999999999", ElementType::BF16), Some(0));
        assert_eq!(decimal("1e400", ElementType::F64), None);
    }

    #[test]
    fn hexadecimal_floats_round_to_nearest_even() {
        let cases = [
            (0x18, false, -4, 1.5),
            (0x0192_1fb6, false, 1 - 24, 3.141_592_741_012_573_2),
            (1, false, -1074, f64::from_bits(1)),
            (3, false, -1075, f64::from_bits(2)),
            (1, false, -1075, 0.0),
            (1, true, -1075, f64::from_bits(1)),
            (u64::MAX, false, 1023 - 63, f64::INFINITY),
            (1, false, 1023, 2.0_f64.powi(1023)),
        ];
        for (mantissa, sticky, exponent, expected) in cases {
            assert_eq!(hexadecimal(mantissa, sticky, exponent, true), expected, "{mantissa:x}p{exponent}");
        }
    }

    /// The odd number rounds to any narrower type like the number that it stands for.
    #[test]
    fn hexadecimal_floats_round_to_odd() {
        let one = 1.0_f64.to_bits();
        let lowest = 1 << 63;
        let cases = [
            // These are exact, whether the last bit is odd or not.
            (lowest, false, -63, one),
            (lowest + (1 << 11), false, -63, one + 1),
            (lowest + (2 << 11), false, -63, one + 2),
            // Between two numbers, the odd one is taken, even if the other is nearer.
            (lowest + 1, false, -63, one + 1),
            (lowest + (1 << 10), false, -63, one + 1),
            (lowest + (1 << 11) - 1, false, -63, one + 1),
            (lowest + (1 << 11) + 1, false, -63, one + 1),
            (lowest + (2 << 11) - 1, false, -63, one + 1),
            (lowest + (2 << 11) + 1, false, -63, one + 3),
            (lowest, true, -63, one + 1),
            (lowest + (1 << 11), true, -63, one + 1),
            (u64::MAX, true, -64, one - 1),
            // Below the least number, and between it and the next.
            (0, false, -63, 0),
            (0, true, -63, 1),
            (1, false, -1075, 1),
            (1, false, -5000, 1),
            (3, false, -1075, 1),
            (5, false, -1075, 3),
            (4, true, -1075, 3),
        ];
        for (mantissa, sticky, exponent, expected) in cases {
            let found = hexadecimal(mantissa, sticky, exponent, false).to_bits();
            assert_eq!(found, expected, "{mantissa:x}p{exponent}, {sticky}");
        }
        assert_eq!(hexadecimal(1, false, 1024, false), f64::INFINITY);
    }
}
