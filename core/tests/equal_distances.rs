//! Numbers at equal distances lie between the ends, in order, and are never infinite or NaN between
//! finite ends.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)] // helpers of tests; small numbers

use devarray::{Context, function::Float, math};
use devarray_mock::MockDevice;
use half::{bf16, f16};

fn linspace<T: Float>(first: T, last: T, count: usize) -> Vec<T> {
    let stream = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    math::linspace(&stream, first, last, count).unwrap().to_vec(&stream).unwrap()
}

/// The ends are the given ones, and nothing is outside them or out of order.
fn lies_between<T: Float + PartialOrd + std::fmt::Debug + Into<f64>>(first: T, last: T, count: usize) {
    let found = linspace(first, last, count);
    assert_eq!((found.len(), found[0], found[count - 1]), (count, first, last));
    let wide: Vec<f64> = found.into_iter().map(Into::into).collect();
    assert!(wide.iter().all(|x| x.is_finite()), "{first:?} {last:?}: {wide:?}");
    let in_order = wide.is_sorted() || wide.iter().rev().is_sorted();
    assert!(in_order, "{first:?} {last:?}: {wide:?}");
    // Each number is where it should be, computed from the halves, whose distance is finite.
    let (half, steps) = ((wide[0] * 0.5, wide[count - 1] * 0.5), (count - 1) as f64);
    for (at, &x) in wide.iter().enumerate() {
        let share = at as f64 / steps;
        let due = half.0 * (1.0 - share) + half.1 * share;
        let unit = half.0.abs().max(half.1.abs());
        assert!((x * 0.5 - due).abs() <= unit / 128.0, "{first:?} {last:?} {at}: {x}");
    }
}

#[test]
fn finite_ends_have_finite_numbers_between() {
    for count in [2, 3, 4, 7, 1_000] {
        for (first, last) in [
            (-1.7e308, 1.7e308),
            (1.7e308, -1.7e308),
            (f64::MIN, f64::MAX),
            (f64::MAX, f64::MIN),
            (f64::MAX, -1e292),
            (f64::MAX, f64::MAX.next_down()),
            (-9e307, 9e307),
            (0.0, f64::MAX),
        ] {
            lies_between(first, last, count);
        }
        lies_between(f32::MIN, f32::MAX, count);
        lies_between(3e38_f32, -1e38, count);
        lies_between(f16::MIN, f16::MAX, count);
        lies_between(bf16::MAX, bf16::MIN, count);
    }
    assert_eq!(linspace(-1.7e308, 1.7e308, 3), [-1.7e308, 0.0, 1.7e308]);
    assert_eq!(linspace(-1.5e308, 1.5e308, 5), [-1.5e308, -0.75e308, 0.0, 0.75e308, 1.5e308]);
}

/// Steps below the least normal number are rounded by much, but no number leaves the ends.
#[test]
fn subnormal_steps_stay_between_the_ends() {
    let steps =
        |count| linspace(0.0, f64::from_bits(3), count).into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(steps(6), [0, 1, 1, 2, 2, 3]);
    assert_eq!(steps(4), [0, 1, 2, 3]);
    for (first, last) in [(0.0, 1.5e-323), (-1e-323, 5e-324), (1.1e-310, 1e-310), (-1e-308, 2e-308)] {
        for count in [2, 3, 6, 7, 1_000] {
            let found = linspace(first, last, count);
            assert_eq!((found[0], found[count - 1]), (first, last));
            let (least, most) = (f64::min(first, last), f64::max(first, last));
            assert!(found.iter().all(|x| (least..=most).contains(x)), "{first} {last}: {found:?}");
            assert!(found.is_sorted() || found.iter().rev().is_sorted(), "{first} {last}: {found:?}");
        }
    }
}

/// Equals NumPy's numbers where the distance is finite: `start + k * step`.
#[test]
fn distances_that_are_numbers_keep_numpys_bits() {
    for (first, last, count) in [(0.1, 0.7, 7), (-3.0, 1e300, 11), (5e-324, 1.0, 9), (2.5, -1e-3, 1_001)] {
        let step = (last - first) / (count - 1) as f64;
        let found = linspace(first, last, count);
        for (at, x) in found.into_iter().enumerate().take(count - 1).skip(1) {
            assert_eq!(x.to_bits(), (at as f64 * step + first).to_bits(), "{first} {last} {at}");
        }
    }
}

#[test]
fn equal_ends_give_that_number() {
    fn all<T: Float + Into<f64>>(value: T) {
        let found = linspace(value, value, 5);
        assert!(found.into_iter().all(|x| x.into().to_bits() == value.into().to_bits()));
    }
    let least = f64::from_bits(1);
    for value in [0.0, -0.0, 0.1, least, f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY] {
        all(value);
    }
    for value in [0.0, -0.0, 0.1, f32::MAX, f32::INFINITY, f32::NEG_INFINITY] {
        all(value);
        all(f16::from_f32(value));
        all(bf16::from_f32(value));
    }
    // Zeros of both signs: NumPy gives +0 between them.
    let bits = |first: f64, last| linspace(first, last, 3).into_iter().map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(-0.0, 0.0), [1 << 63, 0, 0]);
    assert_eq!(bits(0.0, -0.0), [0, 0, 1 << 63]);
}

#[test]
fn an_infinite_end_is_all_that_lies_between() {
    let inf = f64::INFINITY;
    assert_eq!(linspace(0.0, inf, 4), [0.0, inf, inf, inf]);
    assert_eq!(linspace(inf, 1.0, 4), [inf, inf, inf, 1.0]);
    assert_eq!(linspace(-inf, 1.0, 4), [-inf, -inf, -inf, 1.0]);
    assert_eq!(linspace(1.0_f32, f32::NEG_INFINITY, 3), [1.0, f32::NEG_INFINITY, f32::NEG_INFINITY]);
    // Between both infinities there is no number.
    let found = linspace(-inf, inf, 4);
    assert!(found[0] == -inf && found[1].is_nan() && found[2].is_nan() && found[3] == inf, "{found:?}");
    let found = linspace(f16::NAN, f16::ONE, 3);
    assert!(found[0].is_nan() && found[1].is_nan() && found[2] == f16::ONE, "{found:?}");
}
