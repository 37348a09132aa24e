//! Functions of several steps on a device, and what the simulator makes of the same.

use devarray::{
    Array, Context, StreamHandle,
    backend::Compute,
    function::{Computable, Float, Summable},
    math,
    random::{self, Key},
};
use devarray_mock::MockDevice;
use half::{bf16, f16};

/// The bits of everything that is made of two arrays.
fn made<T: Float + Summable, D: Compute>(stream: &StreamHandle<D>, [x, y]: [&Array<T, D>; 2]) -> Vec<u64> {
    let mut made = Vec::new();
    let mut keep = |array: devarray::Result<Array<T, D>>| {
        made.extend(array.unwrap().to_vec(stream).unwrap().into_iter().map(Computable::to_bits));
    };
    for axis in 0..2 {
        keep(math::softmax(stream, x, axis));
        keep(math::log_softmax(stream, y, axis));
    }
    for x in [x, y] {
        keep(math::norm(stream, x));
        keep(math::norm(stream, &x.transpose()));
    }
    let ends = x.view().reshape(&[-1], devarray::Order::C).unwrap().to_vec(stream).unwrap();
    for (first, last) in [(ends[0], ends[1]), (ends[1], ends[0]), (ends[0], ends[0])] {
        keep(math::linspace(stream, first, last, 37));
    }
    for dot in [math::dot(stream, x, y), math::dot(stream, x, x)] {
        made.extend(dot.unwrap().to_vec(stream).unwrap().into_iter().map(Computable::to_bits));
    }
    made
}

/// Numbers of `f64`, rounded to a type, on two devices.
fn compare_of<T: Float + Summable, D: Compute>(
    stream: &StreamHandle<D>,
    shape: [usize; 2],
    scales: [f64; 2],
) {
    let simulated = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let arrays = [0, 1].map(|which| {
        let numbers: Array<f64, _> = random::normal(&simulated, &shape, Key::new(which)).unwrap();
        let scale = scales[usize::try_from(which).unwrap()];
        let scaled = numbers.map(&simulated, |x| (x * scale).cast::<T>()).unwrap();
        let elements = scaled.to_vec(&simulated).unwrap();
        (Array::from_slice(stream, &shape, &elements).unwrap(), scaled)
    });
    let [(x, due_x), (y, due_y)] = &arrays;
    let (found, due) = (made(stream, [x, y]), made(&simulated, [due_x, due_y]));
    let wrong = found.iter().zip(&due).position(|(found, due)| found != due);
    assert_eq!(found.len(), due.len());
    assert_eq!(wrong, None, "{} of {shape:?} times {scales:?}", T::TYPE);
}

/// Compares all types, with ordinary numbers, and with some whose squares are no numbers of the type.
pub(crate) fn compare<D: Compute>(stream: &StreamHandle<D>, shapes: &[[usize; 2]]) {
    for &shape in shapes {
        for scales in [[1.0, 3.0], [1e-4, 1e3]] {
            compare_of::<f16, D>(stream, shape, scales);
        }
        for scales in [[1.0, 3.0], [1e-30, 1e30]] {
            compare_of::<bf16, D>(stream, shape, scales);
            compare_of::<f32, D>(stream, shape, scales);
        }
        for scales in [[1.0, 3.0], [1e-200, 1e200], [1e-310, 5e307]] {
            compare_of::<f64, D>(stream, shape, scales);
        }
    }
    // Products of integers are made in 64 bits.
    let bytes: Vec<u8> = (0..4).flat_map(|_| (0..250).rev()).collect();
    let x = Array::from_slice(stream, &[1_000], &bytes).unwrap();
    let due: u64 = bytes.iter().map(|&x| u64::from(x) * u64::from(x)).sum();
    assert_eq!(math::dot(stream, &x, &x).unwrap().item(stream).unwrap(), due);
}
