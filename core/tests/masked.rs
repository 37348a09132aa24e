//! Reductions with a mask or an initial value, against sums and extremes on the host.
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "small numbers")]

use std::panic::{self, AssertUnwindSafe};

use devarray::{
    Array, Bool, Context, Error, StreamHandle,
    function::{
        DeviceFunction, ElementType, Function, FunctionErrorKind, Operands,
        ReduceOperation::{self, All, Any, ArgMaximum, CountNonzero, Maximum, Mean, Minimum, Product, Sum},
        Reduction,
    },
    gather::OutOfRange,
    math,
};
use devarray_mock::MockDevice;

type Result<T = (), E = Error> = std::result::Result<T, E>;

const ROWS: usize = 3;
const COLUMNS: usize = 41;

fn stream() -> Result<StreamHandle<MockDevice>> {
    Context::new(MockDevice::new())?.stream()
}

/// Small numbers, which sums of floats hold exactly.
fn numbers() -> Vec<i32> {
    (0..ROWS * COLUMNS).map(|at| (at * 37 % 19) as i32 - 9).collect()
}

/// No element of the last row is true.
fn mask() -> Vec<bool> {
    (0..ROWS * COLUMNS).map(|at| at / COLUMNS < 2 && at * 5 % 7 < 3).collect()
}

/// The elements of each row that take part.
fn rows() -> Vec<Vec<i32>> {
    let (numbers, mask) = (numbers(), mask());
    let of_row = |row: usize| {
        let places = row * COLUMNS..(row + 1) * COLUMNS;
        places.filter(|&at| mask[at]).map(|at| numbers[at]).collect()
    };
    (0..ROWS).map(of_row).collect()
}

fn arrays(stream: &StreamHandle<MockDevice>) -> Result<(Array<i32, MockDevice>, Array<Bool, MockDevice>)> {
    let mask: Vec<Bool> = mask().into_iter().map(Bool::from).collect();
    let shape = [ROWS, COLUMNS];
    Ok((Array::from_slice(stream, &shape, &numbers())?, Array::from_slice(stream, &shape, &mask)?))
}

fn of_rows(operation: ReduceOperation) -> Reduction {
    Reduction::new(operation).axes(&[1])
}

#[test]
fn only_what_the_mask_selects_takes_part() -> Result {
    let stream = stream()?;
    let ((x, mask), rows) = (arrays(&stream)?, rows());
    let due: Vec<i64> = rows.iter().map(|row| row.iter().map(|&x| i64::from(x)).sum()).collect();
    assert_eq!(x.reduce_where::<i64>(&stream, &mask, &of_rows(Sum))?.to_vec(&stream)?, due);
    let wrapped = |row: &Vec<i32>| row.iter().fold(1_i64, |product, &x| product.wrapping_mul(x.into()));
    let due: Vec<i64> = rows.iter().map(wrapped).collect();
    assert_eq!(x.reduce_where::<i64>(&stream, &mask, &of_rows(Product))?.to_vec(&stream)?, due);
    let due: Vec<i64> = rows.iter().map(|row| row.iter().filter(|&&x| x != 0).count() as i64).collect();
    assert_eq!(x.reduce_where::<i64>(&stream, &mask, &of_rows(CountNonzero))?.to_vec(&stream)?, due);
    let due: Vec<Bool> = rows.iter().map(|row| row.iter().any(|&x| x != 0).into()).collect();
    assert_eq!(x.reduce_where::<Bool>(&stream, &mask, &of_rows(Any))?.to_vec(&stream)?, due);
    let due: Vec<Bool> = rows.iter().map(|row| row.iter().all(|&x| x != 0).into()).collect();
    assert_eq!(x.reduce_where::<Bool>(&stream, &mask, &of_rows(All))?.to_vec(&stream)?, due);

    // Where no element takes part, the result is the initial value alone.
    for initial in [-100, 0, 100] {
        let least = of_rows(Minimum).initial(initial);
        let due: Vec<i32> = rows.iter().map(|row| row.iter().copied().fold(initial, i32::min)).collect();
        assert_eq!(x.reduce_where::<i32>(&stream, &mask, &least)?.to_vec(&stream)?, due);
        let greatest = of_rows(Maximum).initial(initial);
        let due: Vec<i32> = rows.iter().map(|row| row.iter().copied().fold(initial, i32::max)).collect();
        assert_eq!(x.reduce_where::<i32>(&stream, &mask, &greatest)?.to_vec(&stream)?, due);
    }
    Ok(())
}

