//! No input makes a layout operation panic: extreme extents, strides, offsets and arguments give a
//! layout that the checked constructor also accepts, or an error.
#![allow(clippy::unwrap_used)] // helpers of tests

use super::cases;
use cases::{config, slices};
use devarray::{
    Layout, LayoutError, NdLayout, Order,
    layout::{IndexItem, Injectivity, Overlap, Slice, Split},
};
use proptest::prelude::*;

const ORDERS: [Order; 4] = [Order::C, Order::F, Order::A, Order::K];

fn extents() -> impl Strategy<Value = usize> + Clone {
    prop_oneof![
        6 => 0..4_usize,
        1 => Just(1 << 16),
        1 => Just(1 << 31),
        1 => Just(1 << 62),
        1 => Just(isize::MAX.cast_unsigned()),
        1 => Just(usize::MAX),
    ]
}

fn strides() -> impl Strategy<Value = isize> + Clone {
    prop_oneof![
        6 => -3..4_isize,
        1 => Just(1 << 31),
        1 => Just(-(1 << 61)),
        1 => Just(isize::MAX),
        1 => Just(isize::MIN),
    ]
}

fn offsets() -> impl Strategy<Value = usize> {
    prop_oneof![
        3 => 0..9_usize,
        1 => Just(1 << 62),
        1 => Just((isize::MAX - 1).cast_unsigned()),
        1 => Just(isize::MAX.cast_unsigned()),
        1 => Just(usize::MAX),
    ]
}

fn axes() -> impl Strategy<Value = Vec<(usize, isize)>> {
    prop_oneof![9 => prop::collection::vec((extents(), strides()), 0..5),
                1 => prop::collection::vec((0..2_usize, strides()), 60..70)]
}

fn integers() -> impl Strategy<Value = isize> + Clone {
    prop_oneof![8 => -4..4_isize, 1 => Just(isize::MIN), 1 => Just(isize::MAX), 1 => Just(1 << 40)]
}

fn items() -> impl Strategy<Value = Vec<IndexItem>> {
    let item = prop_oneof![
        3 => integers().prop_map(IndexItem::At),
        9 => slices().prop_map(IndexItem::Slice),
        1 => Just(IndexItem::NewAxis),
        1 => Just(IndexItem::Ellipsis),
    ];
    prop::collection::vec(item, 0..5)
}

/// Checks that the unchecked arithmetic of a transform gave the same layout as the checked
/// constructor.
fn agrees(found: Result<Layout, LayoutError>) -> Result<(), TestCaseError> {
    if let Ok(found) = found {
        prop_assert_eq!(Layout::new(found.shape(), found.strides(), found.offset()), Ok(found));
    }
    Ok(())
}

fn parts_agree(split: Result<Split, LayoutError>) -> Result<(), TestCaseError> {
    let Ok(split) = split else { return Ok(()) };
    prop_assert_eq!(split.size_hint(), (split.len(), Some(split.len())));
    split.take(5).try_for_each(|part| agrees(Ok(part)))
}

