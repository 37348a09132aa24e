//! Every transform that selects, orders, adds or drops axes and positions gives the elements that a model
//! without strides gives, or fails where the model has no answer.
#![allow(clippy::unwrap_used)] // helpers of tests

use super::{cases, model};
use cases::{config, layouts, slices};
use devarray::{
    Layout, LayoutError, ix,
    layout::{IndexItem, Slice},
};
use model::{Model, signed};
use proptest::prelude::*;

/// A signed axis number of the model, counted from the front.
fn axis_of(axis: isize, rank: usize) -> Option<usize> {
    (0..rank).find(|&front| signed(front) == axis || signed(front) - signed(rank) == axis)
}

/// The axes, if all of them exist and none occurs twice.
fn axes_of(axes: &[isize], rank: usize) -> Option<Vec<usize>> {
    let axes: Vec<usize> = axes.iter().map(|&axis| axis_of(axis, rank)).collect::<Option<_>>()?;
    let unique = (0..rank).all(|axis| axes.iter().filter(|&&other| other == axis).count() < 2);
    unique.then_some(axes)
}

/// The positions a slice walks, one after the other.
fn positions(slice: Slice, extent: usize) -> Option<Vec<usize>> {
    let (extent, step) = (i128::try_from(extent).unwrap(), i128::try_from(slice.step).unwrap());
    let place = |position: isize| {
        let position = i128::try_from(position).unwrap();
        if position < 0 { position + extent } else { position }
    };
    let (start, stop) = (slice.start.map(place), slice.stop.map(place));
    let mut at = if step < 0 { start.unwrap_or(extent).min(extent - 1) } else { start.unwrap_or(0).max(0) };
    let mut walked = vec![];
    while step != 0
        && (0..extent).contains(&at)
        && stop.is_none_or(|stop| if step > 0 { at < stop } else { at > stop })
    {
        walked.push(usize::try_from(at).unwrap());
        at += step;
    }
    (step != 0).then_some(walked)
}

fn without_axis(model: &Model, axis: usize) -> Model {
    let mut shape = model.shape.clone();
    shape.remove(axis);
    model.reshape(&shape)
}

fn with_axis(model: &Model, axis: usize) -> Model {
    let mut shape = model.shape.clone();
    shape.insert(axis, 1);
    model.reshape(&shape)
}

/// Indexes item by item.
fn index(model: &Model, items: &[IndexItem]) -> Option<Model> {
    let taken = items.iter().filter(|item| matches!(item, IndexItem::At(_) | IndexItem::Slice(_))).count();
    let whole = model.rank().checked_sub(taken)?;
    if items.iter().filter(|item| matches!(item, IndexItem::Ellipsis)).count() > 1 {
        return None;
    }
    let (mut part, mut axis) = (model.clone(), 0);
    for item in items {
        match *item {
            IndexItem::At(at) => {
                let at = axis_of(at, part.shape[axis])?;
                part = without_axis(&part.select(axis, &[at]), axis);
            }
            IndexItem::Slice(slice) => {
                part = part.select(axis, &positions(slice, part.shape[axis])?);
                axis += 1;
            }
            IndexItem::NewAxis => {
                part = with_axis(&part, axis);
                axis += 1;
            }
            _ => axis += whole,
        }
    }
    Some(part)
}

/// Checks that the same elements are at the same indices, and that there is an error where the model has
/// none.
fn compare(found: Result<Layout, LayoutError>, expected: Option<Model>) -> Result<(), TestCaseError> {
    match (found, expected) {
        (Ok(found), Some(expected)) => prop_assert_eq!(Model::of(&found), expected),
        (Err(_), None) => {}
        (found, expected) => prop_assert!(false, "found {found:?}, expected {expected:?}"),
    }
    Ok(())
}

fn axis_lists() -> impl Strategy<Value = Vec<isize>> {
    prop::collection::vec(-5..5_isize, 0..5)
}

fn items() -> impl Strategy<Value = Vec<IndexItem>> {
    let item = prop_oneof![
        4 => (-3..4_isize).prop_map(IndexItem::At),
        8 => slices().prop_map(IndexItem::Slice),
        2 => Just(IndexItem::NewAxis),
        2 => Just(IndexItem::Ellipsis),
    ];
    prop::collection::vec(item, 0..6)
}

