//! Rounds to `f16` and `bf16`, and converts back, in integer steps that compilers vectorize.

/// The value of the `f16` in the low 16 bits.
#[inline(always)]
#[must_use]
pub fn half_to_f32(bits: u32) -> f32 {
    let magnitude = (bits & 0x7fff) << 13;
    // A subnormal half becomes the fraction of a number from 2^-14 on. The subtraction removes the
    // leading one.
    let tiny = f32::from_bits(magnitude + (113 << 23)) - f32::from_bits(113 << 23);
    let normal = magnitude + (112 << 23);
    let result = if magnitude < 1 << 23 {
        tiny.to_bits()
    } else if magnitude < 31 << 23 {
        normal
    } else {
        magnitude | 0x7f80_0000
    };
    f32::from_bits(result | ((bits & 0x8000) << 16))
}

/// The bits of the nearest `f16`, ties to even. NaN becomes the canonical NaN with its sign.
#[inline(always)]
#[must_use]
pub fn f32_to_half(value: f32) -> u32 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    // The addition rounds at the unit of subnormal halves, 2^-24.
    let tiny = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
    let result = if magnitude > 0x7f80_0000 {
        0x7e00
    } else if magnitude >= 0x4780_0000 {
        0x7c00
    } else if magnitude < 113 << 23 {
        tiny
    } else {
        normal
    };
    result | ((bits >> 16) & 0x8000)
}

/// The bits of the nearest `bf16`, ties to even. NaN becomes the canonical NaN.
#[must_use]
pub fn f32_to_bfloat(value: f32) -> u32 {
    let bits = value.to_bits();
    if value.is_nan() { 0x7fc0 } else { bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16 }
}

/// A neighbouring `f32`, towards zero or away from it, with an odd last bit; or the exact `f32` if
/// there is one. Rounding it to a narrower type has the effect of rounding once.
pub(super) fn f64_to_f32_odd(value: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "the rounding is mended below")]
    let near = value as f32;
    let back = f64::from(near);
    let bits = near.to_bits();
    if back == value || bits & 1 == 1 || value.is_nan() {
        near
    } else if back.abs() < value.abs() {
        f32::from_bits(bits + 1)
    } else {
        f32::from_bits(bits - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_what_the_half_crate_says() {
        for bits in 0..=u16::MAX {
            let expected = half::f16::from_bits(bits).to_f32();
            let found = half_to_f32(u32::from(bits));
            assert!(
                found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan()),
                "{bits:#x}"
            );
        }
    }

    #[test]
    fn floats_round_to_halves_as_the_half_crate_says() {
        // Tries every upper half of the bits with lower halves on both sides of ties.
        for high in 0..=u16::MAX {
            for low in [0, 1, 0xfff, 0x1000, 0x1001, 0x2000, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff_u32] {
                let value = f32::from_bits(u32::from(high) << 16 | low);
                if value.is_nan() {
                    assert_eq!(f32_to_half(value) & 0x7fff, 0x7e00);
                    assert_eq!(f32_to_bfloat(value), 0x7fc0);
                } else {
                    let half = half::f16::from_f32(value).to_bits();
                    assert_eq!(f32_to_half(value), u32::from(half), "{value:e}");
                    let bfloat = half::bf16::from_f32(value).to_bits();
                    assert_eq!(f32_to_bfloat(value), u32::from(bfloat), "{value:e}");
                }
            }
        }
    }

    #[test]
    fn numbers_beside_a_tie_are_rounded_once() {
        // 1 + 2^-11 is a tie of halves; 2^-50 more is lost in f32.
        let above = 1.0 + 2.0_f64.powi(-11) + 2.0_f64.powi(-50);
        assert_eq!(f32_to_half(1.0 + 2.0_f32.powi(-11)), 0x3c00);
        assert_eq!(f32_to_half(f64_to_f32_odd(above)), 0x3c01);
        assert_eq!(f32_to_half(f64_to_f32_odd(1.0 + 2.0_f64.powi(-11))), 0x3c00);
        assert_eq!(f64_to_f32_odd(1e-300).to_bits(), 1);
        assert_eq!(f64_to_f32_odd(-1e300), f32::MIN);
        assert_eq!(f64_to_f32_odd(f64::INFINITY), f32::INFINITY);
    }
}
