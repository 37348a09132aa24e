//! Reductions and scans as calls on arrays and views, and functions that the host computes too.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)] // helpers of tests; small numbers

use devarray::{
    Array, Bool, Context, Error, LayoutError, StreamHandle,
    function::{Computable, ElementType, FunctionErrorKind, Operands, Real, ReduceOperation, Reduction},
    math,
};
use devarray_mock::MockDevice;
use half::{bf16, f16};

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

#[test]
fn totals_over_axes_have_numpys_types() {
    let s = stream();
    let x = Array::from_slice(&s, &[2, 3], &[3_u8, 1, 2, 250, 7, 9]).unwrap();
    assert_eq!(x.sum(&s, ..).unwrap().to_vec(&s).unwrap(), [272_u64]);
    assert_eq!(x.sum(&s, &[0]).unwrap().to_vec(&s).unwrap(), [253_u64, 8, 11]);
    assert_eq!(x.product(&s, &[-1]).unwrap().to_vec(&s).unwrap(), [6_u64, 15_750]);
    assert_eq!(x.min(&s, &[1]).unwrap().to_vec(&s).unwrap(), [1_u8, 7]);
    assert_eq!(x.transpose().max(&s, &[0]).unwrap().to_vec(&s).unwrap(), [3_u8, 250]);
    assert_eq!(x.argmax(&s, ..).unwrap().to_vec(&s).unwrap(), [3_i64]);
    assert_eq!(x.argmin(&s, &[0]).unwrap().to_vec(&s).unwrap(), [0_i64, 0, 0]);
    assert_eq!(x.sum(&s, -1).unwrap().to_vec(&s).unwrap(), [6_u64, 266]);
    assert_eq!(x.any(&s, ..).unwrap().to_vec(&s).unwrap(), [Bool::TRUE]);
    assert_eq!(x.count_nonzero(&s, &[]).unwrap().shape(), [2, 3]);
    assert_eq!(x.cumsum(&s, 1).unwrap().to_vec(&s).unwrap(), [3_u64, 4, 6, 250, 257, 266]);
    assert_eq!(x.cummin(&s, 0).unwrap().to_vec(&s).unwrap(), [3_u8, 1, 2, 3, 1, 2]);
}

#[test]
fn one_element_comes_to_the_host() {
    let s = stream();
    let x = Array::from_slice(&s, &[2, 3], &[3_u8, 1, 2, 250, 7, 9]).unwrap();
    let of = Reduction::new;
    assert_eq!(x.reduce_item::<u64>(&s, &of(ReduceOperation::Sum)).unwrap(), 272);
    let row = x.slice_axis(0, 1..2).unwrap();
    let along = of(ReduceOperation::Maximum).axes(&[1]).keep_axes();
    assert_eq!(row.reduce_item::<u8>(&s, &along).unwrap(), 250);
    let y = Array::from_slice(&s, &[3], &[1.0_f32, 2.0, 6.0]).unwrap();
    assert_eq!(y.reduce_item::<f32>(&s, &of(ReduceOperation::Variance)).unwrap(), 14.0 / 3.0);
    let dot: f32 = (&y, &y).reduce_item(&s, &of(ReduceOperation::Sum), |(a, b)| a * b).unwrap();
    assert_eq!(dot, 41.0);

    let of_nothing = y.slice_axis(0, 0..0).unwrap();
    assert_eq!(of_nothing.reduce_item::<f32>(&s, &of(ReduceOperation::Sum)).unwrap(), 0.0);
    assert!(of_nothing.reduce_item::<f32>(&s, &of(ReduceOperation::Maximum)).is_err());
    let wrong = y.reduce_item::<f64>(&s, &of(ReduceOperation::Sum));
    assert!(matches!(wrong, Err(Error::Function(_))), "{wrong:?}");
    let two = x.reduce_item::<u8>(&s, &along);
    let due = LayoutError::LengthMismatch { expected: 1, found: 2 };
    assert!(matches!(&two, Err(Error::Layout(found, ..)) if *found == due), "{two:?}");
}