proptest! {
    #![proptest_config(config(6000))]

    #[test]
    fn nothing_panics(
        axes in axes(),
        offset in offsets(),
        numbers in prop::collection::vec(integers(), 0..5),
        shape in prop::collection::vec(extents(), 0..6),
        items in items(),
        slice in slices(),
        number in prop_oneof![4 => 0..5_usize, 1 => Just(usize::MAX)],
    ) {
        let (extents, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
        for order in ORDERS {
            agrees(Layout::contiguous(&extents, order))?;
        }
        // Most of these do not fit in memory; with strides of 0, more of them do.
        let made = [Layout::new(&extents, &strides, offset), Layout::new(&extents, &vec![0; extents.len()], offset)];
        for layout in made.into_iter().flatten() {
            let axis = numbers.first().copied().unwrap_or(0);
            agrees(layout.permute(&numbers))?;
            agrees(Ok(layout.transpose()))?;
            agrees(layout.swap_axes(axis, 0))?;
            agrees(layout.move_axes(&numbers, &[0, -1][..numbers.len().min(2)]))?;
            agrees(layout.flip(&numbers))?;
            agrees(layout.flip(&[0]))?;
            agrees(layout.index(&items))?;
            agrees(layout.slice_axis(axis, slice))?;
            agrees(layout.expand_dims(axis))?;
            agrees(Ok(layout.squeeze()))?;
            agrees(layout.squeeze_axes(&numbers))?;
            agrees(layout.broadcast_to(&shape))?;
            let wider: Vec<usize> = shape.iter().chain(layout.shape()).copied().collect();
            agrees(layout.broadcast_to(&wider))?;
            for order in ORDERS {
                agrees(layout.reshape(&numbers, order))?;
                agrees(layout.reshape(&shape, order))?;
                agrees(layout.reshape(&[layout.len()], order))?;
                agrees(layout.ravel(order))?;
                agrees(layout.dense_like(order))?;
                agrees(layout.dense_to_ravel(order))?;
                let _ = (layout.is_contiguous(order), layout.resolve(order));
            }
            parts_agree(layout.split(number))?;
            parts_agree(layout.array_split(axis, number))?;
            parts_agree(layout.split_at(axis, &shape))?;
            parts_agree(layout.split_at(axis, &numbers))?;
            let _ = layout.len_bytes(number);
            for item_bytes in [number, 12, 16, 1 << 40] {
                agrees(layout.with_item_bytes(item_bytes).map(|(layout, _)| layout))?;
            }
            let turned = layout.transpose();
            let same = if layout.is_empty() { Overlap::Disjoint } else { Overlap::Overlapping };
            prop_assert_eq!(layout.overlap(&turned), same);
            prop_assert!(layout.len() < 2 || layout.overlap(&layout.flip(&[0]).unwrap_or(turned)) != Overlap::Disjoint);
            if layout.injectivity() == Injectivity::Injective {
                prop_assert!(layout.len() <= layout.span().len());
            }
        }
    }
}

/// An implementor that returns whatever it was given.
struct Claim(Vec<usize>, Vec<isize>, usize);

impl NdLayout for Claim {
    fn shape(&self) -> &[usize] {
        &self.0
    }

    fn strides(&self) -> &[isize] {
        &self.1
    }

    fn offset(&self) -> usize {
        self.2
    }
}

#[test]
fn a_false_claim_is_not_believed() {
    let claims = [
        (Claim(vec![2, 2], vec![1], 0), LayoutError::RankMismatch { expected: 2, found: 1 }),
        (Claim(vec![2, 2], vec![-1, 1], 0), LayoutError::Overflow),
        (Claim(vec![usize::MAX, 2], vec![0, 0], 0), LayoutError::Overflow),
        (Claim(vec![2], vec![1], usize::MAX), LayoutError::Overflow),
    ];
    for (claim, error) in claims {
        assert_eq!(claim.rank(), claim.0.len());
        assert_eq!((claim.len(), claim.is_empty()), (0, true));
        assert!(!claim.is_c_contiguous() && !claim.is_f_contiguous() && !claim.is_contiguous(Order::A));
        let transforms = [
            claim.permute(&[1, 0]),
            claim.transpose(),
            claim.swap_axes(0, 0),
            claim.move_axes(&[0], &[0]),
            claim.flip(&[]),
            claim.expand_dims(0),
            claim.squeeze(),
            claim.squeeze_axes(&[]),
            claim.index(&[]),
            claim.slice_axis(0, ..),
            claim.broadcast_to(&[2, 2]),
            claim.reshape(&[4], Order::C),
            claim.ravel(Order::C),
            claim.dense_like(Order::C),
            claim.split(1).map(|split| split.whole().clone()),
            claim.array_split(0, 1).map(|split| split.whole().clone()),
            claim.split_at(0, &[1]).map(|split| split.whole().clone()),
        ];
        for transform in transforms {
            assert_eq!(transform, Err(error.clone()));
        }
    }
}

/// A correct implementor gets the same answers from the trait as `Layout` itself, also behind a
/// reference and as a trait object.
#[test]
fn a_right_claim_is_a_layout() {
    let claim = Claim(vec![2, 3], vec![3, 1], 4);
    let layout = claim.to_layout().unwrap();
    let object: &dyn NdLayout = &claim;
    assert_eq!((object.rank(), object.len(), object.is_empty()), (2, 6, false));
    assert!(object.is_c_contiguous() && !object.is_f_contiguous() && object.is_contiguous(Order::K));
    assert_eq!(object.permute(&[1, 0]), layout.permute(&[1, 0]));
    assert_eq!((&object).reshape(&[3, -1], Order::C), layout.reshape(&[3, -1], Order::C));
    assert_eq!(claim.slice_axis(1, Slice::from(..).step_by(-1)), layout.flip(&[1]));
    assert_eq!(
        claim.split_at(1, &[1]).unwrap().collect::<Vec<_>>(),
        layout.split_at(1, &[1]).unwrap().collect::<Vec<_>>()
    );
}
