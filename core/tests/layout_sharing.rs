//! Injectivity and overlap agree with an enumeration of all elements, are decided for all small
//! layouts, and are left undecided rather than guessed for the hard ones.
#![allow(clippy::unwrap_used)] // helpers of tests

use super::{cases, model};
use std::collections::HashSet;

use cases::{config, layouts};
use devarray::{
    Layout, Order, ix,
    layout::{Injectivity, Overlap},
};
use model::Model;
use proptest::prelude::*;

/// Layouts whose strides have nothing to do with their extents.
fn tangles() -> impl Strategy<Value = Layout> {
    let stride = prop_oneof![-12..13_isize, Just(15), Just(-21), Just(35), Just(14)];
    prop::collection::vec((1..7_usize, stride), 0..5).prop_flat_map(|axes| {
        let (shape, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
        let below: isize = shape
            .iter()
            .zip(&strides)
            .map(|(&extent, &stride)| -stride.min(0) * isize::try_from(extent - 1).unwrap())
            .sum();
        let lowest = usize::try_from(below).unwrap();
        (lowest..lowest + 40).prop_map(move |offset| Layout::new(&shape, &strides, offset).unwrap())
    })
}

fn elements(layout: &Layout) -> HashSet<usize> {
    Model::of(layout).values.into_iter().collect()
}

fn injectivity(layout: &Layout) -> Injectivity {
    if elements(layout).len() == layout.len() { Injectivity::Injective } else { Injectivity::Aliased }
}

fn overlap(a: &Layout, b: &Layout) -> Overlap {
    if elements(a).is_disjoint(&elements(b)) { Overlap::Disjoint } else { Overlap::Overlapping }
}

proptest! {
    #![proptest_config(config(8000))]

    #[test]
    fn injectivity_is_exact(layout in prop_oneof![layouts(), tangles()]) {
        prop_assert_eq!(layout.injectivity(), injectivity(&layout));
    }

    #[test]
    fn overlap_is_exact(a in prop_oneof![layouts(), tangles()], b in prop_oneof![layouts(), tangles()]) {
        let expected = overlap(&a, &b);
        prop_assert_eq!(a.overlap(&b), expected);
        prop_assert_eq!(b.overlap(&a), expected);
    }

    /// The parts of a split share no element, as [`devarray::layout::Split`] promises, if the whole
    /// is injective.
    #[test]
    fn split_parts_are_disjoint(layout in tangles(), axis in 0..4_isize, sections in 1..4_usize) {
        let Ok(parts) = layout.array_split(axis, sections) else { return Ok(()) };
        if injectivity(&layout) == Injectivity::Injective {
            let parts: Vec<Layout> = parts.collect();
            for (number, part) in parts.iter().enumerate() {
                for other in &parts[number + 1..] {
                    prop_assert_eq!(overlap(part, other), Overlap::Disjoint);
                    prop_assert_eq!(part.overlap(other), Overlap::Disjoint);
                }
            }
        }
    }
}

/// Large layouts are decided as fast as small ones: nothing is enumerated.
#[test]
fn large_layouts_are_decided() {
    let whole = Layout::contiguous(&[1 << 20, 1 << 20, 6], Order::C).unwrap();
    let [even, odd] = [0, 1].map(|first| whole.index(&ix![.., .., first..; 2]).unwrap());
    assert_eq!(even.injectivity(), Injectivity::Injective);
    assert_eq!(even.overlap(&odd), Overlap::Disjoint);
    assert_eq!(even.overlap(&odd.flip(&[0, 1, 2]).unwrap()), Overlap::Disjoint);
    assert_eq!(even.overlap(&whole.index(&ix![.., 5, 1..4]).unwrap()), Overlap::Overlapping);
    assert_eq!(whole.broadcast_to(&[2, 1 << 20, 1 << 20, 6]).unwrap().injectivity(), Injectivity::Aliased);
    // A sliding window, and a layout whose steps are too coarse to meet.
    assert_eq!(Layout::new(&[1 << 30, 3], &[2, 1], 0).unwrap().injectivity(), Injectivity::Aliased);
    assert_eq!(Layout::new(&[1 << 30, 3], &[3, 1], 0).unwrap().injectivity(), Injectivity::Injective);
    // Interleaved: 2 * 3 = 3 * 2 needs the third position of one axis and the fourth of the other.
    assert_eq!(Layout::new(&[2, 1 << 40], &[3, 2], 0).unwrap().injectivity(), Injectivity::Injective);
    assert_eq!(Layout::new(&[3, 1 << 40], &[3, 2], 0).unwrap().injectivity(), Injectivity::Aliased);
}

/// `count` numbers of `bits` bits, the same on every run.
fn numbers(count: usize, bits: u32) -> Vec<isize> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        isize::try_from(state >> (64 - bits)).unwrap()
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// A subset-sum problem of 40 large numbers: it is too hard to decide, so neither answer may be
/// given, and the search must end.
#[test]
fn hard_layouts_are_given_up() {
    let steps = numbers(40, 40);
    let hard = Layout::new(&[2; 40], &steps, 0).unwrap();
    assert_eq!(hard.injectivity(), Injectivity::Unknown);
    let sum: isize = steps.iter().sum();
    let one = Layout::new(&[], &[], usize::try_from(sum / 2).unwrap()).unwrap();
    assert_eq!(hard.overlap(&one), Overlap::Unknown);
}

/// There are more indices than positions: two must share one, and no search is needed or possible.
#[test]
fn crowded_layouts_are_aliased() {
    let crowded = Layout::new(&[2; 40], &numbers(40, 34), 0).unwrap();
    assert!(crowded.len() > crowded.span().len());
    assert_eq!(crowded.injectivity(), Injectivity::Aliased);
}
