//! Layout transforms against a naive model that knows no strides; injectivity and overlap against enumeration; any input is
//! answered, none panics.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "layout_support/model.rs"]
mod model;

use std::collections::HashSet;

use devarray::{
    Layout, LayoutError, NdLayout, Order,
    layout::{IndexItem, Injectivity, Overlap, Slice},
};
use model::{Model, signed};
use proptest::{prelude::*, sample::subsequence};

/// Dense layouts that were permuted, stepped through and reversed: what views are.
fn views() -> impl Strategy<Value = Layout> {
    let axis = (0_usize..5, prop_oneof![Just(1_isize), Just(-1), Just(2), Just(-2), Just(3)]);
    (prop::collection::vec(axis, 0..5), any::<u64>()).prop_map(|(axes, seed)| {
        let base: Vec<usize> = axes.iter().map(|(extent, _)| *extent).collect();
        let mut layout = Layout::contiguous(&base, Order::C).unwrap();
        for (axis, (_, step)) in axes.iter().enumerate() {
            layout = layout.slice_axis(signed(axis), Slice::from(..).step_by(*step)).unwrap();
        }
        layout.permute(&shuffled(layout.rank(), seed)).unwrap()
    })
}

/// Any strides at all, broadcasts and aliases among them.
fn tangles() -> impl Strategy<Value = Layout> {
    let axis = (0_usize..4, -7_isize..8);
    (prop::collection::vec(axis, 0..4), 60_usize..70).prop_map(|(axes, offset)| {
        let (shape, strides): (Vec<_>, Vec<_>) = axes.into_iter().unzip();
        Layout::new(&shape, &strides, offset).unwrap()
    })
}