/// Mean and variance of numbers, in `f64`.
fn moments(row: &[i32], ddof: f64) -> (f64, f64) {
    let n = row.len() as f64;
    let mean = row.iter().copied().map(f64::from).sum::<f64>() / n;
    let squares: f64 = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum();
    (mean, squares / (n - ddof).max(0.0))
}

#[test]
fn means_divide_by_the_count_of_the_mask() -> Result {
    let stream = stream()?;
    let ((x, mask), rows) = (arrays(&stream)?, rows());
    let wide: Array<f64, _> = x.map(&stream, |x| x.cast())?;
    for keep in [false, true] {
        for ddof in [0, 1] {
            let asked = |operation| {
                let reduction = of_rows(operation).ddof(ddof);
                if keep { reduction.keep_axes() } else { reduction }
            };
            let mean = wide.reduce_where::<f64>(&stream, &mask, &asked(Mean))?;
            let variance = wide.reduce_where::<f64>(&stream, &mask, &asked(ReduceOperation::Variance))?;
            let deviation =
                wide.reduce_where::<f64>(&stream, &mask, &asked(ReduceOperation::StandardDeviation))?;
            let shape: &[usize] = if keep { &[ROWS, 1] } else { &[ROWS] };
            assert_eq!((mean.shape(), variance.shape(), deviation.shape()), (shape, shape, shape));
            let found = [mean, variance, deviation].map(|array| array.to_vec(&stream));
            let [mean, variance, deviation] = found;
            let (mean, variance, deviation) = (mean?, variance?, deviation?);
            for (at, row) in rows.iter().enumerate().take(2) {
                let (due_mean, due_variance) = moments(row, ddof as f64);
                assert!((mean[at] - due_mean).abs() < 1e-13);
                assert!((variance[at] - due_variance).abs() < 1e-12);
                assert!((deviation[at] - due_variance.sqrt()).abs() < 1e-12);
            }
            assert!(mean[2].is_nan() && variance[2].is_nan(), "a row of which nothing takes part");
        }
    }
    // With every element selected, the bits are the same as without a mask.
    let all = Array::full(&stream, &[COLUMNS], Bool::from(true))?;
    for operation in [Sum, Mean, ReduceOperation::Variance] {
        let odd = wide.map(&stream, |x| x / 3.0)?;
        let masked = odd.reduce_where::<f64>(&stream, &all, &of_rows(operation))?.to_vec(&stream)?;
        assert_eq!(masked, odd.reduce_as::<f64>(&stream, &of_rows(operation))?.to_vec(&stream)?);
    }
    Ok(())
}

