//! Copies from one part of an array to another are right wherever the two overlap, and take one
//! copy where they do not.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation)] // helpers of tests; small numbers

use std::collections::HashSet;

use devarray::{
    Array, Context, Error, Layout, LayoutError, Order, StreamHandle, ix,
    layout::{Injectivity, Overlap},
};
use devarray_mock::{MockDevice, Site};
use proptest::{
    prelude::*,
    test_runner::{Config, RngSeed},
};

const LEN: usize = 64;

/// Two layouts of one shape on `LEN` elements.
fn pairs() -> impl Strategy<Value = (Layout, Layout)> {
    let extent = prop_oneof![1 => Just(0_usize), 9 => 1_usize..6];
    let shape = prop::collection::vec(extent, 0..4);
    shape.prop_flat_map(|shape| {
        let strides = prop::collection::vec(-9_isize..10, shape.len());
        let side = (strides, 0..LEN).prop_map(move |(strides, offset)| (shape.clone(), strides, offset));
        (side.clone(), side).prop_filter_map("inside", |(dst, src)| {
            let inside = |(shape, strides, offset): (Vec<usize>, Vec<isize>, usize)| {
                Layout::new(&shape, &strides, offset).ok().filter(|layout| layout.span().end <= LEN)
            };
            Some((inside(dst)?, inside(src)?))
        })
    })
}

/// The position of each element, in C order of its index.
fn positions(layout: &Layout) -> Vec<usize> {
    layout.shape().iter().zip(layout.strides()).fold(vec![layout.offset()], |before, (&extent, &stride)| {
        let steps =
            |&from: &usize| (0..extent.cast_signed()).map(move |k| from.wrapping_add_signed(k * stride));
        before.iter().flat_map(steps).collect()
    })
}

fn distinct(positions: &[usize]) -> bool {
    positions.iter().collect::<HashSet<_>>().len() == positions.len()
}

fn counters(stream: &StreamHandle<MockDevice>) -> (u64, u64) {
    let context = stream.context();
    (context.statistics().copies, context.device().statistics().enqueued.allocs.count)
}

fn fixed(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(0x9E37_79B9), failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(fixed(3_000))]

    #[test]
    fn all_is_read_before_any_is_written((dst, src) in pairs()) {
        let stream = Context::new(MockDevice::new()).unwrap().stream().unwrap();
        let before: Vec<u16> = (0..LEN as u16).collect();
        let mut array = Array::from_slice(&stream, &[LEN], &before).unwrap();
        let (to, from) = (positions(&dst), positions(&src));
        let (copies, allocs) = counters(&stream);
        let outcome = array.copy_layout_within(&stream, &dst, &src);
        let spent = (counters(&stream).0 - copies, counters(&stream).1 - allocs);

        let mut expected = before.clone();
        if distinct(&to) {
            prop_assert_eq!(outcome, Ok(()));
            to.iter().zip(&from).for_each(|(&to, &from)| expected[to] = before[from]);
            let shared = to.iter().any(|position| from.contains(position));
            let cheap = if to == from || to.is_empty() { (0, 0) } else if shared { (2, 1) } else { (1, 0) };
            prop_assert!(spent == cheap || to == from, "{spent:?} {cheap:?}");
        } else {
            prop_assert_eq!(outcome, Err(LayoutError::AliasedDestination.into()));
            prop_assert_eq!(spent, (0, 0));
        }
        prop_assert_eq!(array.to_vec(&stream).unwrap(), expected);
    }
}

/// The twin: a loop that reads and writes element by element is wrong for many of the cases above.
#[test]
fn the_cases_need_staging() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::new(fixed(1));
    let mut wrong = 0;
    for _ in 0..1_000 {
        let (dst, src) = pairs().new_tree(&mut runner).unwrap().current();
        let (to, from) = (positions(&dst), positions(&src));
        let (mut staged, mut looped): (Vec<usize>, Vec<usize>) = ((0..LEN).collect(), (0..LEN).collect());
        to.iter().zip(&from).for_each(|(&to, &from)| staged[to] = from);
        to.iter().zip(&from).for_each(|(&to, &from)| looped[to] = looped[from]);
        wrong += usize::from(distinct(&to) && staged != looped);
    }
    assert!(wrong > 50, "{wrong}");
}

#[test]
fn parts_of_a_view_move_by_index() {
    let s = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let mut a = Array::arange(&s, 0, 12, 1).unwrap();
    let mut view = a.view_mut().reshape(&[3, 4], Order::C).unwrap();
    view.copy_within(&s, &ix![.., 1..], &ix![.., ..-1]).unwrap(); // a[:, 1:] = a[:, :-1]
    view.reborrow().transpose().copy_within(&s, &ix![0], &ix![3]).unwrap(); // a[:, 0] = a[:, 3]
    view.reborrow().copy_within(&s, &ix![..; -1], &ix![..]).unwrap(); // a[::-1] = a
    assert_eq!(a.to_vec(&s).unwrap(), [10, 8, 9, 10, 6, 4, 5, 6, 2, 0, 1, 2]);
    // A call on a part writes only that part.
    let mut odd = a.view_mut().slice_axis(0, devarray::layout::Slice::from(1..).step_by(2)).unwrap();
    odd.copy_within(&s, &ix![..-1], &ix![1..]).unwrap();
    assert_eq!(a.to_vec(&s).unwrap(), [10, 10, 9, 4, 6, 6, 5, 0, 2, 2, 1, 2]);
}

