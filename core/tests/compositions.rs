//! Functions that consist of several steps do not round or overflow between them. Expected values are
//! computed in `f64` on the host, or in the wider type step by step.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, clippy::cast_possible_truncation)] // tests

use devarray::{
    Array, Context, StreamHandle,
    function::{Computable, Float, Number, Operands, Summable},
    math,
};
use devarray_mock::MockDevice;
use half::{bf16, f16};

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

/// Numbers of a type that the host computes with in `f64`.
trait Rounded: Float + PartialEq + std::fmt::Debug {
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
    /// The distance to the neighbouring numbers.
    fn spacing(self) -> f64;
}

macro_rules! rounded {
    ($($type:ty: $of:expr, $digits:expr, $least:expr;)*) => {$(
        impl Rounded for $type {
            fn of(value: f64) -> Self {
                $of(value)
            }
            fn wide(self) -> f64 {
                f64::from(self)
            }
            fn spacing(self) -> f64 {
                let exponent = f64::from(self).abs().log2().floor().max($least);
                (exponent - $digits).exp2()
            }
        }
    )*};
}

rounded! {
    f16: f16::from_f64, 10.0, -14.0;
    bf16: bf16::from_f64, 7.0, -126.0;
    f32: |value| value as f32, 23.0, -126.0;
    f64: |value| value, 52.0, -1022.0;
}

fn due_softmax(row: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
    let shares = row.iter().map(|x| (x - max).exp() / sum).collect();
    (shares, row.iter().map(|x| x - max - sum.ln()).collect())
}

/// Both forms are next to the expected values, and have the bits of the `f32` result for the same elements.
fn a_softmax_is_rounded_once<T: Rounded>(rows: usize, x: &[f64]) {
    let s = stream();
    let numbers: Vec<T> = x.iter().map(|&x| T::of(x)).collect();
    let shape = [rows, x.len() / rows];
    let narrow = Array::from_slice(&s, &shape, &numbers).unwrap();
    let wide: Array<f32, _> = math::cast(&s, &narrow).unwrap();
    let shares = math::softmax(&s, &narrow, 1).unwrap().to_vec(&s).unwrap();
    let logs = math::log_softmax(&s, &narrow, 1).unwrap().to_vec(&s).unwrap();
    for (found, of_f32) in [
        (&shares, math::softmax(&s, &wide, 1).unwrap().to_vec(&s).unwrap()),
        (&logs, math::log_softmax(&s, &wide, 1).unwrap().to_vec(&s).unwrap()),
    ] {
        let due: Vec<T> = of_f32.into_iter().map(|x| T::of(x.into())).collect();
        assert_eq!(*found, due, "the f32 of the same elements, rounded");
    }
    for (row, of_row) in numbers.chunks(shape[1]).enumerate() {
        let of_row: Vec<f64> = of_row.iter().map(|x| x.wide()).collect();
        let due = due_softmax(&of_row);
        for (found, due) in [(&shares, due.0), (&logs, due.1)] {
            for (found, due) in found[row * shape[1]..].iter().zip(due) {
                let distance = (found.wide() - due).abs();
                assert!(distance <= 0.51 * T::of(due).spacing(), "{found:?} for {due}");
            }
        }
    }
}

