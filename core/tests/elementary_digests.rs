//! The bits of every elementary function: a digest of its results for the same numbers each time.
//!
//! The bits are a promise: a laptop and a device compute the same ones, and so does the next
//! version. The tests of accuracy let a function of `f64` be one unit off, to either side. This one
//! allows nothing.
#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any bits will do")]

use std::iter;

use devarray::function::elementary::{Elementary, evaluate_f32, evaluate_f64};
use devarray_conformance::Rng;

/// The number of numbers, or of pairs of numbers, that are drawn.
const DRAWN: usize = 20_000;

/// The digests of each function, for `f32` and for `f64`.
const DIGESTS: [(&str, u64, u64); 25] = [
    ("cbrt", 0x0153_eb7e_d445_7274, 0x4c6f_dead_83f6_2d8a),
    ("exp", 0xa3da_9e1d_9960_7bb0, 0x22e3_29ce_dfc0_e00b),
    ("exp2", 0xeb8b_3d18_88fa_3608, 0xc1ac_613b_cb4a_71d0),
    ("expm1", 0x5c80_2e6d_125b_6e77, 0x3085_8289_26e3_5ec3),
    ("log", 0x4c4c_6eef_f304_4f40, 0x219a_c368_0983_c82a),
    ("log2", 0xa59a_0df4_6150_ad96, 0x79d4_49d0_43c9_9a30),
    ("log10", 0x1e82_36bf_cad9_0263, 0x2402_ed11_4ed6_8c56),
    ("log1p", 0xed93_e0a9_4ee4_7931, 0xe00c_508d_1263_cf00),
    ("sin", 0x81f6_b2c0_07b2_e83d, 0xb44c_b09a_6ee8_1506),
    ("cos", 0xd021_83d3_8eec_9344, 0xaee7_c6f1_a431_b61e),
    ("tan", 0x4776_b73d_6ea2_f4f2, 0xdb27_23cf_719d_5056),
    ("asin", 0x87ff_ec77_357a_ef8c, 0x2043_eb05_08d1_4e90),
    ("acos", 0x0348_186b_c2b9_09e0, 0xbe87_79dc_b0b0_3863),
    ("atan", 0xcecf_30d0_6586_e432, 0x8c1b_1fc5_28cc_ad2e),
    ("sinh", 0x7bc3_2d9b_67f7_aa0a, 0x6ee7_2a40_72b3_e43d),
    ("cosh", 0xb3b8_3f7a_2182_e294, 0x4344_60d2_6859_20d2),
    ("tanh", 0x7d4c_06b2_1376_c477, 0x92e0_388d_48a1_097d),
    ("asinh", 0xd185_1edb_97c2_f094, 0x70a0_154b_fffa_bdaf),
    ("acosh", 0x58c8_8423_e089_fd44, 0x56b8_f9c7_5619_df22),
    ("atanh", 0x8dea_9fba_7440_2522, 0xa348_a2be_7797_0f09),
    ("erf", 0x3953_4742_51c3_6157, 0x4c2e_8d78_c22f_0dad),
    ("erfc", 0xf886_e541_1b5b_1e9b, 0xdec2_5cf2_28ad_394d),
    ("atan2", 0xbae1_90ff_2e13_388a, 0xa79a_c865_069e_8146),
    ("hypot", 0x271d_e291_3d8d_10e5, 0x528d_d5d8_d2a7_5a1c),
    ("pow", 0x98b7_1fc2_44cb_5ae0, 0x1705_09a6_368e_ce54),
];

/// The numbers of a type with which functions are tried.
struct Numbers<T> {
    of_bits: fn(u64) -> T,
    rounded: fn(f64) -> T,
    /// The bits of the smallest normal number, of 1 and of infinity.
    marks: [u64; 3],
    /// A power at which e is out of range.
    most: f64,
}

const OF_F32: Numbers<f32> = Numbers {
    of_bits: |bits| f32::from_bits(bits as u32),
    rounded: |value| value as f32,
    marks: [f32::MIN_POSITIVE.to_bits() as u64, 1.0_f32.to_bits() as u64, f32::INFINITY.to_bits() as u64],
    most: 104.0,
};

const OF_F64: Numbers<f64> = Numbers {
    of_bits: f64::from_bits,
    rounded: |value| value,
    marks: [f64::MIN_POSITIVE.to_bits(), 1.0_f64.to_bits(), f64::INFINITY.to_bits()],
    most: 710.0,
};

/// 2 to a power, with a fraction below the leading bit.
fn scaled(power: i32, fraction: u64) -> f64 {
    f64::from_bits(u64::from((1023 + power).cast_unsigned()) << 52 | fraction >> 12)
}

/// A whole number from −`most` to `most`.
fn whole(rng: &mut Rng, most: i32) -> i32 {
    let count = usize::try_from(2 * most + 1).expect("more than 0");
    i32::try_from(rng.below(count)).expect("a small number") - most
}

/// A number from −`most` to `most`, evenly distributed.
fn within(rng: &mut Rng, most: f64) -> f64 {
    (rng.bits() >> 11) as f64 / (1_u64 << 52) as f64 * most - most
}

impl<T: Copy + std::ops::Neg<Output = T>> Numbers<T> {
    /// Numbers at which the type or a function changes its behaviour, of both signs.
    fn special(&self) -> Vec<T> {
        let [normal, one, infinity] = self.marks;
        let bits = [0, 1, 2, normal / 3, normal - 1, normal, normal + 1].into_iter();
        let bits = bits.chain(one - 2..=one + 2).chain([infinity - 1, infinity, infinity + normal / 2]);
        let halves = (1..=24).map(|k| f64::from(k) / 2.0);
        let powers =
            [-120, -60, -54, -53, -28, -27, -26, -24, -12, -6, -3, -2, 8, 12, 23, 24, 52, 53, 60, 120];
        let powers = powers.map(|power| scaled(power, 0)).into_iter();
        let limits = [0.1, 0.3, 0.7, 88.72, 88.73, 103.97, 103.98, 709.78, 709.79, 745.13, 745.14, 1e5, 1e22];
        let numbers = halves.chain(powers).chain(limits).map(self.rounded);
        bits.map(self.of_bits).chain(numbers).flat_map(|x| [x, -x]).collect()
    }

