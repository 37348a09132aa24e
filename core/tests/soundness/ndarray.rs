//! Arrays of `ndarray` in any layout that it can make, compared with its own iteration.

use devarray::{Array, Bool, Order};
use devarray_conformance::Rng;
use half::{bf16, f16};
use ndarray::{Array3, Axis, Slice, arr0};
use num_complex::Complex;

use super::{devices, open};

/// A host array, permuted, sliced, reversed and thinned at random, goes to the device and back into
/// another array of this kind. Bytes between the elements of either are unchanged.
#[test]
fn any_layout_goes_there_and_back_and_touches_nothing_else() {
    let device = devices().next().unwrap();
    let (_context, stream) = open(&device);
    let mut rng = Rng::new(1);
    for _ in 0..300 {
        let shape = [0; 3].map(|_| rng.below(6));
        let mut count = 0_u32;
        let whole = Array3::from_shape_fn(shape, |_| {
            count += 1;
            count
        });
        let (mut source, mut back) = (whole.clone(), whole.clone());
        let axes = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1]][rng.below(4)];
        let mut view = source.view_mut().permuted_axes(axes);
        let mut into = back.view_mut().permuted_axes(axes);
        for axis in 0..3 {
            let step = [1, 1, 2, -1, -2][rng.below(5)];
            let start = isize::try_from(rng.below(view.len_of(Axis(axis)) + 1)).unwrap();
            view.slice_axis_inplace(Axis(axis), Slice::new(start, None, step));
            into.slice_axis_inplace(Axis(axis), Slice::new(start, None, step));
        }
        view.mapv_inplace(|value| value + 1000);
        let array =
            Array::from_ndarray(&stream, &view, [Order::C, Order::F, Order::K][rng.below(3)]).unwrap();
        let due: Vec<u32> = view.iter().copied().collect();
        assert_eq!(array.to_vec(&stream).unwrap(), due);
        array.view().copy_to_ndarray(&stream, &mut into).unwrap();
        assert_eq!(back, source, "only the elements of the view differ from the whole, and those by 1000");
    }
}

#[test]
fn repeated_and_overlapping_elements_are_read_and_never_written() {
    let device = devices().next().unwrap();
    let (_context, stream) = open(&device);
    let row = Array3::from_shape_fn([1, 1, 5], |(_, _, k)| k);
    let repeated = row.broadcast([3, 2, 5]).unwrap();
    let array = Array::from_ndarray(&stream, &repeated, Order::C).unwrap();
    assert_eq!(array.to_vec(&stream).unwrap(), repeated.iter().copied().collect::<Vec<_>>());
    let line = ndarray::Array1::from_iter(0..10_u8);
    for window in line.windows(4) {
        let array = Array::from_ndarray(&stream, &window, Order::C).unwrap();
        assert_eq!(array.to_vec(&stream).unwrap(), window.to_vec());
    }
    let scalar = Array::from_ndarray(&stream, &arr0(7_i8), Order::F).unwrap();
    assert_eq!(scalar.to_vec(&stream).unwrap(), [7]);
    // A view without elements may begin at the end of its memory.
    let none = line.slice(ndarray::s![10..; -1]);
    assert_eq!(Array::from_ndarray(&stream, &none, Order::C).unwrap().to_vec(&stream).unwrap(), [0_u8; 0]);
}

#[test]
fn elements_of_other_crates_keep_their_bits() {
    let device = devices().next().unwrap();
    let (context, stream) = open(&device);
    let halves: Vec<f16> = (0..=u16::MAX).step_by(97).map(f16::from_bits).collect();
    let brains: Vec<bf16> = (0..=u16::MAX).step_by(89).map(bf16::from_bits).collect();
    let complex: Vec<Complex<f64>> = (0..50).map(|k| Complex::new(f64::from(k), f64::NAN)).collect();
    let bits = |values: &[f16]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let turned = Array::from_slice(&stream, &[halves.len()], &halves).unwrap();
    let flipped = turned.view().flip(&[0]).unwrap().to_vec(&stream).unwrap();
    assert!(bits(&flipped).iter().rev().eq(&bits(&halves)));
    let there = Array::from_slice(&stream, &[brains.len()], &brains).unwrap().to_vec(&stream).unwrap();
    assert!(there.iter().map(|b| b.to_bits()).eq(brains.iter().map(|b| b.to_bits())));
    let mut pinned = context.pinned::<Complex<f64>>(50).unwrap();
    pinned.copy_from_slice(&complex);
    let mut array = Array::full(&stream, &[50], Complex::new(1.0, 2.0)).unwrap();
    array.view_mut().upload(&stream, pinned).unwrap().wait().unwrap();
    let back = array.to_vec(&stream).unwrap();
    assert!(back.iter().zip(&complex).all(|(a, b)| a.re.to_bits() == b.re.to_bits() && a.im.is_nan()));
    // A device may write any byte to a truth value.
    let mut truths = Array::<Bool, _>::zeros(&stream, &[256]).unwrap();
    let bytes: Vec<u8> = (0..=255).collect();
    truths.view_mut().bytes_mut().unwrap().copy_from_host(&stream, 0, &bytes).unwrap();
    let read = truths.to_vec(&stream).unwrap();
    assert_eq!(read.into_iter().filter(|&truth| bool::from(truth)).count(), 255);
}