#[test]
fn a_softmax_of_halves_is_rounded_once() {
    let s = stream();
    let equal = Array::full(&s, &[65_520], f16::ONE).unwrap();
    let shares = math::softmax(&s, &equal, 0).unwrap().to_vec(&s).unwrap();
    assert!(shares.iter().all(|share| *share == f16::from_f64(1.0 / 65_520.0)), "{:?}", shares[0]);
    let logs = math::log_softmax(&s, &equal, 0).unwrap().to_vec(&s).unwrap();
    assert!(logs.iter().all(|log| *log == f16::from_f64(-(65_520_f64.ln()))), "{:?}", logs[0]);

    for len in [1, 2, 3, 5, 100, 128, 1_000] {
        let x: Vec<f64> = (0..3 * len).map(|k| f64::from(k * k % 37) / 7.0 - 2.0).collect();
        a_softmax_is_rounded_once::<f16>(3, &x);
        a_softmax_is_rounded_once::<bf16>(3, &x);
    }
    // The difference of two numbers far apart is not rounded either.
    a_softmax_is_rounded_once::<bf16>(1, &[250.0, 250.0 - 1.0, 3.25, 249.5]);
    a_softmax_is_rounded_once::<f16>(1, &[1.0, 1.0 - 1.0 / 2048.0, -5.03]);
    a_softmax_is_rounded_once::<bf16>(1, &vec![-3.0; 70_001]);
}

/// The test above would notice a rounded row sum.
#[test]
fn a_row_sum_that_is_rounded_shows() {
    let sum = bf16::from_f64(257.0).to_f64();
    let (found, due) = (bf16::from_f64(1.0 / sum), 1.0 / 257.0);
    assert!((found.wide() - due).abs() > 0.51 * bf16::of(due).spacing());
}

fn norm<T: Rounded>(x: &[f64]) -> f64 {
    let s = stream();
    let x: Vec<T> = x.iter().map(|&x| T::of(x)).collect();
    math::norm(&s, &Array::from_slice(&s, &[x.len()], &x).unwrap()).unwrap().item(&s).unwrap().wide()
}

/// Norms of one element and of two elements 3 : 4, at every power of two of a type.
fn a_norm_is_right_at<T: Rounded>(least: i32, greatest: i32) {
    for exponent in (least..=greatest).step_by(if greatest > 200 { 31 } else { 1 }) {
        let unit = 2.0_f64.powi(exponent);
        assert_eq!(norm::<T>(&[unit]), unit, "2^{exponent}");
        assert_eq!(norm::<T>(&[-unit, 0.0]), unit, "2^{exponent}");
        if exponent + 3 <= greatest {
            assert_eq!(norm::<T>(&[3.0 * unit, -4.0 * unit]), 5.0 * unit, "2^{exponent}");
        }
    }
}

#[test]
fn a_norm_overflows_only_if_it_is_too_great() {
    assert_eq!(norm::<f16>(&[300.0]), 300.0);
    let small = f16::from_f64(1e-4).to_f64() * 2.0_f64.sqrt();
    assert_eq!(norm::<f16>(&[1e-4, 1e-4]), f16::from_f64(small).to_f64());
    assert_eq!(norm::<f64>(&[1e200, 1e200]), 2.0_f64.sqrt() * 1e200);
    a_norm_is_right_at::<f16>(-24, 15);
    a_norm_is_right_at::<bf16>(-133, 127);
    a_norm_is_right_at::<f32>(-149, 127);
    a_norm_is_right_at::<f64>(-1074, 1023);
    assert_eq!(norm::<f64>(&[5e-324; 4]), 1e-323);
    assert_eq!(norm::<f64>(&[f64::MAX, 1.0]), f64::MAX);
    assert_eq!(norm::<f32>(&[f64::from(f32::MAX), 1.0]), f64::from(f32::MAX));
    // The result itself is too large.
    assert_eq!(norm::<f16>(&[60_000.0, 60_000.0]), f64::INFINITY);
    assert_eq!(norm::<f32>(&[3e38, 3e38]), f64::INFINITY);
    assert_eq!(norm::<f64>(&[f64::MAX, f64::MAX]), f64::INFINITY);
}

fn norms_of_what_is_special<T: Rounded>() {
    assert_eq!(norm::<T>(&[]).to_bits(), 0);
    assert_eq!(norm::<T>(&[-0.0]).to_bits(), 0);
    assert_eq!(norm::<T>(&[0.0, f64::NEG_INFINITY, 3.0]), f64::INFINITY);
    assert!(norm::<T>(&[f64::INFINITY, f64::NAN]).is_nan());
    assert!(norm::<T>(&[f64::NAN]).is_nan());
}