    /// A number with any bits, of any size not far from 1, near 1, or in the range of powers of e.
    fn any(&self, rng: &mut Rng) -> T {
        match rng.below(4) {
            0 => (self.of_bits)(rng.bits()),
            1 => {
                let number = scaled(whole(rng, 60), rng.bits());
                (self.rounded)(if rng.below(2) == 0 { number } else { -number })
            }
            2 => {
                let size = scaled(-1 - whole(rng, 27).abs() - whole(rng, 27).abs(), rng.bits());
                (self.rounded)(if rng.below(2) == 0 { 1.0 + size } else { 1.0 - size })
            }
            _ => (self.rounded)(within(rng, self.most)),
        }
    }

    /// Two numbers: any two, two of similar magnitudes, or one near 1 and an exponent for which its
    /// powers differ.
    fn any_two(&self, rng: &mut Rng) -> [T; 2] {
        match rng.below(3) {
            0 => [self.any(rng), self.any(rng)],
            1 => {
                let power = whole(rng, 60);
                let mut next = || {
                    let number = scaled(power + whole(rng, 3), rng.bits());
                    (self.rounded)(if rng.below(4) == 0 { -number } else { number })
                };
                [next(), next()]
            }
            _ => {
                let base = scaled(whole(rng, 12), rng.bits());
                let exponent = within(rng, 0.08 * self.most);
                let exponent = if rng.below(4) == 0 { exponent.trunc() } else { exponent };
                [(self.rounded)(base), (self.rounded)(exponent)]
            }
        }
    }

    /// The arguments for a function of `arity` arguments.
    fn arguments(&self, arity: usize) -> (Vec<T>, Vec<T>) {
        let (special, mut rng) = (self.special(), Rng::new(25));
        if arity == 1 {
            let drawn = iter::repeat_with(|| self.any(&mut rng)).take(DRAWN);
            let x: Vec<T> = special.into_iter().chain(drawn).collect();
            return (x.clone(), x);
        }
        let pairs = special.iter().flat_map(|&x| special.iter().map(move |&y| [x, y]));
        let drawn = iter::repeat_with(|| self.any_two(&mut rng)).take(DRAWN);
        pairs.chain(drawn).map(|[x, y]| (x, y)).unzip()
    }
}

/// The bits of the results for `f32`.
fn results_of_f32(function: Elementary) -> Vec<u64> {
    let (x, y) = OF_F32.arguments(function.arity());
    let mut results = vec![0.0; x.len()];
    evaluate_f32(function, &x, &y, &mut results);
    // All NaNs count as one value.
    let bits = |result: f32| if result.is_nan() { f32::NAN.to_bits() } else { result.to_bits() };
    results.into_iter().map(|result| bits(result).into()).collect()
}

/// The bits of the results for `f64`.
fn results_of_f64(function: Elementary) -> Vec<u64> {
    let (x, y) = OF_F64.arguments(function.arity());
    let mut results = vec![0.0; x.len()];
    evaluate_f64(function, &x, &y, &mut results);
    let bits = |result: f64| if result.is_nan() { f64::NAN.to_bits() } else { result.to_bits() };
    results.into_iter().map(bits).collect()
}

/// FNV-1a of 64 bits.
fn digest(results: &[u64]) -> u64 {
    let bytes = results.iter().flat_map(|result| result.to_le_bytes());
    let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.fold(0xcbf2_9ce4_8422_2325, step)
}

/// Computes the digest of each function for one type and compares it with the table.
fn check(of: &str, results: fn(Elementary) -> Vec<u64>, expected: fn(&(&str, u64, u64)) -> u64) {
    let names: Vec<&str> = DIGESTS.iter().map(|&(name, ..)| name).collect();
    let all: Vec<&str> = Elementary::ALL.iter().map(|function| function.name()).collect();
    assert_eq!(names, all, "a row for each function");
    let rows = Elementary::ALL.iter().zip(&DIGESTS);
    let other = rows.filter_map(|(&function, row)| {
        let (found, expected) = (digest(&results(function)), expected(row));
        let line = || format!("{} of {of}: found {found:#018x}, expected {expected:#018x}", row.0);
        (found != expected).then(line)
    });
    let other: Vec<String> = other.collect();
    assert!(other.is_empty(), "the bits of results are a promise, and some changed:\n{}", other.join("\n"));
}

#[test]
fn the_bits_of_functions_of_f32_stay() {
    check("f32", results_of_f32, |row| row.1);
}

#[test]
fn the_bits_of_functions_of_f64_stay() {
    check("f64", results_of_f64, |row| row.2);
}

/// One bit of one result is enough to change the digest.
#[test]
fn a_digest_is_of_every_bit() {
    let mut results = results_of_f64(Elementary::Exp);
    let before = digest(&results);
    assert_eq!(digest(&results), before);
    for at in [0, 77, results.len() / 2, results.len() - 1] {
        for bit in [0, 31, 52, 63] {
            results[at] ^= 1 << bit;
            assert_ne!(digest(&results), before, "bit {bit} of result {at}");
            results[at] ^= 1 << bit;
        }
    }
    assert_eq!(digest(&results), before);
}
