//! Arrays that differ fail with a text that names the first difference; equal ones pass, wherever
//! they are.
#![allow(clippy::unwrap_used)] // helpers of tests

use std::panic::catch_unwind;

use devarray::{
    Array, Bool, Context, HostArray, StreamHandle, assert_array_close, assert_array_eq,
    compare::{Comparable, Tolerance, difference, difference_beyond},
};
use devarray_mock::MockDevice;

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

fn host<T>(shape: &[usize], data: Vec<T>) -> HostArray<T> {
    HostArray::new(shape, data).unwrap()
}

fn told<T: devarray::Element + std::fmt::Debug>(left: &[T], right: &[T]) -> Option<String> {
    let array = |data: &[T]| host(&[data.len()], data.to_vec());
    difference(&array(left), &array(right), &()).unwrap().map(|found| found.to_string())
}

#[test]
fn elements_are_compared_byte_for_byte() {
    assert_eq!(told(&[1, 2], &[1, 2]), None);
    assert_eq!(told::<u8>(&[], &[]), None);
    assert_eq!(told(&[f32::NAN], &[f32::NAN]), None);
    assert_eq!(
        told(&[0.0_f64, 1.0], &[-0.0, 1.0]).unwrap(),
        "first difference at [0]: left 0.0, right -0.0; 1 of 2 elements differ (f64, shape [2])"
    );
    let other_nan = f32::from_bits(f32::NAN.to_bits() ^ 1);
    assert_eq!(
        told(&[f32::NAN], &[other_nan]).unwrap(),
        "first difference at [0]: left NaN (bytes [00, 00, c0, 7f]), right NaN (bytes [01, 00, c0, 7f]); \
         1 of 1 elements differ (f32, shape [1])"
    );
    assert!(told(&[Bool::TRUE], &[Bool::FALSE]).unwrap().ends_with("(Bool, shape [1])"));
    assert!(told(&[[1_u8, 2]], &[[1, 3]]).unwrap().contains("left [1, 2], right [1, 3]"));
    let half = [half::f16::ONE, half::f16::ZERO];
    assert!(told(&half[..1], &half[1..]).unwrap().contains("(f16, shape [1])"));
}

/// Every place is changed in turn: the place that is found is the changed one, in C order, and the
/// count is right.
#[test]
fn the_first_difference_is_the_first_in_c_order() {
    let data: Vec<u16> = (0..24).collect();
    let due = host(&[2, 3, 4], data.clone());
    for first in 0..24 {
        let mut changed = data.clone();
        changed[first..].iter_mut().step_by(5).for_each(|value| *value += 100);
        let found = difference(&host(&[2, 3, 4], changed), &due, &()).unwrap().unwrap();
        let elements = found.elements.clone().unwrap();
        assert_eq!(elements.position.as_slice(), [first / 12, first / 4 % 3, first % 4]);
        assert_eq!(elements.values, [(first + 100).to_string(), first.to_string()]);
        assert_eq!((elements.count, elements.len), ((24 - first).div_ceil(5), 24));
        assert!(found.to_string().len() < 200);
    }
}

#[test]
fn shapes_are_told_apart_before_elements() {
    let (left, right) = (host(&[2, 3], vec![0_i64; 6]), host(&[3, 2], vec![0; 6]));
    let found = difference(&left, &right, &()).unwrap().unwrap();
    assert_eq!(found.to_string(), "shapes differ: left [2, 3], right [3, 2] (i64)");
    assert!(found.elements.is_none());
    let (scalar, one) = (host(&[], vec![1]), host(&[1], vec![1]));
    let found = difference(&scalar, &one, &()).unwrap().unwrap();
    assert_eq!(found.to_string(), "shapes differ: left [], right [1] (i32)");
    assert!(difference(&host::<i32>(&[0, 2], vec![]), &host(&[0, 3], vec![]), &()).unwrap().is_some());
}

