//! Calls that consist of order, search and sums by index, and small calls of the array API, against
//! loops on the host, on the simulator and on the CPU.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, clippy::float_cmp)] // tests

use devarray::{
    Array, Bool, Context, Error, LayoutError, Result, StreamHandle, gather::GatherOperation, math,
    order::IndexFault,
};
use devarray_any::AnyDevice;
use devarray_host::HostDevice;
use devarray_mock::MockDevice;
use half::f16;

const NAN: f32 = f32::NAN;
const INFINITY: f32 = f32::INFINITY;

/// Runs a test on both devices.
fn on_both(test: impl Fn(&StreamHandle<AnyDevice>) -> Result<()>) {
    let host = HostDevice::builder().threads(2).build();
    for device in [AnyDevice::from(MockDevice::new()), AnyDevice::from(host)] {
        let stream = Context::new(device).unwrap().stream().unwrap();
        test(&stream).unwrap();
        stream.synchronize().unwrap();
    }
}

fn bits(x: Vec<f32>) -> Vec<u32> {
    x.into_iter().map(f32::to_bits).collect()
}

fn truths(x: Vec<Bool>) -> Vec<bool> {
    x.into_iter().map(bool::from).collect()
}

fn is_shape(error: &Error) -> bool {
    matches!(error, Error::Layout(LayoutError::ShapeMismatch { .. }, _))
}

#[test]
fn several_arrays_move_with_keys_along_any_axis() {
    on_both(|s| {
        let keys = Array::from_slice(s, &[3, 2], &[2.0_f32, 1.0, -0.0, NAN, 0.0, 1.0])?;
        let ids = Array::from_slice(s, &[2, 3], &[0_u8, 2, 4, 1, 3, 5])?;
        let flags = Array::from_slice(s, &[3, 2], &[1, 0, 0, 1, 1, 0].map(|bit| Bool::from(bit == 1)))?;
        let ids = ids.transpose();
        let (sorted, (moved, moved_flags)) = math::sort_by_key(s, &keys, (&ids, &flags), 0)?;
        assert_eq!(bits(sorted.to_vec(s)?), bits(vec![-0.0, 1.0, 0.0, 1.0, 2.0, NAN]));
        assert_eq!(moved.to_vec(s)?, [2, 1, 4, 5, 0, 3]);
        assert_eq!(truths(moved_flags.to_vec(s)?), [false, false, true, false, true, true]);

        let refused = math::sort_by_key(s, &keys, (&keys.transpose(),), 0).unwrap_err();
        assert!(is_shape(&refused), "{refused}");
        assert!(math::sort_by_key(s, &keys, (&keys,), 2).is_err());
        let nothing = Array::<i32, _>::zeros(s, &[0])?;
        assert_eq!(math::sort_by_key(s, &nothing, (&nothing,), -1)?.1.0.shape(), [0]);
        Ok(())
    });
}

#[test]
fn several_quantiles_are_each_one_quantile() {
    on_both(|s| {
        let x =
            Array::from_slice(s, &[2, 2, 3], &[4.0, 1.0, 2.0, 0.0, 8.0, 1.0, 3.0, 3.0, 7.0, 5.0, 9.0, 6.0])?;
        let q = [0.0, 0.3, 0.5, 1.0];
        for axis in [-1, 0, 1] {
            let all = math::quantiles(s, &x.view().transpose(), &q, axis)?;
            for (number, q) in q.into_iter().enumerate() {
                let one = x.view().transpose().quantile(s, q, axis)?;
                assert_eq!(all.shape()[1..], *one.shape());
                let found = all.view().index(&devarray::ix![number.cast_signed()])?;
                assert_eq!(found.to_vec(s)?, one.to_vec(s)?);
            }
        }
        assert_eq!(math::quantiles(s, &x, &[], 1)?.shape(), [0, 2, 3]);
        assert!(math::quantiles(s, &x, &[0.5, 1.5], 1).is_err());
        assert!(math::quantiles(s, &x, &[], 3).is_err());
        Ok(())
    });
}

#[test]
fn membership_is_by_equality() {
    on_both(|s| {
        let x = [NAN, -0.0, 3.0, INFINITY, -INFINITY, 7.0, 9.0, 1.0];
        let set = [9.0, NAN, 0.0, 3.0, 3.0, -INFINITY];
        let (x_array, set_array) = (Array::from_slice(s, &[2, 4], &x)?, Array::from_slice(s, &[3, 2], &set)?);
        let due: Vec<bool> = x.iter().map(|x| set.contains(x)).collect();
        assert_eq!(truths(math::is_in(s, &x_array, &set_array.view().transpose())?.to_vec(s)?), due);
        let turned = math::is_in(s, &x_array.view().transpose(), &set_array)?;
        assert_eq!(truths(turned.view().transpose().to_vec(s)?), due);
        let numbers = Array::from_slice(s, &[3], &[u64::MAX, 0, 1 << 63])?;
        let one = Array::from_slice(s, &[], &[1_u64 << 63])?;
        assert_eq!(truths(math::is_in(s, &numbers, &one)?.to_vec(s)?), [false, false, true]);
        let none = Array::<u64, _>::zeros(s, &[0])?;
        assert_eq!(truths(math::is_in(s, &numbers, &none)?.to_vec(s)?), [false; 3]);
        assert_eq!(math::is_in(s, &none, &numbers)?.shape(), [0]);
        Ok(())
    });
}

