//! The methods of `Real`, on numbers of the host and in functions: compared with written values,
//! and with the elementary functions that the methods stand for.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Array, Context, StreamHandle,
    function::{Operands, Real, elementary::Elementary},
};
use devarray_mock::MockDevice;

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

const SPECIAL: [f64; 10] = [f64::NEG_INFINITY, -2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 2.5, f64::INFINITY, f64::NAN];

/// Equal bits, or both NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn reciprocals_and_sigmoids_are_what_their_formulas_say() {
    assert_eq!([4.0, -0.5].map(Real::reciprocal), [0.25, -2.0]);
    assert_eq!([f64::INFINITY, f64::NEG_INFINITY].map(|x| x.reciprocal().to_bits()), [0, 1 << 63]);
    assert_eq!([0.0, -0.0].map(Real::reciprocal), [f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!([f32::NEG_INFINITY, 0.0, f32::INFINITY].map(Real::sigmoid), [0.0, 0.5, 1.0]);
    assert_eq!([-800.0_f64, 0.0, 40.0].map(Real::sigmoid), [0.0, 0.5, 1.0]);
    assert!(Real::sigmoid(f64::NAN).is_nan());
    let s = stream();
    let numbers: Vec<f64> = (-40..=40).map(|k| f64::from(k) / 3.0).collect();
    let x = Array::from_slice(&s, &[numbers.len()], &numbers).unwrap();
    let reciprocals = x.map(&s, Real::reciprocal).unwrap().to_vec(&s).unwrap();
    let sigmoids = x.map(&s, Real::sigmoid).unwrap().to_vec(&s).unwrap();
    for ((&x, reciprocal), sigmoid) in numbers.iter().zip(reciprocals).zip(sigmoids) {
        let due = 1.0 / (1.0 + Elementary::Exp.of_f64(-x, 0.0));
        assert_eq!((Real::sigmoid(x).to_bits(), sigmoid.to_bits()), (due.to_bits(), due.to_bits()), "{x}");
        // The value by another formula, and in f32.
        let other = 0.5 + 0.5 * (0.5 * x).tanh();
        assert!((due - other).abs() < 1e-15, "{x}: {due} and {other}");
        #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
        let narrow = f64::from(Real::sigmoid(x as f32));
        assert!((narrow - due).abs() < 1e-6, "{x}: {narrow} and {due}");
        assert_eq!((Real::reciprocal(x), reciprocal), (1.0 / x, 1.0 / x), "{x}");
    }
}

#[test]
fn methods_are_the_functions_of_their_names() {
    type Method = fn(f64) -> f64;
    let methods: [(Method, Elementary); 22] = [
        (Real::cbrt, Elementary::Cbrt),
        (Real::exp, Elementary::Exp),
        (Real::exp2, Elementary::Exp2),
        (Real::exp_m1, Elementary::Expm1),
        (Real::ln, Elementary::Log),
        (Real::log2, Elementary::Log2),
        (Real::log10, Elementary::Log10),
        (Real::ln_1p, Elementary::Log1p),
        (Real::sin, Elementary::Sin),
        (Real::cos, Elementary::Cos),
        (Real::tan, Elementary::Tan),
        (Real::asin, Elementary::Asin),
        (Real::acos, Elementary::Acos),
        (Real::atan, Elementary::Atan),
        (Real::sinh, Elementary::Sinh),
        (Real::cosh, Elementary::Cosh),
        (Real::tanh, Elementary::Tanh),
        (Real::asinh, Elementary::Asinh),
        (Real::acosh, Elementary::Acosh),
        (Real::atanh, Elementary::Atanh),
        (Real::erf, Elementary::Erf),
        (Real::erfc, Elementary::Erfc),
    ];
    for x in SPECIAL.into_iter().chain([0.3, -0.7, 3.0]) {
        for (method, function) in methods {
            assert!(same(method(x), function.of_f64(x, 0.0)), "{} of {x}", function.name());
        }
        for y in SPECIAL {
            assert!(same(Real::atan2(x, y), Elementary::Atan2.of_f64(x, y)), "atan2 of {x} and {y}");
            assert!(same(Real::hypot(x, y), Elementary::Hypot.of_f64(x, y)), "hypot of {x} and {y}");
            assert!(same(Real::pow(x, y), Elementary::Pow.of_f64(x, y)), "pow of {x} and {y}");
        }
    }
}

/// The least and the greatest, by their definition; and comparisons, which a function of an array
/// answers as the host does.
#[test]
fn special_values_are_compared_as_a_device_does() {
    let s = stream();
    let pairs: Vec<[f64; 2]> = SPECIAL.iter().flat_map(|&x| SPECIAL.map(|y| [x, y])).collect();
    let [x, y] = [0, 1].map(|at| {
        let numbers: Vec<f64> = pairs.iter().map(|pair| pair[at]).collect();
        Array::from_slice(&s, &[pairs.len()], &numbers).unwrap()
    });
    fn answers<R: Real>(x: R, y: R) -> R {
        let c = R::constant;
        let less = R::select(x.less(y), c(1.0), c(0.0));
        let less_equal = R::select(x.less_equal(y), c(2.0), c(0.0));
        less + less_equal + R::select(x.equal(y), c(4.0), c(0.0))
    }
    let least = (&x, &y).map(&s, |(x, y)| Real::minimum(x, y)).unwrap().to_vec(&s).unwrap();
    let greatest = (&x, &y).map(&s, |(x, y)| Real::maximum(x, y)).unwrap().to_vec(&s).unwrap();
    let answered = (&x, &y).map(&s, |(x, y)| answers(x, y)).unwrap().to_vec(&s).unwrap();
    // The order is the one of the list, in which −0 comes before +0.
    let place = |x: f64| SPECIAL.iter().position(|&special| same(special, x)).unwrap();
    for (at, &[x, y]) in pairs.iter().enumerate() {
        let unordered = x.is_nan() || y.is_nan();
        let (low, high) = if place(x) < place(y) { (x, y) } else { (y, x) };
        let (low, high) = if unordered { (f64::NAN, f64::NAN) } else { (low, high) };
        assert!(same(Real::minimum(x, y), low) && same(least[at], low), "the lesser of {x} and {y}");
        assert!(same(Real::maximum(x, y), high) && same(greatest[at], high), "the greater of {x} and {y}");
        let due = if unordered {
            0.0
        } else if x == y {
            6.0
        } else {
            [0.0, 3.0][usize::from(place(x) < place(y))]
        };
        assert_eq!((answers(x, y), answered[at]), (due, due), "{x} and {y}");
    }
}