#[test]
fn a_norm_of_special_values_is_numpys() {
    norms_of_what_is_special::<f16>();
    norms_of_what_is_special::<bf16>();
    norms_of_what_is_special::<f32>();
    norms_of_what_is_special::<f64>();
}

/// Where nothing is large or small, an `f64` norm is the root of the plain sum of squares.
#[test]
fn a_norm_of_ordinary_numbers_has_the_bits_of_the_plain_one() {
    let s = stream();
    let x: Vec<f64> = (0..5_000).map(|k| f64::from(k * k % 1_009) * 1.1e-3 - 0.5).collect();
    let x = Array::from_slice(&s, &[50, 100], &x).unwrap();
    let squares = x.map(&s, |x| x * x).unwrap().sum(&s, ..).unwrap().item(&s).unwrap();
    assert_eq!(math::norm(&s, &x).unwrap().item(&s).unwrap().to_bits(), squares.sqrt().to_bits());
    let (turned, flipped) = (x.transpose(), x.flip(&[0]).unwrap());
    assert!((math::norm(&s, &turned).unwrap().item(&s).unwrap() - squares.sqrt()).abs() < 1e-12);
    assert!((math::norm(&s, &flipped).unwrap().item(&s).unwrap() - squares.sqrt()).abs() < 1e-12);
    // Half types and `f32` are near it too.
    let near: Array<f32, _> = math::cast(&s, &x).unwrap();
    let exact: f64 = near.to_vec(&s).unwrap().into_iter().map(|x| f64::from(x) * f64::from(x)).sum();
    assert_eq!(math::norm(&s, &near).unwrap().item(&s).unwrap(), exact.sqrt() as f32);
}

fn dot<T: Number + Summable>(x: &[T], y: &[T]) -> T::Total
where
    T::Total: Computable,
{
    let s = stream();
    let [x, y] = [x, y].map(|side| Array::from_slice(&s, &[side.len()], side).unwrap());
    math::dot(&s, &x, &y).unwrap().item(&s).unwrap()
}

#[test]
fn products_of_integers_are_made_in_the_type_of_the_sum() {
    assert_eq!(dot(&[200_u8; 5], &[200; 5]), 200_000);
    assert_eq!(dot(&[-128_i8, 127], &[-128, 127]), 128 * 128 + 127 * 127);
    assert_eq!(dot(&[60_000_u16; 3], &[60_000; 3]), 3 * 60_000_u64.pow(2));
    assert_eq!(dot(&[i16::MIN; 2], &[i16::MAX, 1]), i64::from(i16::MIN) * i64::from(i16::MAX) - 32_768);
    assert_eq!(dot(&[u32::MAX], &[u32::MAX]), u64::from(u32::MAX).pow(2));
    assert_eq!(dot(&[i32::MIN, 7], &[i32::MIN, -1]), (1_i64 << 62) - 7);
    // The sum's own type wraps around.
    assert_eq!(dot(&[u64::MAX, 1], &[u64::MAX, 5]), 6);
    assert_eq!(dot(&[i64::MIN], &[-1]), i64::MIN);
}

#[test]
fn products_of_halves_are_not_rounded() {
    let of = f16::from_f64;
    assert_eq!(dot(&[of(300.0); 2], &[of(300.0), of(-300.0)]), f16::ZERO);
    assert_eq!(dot(&[of(1e-4); 4], &[of(1e-4); 4]), of(4.0 * of(1e-4).to_f64().powi(2)));
    // 1 + 2^-10 squared is 1 + 2^-9 + 2^-20: the last part shows in the difference.
    let above = f16::from_f64(1.0 + 1.0 / 1_024.0);
    let square = f16::from_f64(1.0 + 1.0 / 512.0);
    assert_eq!(dot(&[above, -square], &[above, f16::ONE]), of(2.0_f64.powi(-20)));
    let above = bf16::from_f64(1.0 + 1.0 / 128.0);
    let square = bf16::from_f64(1.0 + 1.0 / 64.0);
    assert_eq!(dot(&[above, -square], &[above, bf16::ONE]), bf16::from_f64(2.0_f64.powi(-14)));
    // One rounding at the end, which may overflow.
    assert_eq!(dot(&[of(300.0)], &[of(300.0)]), f16::INFINITY);
}