#[test]
fn means_and_variances() {
    let s = stream();
    let x = Array::from_slice(&s, &[2, 4], &[1.0_f64, 2.0, 3.0, 6.0, 0.0, 0.0, 0.0, 8.0]).unwrap();
    assert_eq!(x.mean(&s, &[1]).unwrap().to_vec(&s).unwrap(), [3.0, 2.0]);
    assert_eq!(x.var(&s, &[1]).unwrap().to_vec(&s).unwrap(), [3.5, 12.0]);
    let sample = Reduction::new(ReduceOperation::StandardDeviation).axes(&[1]).ddof(1);
    let deviations: Array<f64, _> = x.reduce_as(&s, &sample).unwrap();
    assert_eq!(deviations.to_vec(&s).unwrap(), [(14.0_f64 / 3.0).sqrt(), 4.0]);
}

/// A sum has one value, whatever the layout, alone and among others.
#[test]
fn a_sum_has_one_value() {
    let s = stream();
    let len = 40_000_u32;
    let numbers: Vec<f32> = (0..len).map(|k| ((k * 7919) % 10_007) as f32 * 1.1e-3 - 5.0).collect();
    let alone = Array::from_slice(&s, &[len as usize], &numbers).unwrap();
    let expected = alone.sum(&s, ..).unwrap().to_vec(&s).unwrap()[0];
    assert_ne!(expected, numbers.iter().sum::<f32>(), "the order is not that of a loop");
    let both = Array::concatenate(&s, &[alone.view(), alone.flip(&[0]).unwrap()], 0).unwrap();
    let rows = both.reshape(&[2, -1], devarray::Order::C).unwrap();
    assert_eq!(rows.sum(&s, &[1]).unwrap().to_vec(&s).unwrap()[0], expected);
    let columns = rows.transpose().to_contiguous(&s, devarray::Order::C).unwrap();
    assert_eq!(columns.sum(&s, &[0]).unwrap().to_vec(&s).unwrap()[0], expected);
    let backwards = rows.flip(&[1]).unwrap();
    assert_eq!(backwards.sum(&s, &[1]).unwrap().to_vec(&s).unwrap()[1], expected);
}

#[test]
fn what_is_reduced_may_be_a_function_of_several_arrays() {
    let s = stream();
    let x = Array::from_slice(&s, &[3], &[1_i32, 2, 3]).unwrap();
    let y = Array::from_slice(&s, &[2, 1], &[10_i32, 100]).unwrap();
    let dots: Array<i64, _> =
        (&x, &y).reduce(&s, &Reduction::new(ReduceOperation::Sum).axes(&[1]), |(x, y)| x * y).unwrap();
    assert_eq!(dots.to_vec(&s).unwrap(), [60, 600]);
    assert_eq!(math::dot(&s, &x, &x).unwrap().to_vec(&s).unwrap(), [14_i64]);
    let floats = Array::from_slice(&s, &[2], &[3.0_f32, 4.0]).unwrap();
    assert_eq!(math::norm(&s, &floats.view()).unwrap().to_vec(&s).unwrap(), [5.0]);
}

#[test]
fn softmax_is_a_distribution() {
    let s = stream();
    let x = Array::from_slice(&s, &[2, 3], &[1.0_f32, 2.0, 3.0, -500.0, 0.0, 500.0]).unwrap();
    let y = math::softmax(&s, &x.view(), 1).unwrap().to_vec(&s).unwrap();
    assert!((y[..3].iter().sum::<f32>() - 1.0).abs() < 1e-6 && y[3..] == [0.0, 0.0, 1.0], "{y:?}");
    let logs = math::log_softmax(&s, &x.view(), 1).unwrap().to_vec(&s).unwrap();
    assert_eq!(logs[3..], [-1000.0, -500.0, 0.0]);
    assert!(logs[..3].iter().zip(&y).all(|(log, y)| (log.exp() - y).abs() < 1e-6), "{logs:?} {y:?}");
}

