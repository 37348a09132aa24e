//! New arrays hold what they say, in the order asked for; arrays that cannot be made are a typed
//! error.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use std::fmt::Debug;

use devarray::{
    Array, Bool, Context, Element, Error, HostArray, Layout, LayoutError, NdLayout, Order, StreamHandle,
};
use devarray_mock::MockDevice;
use half::{bf16, f16};
use num_complex::Complex;
use num_traits::{Num, One, cast};

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

#[test]
fn constructors_fill_every_shape() {
    let s = stream();
    for shape in [&[][..], &[1], &[5], &[2, 3], &[2, 0, 3], &[0], &[0, usize::MAX >> 1], &[1, 4, 1, 2]] {
        let len = shape.iter().product();
        assert_eq!(Array::<u16, _>::zeros(&s, shape).unwrap().to_vec(&s).unwrap(), vec![0; len]);
        assert_eq!(Array::<f32, _>::ones(&s, shape).unwrap().to_vec(&s).unwrap(), vec![1.0; len]);
        assert_eq!(Array::full(&s, shape, [7_u8; 3]).unwrap().to_vec(&s).unwrap(), vec![[7; 3]; len]);
        assert_eq!(Array::<u64, _>::uninit(&s, shape).unwrap().shape(), shape);
        assert_eq!(Array::from_slice(&s, shape, &vec![3_i8; len]).unwrap().to_vec(&s).unwrap(), vec![3; len]);
    }
}

#[test]
fn elements_of_other_crates() {
    fn check<T: Element + One + PartialEq + Debug>(s: &StreamHandle<MockDevice>, values: [T; 4]) {
        let a = Array::from_slice(s, &[2, 2], &values).unwrap();
        let turned = a.view().transpose().to_contiguous(s, Order::C).unwrap();
        assert_eq!(turned.to_vec(s).unwrap(), [values[0], values[2], values[1], values[3]]);
        assert_eq!(Array::<T, _>::ones(s, &[3]).unwrap().to_vec(s).unwrap(), [T::one(); 3]);
    }
    let s = stream();
    check(&s, [0.5, -1.0, 2.0, 65504.0].map(f16::from_f32));
    check(&s, [0.5, -1.0, 2.0, 1e30].map(bf16::from_f32));
    check(&s, [0.5, -1.0, 2.0, 1e30].map(|re| Complex { re, im: -re }));
    check(&s, [0.5, -1.0, 2.0, 1e30].map(|re| Complex::<f32> { re, im: 1.0 }));
}

/// NumPy's `empty_like` gives the same shape and strides, for a permuted, reversed, broadcast or
/// sliced array.
#[test]
fn like_another_layout_in_each_order() {
    let s = stream();
    let a = Layout::contiguous(&[2, 3, 4], Order::C).unwrap();
    let row = Layout::contiguous(&[4], Order::C).unwrap();
    let column = Layout::contiguous(&[3, 1], Order::C).unwrap();
    let step = devarray::layout::Slice::from(..).step_by(2);
    type Strides = &'static [isize];
    let cases: [(Layout, [Strides; 4]); 9] = [
        (a.permute(&[1, 2, 0]).unwrap(), [&[8, 2, 1], &[1, 3, 12], &[8, 2, 1], &[4, 1, 12]]),
        (a.transpose(), [&[6, 2, 1], &[1, 4, 12], &[1, 4, 12], &[1, 4, 12]]),
        (a.flip(&[1]).unwrap(), [&[12, 4, 1], &[1, 2, 6], &[12, 4, 1], &[12, 4, 1]]),
        (
            a.flip(&[0]).unwrap().slice_axis(2, step).unwrap(),
            [&[6, 2, 1], &[1, 2, 6], &[6, 2, 1], &[6, 2, 1]],
        ),
        (row.broadcast_to(&[3, 4]).unwrap(), [&[4, 1], &[1, 3], &[4, 1], &[1, 3]]),
        (column.broadcast_to(&[3, 4]).unwrap(), [&[4, 1], &[1, 3], &[4, 1], &[4, 1]]),
        (a.index(&devarray::ix![Ellipsis, 1]).unwrap(), [&[3, 1], &[1, 2], &[3, 1], &[3, 1]]),
        (
            a.permute(&[2, 0, 1]).unwrap().flip(&[2]).unwrap(),
            [&[6, 3, 1], &[1, 4, 8], &[6, 3, 1], &[1, 12, 4]],
        ),
        (Layout::contiguous(&[], Order::C).unwrap(), [&[], &[], &[], &[]]),
    ];
    for (like, expected) in cases {
        for (order, strides) in [Order::C, Order::F, Order::A, Order::K].into_iter().zip(expected) {
            let made = Array::<u8, _>::uninit_like(&s, &like, order).unwrap();
            assert_eq!(
                (made.shape(), made.strides(), made.offset()),
                (like.shape(), strides, 0),
                "{like:?} {order:?}"
            );
            let zeros = Array::<u64, _>::zeros_like(&s, &like, order).unwrap();
            let ones = Array::<f64, _>::ones_like(&s, &zeros, Order::K).unwrap();
            let full = Array::full_like(&s, &ones.view(), [1_u8, 2, 3], Order::A).unwrap();
            assert_eq!((zeros.strides(), ones.strides()), (strides, strides));
            assert_eq!(zeros.to_vec(&s).unwrap(), vec![0; like.len()]);
            assert_eq!(ones.to_vec(&s).unwrap(), vec![1.0; like.len()]);
            assert_eq!(full.to_vec(&s).unwrap(), vec![[1, 2, 3]; like.len()]);
        }
    }
    let host = HostArray::new(&[2, 0], Vec::<f32>::new()).unwrap();
    assert_eq!(Array::<u8, _>::zeros_like(&s, &host, Order::K).unwrap().shape(), [2, 0]);
}