/// Products of `f32` and `f64` are rounded to their type and then summed.
#[test]
fn products_of_wide_floats_are_rounded() {
    let above = 1.0_f32 + f32::EPSILON;
    assert_eq!(dot(&[above, -(above * above)], &[above, 1.0]), 0.0);
    assert_eq!(dot(&[1e30_f32; 2], &[1e30, -1e30]).to_bits() & 0x7f80_0000, 0x7f80_0000);
    let above = 1.0 + f64::EPSILON;
    assert_eq!(dot(&[above, -(above * above)], &[above, 1.0]), 0.0);
}

fn of_pairs<T: Float>(
    pairs: &[(T, T)],
    call: impl Fn(&StreamHandle<MockDevice>, &[Array<T, MockDevice>; 2]) -> Array<T, MockDevice>,
) -> Vec<T> {
    let s = stream();
    let (x, y): (Vec<T>, Vec<T>) = pairs.iter().copied().unzip();
    let sides = [x, y].map(|side| Array::from_slice(&s, &[side.len()], &side).unwrap());
    call(&s, &sides).to_vec(&s).unwrap()
}

fn next_after<T: Float>(pairs: &[(T, T)]) -> Vec<T> {
    of_pairs(pairs, |s, [x, y]| math::next_after(s, x, y).unwrap())
}

/// Every number of a half type, with the expected neighbour towards each of a few others, found by a walk
/// over all numbers in ascending order.
fn neighbours_of_all<T: Rounded + PartialOrd>(of_bits: fn(u16) -> T) {
    let mut ascending: Vec<T> = (0..=u16::MAX).map(of_bits).filter(|x| !x.wide().is_nan()).collect();
    ascending.sort_by(|x, y| x.wide().total_cmp(&y.wide()));
    let minus_zero = ascending.iter().position(|x| x.wide() == 0.0).unwrap();
    let zero = minus_zero + 1;
    let last = ascending.len() - 1;
    let mut pairs = Vec::new();
    let mut due = Vec::new();
    for at in 0..=last {
        for to in [0, minus_zero, zero, zero + 1, last] {
            let (x, y) = (ascending[at], ascending[to]);
            // From one zero, the neighbour lies past the other zero.
            let (before, behind) = match at {
                _ if at == zero => (minus_zero.wrapping_sub(1), at + 1),
                _ if at == minus_zero => (at - 1, zero + 1),
                _ => (at.wrapping_sub(1), at + 1),
            };
            let next = if x < y {
                behind
            } else if x > y {
                before
            } else {
                to
            };
            // A step to zero has the sign of the number where it starts.
            let next = match next {
                _ if x == y => to,
                _ if next == zero && at < minus_zero => minus_zero,
                _ if next == minus_zero && at > zero => zero,
                _ => next,
            };
            pairs.push((x, y));
            due.push(ascending[next].to_bits());
        }
    }
    let found = next_after(&pairs);
    for ((found, due), (x, y)) in found.iter().zip(due).zip(pairs) {
        assert_eq!(found.to_bits(), due, "after {x:?} towards {y:?}");
    }
}

#[test]
fn the_next_half_is_the_neighbour() {
    neighbours_of_all::<f16>(f16::from_bits);
    neighbours_of_all::<bf16>(bf16::from_bits);
}

