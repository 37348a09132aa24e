//! Softmax on the fake: the simulator's bits, in one launch where a row stays in shared memory.

use devarray::{
    Array, Context, Order, StreamHandle,
    backend::Compute,
    function::{Expression, Float, Operands, ReduceOperation, Reduction},
    math,
    random::{self, Key},
};
use devarray_cuda::CudaDevice;
use devarray_mock::MockDevice;
use half::{bf16, f16};

use super::{compositions, state::Fake};

/// Computes the same in three calls: on elements widened to `W`, rounded to the type at the end. Its
/// logarithm likewise.
fn in_three<T: Float, W: Float, D: Compute>(
    stream: &StreamHandle<D>,
    x: &Array<T, D>,
    axis: isize,
) -> [Vec<T>; 2] {
    let along = |operation| Reduction::new(operation).axes(&[axis]).keep_axes();
    let x: Array<W, D> = math::cast(stream, x).unwrap();
    let max = x.reduce_as::<W>(stream, &along(ReduceOperation::Maximum)).unwrap();
    let sum: Array<W, D> = (&x, &max)
        .reduce(stream, &along(ReduceOperation::Sum), |(x, max): (_, Expression<W>)| (x - max).exp())
        .unwrap();
    let shares: Array<W, D> = (&x, &max, &sum).map(stream, |(x, max, sum)| (x - max).exp() / sum).unwrap();
    let logs: Array<W, D> = (&x, &max, &sum).map(stream, |(x, max, sum)| x - max - sum.ln()).unwrap();
    [shares, logs].map(|wide| math::cast::<T, _, _>(stream, &wide).unwrap().to_vec(stream).unwrap())
}

/// Launches of a softmax of normal numbers, after its bits were compared, and launches of its
/// logarithm.
fn compared<T: Float + PartialEq + std::fmt::Debug, W: Float>(shape: &[usize], axis: isize) -> u64 {
    let fake = Fake::new();
    fake.state(|state| state.total_bytes = 1 << 26);
    let device = CudaDevice::open_with(&fake.driver(), 0).unwrap();
    let context = Context::new(device).unwrap();
    let (stream, simulated) =
        (context.stream().unwrap(), Context::new(MockDevice::new()).unwrap().stream().unwrap());
    let numbers: Array<T, _> = random::normal(&simulated, shape, Key::new(5)).unwrap();
    let elements = numbers.to_vec(&simulated).unwrap();
    let x = Array::from_slice(&stream, shape, &elements).unwrap();
    let mut result = Array::uninit_like(&stream, &x, Order::C).unwrap();
    let before = context.device().function_statistics().launches;
    math::softmax_into(&stream, &x, axis, &mut result.view_mut()).unwrap();
    let launches = context.device().function_statistics().launches - before;
    let [due, due_log] = in_three::<T, W, _>(&simulated, &numbers, axis);
    assert_eq!(math::softmax(&simulated, &numbers, axis).unwrap().to_vec(&simulated).unwrap(), due);
    assert_eq!(result.to_vec(&stream).unwrap(), due, "{shape:?}");
    let logs = math::log_softmax(&simulated, &numbers, axis).unwrap();
    assert_eq!(logs.to_vec(&simulated).unwrap(), due_log, "{shape:?}");
    let found = math::log_softmax(&stream, &x, axis).unwrap().to_vec(&stream).unwrap();
    assert_eq!(found, due_log, "{shape:?}");
    fake.assert_proper();
    launches
}

#[test]
fn a_row_in_shared_memory_takes_one_launch() {
    for shape in [[3, 4], [70, 12], [5, 132], [2, 1_028], [2, 7_996], [3, 8_192], [2, 9_000], [2, 16_384]] {
        assert_eq!(compared::<f32, f32>(&shape, 1), 1, "{shape:?}");
    }
    assert_eq!(compared::<f64, f64>(&[2, 1_028], -1), 1);
    assert_eq!(compared::<f64, f64>(&[2, 4_004], -1), 1);
    // The twins: too long, no multiple of four, and along columns.
    for (shape, axis) in [([1, 16_388], 1), ([3, 5], 1), ([20, 40], 0)] {
        assert!(compared::<f32, f32>(&shape, axis) > 1, "{shape:?}");
    }
}

/// Halves are kept as the `f32` that are added: nothing between the steps is rounded, in one launch
/// and in three.
#[test]
fn halves_are_rounded_at_the_end() {
    let in_one = [([70, 12], 1), ([5, 132], 1), ([2, 8_192], 1), ([1, 16_384], 1)];
    for (shape, axis) in in_one.into_iter().chain([([3, 5], 1), ([40, 8], 0)]) {
        for launches in [compared::<f16, f32>(&shape, axis), compared::<bf16, f32>(&shape, axis)] {
            assert_eq!(launches == 1, in_one.contains(&(shape, axis)), "{shape:?}");
        }
    }
}

/// Norms, products and distances have the simulator's bits too.
#[test]
fn functions_of_several_steps_have_the_simulators_bits() {
    let fake = Fake::new();
    fake.state(|state| state.total_bytes = 1 << 26);
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    compositions::compare(&context.stream().unwrap(), &[[3, 20], [2, 1_028]]);
    fake.assert_proper();
}

/// The variance of a function of rows, and of numbers that all rows share.
fn spread<D: Compute>(stream: &StreamHandle<D>, x: &[f32], shape: &[usize]) -> Vec<f32> {
    let x = Array::from_slice(stream, shape, x).unwrap();
    let (scale, shift) =
        (Array::full(stream, &[], 1.5_f32).unwrap(), Array::full(stream, &[1, 1], 0.25).unwrap());
    let along = Reduction::new(ReduceOperation::Variance).axes(&[1]);
    let of = |(x, scale, shift): (Expression<f32>, Expression<f32>, Expression<f32>)| x * scale + shift;
    (&x, &scale, &shift).reduce(stream, &along, of).unwrap().to_vec(stream).unwrap()
}

#[test]
fn what_all_rows_share_is_not_kept_with_them() {
    let fake = Fake::new();
    fake.state(|state| state.total_bytes = 1 << 26);
    let context = Context::new(CudaDevice::open_with(&fake.driver(), 0).unwrap()).unwrap();
    let (stream, simulated) =
        (context.stream().unwrap(), Context::new(MockDevice::new()).unwrap().stream().unwrap());
    for row_len in [128, 16_384] {
        let shape = [2, row_len];
        let x: Array<f32, _> = random::normal(&simulated, &shape, Key::new(6)).unwrap();
        let x = x.to_vec(&simulated).unwrap();
        let before = context.device().function_statistics().launches;
        let found = spread(&stream, &x, &shape);
        // The second one brings the few bytes to the host.
        assert_eq!(context.device().function_statistics().launches - before, 2);
        assert_eq!(found, spread(&simulated, &x, &shape), "{row_len}");
    }
    fake.assert_proper();
}
