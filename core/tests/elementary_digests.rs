//! The bits of every elementary function: a digest of its results on the same numbers each time.
//!
//! Bits are a promise: a laptop and a device compute the same ones, and so does the next version.
//! The tests of accuracy allow a function of `f64` to be one unit off, either way; this one allows
//! nothing.
#![allow(clippy::cast_possible_truncation, reason = "any bits will do, and rounding is meant")]

use devarray::function::elementary::{Elementary, evaluate_f32, evaluate_f64};
use devarray_conformance::Rng;

/// Numbers that are drawn, or pairs of them.
const DRAWN: usize = 20_000;

/// The digests of each function, of `f32` and of `f64`.
const DIGESTS: [(&str, u64, u64); 25] = [
];

/// How the numbers of a type are made.
struct Numbers<T> {
    of_bits: fn(u64) -> T,
    rounded: fn(f64) -> T,
    /// Bits of infinity and of 1, in the low bits.
    infinity: u64,
    one: u64,
    /// What e to the power of it is out of range.
    most: f64,
}

const OF_F32: Numbers<f32> = Numbers {
    of_bits: |bits| f32::from_bits(bits as u32),
    rounded: |value| value as f32,
    infinity: f32::INFINITY.to_bits() as u64,
    one: 1.0_f32.to_bits() as u64,
    most: 104.0,
};

const OF_F64: Numbers<f64> = Numbers {
    of_bits: f64::from_bits,
    rounded: |value| value,
    infinity: f64::INFINITY.to_bits(),
    one: 1.0_f64.to_bits(),
    most: 710.0,
};

/// `2^k (1 + u)` of either sign, with `k` as given and any `u` in 0..1.
fn scaled(rng: &mut Rng, k: i64) -> f64 {
    let exponent = (1023 + k).cast_unsigned() << 52;
    f64::from_bits(rng.bits() & ((1 << 63) | ((1 << 52) - 1)) | exponent)
}

/// A whole number from −`most` to `most`.
fn whole(rng: &mut Rng, most: usize) -> i64 {
    rng.below(2 * most + 1).cast_signed() as i64 - most.cast_signed() as i64
}

/// Evenly from −`most` to `most`.
fn within(rng: &mut Rng, most: f64) -> f64 {
    let part = (rng.bits() >> 11) as f64 / (1_u64 << 53) as f64;
    (2.0 * part - 1.0) * most
}

/// `1 + u`, with `u` of either sign and any size below 1.
fn near_one(rng: &mut Rng) -> f64 {
    let k = rng.below(56).cast_signed() as i64;
    1.0 + scaled(rng, -k - 1)
}

impl<T: Copy> Numbers<T> {
    /// Where functions turn, and where numbers of the type do.
    fn special(&self) -> Vec<T> {
        let normal = self.infinity & self.infinity.wrapping_neg();
        let bits = [0, 1, 2, 3, normal / 3, normal - 1, normal, normal + 1]
            .into_iter()
            .chain([self.infinity - 1, self.infinity, self.infinity + normal / 2])
            .chain((self.one - 2)..=(self.one + 2));
        let halves = (1..=24).map(|k| f64::from(k) / 2.0);
        let powers = (-30..=30).step_by(6).chain([-28, -27, -10, -1, 52, 53, 54, 120]).map(|k| 2.0_f64.powi(k));
        let others = [0.1, 1.0 / 3.0, 0.7, 88.5, 88.8, 103.9, 104.1, 709.7, 709.8, 745.1, 745.2, 1e5, 1e10, 1e22];
        let numbers: Vec<T> = bits
            .map(self.of_bits)
            .chain(halves.chain(powers).chain(others).map(self.rounded))
            .collect();
        numbers
    }
}