#[test]
fn nan_takes_no_part() {
    on_both(|s| {
        let x = [1.0, NAN, 5.0, NAN, NAN, NAN, -INFINITY, 2.0, INFINITY];
        let x = Array::from_slice(s, &[3, 3], &x)?;
        let check = |found: Array<f32, _>, due: &[f32]| -> Result<()> {
            assert_eq!(bits(found.to_vec(s)?), bits(due.to_vec()));
            Ok(())
        };
        check(math::nan_sum(s, &x, 1)?, &[6.0, 0.0, NAN])?;
        check(math::nan_mean(s, &x, 1)?, &[3.0, NAN, NAN])?;
        check(math::nan_min(s, &x, -1)?, &[1.0, NAN, -INFINITY])?;
        check(math::nan_max(s, &x, -1)?, &[5.0, NAN, INFINITY])?;
        check(math::nan_max(s, &x.view().transpose(), 1)?, &[1.0, 2.0, INFINITY])?;
        check(math::nan_min(s, &x, ..)?, &[-INFINITY])?;
        let infinite = Array::from_slice(s, &[2], &[INFINITY, NAN])?;
        check(math::nan_min(s, &infinite, 0)?, &[INFINITY])?;
        let none = Array::<f32, _>::zeros(s, &[0])?;
        check(math::nan_sum(s, &none, ..)?, &[0.0])?;
        check(math::nan_mean(s, &none, ..)?, &[NAN])?;
        assert!(math::nan_min(s, &none, ..).is_err());
        let halves = Array::from_slice(s, &[2], &[f16::NAN, f16::from_f32(2.0)])?;
        assert_eq!(math::nan_max(s, &halves, ..)?.item(s)?, f16::from_f32(2.0));
        Ok(())
    });
}

#[test]
fn logarithms_of_sums_of_exponentials_do_not_overflow() {
    on_both(|s| {
        let x = [1000.0, 1000.0, -INFINITY, -INFINITY, INFINITY, 0.0, INFINITY, -INFINITY, NAN, INFINITY];
        let x = Array::from_slice(s, &[5, 2], &x)?;
        let due = [1000.0 + 2.0_f32.ln(), -INFINITY, INFINITY, INFINITY, NAN];
        assert_eq!(bits(math::log_sum_exp(s, &x, 1)?.to_vec(s)?), bits(due.to_vec()));
        assert_eq!(bits(math::log_sum_exp(s, &x.view().transpose(), 0)?.to_vec(s)?), bits(due.to_vec()));
        assert_eq!(math::log_sum_exp(s, &x.slice_axis(0, ..2)?, ..)?.to_vec(s)?, [due[0]]);
        assert_eq!(
            math::log_sum_exp(s, &Array::<f64, _>::zeros(s, &[2, 0])?, 1)?.to_vec(s)?,
            [f64::NEG_INFINITY; 2]
        );
        let far = Array::from_slice(s, &[2], &[-1.0e300_f64, -1.0e300])?;
        assert_eq!(math::log_sum_exp(s, &far, &[0])?.item(s)?, -1.0e300);
        let halves = Array::full(s, &[2000], f16::from_f32(11.0))?;
        let due = f16::from_f32(11.0 + 2000.0_f32.ln());
        assert_eq!(math::log_sum_exp(s, &halves, ..)?.item(s)?, due);
        Ok(())
    });
}

#[test]
fn differences_of_any_order_along_any_axis() {
    on_both(|s| {
        let x = Array::from_slice(s, &[2, 4], &[1_u8, 4, 9, 16, 0, 1, 0, 255])?;
        assert_eq!(math::diff(s, &x, 1, 1)?.to_vec(s)?, [3, 5, 7, 1, 255, 255]);
        assert_eq!(math::diff(s, &x, -1, 2)?.to_vec(s)?, [2, 2, 254, 0]);
        assert_eq!(math::diff(s, &x.view().flip(&[0])?, 0, 1)?.to_vec(s)?, [1, 3, 9, 17]);
        assert_eq!(math::diff(s, &x, 1, 0)?.to_vec(s)?, x.to_vec(s)?);
        for order in [4, 5, usize::MAX] {
            assert_eq!(math::diff(s, &x, 1, order)?.shape(), [2, 0]);
        }
        assert_eq!(math::diff(s, &Array::<f32, _>::zeros(s, &[0])?, 0, 3)?.shape(), [0]);
        assert!(math::diff(s, &x, 2, 1).is_err());
        Ok(())
    });
}