/// Counts up or down one by one, which cannot overflow in `i128`.
fn counted(start: i128, stop: i128, step: i128) -> Vec<i128> {
    let mut values = Vec::new();
    let mut value = start;
    while if step > 0 { value < stop } else { value > stop } {
        values.push(value);
        value += step;
    }
    values
}

#[test]
fn sequences_of_integers_are_exact_in_every_range() {
    fn check<T: Element + Num + num_traits::NumCast + Debug>(
        s: &StreamHandle<MockDevice>,
        start: i128,
        stop: i128,
        step: i128,
    ) {
        let [first, end, by] = [start, stop, step].map(|value| cast::<_, T>(value).unwrap());
        let expected: Vec<T> =
            counted(start, stop, step).into_iter().map(|n| cast::<_, T>(n).unwrap()).collect();
        let found = Array::arange(s, first, end, by).unwrap().to_vec(s).unwrap();
        assert_eq!(found, expected, "{start} {stop} {step}");
    }
    let s = stream();
    for step in [1, 2, 3, 7, 100, -1, -2, -5, -128] {
        for start in [-128, -100, -1, 0, 3, 127] {
            for stop in [-128, -99, 0, 3, 4, 127] {
                check::<i8>(&s, start, stop, step.clamp(-128, 127));
                check::<i64>(&s, start, stop, step);
            }
        }
    }
    check::<u8>(&s, 0, 255, 1);
    check::<u8>(&s, 250, 255, 100);
    let (low, high) = (i128::from(i64::MIN), i128::from(i64::MAX));
    check::<i64>(&s, low, high, high);
    check::<i64>(&s, high, low, low);
    check::<u64>(&s, i128::from(u64::MAX) - 5, i128::from(u64::MAX), 2);
    let far = Array::arange(&s, i128::MIN, i128::MAX, i128::MAX).unwrap().to_vec(&s).unwrap();
    assert_eq!(far, [i128::MIN, -1, i128::MAX - 1]);
    // More elements than are made at a time.
    check::<i32>(&s, -5, 200_000, 1);
}

/// Lengths are NumPy's in `f64`, from start, stop and step rounded to the type.
#[test]
fn sequences_of_reals_are_as_long_as_numpys() {
    fn check<T: Element + Num + num_traits::NumCast>(lens: [usize; 9]) {
        let s = stream();
        let bounds = [
            (0.0, 1.0, 0.1),
            (0.0, 0.3, 0.1),
            (1.0, 0.0, -0.3),
            (0.5, 10.0, 2.25),
            (-1.0, 1.0, 1.0 / 3.0),
            (0.0, 1.0, 2.0),
            (1.0, 0.0, 0.1),
            (0.0, 0.0, 0.1),
            (10.0, -10.0, -0.7),
        ];
        for ((start, stop, step), len) in bounds.into_iter().zip(lens) {
            let [first, end, by] = [start, stop, step].map(|value: f64| cast::<_, T>(value).unwrap());
            let values = Array::arange(&s, first, end, by).unwrap().to_vec(&s).unwrap();
            assert_eq!(values.len(), len, "{start} {stop} {step}");
            for (k, value) in values.into_iter().enumerate() {
                let near = first.to_f64().unwrap() + k as f64 * by.to_f64().unwrap();
                assert!((value.to_f64().unwrap() - near).abs() <= 1e-3 * near.abs().max(1.0), "{k}: {near}");
            }
        }
    }
    check::<f64>([10, 3, 4, 5, 6, 1, 0, 0, 29]);
    check::<f32>([10, 4, 4, 5, 6, 1, 0, 0, 29]);
    check::<f16>([11, 4, 4, 5, 7, 1, 0, 0, 29]);
    let s = stream();
    assert_eq!(Array::arange(&s, 0.5_f64, 2.0, 0.5).unwrap().to_vec(&s).unwrap(), [0.5, 1.0, 1.5]);
}

