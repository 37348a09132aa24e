//! The canonical form: equal copies have one plan, and known copies have their class.

use devarray::{
    Layout, LayoutError,
    backend::Capabilities,
    copy::{Class, Plan},
};
use proptest::prelude::*;

use super::{
    cases::{Limits, Side, cases},
    random::fixed,
};

/// The class of a copy of `shape` with the strides of the two sides, for elements of `item_bytes`.
fn class(shape: &[usize], dst: &[isize], src: &[isize], item_bytes: usize, limits: Limits) -> Class {
    let layout = |strides: &[isize]| {
        let backwards = shape.iter().zip(strides).filter(|&(_, &stride)| stride < 0);
        let offset = backwards.map(|(extent, stride)| (extent - 1) * stride.unsigned_abs()).sum();
        Layout::new(shape, strides, offset).unwrap()
    };
    Plan::new(&layout(dst), &layout(src), item_bytes, &limits.capabilities()).unwrap().class()
}

fn unlimited(shape: &[usize], dst: &[isize], src: &[isize], item_bytes: usize) -> Class {
    class(shape, dst, src, item_bytes, Limits::NONE)
}

fn pitched(width_bytes: usize, height: usize, dst_pitch_bytes: usize, src_pitch_bytes: usize) -> Class {
    Class::Pitched { width_bytes, height, dst_pitch_bytes, src_pitch_bytes }
}

#[test]
fn linear() {
    assert_eq!(unlimited(&[], &[], &[], 8), Class::Linear);
    assert_eq!(unlimited(&[2, 3, 4], &[12, 4, 1], &[12, 4, 1], 12), Class::Linear);
    assert_eq!(unlimited(&[2, 3], &[1, 2], &[1, 2], 1), Class::Linear);
    assert_eq!(unlimited(&[2, 3], &[-3, -1], &[-3, -1], 4), Class::Linear);
    assert_eq!(unlimited(&[5, 1, 1], &[1, 9, -9], &[1, 0, 7], 4), Class::Linear);
}

#[test]
fn rows() {
    assert_eq!(unlimited(&[4, 3], &[3, 1], &[10, 1], 4), pitched(12, 4, 12, 40));
    assert_eq!(unlimited(&[2, 4, 3], &[12, 3, 1], &[40, 10, 1], 4), pitched(12, 8, 12, 40));
    assert_eq!(unlimited(&[4, 3], &[-3, 1], &[-10, 1], 4), pitched(12, 4, 12, 40));
    // A column consists of rows of one element.
    assert_eq!(unlimited(&[5], &[1], &[7], 8), pitched(8, 5, 8, 56));
    assert_eq!(unlimited(&[5], &[2], &[3], 12), pitched(12, 5, 24, 36));
}

#[test]
fn slices_of_rows() {
    let three = Class::Pitched3 {
        width_bytes: 12,
        height: 4,
        depth: 2,
        dst_pitch_bytes: 12,
        src_pitch_bytes: 40,
        dst_slice_rows: 4,
        src_slice_rows: 6,
    };
    assert_eq!(unlimited(&[2, 4, 3], &[12, 3, 1], &[60, 10, 1], 4), three);
    // The rows are not whole, fewer than the height, or backward on one side.
    assert_eq!(unlimited(&[2, 4, 3], &[12, 3, 1], &[65, 10, 1], 4), Class::Batched);
    assert_eq!(unlimited(&[2, 4, 3], &[12, 3, 1], &[30, 10, 1], 4), Class::Batched);
    assert_eq!(unlimited(&[2, 4, 3], &[12, 3, 1], &[-60, 10, 1], 4), Class::Batched);
    // Rows that overlap in the source.
    assert_eq!(unlimited(&[4, 3], &[3, 1], &[2, 1], 4), Class::Batched);
}

#[test]
fn fast_axes_that_differ() {
    let transpose = |dst_axis, src_axis| Class::Transpose { dst_axis, src_axis };
    assert_eq!(unlimited(&[4, 3], &[3, 1], &[1, 4], 4), transpose(1, 0));
    assert_eq!(unlimited(&[2, 4, 3], &[12, 3, 1], &[12, 1, 4], 8), transpose(2, 1));
    assert_eq!(unlimited(&[2, 4, 3], &[12, 3, 1], &[1, 2, 8], 2), transpose(2, 0));
    assert_eq!(unlimited(&[4, 3], &[-3, 1], &[1, 4], 4), transpose(1, 0));
    // The source is equally fast along both axes: there is no reason to transpose.
    assert_eq!(unlimited(&[4, 3], &[3, 1], &[2, 2], 4), Class::Gather);
    // Twelve bytes are three words, which are copied as a run.
    assert_eq!(unlimited(&[4, 3], &[3, 1], &[1, 4], 12), Class::Batched);
    // Eight contiguous bytes on both sides are one word.
    assert_eq!(unlimited(&[4, 3, 8], &[24, 8, 1], &[8, 32, 1], 1), transpose(1, 0));
}