#[test]
fn elements_of_every_size_move() {
    let s = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let mut a = Array::from_slice(&s, &[4], &[[1_u8; 7], [2; 7], [3; 7], [4; 7]]).unwrap();
    a.view_mut().copy_within(&s, &ix![1..], &ix![..-1]).unwrap();
    assert_eq!(a.to_vec(&s).unwrap(), [[1; 7], [1; 7], [2; 7], [3; 7]]);
    let mut empty = Array::<u64, _>::zeros(&s, &[0, 3]).unwrap();
    empty.view_mut().copy_within(&s, &ix![.., 1..], &ix![.., ..-1]).unwrap();
}

#[test]
fn mistakes_are_typed_and_change_nothing() {
    let context = Context::new(MockDevice::new()).unwrap();
    let s = context.stream().unwrap();
    let mut a = Array::arange(&s, 0, 12, 1).unwrap();
    let all = a.layout().clone();
    let before = counters(&s);
    let shape = a.view_mut().copy_within(&s, &ix![..3], &ix![..4]).unwrap_err();
    assert!(matches!(shape, Error::Layout(LayoutError::ShapeMismatch { .. }, ..)), "{shape}");
    let rank = a.view_mut().copy_within(&s, &ix![0], &ix![..1]).unwrap_err();
    assert_eq!(rank, LayoutError::RankMismatch { expected: 0, found: 1 }.into());
    let index = a.view_mut().copy_within(&s, &ix![12], &ix![0]).unwrap_err();
    assert_eq!(index, LayoutError::IndexOutOfRange { axis: 0, index: 12, extent: 12 }.into());
    let outside = Layout::new(&[12], &[1], 1).unwrap();
    let error = LayoutError::OutOfBounds { start: 1, end: 13, len: 12 };
    assert_eq!(a.copy_layout_within(&s, &outside, &all).unwrap_err(), error.clone().into());
    assert_eq!(a.copy_layout_within(&s, &all, &outside).unwrap_err(), error.into());
    let repeated = Layout::new(&[12], &[0], 0).unwrap();
    assert_eq!(
        a.copy_layout_within(&s, &repeated, &all).unwrap_err(),
        LayoutError::AliasedDestination.into()
    );
    let other = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    for source in [&all, &all.flip(&[0]).unwrap()] {
        let error = a.copy_layout_within(&other, &all, source).unwrap_err();
        assert_eq!(error, Error::DeviceMismatch { backend: "mock", operation: "copy" });
    }
    assert_eq!(counters(&s), before);
    // There is no memory for scratch, also at the second attempt.
    let fault = Error::out_of_memory("mock", "alloc", 48, None);
    context.device().fail_next(Site::Alloc, fault.clone());
    context.device().fail_next(Site::Alloc, fault.clone());
    assert!(matches!(
        a.copy_layout_within(&s, &all, &all.flip(&[0]).unwrap()),
        Err(Error::OutOfMemory { .. })
    ));
    assert_eq!(a.to_vec(&s).unwrap(), (0..12).collect::<Vec<_>>());
    // An element may be read many times.
    a.copy_layout_within(&s, &all, &repeated).unwrap();
    assert_eq!(a.to_vec(&s).unwrap(), [0; 12]);
}

#[test]
fn what_is_too_costly_to_tell_is_staged() {
    let s = Context::new(MockDevice::new()).unwrap().stream().unwrap();
    let dst = [11410, 6896, 4164, 1882, 15372, 8100, 10932, 4946, 5476, 8326];
    let src = [4697, 4218, 18966, 16082, 19218, 17468, 16278, 7976, 12780, 11038];
    let (dst, src) = (Layout::new(&[2; 10], &dst, 0).unwrap(), Layout::new(&[2; 10], &src, 1).unwrap());
    assert_eq!((dst.overlap(&src), dst.injectivity()), (Overlap::Unknown, Injectivity::Injective));
    let before: Vec<u32> = (0..src.span().end as u32).collect();
    let mut expected = before.clone();
    positions(&dst).into_iter().zip(positions(&src)).for_each(|(to, from)| expected[to] = before[from]);
    let mut a = Array::from_slice(&s, &[before.len()], &before).unwrap();
    let copies = counters(&s).0;
    a.copy_layout_within(&s, &dst, &src).unwrap();
    assert_eq!(counters(&s).0 - copies, 2);
    assert!(a.to_vec(&s).unwrap() == expected);
}