#[test]
fn an_initial_value_is_combined_with_the_result() -> Result {
    let stream = stream()?;
    let x = Array::from_slice(&stream, &[4], &[1.5_f32, -2.0, 4.0, 0.5])?;
    let reduce = |reduction: Reduction| x.reduce_as::<f32>(&stream, &reduction)?.item(&stream);
    assert_eq!(reduce(Reduction::new(Sum).initial(10.0_f32))?, 14.0);
    assert_eq!(reduce(Reduction::new(Product).initial(10.0_f32))?, -60.0);
    assert_eq!(reduce(Reduction::new(Minimum).initial(-3.0_f32))?, -3.0);
    assert_eq!(reduce(Reduction::new(Maximum).initial(-3.0_f32))?, 4.0);
    assert!(reduce(Reduction::new(Maximum).initial(f32::NAN))?.is_nan());

    let nothing = Array::<i16, _>::zeros(&stream, &[2, 0])?;
    let least = nothing.reduce_as::<i16>(&stream, &of_rows(Minimum).initial(7_i16))?;
    assert_eq!(least.to_vec(&stream)?, [7, 7]);
    let sums = nothing.reduce_as::<i64>(&stream, &of_rows(Sum).initial(7_i64))?;
    assert_eq!(sums.to_vec(&stream)?, [7, 7]);
    let truth = Array::from_slice(&stream, &[2], &[Bool::from(false); 2])?;
    let either = truth.reduce_as::<Bool>(&stream, &Reduction::new(Maximum).initial(Bool::from(true)))?;
    assert_eq!(either.item(&stream)?, Bool::from(true));
    Ok(())
}

#[cfg(feature = "half")]
#[test]
fn halves_are_rounded_once_at_the_end() -> Result {
    use half::f16;

    let stream = stream()?;
    let x = Array::from_slice(&stream, &[3], &[2048.0, 1.0, 1.0].map(f16::from_f32))?;
    let mask = Array::from_slice(&stream, &[3], &[true, true, false].map(Bool::from))?;
    // 2048 + 1 + 1: if it were rounded on the way, each 1 would be lost.
    let sum = Reduction::new(Sum).initial(f16::from_f32(1.0));
    let sum = x.reduce_where::<f16>(&stream, &mask, &sum)?.item(&stream)?;
    assert_eq!(sum, f16::from_f32(2050.0));
    let mean = x.reduce_where::<f16>(&stream, &mask, &Reduction::new(Mean))?.item(&stream)?;
    assert_eq!(mean, f16::from_f32(1024.5));
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused() -> Result {
    let stream = stream()?;
    let (x, mask) = arrays(&stream)?;
    let kind = |refused: Result<Array<i32, MockDevice>>| match refused {
        Err(Error::Function(error)) => Some(error.kind()),
        _ => None,
    };
    let type_error = Some(FunctionErrorKind::Type);
    assert_eq!(kind(x.reduce_where(&stream, &mask, &of_rows(Minimum))), Some(FunctionErrorKind::Empty));
    assert_eq!(kind(x.reduce_as(&stream, &of_rows(Minimum).initial(1_i64))), type_error);
    let refused = x.reduce_where::<i64>(&stream, &mask, &of_rows(ArgMaximum));
    assert!(matches!(refused, Err(Error::Function(error)) if error.kind() == FunctionErrorKind::Type));
    let refused = x.reduce_as::<Bool>(&stream, &of_rows(Any).initial(Bool::from(true)));
    assert!(matches!(refused, Err(Error::Function(error)) if error.kind() == FunctionErrorKind::Type));
    let (value, other) = (ElementType::I32, [ElementType::I32, ElementType::Bool]);
    let (value, mask_of_two) = (Function::parse("x0", &[value], &[])?, Function::parse("x1", &other, &[])?);
    let refused = value.reduce_where(&mask_of_two, &stream, &[x.view().into_erased()], &[], &of_rows(Sum));
    assert!(matches!(refused, Err(Error::Function(error)) if error.kind() == FunctionErrorKind::Type));
    let sum =
        (&x, &mask).reduce_where::<i32, i64>(&stream, &Reduction::new(Sum), |(x, mask)| (mask, x * 2))?;
    assert_eq!(sum.item(&stream)?, rows().concat().iter().map(|&x| i64::from(2 * x)).sum::<i64>());
    Ok(())
}

#[test]
fn numbers_at_equal_distances() -> Result {
    let stream = stream()?;
    assert!(math::linspace(&stream, 1.0_f64, 2.0, 0)?.is_empty());
    assert_eq!(math::linspace(&stream, 1.0_f64, 2.0, 1)?.to_vec(&stream)?, [1.0]);
    assert_eq!(math::linspace(&stream, 1.0_f64, 2.0, 2)?.to_vec(&stream)?, [1.0, 2.0]);
    assert_eq!(math::linspace(&stream, 3.0_f32, -1.0, 5)?.to_vec(&stream)?, [3.0, 2.0, 1.0, 0.0, -1.0]);
    // numpy.linspace(0.1, 0.7, 7), bit for bit.
    let found = math::linspace(&stream, 0.1_f64, 0.7, 7)?.to_vec(&stream)?;
    let due = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7];
    let step = (0.7 - 0.1) / 6.0;
    for (at, (&x, y)) in found.iter().zip(due).enumerate() {
        let exact = if at == 6 { 0.7 } else { at as f64 * step + 0.1 };
        assert_eq!(x.to_bits(), exact.to_bits());
        assert!((x - y).abs() < 1e-15);
    }
    // A step below the least number.
    let least = f64::from_bits(1);
    let found = math::linspace(&stream, 0.0, least, 4)?.to_vec(&stream)?;
    assert_eq!(found, [0.0, 0.0, least, least]);
    Ok(())
}