fn shuffled(rank: usize, mut seed: u64) -> Vec<isize> {
    let mut axes: Vec<isize> = (0..signed(rank)).collect();
    for last in (1..rank).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        axes.swap(last, usize::try_from(seed >> 33).unwrap() % (last + 1));
    }
    axes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_permutation_moves_axes(layout in views(), seed in any::<u64>()) {
        let axes = shuffled(layout.rank(), seed);
        let from_front: Vec<usize> = axes.iter().map(|&axis| axis.cast_unsigned()).collect();
        let turned = layout.permute(&axes).unwrap();
        prop_assert_eq!(Model::of(&turned), Model::of(&layout).permute(&from_front));
        let negative: Vec<isize> = axes.iter().map(|&axis| axis - signed(layout.rank())).collect();
        prop_assert_eq!(layout.permute(&negative).unwrap(), turned);
        prop_assert_eq!(Model::of(&layout.transpose().transpose()), Model::of(&layout));
    }

    #[test]
    fn a_slice_picks_positions(
        layout in views(),
        axis in 0_usize..5,
        start in prop::option::of(-8_isize..8),
        stop in prop::option::of(-8_isize..8),
        step in prop_oneof![-4_isize..0, 1_isize..5],
    ) {
        let Some(axis) = axis.checked_rem(layout.rank()) else { return Ok(()) };
        let extent = signed(layout.shape()[axis]);
        // Python's rule, walked position by position.
        let clamp = |at: isize, low: isize, high: isize| (if at < 0 { at + extent } else { at }).clamp(low, high);
        let (low, high) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
        let mut at = start.map_or(if step > 0 { low } else { high }, |at| clamp(at, low, high));
        let end = stop.map_or(if step > 0 { high } else { low }, |at| clamp(at, low, high));
        let mut positions = Vec::new();
        while (step > 0 && at < end) || (step < 0 && at > end) {
            positions.push(at.cast_unsigned());
            at += step;
        }
        let slice = Slice { start, stop, step };
        let part = layout.slice_axis(signed(axis), slice).unwrap();
        prop_assert_eq!(Model::of(&part), Model::of(&layout).select(axis, &positions));
        let mut items = vec![IndexItem::Slice(Slice::FULL); axis];
        items.extend([IndexItem::Slice(slice), IndexItem::Ellipsis, IndexItem::NewAxis]);
        let indexed = layout.index(&items).unwrap();
        prop_assert_eq!(Model::of(&indexed).values, Model::of(&part).values);
        if let (Some(at), true) = (start, layout.shape()[axis] > 0) {
            let mut items = vec![IndexItem::Slice(Slice::FULL); axis];
            items.push(IndexItem::At(at));
            let picked = layout.index(&items);
            prop_assert_eq!(picked.is_ok(), (-extent..extent).contains(&at));
            if let Ok(picked) = picked {
                let position = at.rem_euclid(extent).cast_unsigned();
                let due = Model::of(&layout).select(axis, &[position]);
                prop_assert_eq!(Model::of(&picked).values, due.values);
            }
        }
    }

    /// A view whenever one exists, never where none does: the model finds out by trying to explain the values by strides.
    #[test]
    fn a_reshape_is_a_view_exactly_if_strides_explain_it(layout in views(), cuts in subsequence((1..5).collect::<Vec<usize>>(), 0..4), column in any::<bool>()) {
        // A shape of the same size: the factors of the length, grouped somehow, with ones thrown in.
        let mut shape = vec![1; cuts.len() + 1];
        let mut rest = layout.len();
        for (place, divisor) in (0..).zip([2, 3, 2, 5, 3, 2, 7]) {
            if rest > 0 && rest.is_multiple_of(divisor) {
                let at = (place * 7 + layout.rank()) % shape.len();
                shape[at] *= divisor;
                rest /= divisor;
            }
        }
        shape[cuts.len() / 2] *= rest;
        let order = if column { Order::F } else { Order::C };
        let model = Model::of(&layout);
        let due = if column { model.reshape_column_major(&shape) } else { model.reshape(&shape) };
        match layout.reshape(&shape[..], order) {
            Ok(view) => prop_assert_eq!(Model::of(&view), due),
            Err(LayoutError::NeedsCopy) => prop_assert!(due.values.is_empty() || due.strides().is_none(), "{:?}", due),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }

    #[test]
    fn the_parts_of_a_split_are_the_whole(layout in views(), axis in 0_usize..5, sections in 1_usize..7, at in prop::collection::vec(0_usize..8, 0..4)) {
        let Some(axis) = axis.checked_rem(layout.rank()) else { return Ok(()) };
        let mut at = at;
        at.sort_unstable();
        let whole = Model::of(&layout);
        for parts in [layout.array_split(signed(axis), sections).unwrap().collect::<Vec<_>>(), layout.split_at(signed(axis), &at).unwrap().collect()] {
            let mut position = 0;
            for part in &parts {
                let extent = part.shape()[axis];
                let positions: Vec<usize> = (position..position + extent).collect();
                prop_assert_eq!(Model::of(part), whole.select(axis, &positions));
                position += extent;
            }
            prop_assert_eq!(position, layout.shape()[axis]);
        }
    }

    #[test]
    fn injectivity_and_overlap_are_never_wrong(a in tangles(), b in tangles()) {
        let positions = |layout: &Layout| Model::of(layout).values;
        let distinct: HashSet<usize> = positions(&a).into_iter().collect();
        let injective = distinct.len() == a.len();
        match a.injectivity() {
            Injectivity::Injective => prop_assert!(injective, "{a:?}"),
            Injectivity::Aliased => prop_assert!(!injective, "{a:?}"),
            other => prop_assert!(false, "{other:?} for a small layout {a:?}"),
        }
        let shared = positions(&b).iter().any(|place| distinct.contains(place));
        match a.overlap(&b) {
            Overlap::Disjoint => prop_assert!(!shared, "{a:?} {b:?}"),
            Overlap::Overlapping => prop_assert!(shared, "{a:?} {b:?}"),
            other => prop_assert!(false, "{other:?} for small layouts {a:?} {b:?}"),
        }
        let span = a.span();
        let reach = positions(&a);
        prop_assert_eq!(reach.iter().min().copied().unwrap_or(span.start), span.start);
        prop_assert_eq!(reach.iter().max().map_or(span.start, |last| last + 1), span.end);
    }

    /// Every call is answered, whatever is asked of whatever layout.
    #[test]
    fn no_input_panics(
        shape in prop::collection::vec(prop_oneof![0_usize..4, any::<usize>()], 0..5),
        strides in prop::collection::vec(prop_oneof![-3_isize..4, any::<isize>()], 0..5),
        offset in any::<usize>(),
        numbers in prop::collection::vec(prop_oneof![-6_isize..6, any::<isize>()], 0..6),
    ) {
        struct Hostile(Vec<usize>, Vec<isize>, usize);
        impl NdLayout for Hostile {
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
        let hostile = Hostile(shape, strides, offset);
        let (first, second) = (numbers.first().copied().unwrap_or(0), numbers.last().copied().unwrap_or(-1));
        let extents: Vec<usize> = numbers.iter().map(|n| n.cast_unsigned()).collect();
        let slice = Slice { start: Some(first), stop: Some(second), step: second };
        let _ = (hostile.len(), hostile.rank(), hostile.is_empty(), hostile.is_c_contiguous(), hostile.is_f_contiguous());
        let _ = (hostile.permute(&numbers), hostile.transpose(), hostile.flip(&numbers), hostile.swap_axes(first, second));
        let _ = (hostile.index(&[IndexItem::Slice(slice), IndexItem::At(first)]), hostile.slice_axis(first, slice));
        let _ = (hostile.expand_dims(first), hostile.squeeze(), hostile.squeeze_axes(&numbers), hostile.broadcast_to(&extents));
        let _ = (hostile.reshape(&numbers[..], Order::C), hostile.reshape(&extents[..], Order::F), hostile.ravel(Order::K));
        if let Ok(layout) = Layout::of(&hostile) {
            let few = |parts: &mut dyn Iterator<Item = Layout>| parts.take(3).count();
            let _ = (layout.dense_like(Order::K), layout.dense_like(Order::F));
            let _ = layout.split(first.cast_unsigned()).map(|mut parts| few(&mut parts));
            let _ = layout.array_split(first, second.cast_unsigned()).map(|mut parts| few(&mut parts));
            let _ = layout.split_at(first, &extents).map(|mut parts| few(&mut parts));
        }
    }
}

/// The twin: the model notices a transform that is off by one.
#[test]
fn a_wrong_transform_is_noticed() {
    let layout = Layout::contiguous(&[3, 4], Order::C).unwrap();
    let wrong = Layout::new(&[4, 3], &[1, 4], 1).unwrap();
    assert_ne!(Model::of(&wrong), Model::of(&layout).permute(&[1, 0]));
    assert!(Model { shape: vec![3], values: vec![0, 1, 3] }.strides().is_none());
}
