//! Functions of the elements of products, and products added to existing elements, on the simulator and on
//! the CPU: compared with the separate calls.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Array, Bool, Context, ErasedArray, Error, LayoutError, Result, StreamHandle,
    function::{
        ElementType::{F32, F64, I32},
        Expression, Function, Operands as _,
    },
    product::ProductErrorKind,
};
use devarray_any::AnyDevice;
use devarray_host::HostDevice;
use devarray_mock::MockDevice;
use half::f16;

/// Runs a test on both devices; no finding is allowed.
fn on_both(test: impl Fn(&StreamHandle<AnyDevice>) -> Result<()>) {
    let devices = [AnyDevice::from(MockDevice::new()), HostDevice::builder().threads(2).build().into()];
    for device in devices {
        let context = Context::new(device.clone()).unwrap();
        let stream = context.stream().unwrap();
        test(&stream).unwrap();
        stream.synchronize().unwrap();
        if let Some(mock) = device.as_mock() {
            let findings = mock.report().findings;
            assert!(findings.is_empty(), "{findings:?}");
        }
    }
}

/// Numbers of both signs that are not multiples of each other.
fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|at| ((at * 37 + 11) % 101) as f32 / 7.0 - 7.0).collect()
}

fn matrix(s: &StreamHandle<AnyDevice>, shape: &[usize]) -> Result<Array<f32, AnyDevice>> {
    Array::from_slice(s, shape, &numbers(shape.iter().product()))
}

fn bits(s: &StreamHandle<AnyDevice>, of: &Array<f32, AnyDevice>) -> Result<Vec<u32>> {
    Ok(of.to_vec(s)?.into_iter().map(f32::to_bits).collect())
}

#[test]
fn a_function_sees_the_elements_of_the_product() {
    on_both(|s| {
        for (left, right) in [
            (&[5, 7][..], &[7, 9][..]),
            (&[3, 5, 7], &[7, 9]),
            (&[2, 1, 5, 7], &[3, 7, 2]),
            (&[7], &[7, 4]),
            (&[4, 7], &[7]),
            (&[7], &[7]),
            (&[2, 5000], &[5000, 3]),
            (&[0, 3], &[3, 2]),
        ] {
            let (a, b) = (matrix(s, left)?, matrix(s, right)?);
            let product = a.matmul(s, &b)?;
            let bias = matrix(s, product.shape().last().map_or(&[][..], std::slice::from_ref))?;
            let due = (&product, &bias, 0.25).map(s, |(y, bias, k)| (y * k + bias).maximum(0.0))?;
            let of = |y: Expression<f32>, (bias, k): (Expression<f32>, Expression<f32>)| {
                (y * k + bias).maximum(0.0)
            };
            let found = a.matmul_map(s, &b, (&bias, 0.25), of)?;
            assert_eq!(found.shape(), product.shape());
            assert_eq!(bits(s, &found)?, bits(s, &due)?, "{left:?} @ {right:?}");
            // The result goes into a view of any strides, of a result that is transposed.
            let wide: Vec<usize> = product.shape().iter().rev().map(|extent| extent + 1).collect();
            let mut room = Array::full(s, &wide, -1.0_f32)?;
            let mut to = room.view_mut().transpose();
            let ends: Vec<_> = product.shape().to_vec();
            for (axis, end) in ends.into_iter().enumerate() {
                to = to.slice_axis(axis, ..end)?;
            }
            a.matmul_map_into(s, &b, (&bias, 0.25), &mut to, of)?;
            assert_eq!(bits(s, &to.as_view().to_contiguous(s, devarray::Order::C)?)?, bits(s, &due)?);
            let untouched = room.to_vec(s)?.into_iter().filter(|&x| x == -1.0).count();
            assert!(untouched >= room.len() - due.len(), "what lies beside the result stays");
        }
        Ok(())
    });
}