/// The number of steps by exact arithmetic, in multiples of 2^-60.
fn exact_len([start, stop, step]: [f64; 3]) -> usize {
    let [start, stop, step] = [start, stop, step].map(|value| (value * 2.0_f64.powi(60)) as i128);
    let distance = if step < 0 { start - stop } else { stop - start };
    usize::try_from((distance.max(0) + step.abs() - 1) / step.abs()).unwrap()
}

/// No length is rounded to a type that cannot count that far, or overflows it.
#[test]
fn sequences_of_narrow_reals_lose_no_element() {
    fn check<T: Element + Num + num_traits::NumCast>(bounds: [f64; 3]) {
        let bounds = bounds.map(|value| cast::<_, T>(value).unwrap());
        let s = stream();
        let found = Array::arange(&s, bounds[0], bounds[1], bounds[2]).unwrap().to_vec(&s).unwrap();
        let wide = bounds.map(|bound| bound.to_f64().unwrap());
        assert_eq!(found.len(), exact_len(wide), "{wide:?}");
        let last: T = cast(wide[0] + (found.len() - 1) as f64 * wide[2]).unwrap();
        assert_eq!(found[found.len() - 1].to_f64(), last.to_f64(), "{wide:?}");
    }
    for bounds in [
        [0.0, 60_000.0, 0.25],
        [-60_000.0, 60_000.0, 1.0],
        [0.0, 1.0, 0.1],
        [0.0, 2_050.0, 1.0],
        [1_000.0, -1_000.0, -0.375],
        [0.0, 3.0, 1.0 / 4_096.0],
        [0.5, 2.0, 0.001],
    ] {
        check::<f16>(bounds);
        check::<bf16>(bounds);
        check::<f32>(bounds);
    }
    check::<f32>([0.0, 16_777_216.0, 1_024.125]);
    check::<f32>([0.0, 1.0, 1.0 / 1_048_575.0]);
}

/// Distances and products that overflow are only intermediate values.
#[test]
fn sequences_over_the_whole_range_are_finite() {
    let s = stream();
    let found = Array::arange(&s, -1.7e308, 1.7e308, 1e308).unwrap().to_vec(&s).unwrap();
    let due = [-1.7e308_f64, -0.7e308, 0.3e308, 1.3e308];
    assert_eq!(found.len(), due.len());
    assert!(found.iter().zip(due).all(|(x, due)| (x - due).abs() < 1e293), "{found:?}");
    let found = Array::arange(&s, f64::MAX, f64::MIN, -f64::MAX).unwrap().to_vec(&s).unwrap();
    assert_eq!(found, [f64::MAX, 0.0]);
    let found = Array::arange(&s, f32::MIN, f32::MAX, 1e38).unwrap().to_vec(&s).unwrap();
    assert_eq!(found.len(), 7);
    assert!(found.is_sorted() && found[6] < f32::MAX, "{found:?}");
}

#[test]
fn impossible_sequences_are_typed_errors() {
    let context = Context::new(MockDevice::builder().memory_limit_bytes(1 << 20).build()).unwrap();
    let s = context.stream().unwrap();
    let layout = |error: LayoutError| Some(Error::from(error));
    let zero_step = layout(LayoutError::ZeroStep { axis: 0 });
    assert_eq!(Array::arange(&s, 0, 5, 0).err(), zero_step);
    assert_eq!(Array::arange(&s, 0.0, 5.0, -0.0).err(), zero_step);
    let not_finite = layout(LayoutError::NotFinite);
    assert_eq!(Array::arange(&s, f32::NAN, 1.0, 1.0).err(), not_finite);
    assert_eq!(Array::arange(&s, 0.0, f64::INFINITY, 1.0).err(), not_finite);
    assert_eq!(Array::arange(&s, 0.0, 1.0, f64::NAN).err(), not_finite);
    assert_eq!(
        Array::arange(&s, Complex::new(0.0, 1.0), Complex::new(2.0, 0.0), Complex::new(1.0, 0.0)).err(),
        not_finite
    );
    let overflow = layout(LayoutError::Overflow);
    assert_eq!(Array::arange(&s, 0.0, 1e300, 1e-300).err(), overflow);
    assert_eq!(Array::arange(&s, -f32::MAX, f32::MAX, 1.0).err(), overflow);
    assert_eq!(Array::arange(&s, 0, u64::MAX, 1).err(), overflow);
    assert_eq!(Array::arange(&s, i128::MIN, i128::MAX, 1).err(), overflow);
    assert_eq!(Array::arange(&s, u128::MAX, 0, 1).err(), overflow);
    // The length is counted, but there is no memory for it: nothing is made on the host first.
    let error = Array::arange(&s, 0_u64, 1 << 50, 1).unwrap_err();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
}

