//! Random parts of arrays, and the elements that they contain.

use devarray::{ArrayView, ArrayViewMut, Element, Layout, layout::Slice};
pub(super) use devarray_conformance::Rng;
use devarray_mock::MockDevice as Mock;

/// Any value of an element type.
pub(super) fn value<T: Element>(rng: &mut Rng) -> T {
    let mut value = T::zeroed();
    bytemuck::bytes_of_mut(&mut value).iter_mut().for_each(|byte| *byte = rng.bits().to_le_bytes()[0]);
    value
}

/// A transform that keeps the number of axes.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Flip(isize),
    Swap(isize, isize),
    Cut(isize, Slice),
}

pub(super) fn narrowed(layout: &Layout, step: &Step) -> Layout {
    match step {
        Step::Flip(axis) => layout.flip(&[*axis]).unwrap(),
        Step::Swap(a, b) => layout.swap_axes(*a, *b).unwrap(),
        Step::Cut(axis, slice) => layout.slice_axis(*axis, *slice).unwrap(),
    }
}

pub(super) fn read<'a, T: Element>(view: ArrayView<'a, T, Mock>, steps: &[Step]) -> ArrayView<'a, T, Mock> {
    steps.iter().fold(view, |view, step| match step {
        Step::Flip(axis) => view.flip(&[*axis]).unwrap(),
        Step::Swap(a, b) => view.swap_axes(*a, *b).unwrap(),
        Step::Cut(axis, slice) => view.slice_axis(*axis, *slice).unwrap(),
    })
}

pub(super) fn write<'a, T: Element>(
    view: ArrayViewMut<'a, T, Mock>,
    steps: &[Step],
) -> ArrayViewMut<'a, T, Mock> {
    steps.iter().fold(view, |view, step| match step {
        Step::Flip(axis) => view.flip(&[*axis]).unwrap(),
        Step::Swap(a, b) => view.swap_axes(*a, *b).unwrap(),
        Step::Cut(axis, slice) => view.slice_axis(*axis, *slice).unwrap(),
    })
}

pub(super) fn steps(rng: &mut Rng, layout: &Layout) -> Vec<Step> {
    let mut layout = layout.clone();
    let count = rng.below(4);
    let mut steps = Vec::new();
    for _ in 0..count {
        let rank = layout.rank();
        let [a, b] = [(); 2].map(|()| rng.below(rank).cast_signed());
        let extent = layout.shape()[a.cast_unsigned()].cast_signed();
        steps.push(match rng.below(4) {
            0 => Step::Flip(a),
            1 => Step::Swap(a, b),
            2 => Step::Cut(a, Slice::from(rng.below(2)..).step_by(*rng.pick(&[2, 2, 3]))),
            _ => {
                let start = rng.below(extent.cast_unsigned()).cast_signed();
                Step::Cut(a, Slice::from(start..extent - rng.below(2).cast_signed()))
            }
        });
        layout = narrowed(&layout, &steps[steps.len() - 1]);
    }
    steps
}

/// The positions index by index; shares no arithmetic with the library.
pub(super) fn positions(layout: &Layout) -> Vec<usize> {
    let mut found = vec![layout.offset().cast_signed()];
    for (&extent, &stride) in layout.shape().iter().zip(layout.strides()) {
        found =
            found.iter().flat_map(|&at| (0..extent.cast_signed()).map(move |i| at + i * stride)).collect();
    }
    found.into_iter().map(isize::cast_unsigned).collect()
}