/// Softmax equals the three calls that it replaces, to the bit, into elements of any strides, and
/// has their errors.
#[test]
fn softmax_is_what_its_parts_make() {
    let s = stream();
    let numbers: Vec<f64> = (0..60).map(|k| f64::from(k * k % 37) / 3.0 - 5.0).collect();
    let x = Array::from_slice(&s, &[3, 4, 5], &numbers).unwrap();
    for axis in [0, 1, -1] {
        let along = |operation| Reduction::new(operation).axes(&[axis]).keep_axes();
        let max: Array<f64, _> = x.reduce_as(&s, &along(ReduceOperation::Maximum)).unwrap();
        let sum: Array<f64, _> =
            (&x, &max).reduce(&s, &along(ReduceOperation::Sum), |(x, max)| (x - max).exp()).unwrap();
        let due = (&x, &max, &sum).map(&s, |(x, max, sum)| (x - max).exp() / sum).unwrap();
        let mut turned = Array::<f64, _>::zeros(&s, &[5, 4, 3]).unwrap();
        let result = turned.view_mut().transpose();
        let found = math::softmax(&s, &x, axis).unwrap();
        math::softmax_into(&s, &x, axis, &mut { result }).unwrap();
        assert_eq!(found.to_vec(&s).unwrap(), due.to_vec(&s).unwrap(), "axis {axis}");
        assert_eq!(turned.view().transpose().to_vec(&s).unwrap(), due.to_vec(&s).unwrap(), "axis {axis}");
        let due = (&x, &max, &sum).map(&s, |(x, max, sum)| x - max - sum.ln()).unwrap();
        let found = math::log_softmax(&s, &x, axis).unwrap();
        assert_eq!(found.to_vec(&s).unwrap(), due.to_vec(&s).unwrap(), "axis {axis}");
    }
    assert!(math::softmax(&s, &x, 3).is_err());
    let mut small = Array::<f64, _>::zeros(&s, &[3, 4]).unwrap();
    assert!(math::softmax_into(&s, &x, 0, &mut small.view_mut()).is_err());
    let nothing = Array::<f64, _>::zeros(&s, &[2, 0]).unwrap();
    assert!(math::softmax(&s, &nothing, 1).is_err());
    assert_eq!(math::softmax(&s, &nothing, 0).unwrap().shape(), [2, 0]);
}