#[test]
fn tolerances_are_those_of_numpy() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let exact = Tolerance::absolute(0.0);
    for (left, right, tolerance, close) in [
        (1.0, 1.0, exact, true),
        (0.0, -0.0, exact, true),
        (1.0, 1.5, Tolerance::absolute(0.5), true),
        (1.0, 1.5, Tolerance::absolute(0.25), false),
        // The tolerance is relative to the right side: 0.5 * 2 and 0.5 * 1.
        (1.0, 2.0, Tolerance::relative(0.5), true),
        (2.0, 1.0, Tolerance::relative(0.5), false),
        (3.0, 2.0, Tolerance { absolute: 0.5, relative: 0.25 }, true),
        (nan, nan, exact, true),
        (nan, 1.0, Tolerance::absolute(inf), false),
        (1.0, nan, Tolerance::absolute(inf), false),
        (inf, inf, exact, true),
        (inf, -inf, Tolerance::absolute(inf), false),
        (1e300, inf, Tolerance::relative(1.0), false),
    ] {
        assert_eq!(tolerance.allows(left, right), close, "{left} {right} {tolerance:?}");
        let found = difference_beyond(&host(&[], vec![left]), &host(&[], vec![right]), &(), tolerance);
        assert_eq!(found.unwrap().is_none(), close, "{left} {right} {tolerance:?}");
    }
    let half = |value: f32| host(&[1], vec![half::f16::from_f32(value)]);
    assert_array_close!(half(1.0), half(1.01), Tolerance::absolute(0.02));
}

/// Every pair of places where arrays can be.
#[test]
fn arrays_on_devices_and_on_the_host_are_compared_with_each_other() {
    let stream = stream();
    let due = host(&[3, 2], vec![1, 3, 5, 2, 4, 6]);
    let mut array = Array::from_slice(&stream, &[3, 2], due.as_slice()).unwrap();
    let turned = Array::from_slice(&stream, &[2, 3], &[1, 5, 4, 3, 2, 6]).unwrap();
    assert_array_eq!(array, due, &stream);
    assert_array_eq!(due, &array, &stream);
    assert_array_eq!(turned.view().transpose(), array, &stream);
    assert_array_eq!(array.view_mut(), turned.view().transpose(), &stream, "a message for {}", "later");
    let shared = turned.into_shared();
    assert_array_eq!(shared.view().transpose(), due, &stream);
    let found = difference(&shared, &due, &stream).unwrap().unwrap();
    assert_eq!(found.to_string(), "shapes differ: left [2, 3], right [3, 2] (i32)");
}

/// The text of the panic of an assertion.
fn panic_text(assertion: impl FnOnce() + std::panic::UnwindSafe) -> String {
    *catch_unwind(assertion).unwrap_err().downcast::<String>().unwrap()
}

#[test]
fn failed_assertions_say_what_differs() {
    let text = panic_text(|| assert_array_eq!(host(&[2], vec![1, 2]), host(&[2], vec![1, 3])));
    let difference = "first difference at [1]: left 2, right 3; 1 of 2 elements differ (i32, shape [2])";
    assert_eq!(text, format!("arrays differ: {difference}"));
    let text = panic_text(|| {
        let stream = stream();
        let array = Array::from_slice(&stream, &[2], &[1, 2]).unwrap();
        assert_array_eq!(array, host(&[2], vec![1, 3]), &stream, "round {}", 7);
    });
    assert_eq!(text, format!("arrays differ: round 7: {difference}"));
    let text = panic_text(|| {
        assert_array_close!(host(&[1], vec![1.0]), host(&[1], vec![1.5]), Tolerance::absolute(0.4));
    });
    assert!(text.contains("left 1.0, right 1.5"), "{text}");
    let text = panic_text(|| {
        let (here, there) = (stream(), stream());
        let array = Array::from_slice(&there, &[1], &[1]).unwrap();
        assert_array_eq!(array, array, &here);
    });
    assert!(text.starts_with("arrays differ: they could not be compared: mock: download"), "{text}");
}

#[test]
fn a_host_array_is_not_copied() {
    let array = host(&[2], vec![1, 2]);
    let seen = Comparable::<i32, ()>::on_host(&array, &()).unwrap();
    assert!(std::ptr::eq(seen.as_slice(), array.as_slice()));
}