/// Strides that no memory can have.
struct Impossible;

impl NdLayout for Impossible {
    fn shape(&self) -> &[usize] {
        &[4, 4]
    }

    fn strides(&self) -> &[isize] {
        &[isize::MAX, 1]
    }

    fn offset(&self) -> usize {
        1
    }
}

#[test]
fn what_does_not_fit_is_a_typed_error() {
    let context = Context::new(MockDevice::builder().memory_limit_bytes(1 << 20).build()).unwrap();
    let s = context.stream().unwrap();
    let impossible = Array::<u8, _>::zeros_like(&s, &Impossible, Order::C).unwrap_err();
    assert_eq!(impossible, LayoutError::Overflow.into());
    let huge = Layout::contiguous(&[1 << 61], Order::C).unwrap();
    assert_eq!(Array::full_like(&s, &huge, 1_u64, Order::K).err(), Some(LayoutError::Overflow.into()));
    assert!(matches!(Array::<u8, _>::ones_like(&s, &huge, Order::K), Err(Error::OutOfMemory { .. })));
    // A broadcast of one element to more elements than the host has memory for.
    let one = Array::full(&s, &[1], 1_u32).unwrap();
    let wide = one.view().broadcast_to(&[1 << 61]).unwrap();
    assert_eq!(wide.to_vec(&s).unwrap_err(), LayoutError::Overflow.into());
    assert_eq!(wide.as_erased().to_bytes(&s).unwrap_err(), LayoutError::Overflow.into());
    let wide = one.view().broadcast_to(&[1 << 60]).unwrap();
    for error in [
        wide.to_vec(&s).unwrap_err(),
        wide.to_host(&s).unwrap_err(),
        wide.to_ndarray(&s, Order::C).unwrap_err(),
    ] {
        let Error::OutOfMemory { operation: "download", requested_bytes, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(requested_bytes, 1 << 62);
    }
    assert!(matches!(wide.as_erased().to_bytes(&s), Err(Error::OutOfMemory { .. })));
}

#[test]
fn truth_is_any_byte_but_0() {
    let s = stream();
    let bytes = Array::from_slice(&s, &[4], &[0_u8, 1, 2, 255]).unwrap();
    let truths = Array::<Bool, _>::from_erased(bytes.into_erased()).unwrap();
    let found = truths.to_host(&s).unwrap();
    assert_eq!(found.as_slice(), [Bool::FALSE, Bool::TRUE, Bool::TRUE, Bool::TRUE]);
    assert!(
        found.iter().zip([false, true, true, true]).all(|(found, expected)| bool::from(*found) == expected)
    );
    assert_eq!(found.to_string(), "[False  True  True  True]");
    assert_eq!(format!("{:?}", found[[3]]), "Bool(true)");
    let hash = |value: Bool| {
        use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
        BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
    };
    assert_eq!(hash(found[[1]]), hash(found[[2]]));
    assert_ne!(hash(found[[0]]), hash(found[[2]]));
    assert_eq!((!found[[3]], !Bool::default(), bool::from(found[[2]])), (Bool::FALSE, Bool::TRUE, true));
    let written = Array::full(&s, &[2], Bool::from(true)).unwrap().into_erased();
    assert_eq!(written.view().to_bytes(&s).unwrap(), [1, 1]);
}

#[test]
fn filling_nothing_asks_the_device_for_nothing() {
    let device = MockDevice::new();
    let stream = Context::new(device.clone()).unwrap().stream().unwrap();
    let before = device.statistics();
    let empty = Array::full(&stream, &[0, 4], [1_u8, 2, 3]).unwrap();
    assert_eq!((empty.shape(), empty.rank(), empty.len(), empty.is_empty()), (&[0, 4][..], 2, 0, true));
    assert_eq!(
        device.statistics(),
        before,
        "elements of three bytes are filled by a copy of one, if there are any"
    );
}