/// An error that is reported once is not given to a panic, which would swallow it.
#[test]
fn a_panic_in_a_scope_leaves_what_the_next_wait_tells() -> Result {
    let stream = stream()?;
    let x = Array::from_slice(&stream, &[4], &[1, 2, 3, 4])?;
    let wrong = Array::from_slice(&stream, &[2], &[0, 9])?;
    let taken = x.take(&stream, &wrong, 0, OutOfRange::Error)?;
    let caught = panic::catch_unwind(AssertUnwindSafe(|| stream.scope(|_| panic!("on purpose"))));
    assert!(caught.is_err());
    assert!(matches!(taken.to_vec(&stream), Err(Error::Index { .. })));
    assert_eq!(taken.to_vec(&stream)?, [1, 0]);
    // The twin: a scope that ends normally reports it.
    drop(x.take(&stream, &wrong, 0, OutOfRange::Error)?);
    assert!(matches!(stream.scope(|_| ()), Err(Error::Index { .. })));
    stream.synchronize()
}

fn index_of(told: Result) -> Option<i64> {
    match told {
        Err(Error::Index { error, .. }) => Some(error.value),
        told => {
            assert_eq!(told, Ok(()));
            None
        }
    }
}

/// Two contexts may share a device, and each receives its own errors.
#[test]
fn contexts_of_one_device_are_told_of_their_own() -> Result {
    let device = MockDevice::new();
    let streams = [Context::new(device.clone())?.stream()?, Context::new(device)?.stream()?];
    for (stream, value) in streams.iter().zip([7, 8]) {
        let x = Array::<u8, _>::zeros(stream, &[3])?;
        drop(x.take(stream, &Array::from_slice(stream, &[1], &[value])?, 0, OutOfRange::Error)?);
    }
    for (stream, value) in streams.iter().zip([7, 8]).rev() {
        assert_eq!(index_of(stream.synchronize()), Some(value));
        assert_eq!(index_of(stream.synchronize()), None);
    }
    Ok(())
}

/// A dropped stream leaves its place to another stream, and its error to the event and the streams
/// that come after the gather.
#[test]
fn an_error_outlives_the_stream_of_its_gather() -> Result {
    let stream = stream()?;
    let context = stream.context();
    let wrong = Array::from_slice(&stream, &[2], &[0, 9])?;
    let x = Array::from_slice(&stream, &[2], &[5, 6])?;
    let gone = context.stream()?;
    let taken = x.take(&gone, &wrong, 0, OutOfRange::Error)?;
    let (number, end) = (gone.number(), gone.record()?);
    drop(gone);
    while !end.query()? {}
    let next = context.stream()?;
    assert_eq!(next.number(), number);
    assert_eq!(index_of(next.synchronize()), None);
    assert_eq!(index_of(taken.to_vec(&next).map(drop)), Some(9));
    assert_eq!(index_of(end.synchronize()), None);
    assert_eq!(context.take_errors(), []);
    Ok(())
}