#[test]
fn sparse_rows_times_vectors_and_matrices() {
    on_both(|s| {
        let values = Array::from_slice(s, &[5], &[2.0_f32, 1.0, 3.0, 1.0e8, 1.0])?;
        let columns = Array::from_slice(s, &[5], &[0_u8, 2, 1, 2, 0])?;
        let offsets = Array::from_slice(s, &[5], &[0_u32, 2, 2, 3, 5])?;
        let x = Array::from_slice(s, &[3], &[1.0, 10.0, 100.0])?;
        let operations = s.context().statistics().orders;
        let from_end = Array::from_slice(s, &[5], &[0_i64, -1, 1, -1, -3])?;
        let y = math::csr_dot(s, &values, &from_end, &offsets, &x)?;
        assert_eq!(s.context().statistics().orders, operations + 1, "one operation");
        assert_eq!(y.to_vec(s)?, math::csr_dot(s, &values, &columns, &offsets, &x)?.to_vec(s)?);
        assert_eq!(y.to_vec(s)?, [102.0, 0.0, 30.0, 1.0e10_f32 + 1.0]);
        let twice = Array::from_slice(s, &[2, 3], &[1.0, 10.0, 100.0, -1.0, 0.5, 0.25])?;
        let y = math::csr_dot(s, &values, &columns, &offsets, &twice.view().transpose())?;
        assert_eq!(y.shape(), [4, 2]);
        assert_eq!(y.to_vec(s)?, [102.0, -1.75, 0.0, 0.0, 30.0, 1.5, 1.0e10, 2.5e7 - 1.0]);

        let bytes = Array::from_slice(s, &[2], &[200_u8, 200])?;
        let (both, row) = (Array::from_slice(s, &[2], &[0, 1])?, Array::from_slice(s, &[2], &[0, 2])?);
        assert_eq!(math::csr_dot(s, &bytes, &both, &row, &bytes)?.to_vec(s)?, [80_000_u64]);
        // Products of half types are not rounded, nor are their partial sums.
        let halves = Array::from_slice(s, &[2], &[300.0, 300.0].map(f16::from_f32))?;
        let signs = Array::from_slice(s, &[2], &[300.0, -299.0].map(f16::from_f32))?;
        assert_eq!(math::csr_dot(s, &halves, &both, &row, &signs)?.to_vec(s)?, [f16::from_f32(300.0)]);

        let refused = math::csr_dot(s, &values, &both, &row, &x).unwrap_err();
        assert!(is_shape(&refused), "{refused}");
        let outside = Array::from_slice(s, &[2], &[0, 2])?;
        let told = |made: Array<u64, _>, due: &[u64]| {
            let told = s.synchronize().unwrap_err();
            assert_eq!(made.to_vec(s).unwrap(), due);
            let Error::Index { error, .. } = told else { panic!("{told}") };
            assert_eq!((error.operation, error.axis), (GatherOperation::CsrDot, Some(0)));
            (error.fault, error.position, error.value, error.bound, error.to_string())
        };
        let text = "csr_dot: index 2 at position 1 is out of range for axis 0 of extent 2";
        let found = told(math::csr_dot(s, &bytes, &outside, &row, &bytes)?, &[40_000]);
        assert_eq!(found, (IndexFault::Outside, 1, 2, 2, text.to_owned()));
        let falls = Array::from_slice(s, &[3], &[0_i64, 3, 2])?;
        let text = "csr_dot: offset 3 at position 1 is below the one before it, or out of range for axis 0 \
                    of extent 2";
        let found = told(math::csr_dot(s, &bytes, &outside, &falls, &bytes)?, &[0, 0]);
        assert_eq!(found, (IndexFault::Offset, 1, 3, 2, text.to_owned()));
        Ok(())
    });
}

#[test]
fn triangles_and_diagonals() {
    on_both(|s| {
        for (rows, columns, k) in [(3, 3, 0), (2, 4, 1), (4, 2, -2), (2, 2, 5), (0, 3, 0), (2, 2, i64::MIN)] {
            let on = |test: fn(i64, i64) -> bool| -> Vec<i32> {
                let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
                all.map(|(row, column)| i32::from(test(column - row, k))).collect()
            };
            let shape = [usize::try_from(rows).unwrap(), usize::try_from(columns).unwrap()];
            assert_eq!(math::eye::<i32, _>(s, shape[0], shape[1], k)?.to_vec(s)?, on(|at, k| at == k));
            let ones = Array::full(s, &[shape[1], shape[0]], 1)?;
            let ones = ones.view().transpose();
            assert_eq!(math::tril(s, &ones, k)?.to_vec(s)?, on(|at, k| at <= k));
            assert_eq!(math::triu(s, &ones, k)?.to_vec(s)?, on(|at, k| at >= k));
        }
        let batch = Array::from_slice(s, &[2, 2, 2], &[true; 8].map(Bool::from))?;
        let lower = [true, false, true, true, true, false, true, true];
        assert_eq!(truths(math::tril(s, &batch, 0)?.to_vec(s)?), lower);
        let refused = math::triu(s, &Array::full(s, &[2], 1)?, 0).unwrap_err();
        assert!(matches!(refused, Error::Layout(LayoutError::AxisOutOfRange { .. }, _)), "{refused}");
        Ok(())
    });
}