proptest! {
    #![proptest_config(config(4000))]

    #[test]
    fn permute(
        (layout, axes) in layouts().prop_flat_map(|layout| {
            let axes: Vec<isize> = (0..signed(layout.rank())).collect();
            (Just(layout), prop_oneof![4 => Just(axes).prop_shuffle(), 1 => axis_lists()])
        }),
        negate in any::<u8>(),
    ) {
        let rank = layout.rank();
        let turn = |(bit, axis): (u32, isize)| if axis >= 0 && negate >> (bit % 8) & 1 == 1 { axis - signed(rank) } else { axis };
        let axes: Vec<isize> = (0..).zip(axes).map(turn).collect();
        let model = Model::of(&layout);
        let named = axes_of(&axes, rank).filter(|axes| axes.len() == rank);
        compare(layout.permute(&axes), named.map(|axes| model.permute(&axes)))?;
        let reversed: Vec<usize> = (0..rank).rev().collect();
        compare(Ok(layout.transpose()), Some(model.permute(&reversed)))?;
    }

    #[test]
    fn swap_axes(layout in layouts(), a in -5..5_isize, b in -5..5_isize) {
        let rank = layout.rank();
        let swapped = axis_of(a, rank).zip(axis_of(b, rank)).map(|(a, b)| {
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.swap(a, b);
            Model::of(&layout).permute(&axes)
        });
        compare(layout.swap_axes(a, b), swapped)?;
    }

    #[test]
    fn move_axes(layout in layouts(), from in axis_lists(), to in axis_lists(), same_length in any::<bool>()) {
        let rank = layout.rank();
        let len = from.len().min(to.len());
        let (from, to) = if same_length { (&from[..len], &to[..len]) } else { (&from[..], &to[..]) };
        // NumPy's way: the axes that stay, with the moved ones put in at their places, the first place first.
        let moved = axes_of(from, rank).zip(axes_of(to, rank)).filter(|(from, to)| from.len() == to.len()).map(|(from, to)| {
            let mut order: Vec<usize> = (0..rank).filter(|axis| !from.contains(axis)).collect();
            let mut pairs: Vec<(usize, usize)> = to.into_iter().zip(from).collect();
            pairs.sort_unstable();
            pairs.into_iter().for_each(|(to, from)| order.insert(to, from));
            Model::of(&layout).permute(&order)
        });
        compare(layout.move_axes(from, to), moved)?;
    }

    #[test]
    fn flip(layout in layouts(), axes in axis_lists()) {
        let flipped = axes_of(&axes, layout.rank()).map(|axes| {
            axes.iter().fold(Model::of(&layout), |model, &axis| {
                let backwards: Vec<usize> = (0..model.shape[axis]).rev().collect();
                model.select(axis, &backwards)
            })
        });
        compare(layout.flip(&axes), flipped)?;
    }

    #[test]
    fn index_items(layout in layouts(), items in items()) {
        let found = layout.index(&items);
        if let Ok(part) = &found && part.is_empty() {
            prop_assert_eq!(part.offset(), layout.offset());
        }
        compare(found, index(&Model::of(&layout), &items))?;
    }

    #[test]
    fn slice_axis(layout in layouts(), axis in -4..4_isize, slice in slices()) {
        let sliced = axis_of(axis, layout.rank()).and_then(|axis| {
            let model = Model::of(&layout);
            positions(slice, model.shape[axis]).map(|positions| model.select(axis, &positions))
        });
        compare(layout.slice_axis(axis, slice), sliced)?;
    }

    #[test]
    fn unit_axes(layout in layouts(), axis in -6..6_isize, axes in axis_lists()) {
        let (model, rank) = (Model::of(&layout), layout.rank());
        compare(layout.expand_dims(axis), axis_of(axis, rank + 1).map(|axis| with_axis(&model, axis)))?;
        let drop = |axes: &[usize]| {
            let kept = (0..rank).filter(|axis| !axes.contains(axis)).map(|axis| model.shape[axis]);
            model.reshape(&kept.collect::<Vec<_>>())
        };
        let ones: Vec<usize> = (0..rank).filter(|&axis| model.shape[axis] == 1).collect();
        compare(Ok(layout.squeeze()), Some(drop(&ones)))?;
        let named = axes_of(&axes, rank).filter(|axes| axes.iter().all(|axis| ones.contains(axis)));
        compare(layout.squeeze_axes(&axes), named.map(|axes| drop(&axes)))?;
        let some: Vec<isize> = ones.iter().skip(1).map(|&axis| signed(axis)).collect();
        compare(layout.squeeze_axes(&some), Some(drop(ones.get(1..).unwrap_or_default())))?;
    }

    #[test]
    fn splits(
        layout in layouts(),
        axis in -4..4_isize,
        count in 0..6_usize,
        at in prop::collection::vec(0..6_usize, 0..4),
    ) {
        let check = |found: Result<Vec<Layout>, LayoutError>, lengths: Option<Vec<usize>>, axis: usize| {
            let Some(lengths) = lengths else {
                prop_assert!(found.is_err());
                return Ok(());
            };
            let (model, found) = (Model::of(&layout), found.unwrap());
            prop_assert_eq!(found.len(), lengths.len());
            let mut from = 0;
            for (part, length) in found.into_iter().zip(lengths) {
                let range: Vec<usize> = (from..from + length).collect();
                compare(Ok(part), Some(model.select(axis, &range)))?;
                from += length;
            }
            prop_assert_eq!(from, model.shape[axis]);
            Ok(())
        };
        let parts = |split: Result<devarray::layout::Split, LayoutError>, axis: Option<usize>| {
            split.map(|split| {
                assert_eq!((split.whole(), Some(split.axis())), (&layout, axis));
                let (announced, again) = (split.len(), split.clone());
                let parts: Vec<Layout> = split.collect();
                assert_eq!(parts.len(), announced);
                let mut rest = again.clone();
                let after_each: Vec<usize> = std::iter::from_fn(|| rest.next().map(|_| rest.len())).collect();
                assert_eq!(after_each, (0..announced).rev().collect::<Vec<_>>());
                for (skipped, from) in (0..=parts.len() + 1).flat_map(|n| [(n, 0), (n, 1)]) {
                    let mut rest = again.clone();
                    rest.by_ref().take(from).for_each(drop);
                    assert_eq!(rest.nth(skipped).as_ref(), parts.get(from + skipped), "{skipped} after {from}");
                    let left: Vec<Layout> = rest.collect();
                    assert_eq!(left, parts.get(from + skipped + 1..).unwrap_or_default(), "{skipped} after {from}");
                }
                parts
            })
        };
        let line = (layout.rank() == 1 && count > 0).then(|| {
            let positions: Vec<usize> = (0..layout.shape()[0]).collect();
            positions.chunks(count).map(<[usize]>::len).collect()
        });
        check(parts(layout.split(count), Some(0)), line, 0)?;
        let front = axis_of(axis, layout.rank());
        let even = front.filter(|_| count > 0).map(|axis| {
            let mut lengths = vec![0; count];
            (0..layout.shape()[axis]).for_each(|position| lengths[position % count] += 1);
            lengths
        });
        check(parts(layout.array_split(axis, count), front), even, front.unwrap_or(0))?;
        let cut = front.filter(|_| at.is_sorted()).map(|axis| {
            let mut lengths = vec![0; at.len() + 1];
            for position in 0..layout.shape()[axis] {
                lengths[at.iter().filter(|&&cut| cut <= position).count()] += 1;
            }
            lengths
        });
        check(parts(layout.split_at(axis, &at), front), cut.clone(), front.unwrap_or(0))?;
        // Counted from the end they are the same places, where such places exist.
        if let Some(extent) = front.map(|axis| layout.shape()[axis]) {
            let back: Vec<isize> = at
                .iter()
                .map(|&at| if at < extent { at.cast_signed() - extent.cast_signed() } else { at.cast_signed() })
                .collect();
            check(parts(layout.split_at(axis, &back), front), cut, front.unwrap_or(0))?;
        }
    }
}

#[test]
fn index_notation() {
    let written =
        ix![1, -2_isize, 3_usize, .., 1.., ..-1, 1..3, 0..=4, ..=-1, ..; -2, 1_usize..3, NewAxis, Ellipsis];
    let slice = |start, stop, step| IndexItem::Slice(Slice { start, stop, step });
    let meant = [
        IndexItem::At(1),
        IndexItem::At(-2),
        IndexItem::At(3),
        slice(None, None, 1),
        slice(Some(1), None, 1),
        slice(None, Some(-1), 1),
        slice(Some(1), Some(3), 1),
        slice(Some(0), Some(5), 1),
        slice(None, None, 1),
        slice(None, None, -2),
        slice(Some(1), Some(3), 1),
        IndexItem::NewAxis,
        IndexItem::Ellipsis,
    ];
    assert_eq!(written, meant);
    assert_eq!(ix![], [] as [IndexItem; 0]);
    assert_eq!(ix![usize::MAX, ..=isize::MAX], [IndexItem::At(isize::MAX), slice(None, None, 1)]);
}