#[test]
fn the_next_number_is_rusts() {
    macro_rules! checked {
        ($float:ty) => {
            let special = [0.0, -0.0, 1.0, -1.0, 1.5, <$float>::MAX, <$float>::MIN, <$float>::MIN_POSITIVE];
            let special = special.iter().copied().chain([<$float>::INFINITY, <$float>::NEG_INFINITY]);
            let special: Vec<$float> =
                special.chain([<$float>::from_bits(1), -<$float>::from_bits(1)]).collect();
            let pairs: Vec<_> = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y))).collect();
            for (&(x, y), found) in pairs.iter().zip(next_after(&pairs)) {
                let due = if x < y {
                    x.next_up()
                } else if x > y {
                    x.next_down()
                } else {
                    y
                };
                assert_eq!(found.to_bits(), due.to_bits(), "after {x:?} towards {y:?}");
            }
            let nan = <$float>::NAN;
            let pairs = [(nan, 1.0), (1.0, nan), (nan, nan), (nan, <$float>::INFINITY), (0.0, nan)];
            assert!(next_after(&pairs).into_iter().all(<$float>::is_nan));
        };
    }
    checked!(f32);
    checked!(f64);
}

fn log_add_exp<T: Float>(pairs: &[(T, T)]) -> Vec<T> {
    of_pairs(pairs, |s, [x, y]| math::log_add_exp(s, x, y).unwrap())
}

/// NumPy's special values, and no overflow where the sum of exponentials would overflow.
#[test]
fn a_logarithm_of_two_exponentials_is_numpys() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let pairs = [
        (inf, inf),
        (-inf, -inf),
        (inf, -inf),
        (-inf, inf),
        (inf, 3.0),
        (3.0, -inf),
        (1e308, -1e308),
        (800.0, 0.0),
        (0.0, -0.0),
        (1000.0, 1000.0),
        (-1000.0, -1000.0),
        (5e-324, 5e-324),
    ];
    let ln_2 = std::f64::consts::LN_2;
    let due = [inf, -inf, inf, inf, inf, 3.0, 1e308, 800.0, ln_2, 1000.0 + ln_2, ln_2 - 1000.0, ln_2];
    assert_eq!(log_add_exp(&pairs), due);
    for pair in [(nan, 1.0), (1.0, nan), (nan, nan), (nan, inf), (-inf, nan)] {
        assert!(log_add_exp(&[pair])[0].is_nan(), "{pair:?}");
    }
    // Numbers far apart and near each other, with the sum as the host computes it.
    let pairs: Vec<(f64, f64)> =
        (0..400).map(|k| (f64::from(k) / 7.0, f64::from(k * k % 101) / 3.0)).collect();
    for ((x, y), found) in pairs.iter().zip(log_add_exp(&pairs)) {
        let due = (x.exp() + y.exp()).ln();
        assert!((found - due).abs() <= 4.0 * f64::EPSILON * due.abs(), "{x} and {y}: {found}, not {due}");
    }
}

/// Halves are computed in `f32`, and rounded once.
#[test]
fn a_logarithm_of_two_exponentials_of_halves_is_rounded_once() {
    fn checked<T: Rounded>() {
        let numbers = |k: i32| T::of(f64::from(k * k % 977) / 37.0 - 9.0);
        let pairs: Vec<(T, T)> = (0..500).map(|k| (numbers(k), numbers(3 * k + 1))).collect();
        let wide: Vec<(f32, f32)> = pairs.iter().map(|(x, y)| (x.wide() as f32, y.wide() as f32)).collect();
        let due: Vec<T> = log_add_exp(&wide).into_iter().map(|x| T::of(x.into())).collect();
        assert_eq!(log_add_exp(&pairs), due);
        // A twin that rounds at every step differs.
        let stepwise = of_pairs(&pairs, |s, [x, y]| {
            (x, y).map(s, |(x, y)| x.maximum(y) + (-(x - y).abs()).exp().ln_1p()).unwrap()
        });
        assert_ne!(stepwise, due);
    }
    checked::<f16>();
    checked::<bf16>();
}