#[test]
fn what_has_no_value_or_another_type_is_an_error() {
    let s = stream();
    let nothing = Array::<f32, _>::zeros(&s, &[0, 2]).unwrap();
    assert_eq!(nothing.sum(&s, &[0]).unwrap().to_vec(&s).unwrap(), [0.0, 0.0]);
    assert!(nothing.mean(&s, ..).unwrap().to_vec(&s).unwrap()[0].is_nan());
    let kind = |result: Result<_, Error>| match result {
        Err(Error::Function(error)) => error.kind(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind(nothing.max(&s, ..)), FunctionErrorKind::Empty);
    let wrong = nothing.reduce_as::<f64>(&s, &Reduction::new(ReduceOperation::Sum));
    assert_eq!(wrong.unwrap_err().to_string(), "the result is f32, not f64");
    let cast = Reduction::new(ReduceOperation::Sum).cast(ElementType::F64);
    assert_eq!(nothing.reduce_as::<f64>(&s, &cast).unwrap().to_vec(&s).unwrap(), [0.0]);
}

/// Minimum and maximum ignore the elements that the mask leaves out, also where the initial value
/// is the least or greatest number of the type.
fn extremes_of_what_is_selected<T: Computable + PartialEq>([least, low, high, greatest]: [T; 4]) {
    let s = stream();
    let x = Array::from_slice(&s, &[4], &[low, high, low, high]).unwrap();
    let of = |selected: [bool; 4], operation, initial: T| {
        let mask = Array::from_slice(&s, &[4], &selected.map(Bool::from)).unwrap();
        let reduction = Reduction::new(operation).initial(initial);
        x.reduce_where::<T>(&s, &mask, &reduction).unwrap().item(&s).unwrap()
    };
    let (none, lows, highs) = ([false; 4], [true, false, true, false], [false, true, false, true]);
    let (minimum, maximum) = (ReduceOperation::Minimum, ReduceOperation::Maximum);
    let of_type = T::TYPE;
    assert!(of(none, minimum, greatest) == greatest, "the minimum of nothing, of {of_type}");
    assert!(of(none, maximum, least) == least, "the maximum of nothing, of {of_type}");
    assert!(of(highs, minimum, greatest) == high, "the minimum without the low ones, of {of_type}");
    assert!(of(lows, maximum, least) == low, "the maximum without the high ones, of {of_type}");
    assert!(of(lows, minimum, high) == low && of(highs, maximum, low) == high, "{of_type}");
}

#[test]
fn what_a_mask_leaves_out_does_not_show_in_extremes_of_any_type() {
    extremes_of_what_is_selected([i8::MIN, -9, -5, i8::MAX]);
    extremes_of_what_is_selected([u8::MIN, 5, 9, u8::MAX]);
    extremes_of_what_is_selected([i16::MIN, -9, -5, i16::MAX]);
    extremes_of_what_is_selected([u16::MIN, 5, 9, u16::MAX]);
    extremes_of_what_is_selected([i32::MIN, -9, -5, i32::MAX]);
    extremes_of_what_is_selected([u32::MIN, 5, 9, u32::MAX]);
    extremes_of_what_is_selected([i64::MIN, -9, -5, i64::MAX]);
    extremes_of_what_is_selected([u64::MIN, 5, 9, u64::MAX]);
    let of_floats =
        [[f32::NEG_INFINITY, -9.0, -5.0, f32::INFINITY], [f32::NEG_INFINITY, 5.0, 9.0, f32::INFINITY]];
    for numbers in of_floats {
        extremes_of_what_is_selected(numbers.map(f16::from_f32));
        extremes_of_what_is_selected(numbers.map(bf16::from_f32));
        extremes_of_what_is_selected(numbers);
        extremes_of_what_is_selected(numbers.map(f64::from));
    }
    extremes_of_what_is_selected([false, false, true, true].map(Bool::from));
}

#[test]
fn extremes_of_truth_values_take_an_initial_one() {
    let s = stream();
    for bits in 0..8 {
        let [a, b, initial] = [0, 1, 2].map(|at| bits >> at & 1 == 1);
        let x = Array::from_slice(&s, &[2], &[a, b].map(Bool::from)).unwrap();
        let of = |operation| {
            let reduction = Reduction::new(operation).initial(Bool::from(initial));
            x.reduce_as::<Bool>(&s, &reduction).unwrap().item(&s).unwrap()
        };
        assert_eq!(of(ReduceOperation::Minimum), Bool::from(a && b && initial), "{a} {b} {initial}");
        assert_eq!(of(ReduceOperation::Maximum), Bool::from(a || b || initial), "{a} {b} {initial}");
    }
}

#[test]
fn an_initial_value_has_the_type_of_the_result() {
    let s = stream();
    let x = Array::from_slice(&s, &[2], &[3_i32, 4]).unwrap();
    let refused = |reduction: Reduction| x.reduce_as::<i32>(&s, &reduction).unwrap_err().to_string();
    for operation in [ReduceOperation::Minimum, ReduceOperation::Maximum] {
        let found = refused(Reduction::new(operation).initial(Bool::from(true)));
        assert!(found.contains("an initial value of bool for a result of i32"), "{found}");
    }
    let found = refused(Reduction::new(ReduceOperation::Sum).initial(1_i32));
    assert!(found.contains("an initial value of i32 for a result of i64"), "{found}");
    let found = refused(Reduction::new(ReduceOperation::ArgMinimum).initial(1_i64));
    assert!(found.contains("argmin takes no initial value"), "{found}");
}

/// Every method of `Real`, on a number of the host and in a function.
fn all_of_real<R: Real>(x: R) -> R {
    let c = R::constant;
    let first = x.exp().ln_1p() + x.sin() * x.cos() - x.tan().atan() + x.exp_m1().cbrt();
    let second = x.abs().sqrt().ln().tanh() + x.sinh().asinh() + (x.cosh()).acosh() + x.erf() + x.erfc();
    let third = x.atan2(c(2.0)) + x.hypot(c(0.5)) + x.abs().pow(c(1.5)) + x.exp2().log2() + x.abs().log10();
    let fourth = x.floor() + x.ceil() + x.trunc() + x.round_ties_even() + x.reciprocal() + x.sigmoid();
    let inside = x.minimum(c(0.9)).maximum(c(-0.9));
    let fifth = inside.asin() + inside.acos() + inside.atanh() + x.mul_add(c(1.1), c(0.1)) - (-x);
    let all = first + second * third + fourth + fifth;
    R::select(x.less(c(0.0)), all, R::select(x.less_equal(c(1.0)), all * c(2.0), all + c(1.0)))
}

#[test]
fn a_function_of_real_numbers_has_the_same_bits_on_the_host() {
    let s = stream();
    let x: Vec<f32> = (-40..40_i8).map(|k| f32::from(k) * 0.173 + 0.01).collect();
    let got = Array::from_slice(&s, &[80], &x).unwrap().map(&s, all_of_real).unwrap().to_vec(&s).unwrap();
    assert_eq!(got, x.iter().copied().map(all_of_real).collect::<Vec<_>>());
    let x: Vec<f64> = x.into_iter().map(f64::from).collect();
    let got = Array::from_slice(&s, &[80], &x).unwrap().map(&s, all_of_real).unwrap().to_vec(&s).unwrap();
    assert_eq!(got, x.iter().copied().map(all_of_real).collect::<Vec<_>>());
}