#[test]
fn the_element_is_rounded_first() {
    on_both(|s| {
        // 2049 is no f16: the nearest, ties to even, is 2048.
        let a = Array::from_slice(s, &[1, 2], &[f16::from_f32(2048.0), f16::ONE])?;
        let b = Array::full(s, &[2, 1], f16::ONE)?;
        let wide = a.matmul_map(s, &b, (), |y, ()| y.cast::<f32>() - 2048.0)?;
        assert_eq!(wide.to_vec(s)?, [0.0]);
        let a = Array::from_slice(s, &[1, 2], &[200_u8, 100])?;
        let b = Array::full(s, &[2, 1], 1_u8)?;
        let wide = a.matmul_map(s, &b, (), |y, ()| y.cast::<u64>() * 1000)?;
        assert_eq!(wide.to_vec(s)?, [44_000], "an integer wraps before");
        let truth = a.matmul_map(s, &b, (44_u8,), |y, (k,)| y.equal(k))?;
        assert_eq!(truth.to_vec(s)?, [Bool::TRUE]);
        Ok(())
    });
}

#[test]
fn positions_are_of_the_products_axes() {
    on_both(|s| {
        let x = Array::from_slice(s, &[2], &[1_i64, 1])?;
        let b = Array::full(s, &[3, 2, 4], 10_i64)?;
        let of = |y, ()| y + 100 * Expression::position(0) + Expression::position(1);
        let due: Vec<i64> = (0..3).flat_map(|i| (0..4).map(move |j| 20 + 100 * i + j)).collect();
        assert_eq!(x.matmul_map(s, &b, (), of)?.to_vec(s)?, due);
        let beyond = x.matmul_map(s, &b, (), |y, ()| y + Expression::position(2)).unwrap_err();
        assert!(matches!(beyond, Error::Layout(LayoutError::AxisOutOfRange { .. }, _)), "{beyond}");
        Ok(())
    });
}

#[test]
fn results_are_updated_in_place() {
    on_both(|s| {
        let (a, b) = (matrix(s, &[6, 5])?, matrix(s, &[5, 4])?);
        let product = a.matmul(s, &b)?;
        let mut c = matrix(s, &[4, 6])?;
        let due = (&product, &c.view().transpose(), 0.1, -3.0)
            .map(s, |(y, c, alpha, beta)| alpha * y + beta * c)?
            .view()
            .transpose()
            .to_contiguous(s, devarray::Order::C)?;
        a.gemm(s, 0.1, &b, -3.0, &mut c.view_mut().transpose())?;
        assert_eq!(bits(s, &c)?, bits(s, &due)?);
        // Another element type, of another size, is given for the result.
        let mut count = Array::full(s, &[6, 4], 5_u8)?;
        a.matmul_update(s, &b, (1_u8,), &mut count, |y, n, (one,)| y.gt(0.0).select(n + one, n))?;
        let due: Vec<u8> = product.to_vec(s)?.into_iter().map(|y| 5 + u8::from(y > 0.0)).collect();
        assert_eq!(count.to_vec(s)?, due);
        let mut nan = Array::full(s, &[6, 4], f32::NAN)?;
        a.gemm(s, 1.0, &b, 0.0, &mut nan)?;
        assert!(nan.to_vec(s)?.iter().all(|c| c.is_nan()), "0 times NaN is NaN");
        Ok(())
    });
}

#[test]
fn a_chain_may_start_from_what_is_there() {
    on_both(|s| {
        for depth in [1, 40, 4096, 5000] {
            let (a, b, c) = (matrix(s, &[3, depth])?, matrix(s, &[depth, 4])?, matrix(s, &[3, 4])?);
            let [x, y, start] = [a.to_vec(s)?, b.to_vec(s)?, c.to_vec(s)?];
            let due = |i: usize, j: usize| {
                let chain = |from: usize, to: usize, start: f32| {
                    (from..to.min(depth)).fold(start, |sum, k| x[i * depth + k].mul_add(y[k * 4 + j], sum))
                };
                let first = chain(0, 4096, start[i * 4 + j]);
                if depth <= 4096 { first } else { 0.0 + (first + chain(4096, 8192, 0.0)) }
            };
            let all: Vec<u32> =
                (0..3).flat_map(|i| (0..4).map(move |j| (i, j))).map(|(i, j)| due(i, j).to_bits()).collect();
            let mut found = c;
            a.matmul_onto(s, &b, &mut found)?;
            assert_eq!(bits(s, &found)?, all, "{depth} k");
        }
        let (none, mut c) = (matrix(s, &[2, 0])?, Array::from_slice(s, &[2, 1], &[-0.0_f32, 7.0])?);
        none.matmul_onto(s, &matrix(s, &[0, 1])?, &mut c)?;
        assert_eq!(bits(s, &c)?, [(-0.0_f32).to_bits(), 7.0_f32.to_bits()], "nothing is added to it");
        Ok(())
    });
}