#[test]
fn the_rest() {
    assert_eq!(unlimited(&[4, 3], &[3, 1], &[0, 1], 4), Class::Broadcast);
    assert_eq!(unlimited(&[4, 3], &[3, 1], &[1, 0], 4), Class::Broadcast);
    assert_eq!(unlimited(&[4], &[1], &[-1], 4), Class::Gather);
    assert_eq!(unlimited(&[4, 3, 2], &[24, 5, 2], &[60, 11, 3], 4), Class::Gather);
    assert_eq!(unlimited(&[4, 0], &[0, 0], &[0, 1], 4), Class::Empty);
}

#[test]
fn limits_are_kept() {
    let at = |width_bytes, height, pitch_bytes| {
        class(&[4, 3], &[3, 1], &[10, 1], 4, Limits { width_bytes, height, pitch_bytes })
    };
    assert_eq!(at(12, 4, 40), pitched(12, 4, 12, 40));
    assert_eq!(at(11, 4, 40), Class::Batched);
    assert_eq!(at(12, 3, 40), Class::Batched);
    assert_eq!(at(12, 4, 39), Class::Batched);
    let tall = Limits { height: 4, ..Limits::NONE };
    assert_eq!(class(&[5], &[1], &[7], 8, tall), Class::Gather);
    // A destination of one element is accepted whatever the limits are.
    let none = Limits { width_bytes: 0, height: 0, pitch_bytes: 0 };
    assert_eq!(class(&[1], &[1], &[7], 8, none), Class::Linear);
}

#[test]
fn what_is_refused() {
    let plan = |dst: (&[usize], &[isize]), src: (&[usize], &[isize]), item_bytes| {
        let [dst, src] = [dst, src].map(|(shape, strides)| Layout::new(shape, strides, 9).unwrap());
        Plan::new(&dst, &src, item_bytes, &Capabilities::default()).map(|plan| plan.len_bytes())
    };
    let line = (&[3][..], &[1][..]);
    assert_eq!(plan(line, (&[3, 1], &[1, 1]), 4), Err(LayoutError::RankMismatch { expected: 1, found: 2 }));
    let shapes = LayoutError::ShapeMismatch { expected: [3][..].into(), found: [1][..].into() };
    assert_eq!(plan(line, (&[1], &[1]), 4), Err(shapes));
    assert!(matches!(plan(line, line, 0), Err(LayoutError::ElementSize { item_bytes: 0, .. })));
    assert_eq!(plan((&[3], &[0]), line, 4), Err(LayoutError::AliasedDestination));
    assert_eq!(plan((&[3, 2], &[1, 1]), (&[3, 2], &[2, 1]), 4), Err(LayoutError::AliasedDestination));
    assert_eq!(plan((&[3, 2], &[1, 2]), (&[3, 2], &[2, 1]), 4), Err(LayoutError::AliasedDestination));
    // No element is written twice if there are no elements, or only one.
    assert_eq!(plan((&[3, 0], &[0, 0]), (&[3, 0], &[0, 0]), 4), Ok(0));
    assert_eq!(plan((&[3, 1], &[1, 0]), (&[3, 1], &[1, 0]), 4), Ok(12));
}

proptest! {
    #![proptest_config(fixed(2_000))]

    /// Renumbering, reversing, splitting or adding axes on both sides alike changes nothing.
    #[test]
    fn one_plan_for_one_copy(
        case in cases(),
        axis in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!case.shape.is_empty() && !case.shape.contains(&0));
        let plan = case.plan();
        let (axis, other) = (axis.index(case.shape.len()), other.index(case.shape.len()));

        let mut swapped = case.clone();
        swapped.shape.swap(axis, other);
        swapped.dst.strides.swap(axis, other);
        swapped.src.strides.swap(axis, other);
        prop_assert_eq!(&swapped.plan(), &plan);

        let mut turned = case.clone();
        for side in [&mut turned.dst, &mut turned.src] {
            let last = isize::try_from(case.shape[axis] - 1).unwrap();
            side.offset = side.offset.checked_add_signed(last * side.strides[axis]).unwrap();
            side.strides[axis] = -side.strides[axis];
        }
        prop_assert_eq!(&turned.plan(), &plan);

        let mut padded = case.clone();
        padded.shape.insert(axis, 1);
        padded.dst.strides.insert(axis, -5);
        padded.src.strides.insert(axis, 0);
        prop_assert_eq!(&padded.plan(), &plan);

        for factor in 2..case.shape[axis] {
            if case.shape[axis].is_multiple_of(factor) {
                let mut split = case.clone();
                split.shape[axis] /= factor;
                split.shape.insert(axis + 1, factor);
                for Side { strides, .. } in [&mut split.dst, &mut split.src] {
                    strides.insert(axis + 1, strides[axis]);
                    strides[axis] *= isize::try_from(factor).unwrap();
                }
                prop_assert_eq!(&split.plan(), &plan);
            }
        }
    }

    /// A single block is the whole plan, and packing a dense source is linear.
    #[test]
    fn reducing_twice_changes_nothing(case in cases()) {
        let plan = case.plan();
        let whole: Vec<Plan> = plan.blocks(plan.len_bytes()).collect();
        prop_assert_eq!(whole.len(), usize::from(plan.len_bytes() > 0));
        prop_assert!(whole.iter().all(|block| *block == plan));
        prop_assert!(matches!(plan.unpack().pack().class(), Class::Linear | Class::Empty));
        prop_assert!(matches!(plan.pack().unpack().class(), Class::Linear | Class::Empty));
    }
}
