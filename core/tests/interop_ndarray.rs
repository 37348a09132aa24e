//! Arrays of the `ndarray` crate in every layout go to the device and come back; `ndarray` itself
//! is the oracle.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use devarray::{Array, Context, Error, HostArray, LayoutError, NdLayout, Order, StreamHandle};
use devarray_mock::MockDevice;
use ndarray::{Array as Host, Array2, ArrayD, ArrayViewD, Axis, IxDyn, ShapeBuilder, Slice, array, s};
use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed},
};

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

/// The recipe of a view of a dense array: its shape with a step and a start for each axis, whether
/// it is in F order, and a rotation of the axes.
type Recipe = (Vec<(usize, isize, usize)>, bool, usize);

fn recipes() -> impl Strategy<Value = Recipe> {
    let step = prop_oneof![Just(1_isize), Just(-1), Just(2), Just(-3)];
    (prop::collection::vec((0_usize..6, step, 0_usize..3), 0..5), any::<bool>(), 0_usize..4)
}

fn dense((axes, fortran, _): &Recipe) -> ArrayD<u32> {
    let shape: Vec<usize> = axes.iter().map(|axis| axis.0).collect();
    let shape = IxDyn(&shape).set_f(*fortran);
    let mut next = 0;
    ArrayD::from_shape_simple_fn(shape, || {
        next += 1;
        next
    })
}

fn part<'a>(mut view: ArrayViewD<'a, u32>, (axes, _, turn): &Recipe) -> ArrayViewD<'a, u32> {
    for (axis, &(extent, step, start)) in axes.iter().enumerate() {
        view.slice_axis_inplace(Axis(axis), Slice::new(start.min(extent).cast_signed(), None, step));
    }
    let rank = axes.len();
    view.permuted_axes((0..rank).map(|axis| (axis + turn) % rank).collect::<Vec<_>>())
}

fn fixed(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(0x9E37_79B9), failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(fixed(1_000))]

    #[test]
    fn every_layout_goes_and_comes_back(recipe in recipes(), order in 0_usize..4) {
        let order = [Order::C, Order::F, Order::A, Order::K][order];
        let stream = stream();
        let mut owned = dense(&recipe);
        let host = part(owned.view(), &recipe);
        let expected: Vec<u32> = host.iter().copied().collect();

        let a = Array::from_ndarray(&stream, &host, order).unwrap();
        prop_assert_eq!(a.shape(), host.shape());
        prop_assert!(a.layout().is_contiguous(order));
        prop_assert_eq!(a.to_vec(&stream).unwrap(), expected.clone());
        if order == Order::K && host.as_slice_memory_order().is_some() {
            let absolute: Vec<isize> = host.strides().iter().map(|stride| stride.abs()).collect();
            let unit = |axis: usize| host.shape()[axis] == 1 || host.is_empty();
            prop_assert!((0..host.ndim()).all(|axis| unit(axis) || a.strides()[axis] == absolute[axis]));
        }

        let back = a.view().to_ndarray(&stream, order).unwrap();
        prop_assert_eq!(&back, &host);
        prop_assert_eq!(HostArray::from_ndarray(&host).unwrap(), a.to_host(&stream).unwrap());
        prop_assert_eq!(ArrayD::from(a.to_host(&stream).unwrap()), host.to_owned());

        // It goes into an existing part; the elements around it stay.
        let mut after = owned.clone();
        let doubled = Array::from_ndarray(&stream, &host.map(|value| value * 1000), Order::C).unwrap();
        let mut untouched = owned.len();
        {
            let positions = host.map(|value| *value);
            untouched -= positions.len();
            let mut place = owned.view_mut();
            for (axis, &(extent, step, start)) in recipe.0.iter().enumerate() {
                place.slice_axis_inplace(Axis(axis), Slice::new(start.min(extent).cast_signed(), None, step));
            }
            let rank = recipe.0.len();
            let mut place = place.permuted_axes((0..rank).map(|axis| (axis + recipe.2) % rank).collect::<Vec<_>>());
            doubled.view().copy_to_ndarray(&stream, &mut place).unwrap();
        }
        after.iter_mut().for_each(|value| {
            if expected.contains(value) {
                *value *= 1000;
            }
        });
        prop_assert_eq!(&owned, &after);
        prop_assert_eq!(owned.iter().filter(|value| **value < 1000 && **value > 0).count(), untouched);
    }
}

#[test]
fn fixed_ranks_owned_and_views() {
    let s = stream();
    let host: Array2<f32> = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let a = Array::from_ndarray(&s, &host, Order::C).unwrap();
    let back: Array2<f32> = a.view().to_ndarray(&s, Order::C).unwrap().into_dimensionality().unwrap();
    assert_eq!(back, host);
    let fortran = a.view().to_ndarray(&s, Order::F).unwrap();
    assert_eq!((fortran.strides(), fortran == host.clone().into_dyn()), (&[1, 2][..], true));
    let mut b = Array::<f32, _>::zeros(&s, &[3, 2]).unwrap();
    b.view_mut().copy_from_ndarray(&s, &host.t()).unwrap();
    b.view_mut().index(&devarray::ix![..2]).unwrap().copy_from_ndarray(&s, &host.slice(s![.., ..2])).unwrap();
    assert_eq!(b.to_vec(&s).unwrap(), [1.0, 2.0, 4.0, 5.0, 3.0, 6.0]);
    // One element, repeated: `ndarray` broadcasts by stride 0 too.
    let repeated = Host::from_elem((), 7_u8);
    let repeated = repeated.broadcast((2, 3)).unwrap();
    assert_eq!(Array::from_ndarray(&s, &repeated, Order::K).unwrap().to_vec(&s).unwrap(), [7; 6]);
}

#[test]
fn no_elements_and_mistakes() {
    let s = stream();
    for shape in [&[0][..], &[2, 0, 3], &[0, 1 << 60]] {
        let none = HostArray::new(shape, Vec::<f64>::new()).unwrap();
        let host = ArrayD::from(none);
        let a = Array::from_ndarray(&s, &host, Order::K).unwrap();
        let mut back = a.view().to_ndarray(&s, Order::F).unwrap();
        a.view().copy_to_ndarray(&s, &mut back).unwrap();
        assert_eq!((a.shape(), back.shape()), (shape, shape));
    }
    let mut a = Array::<u8, _>::zeros(&s, &[2, 3]).unwrap();
    let shape = LayoutError::ShapeMismatch { expected: [2, 3][..].into(), found: [3, 2][..].into() };
    let outcome = a.view_mut().copy_from_ndarray(&s, &Array2::zeros((3, 2)));
    assert_eq!(outcome, Err(shape.into()));
    let shape = LayoutError::ShapeMismatch { expected: [3, 2][..].into(), found: [2, 3][..].into() };
    assert_eq!(a.view().copy_to_ndarray(&s, &mut Array2::zeros((3, 2))), Err(shape.into()));
    let rank = LayoutError::RankMismatch { expected: 1, found: 2 };
    assert_eq!(a.view().copy_to_ndarray(&s, &mut Host::zeros(6)), Err(rank.into()));
    let mismatch = Error::DeviceMismatch { backend: "mock", operation: "upload" };
    assert_eq!(a.view_mut().copy_from_ndarray(&stream(), &Array2::zeros((2, 3))), Err(mismatch));
}