#[test]
fn without_products_a_function_sees_zeros() {
    on_both(|s| {
        let (a, b) = (matrix(s, &[2, 0])?, matrix(s, &[0, 3])?);
        let bias = Array::from_slice(s, &[3], &[1.0_f32, -1.0, 2.0])?;
        let found = a.matmul_map(s, &b, &bias, |y, bias| (y + bias).maximum(0.0))?;
        assert_eq!(found.to_vec(s)?, [1.0, 0.0, 2.0, 1.0, 0.0, 2.0]);
        let mut c = Array::full(s, &[2, 3], 4.0_f32)?;
        a.gemm(s, 2.0, &b, 0.5, &mut c)?;
        assert_eq!(c.to_vec(s)?, [2.0; 6]);
        Ok(())
    });
}

#[test]
fn erased_arrays_have_functions_of_products() {
    on_both(|s| {
        let a = ErasedArray::from_bytes(s, &[1, 2], 4, bytemuck::bytes_of(&[1.0_f32, 2.0]))?;
        let b = a.view().transpose();
        let negate = Function::parse("k0 - x0", &[F32], &[F32])?;
        let ten = u64::from(10.0_f32.to_bits());
        let found = a.view().matmul_apply(s, F32, &b, &negate, &[], &[ten])?;
        assert_eq!(found.view().to_bytes(s)?, bytemuck::bytes_of(&5.0_f32));
        let mut c = found;
        a.view().matmul_onto(s, F32, &b, &mut c)?;
        assert_eq!(c.view().to_bytes(s)?, bytemuck::bytes_of(&10.0_f32));
        let last = Function::parse("x0 * x1", &[F32; 2], &[])?;
        a.view().matmul_update(s, F32, &b, &last, &[], &[], &mut c)?;
        assert_eq!(c.view().to_bytes(s)?, bytemuck::bytes_of(&50.0_f32));
        let other = Function::parse("x0 + 1", &[I32], &[])?;
        let refused = a.view().matmul_apply(s, F32, &b, &other, &[], &[]).unwrap_err();
        let is_due = matches!(&refused, Error::Product(of, _) if of.kind() == ProductErrorKind::Type);
        assert!(is_due, "{refused}");
        let constant = Function::parse("k0", &[], &[F32])?;
        for function in [&last, &negate, &constant] {
            let refused = a.view().matmul_apply(s, F32, &b, function, &[], &[]).unwrap_err();
            assert!(matches!(refused, Error::Layout(LayoutError::RankMismatch { .. }, _)), "{refused}");
        }
        let wide = Function::parse("x0 + x1", &[F64; 2], &[])?;
        a.view().matmul_apply(s, F32, &b, &wide, &[a.view()], &[]).unwrap_err();
        Ok(())
    });
}

#[test]
fn what_does_not_fit_is_refused_and_enqueues_nothing() {
    on_both(|s| {
        let (a, b) = (matrix(s, &[2, 3])?, matrix(s, &[3, 2])?);
        let before = s.context().statistics().products;
        let rows = matrix(s, &[3])?;
        let refused = a.matmul_map(s, &b, &rows, |y, r| y + r).unwrap_err();
        assert!(matches!(refused, Error::Layout(LayoutError::NotBroadcastable { .. }, _)), "{refused}");
        let more = matrix(s, &[4, 2, 2])?;
        a.matmul_map(s, &b, &more, |y, r| y + r).unwrap_err();
        let mut narrow = matrix(s, &[2, 1])?;
        let refused = a.matmul_map_into(s, &b, (), &mut narrow, |y, ()| y).unwrap_err();
        assert!(matches!(refused, Error::Layout(LayoutError::ShapeMismatch { .. }, _)), "{refused}");
        a.matmul_onto(s, &b, &mut narrow).unwrap_err();
        let elsewhere = Context::new(AnyDevice::from(MockDevice::new()))?.stream()?;
        let stranger = matrix(&elsewhere, &[2])?;
        let refused = a.matmul_map(s, &b, &stranger, |y, r| y + r).unwrap_err();
        assert!(matches!(refused, Error::DeviceMismatch { .. }), "{refused}");
        assert_eq!(s.context().statistics().products, before);
        let _ = a.matmul_map(s, &b, (), |y, ()| y)?;
        assert_eq!(s.context().statistics().products, before + 1, "it is one operation");
        Ok(())
    });
}