/// The error is also reported if the stream that comes after the gather is dropped.
#[test]
fn a_stream_after_a_gather_does_not_hide_its_error() -> Result {
    let stream = stream()?;
    let context = stream.context();
    let wrong = Array::from_slice(&stream, &[2], &[0, 9])?;
    let x = Array::from_slice(&stream, &[2], &[5, 6])?;
    let taken = x.take(&stream, &wrong, 0, OutOfRange::Error)?;
    let between = context.stream()?;
    let doubled = taken.map(&between, |x| x * 2)?;
    let end = between.record()?;
    while !end.query()? {}
    drop((end, between));
    let reader = context.stream()?;
    assert_eq!(index_of(doubled.to_vec(&reader).map(drop)), Some(9));
    assert_eq!(index_of(stream.synchronize()), None);
    Ok(())
}

/// A copy in place to another context reports the errors of gathers that it comes after, since no
/// wait there covers them.
#[test]
fn a_copy_to_another_context_tells_before_it_copies() -> Result {
    let device = MockDevice::new();
    let (here, there) = (Context::new(device.clone())?.stream()?, Context::new(device)?.stream()?);
    let x = Array::from_slice(&there, &[2], &[5, 6])?;
    let wrong = Array::from_slice(&there, &[2], &[0, 9])?;
    let taken = x.take(&there, &wrong, 0, OutOfRange::Error)?;
    let mut target = Array::full(&here, &[2], 7)?;
    let copied = target.view_mut().copy_from_peer(&here, &there, &taken.view());
    assert_eq!(index_of(copied.map(drop)), Some(9));
    assert_eq!(target.to_vec(&here)?, [7, 7]);
    target.view_mut().copy_from_peer(&here, &there, &taken.view())?;
    assert_eq!(target.to_vec(&here)?, [5, 0]);
    Ok(())
}

/// A program that never waits hears nothing; the errors are reported when it waits at last.
#[test]
fn gathers_without_a_wait_are_told_of_at_last() -> Result {
    let stream = stream()?;
    let x = Array::<u8, _>::zeros(&stream, &[3])?;
    let (right, wrong) =
        (Array::from_slice(&stream, &[1], &[1])?, Array::from_slice(&stream, &[2], &[40, 41])?);
    for at in 0..5000 {
        let by = match at {
            100 => wrong.slice_axis(0, ..1)?,
            3100 => wrong.slice_axis(0, 1..)?,
            _ => right.view(),
        };
        drop(x.take(&stream, &by, 0, OutOfRange::Error)?);
    }
    assert_eq!([0; 3].map(|_| index_of(stream.synchronize())), [Some(40), Some(41), None]);
    Ok(())
}

/// A count that cannot be written is detected before any elements of several axes are moved.
#[test]
fn a_count_of_another_context_is_refused_before_anything_moves() -> Result {
    let (one, other) = (stream()?, stream()?);
    let x = Array::from_slice(&one, &[2, 3], &[0, 1, 2, 3, 4, 5])?;
    let mask = Array::from_slice(&one, &[3], &[Bool::TRUE, Bool::FALSE, Bool::TRUE])?;
    let mut room = Array::full(&one, &[2, 3], -1)?;
    let (mut count, mut theirs) = (Array::full(&one, &[], 0_i64)?, Array::full(&other, &[], 0_i64)?);
    let refused = x.view().compress_into(&one, &mask, 1, &mut room.view_mut(), &mut theirs.view_mut());
    assert!(matches!(refused, Err(Error::DeviceMismatch { .. })), "{refused:?}");
    assert_eq!(room.to_vec(&one)?, [-1; 6]);
    x.view().compress_into(&one, &mask, 1, &mut room.view_mut(), &mut count.view_mut())?;
    assert_eq!((room.to_vec(&one)?, count.item(&one)?), (vec![0, 2, -1, 3, 5, -1], 2));
    Ok(())
}
