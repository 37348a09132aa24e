//! Grids of coordinates, beside a naive walk over all combinations.
#![allow(clippy::unwrap_used)] // helpers of tests

use devarray::{
    Array, ArrayView, Context, ErasedView, LayoutError, NdLayout, StreamHandle, layout::Indexing,
};
use devarray_mock::MockDevice;

fn stream() -> StreamHandle<MockDevice> {
    Context::new(MockDevice::new()).unwrap().stream().unwrap()
}

/// The grid's values for one of its axes: the coordinate at each index, in order of the indices.
fn due(axes: &[Vec<i32>], which: usize, indexing: Indexing) -> (Vec<usize>, Vec<i32>) {
    let mut order: Vec<usize> = (0..axes.len()).collect();
    if indexing == Indexing::Xy && axes.len() > 1 {
        order.swap(0, 1);
    }
    let mut combinations: Vec<Vec<usize>> = vec![vec![]];
    for &axis in &order {
        combinations = combinations
            .iter()
            .flat_map(|index| (0..axes[axis].len()).map(move |at| [&index[..], &[at]].concat()))
            .collect();
    }
    let place = order.iter().position(|&axis| axis == which).unwrap();
    let values = combinations.iter().map(|index| axes[which][index[place]]).collect();
    (order.iter().map(|&axis| axes[axis].len()).collect(), values)
}

#[test]
fn a_grid_holds_every_combination() {
    let s = stream();
    for lens in [&[][..], &[3], &[1], &[4, 3], &[3, 1], &[0, 2], &[2, 3, 4], &[1, 2, 1, 3]] {
        let axes: Vec<Vec<i32>> =
            (1..).zip(lens).map(|(k, &len)| (0..len).map(|at| at * 10 + k).collect()).collect();
        let arrays: Vec<_> =
            axes.iter().map(|axis| Array::from_slice(&s, &[axis.len()], axis).unwrap()).collect();
        let views: Vec<_> = arrays.iter().map(Array::view).collect();
        let erased: Vec<_> = views.iter().map(|view| view.clone().into_erased()).collect();
        for indexing in [Indexing::Xy, Indexing::Ij] {
            let grid = ArrayView::meshgrid(&views, indexing).unwrap();
            let bytes = ErasedView::meshgrid(&erased, indexing).unwrap();
            assert_eq!((grid.len(), bytes.len()), (lens.len(), lens.len()));
            for (which, (view, erased)) in grid.iter().zip(&bytes).enumerate() {
                let (shape, values) = due(&axes, which, indexing);
                assert_eq!(view.shape(), shape, "axis {which} of {lens:?}, {indexing:?}");
                assert_eq!(view.to_vec(&s).unwrap(), values, "axis {which} of {lens:?}, {indexing:?}");
                assert_eq!((erased.layout(), erased.item_bytes()), (view.layout(), 4));
            }
        }
    }
}

#[test]
fn coordinates_may_be_views_and_single_elements() {
    let s = stream();
    let x = Array::from_slice(&s, &[5], &[0, 1, 2, 3, 4]).unwrap();
    let single = Array::from_slice(&s, &[], &[7]).unwrap();
    let backwards = x.flip(&[0]).unwrap();
    let grid = ArrayView::meshgrid(&[backwards, single.view()], Indexing::Ij).unwrap();
    assert_eq!((grid[0].shape(), grid[0].strides()), (&[5, 1][..], &[-1, 0][..]));
    assert_eq!(grid[0].to_vec(&s).unwrap(), [4, 3, 2, 1, 0]);
    assert_eq!(grid[1].to_vec(&s).unwrap(), [7; 5]);
}

#[test]
fn what_is_no_axis_is_a_typed_error() {
    let s = stream();
    let x = Array::from_slice(&s, &[2, 2], &[1, 2, 3, 4]).unwrap();
    let error = ArrayView::meshgrid(&[x.view()], Indexing::Xy).err();
    assert_eq!(error, Some(LayoutError::RankMismatch { expected: 1, found: 2 }.into()));
    let one = Array::from_slice(&s, &[1], &[1]).unwrap();
    let many = one.view().broadcast_to(&[1 << 40]).unwrap();
    let error = ArrayView::meshgrid(&[many.clone(), many], Indexing::Ij).err();
    assert_eq!(error, Some(LayoutError::Overflow.into()));
}
