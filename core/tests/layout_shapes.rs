//! Contiguity, orders and every transform to another shape agree with a model without strides; a
//! view is found exactly where some strides express the result.
#![allow(clippy::unwrap_used)] // helpers of tests

use super::{cases, model};
use std::cmp::Reverse;

use cases::{config, layouts};
use devarray::{Layout, LayoutError, Order};
use model::{Model, signed};
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};

const ORDERS: [Order; 4] = [Order::C, Order::F, Order::A, Order::K];

fn ascending(values: &[usize]) -> bool {
    values.windows(2).all(|pair| pair[1] == pair[0] + 1)
}

/// The axes in the meaning of `order`, slowest first, derived from the elements alone.
fn axes_in(model: &Model, order: Order) -> Vec<usize> {
    let (forward, backward) = ((0..model.rank()).collect::<Vec<_>>(), (0..model.rank()).rev().collect());
    let (c, f) = (ascending(&model.values), ascending(&model.column_major()));
    match order {
        Order::F => backward,
        Order::A | Order::K if f && !c => backward,
        Order::K if !c => {
            let strides = model.strides().unwrap();
            // An axis of extent 1 may go anywhere.
            let mut axes = forward;
            axes.sort_by_key(|&axis| Reverse(strides[axis].map(isize::unsigned_abs)));
            axes
        }
        _ => forward,
    }
}

/// The elements in the meaning of `order`.
fn walk(model: &Model, order: Order) -> Vec<usize> {
    model.permute(&axes_in(model, order)).values
}

/// Factors of `n`, some of them 1, drawn from `digits`.
fn factors(mut n: usize, digits: &[usize]) -> Vec<usize> {
    let mut shape = vec![];
    for digit in digits {
        let divisors: Vec<usize> = (1..=n).filter(|divisor| n.is_multiple_of(*divisor)).collect();
        let factor = divisors.get(digit % divisors.len().max(1)).copied().unwrap_or(1);
        shape.push(factor);
        n /= factor.max(1);
    }
    if n != 1 {
        shape.push(n);
    }
    shape
}

proptest! {
    #![proptest_config(config(4000))]

    #[test]
    fn count_and_span(layout in layouts()) {
        let model = Model::of(&layout);
        prop_assert_eq!(layout.len(), model.values.len());
        prop_assert_eq!(layout.is_empty(), model.values.is_empty());
        match model.values.iter().min().zip(model.values.iter().max()) {
            Some((&low, &high)) => prop_assert_eq!(layout.span(), low..high + 1),
            None => prop_assert!(layout.span().is_empty()),
        }
    }

    #[test]
    fn contiguity(layout in layouts()) {
        let model = Model::of(&layout);
        prop_assert_eq!(layout.is_c_contiguous(), ascending(&model.values));
        prop_assert_eq!(layout.is_f_contiguous(), ascending(&model.column_major()));
        for order in ORDERS {
            prop_assert_eq!(layout.is_contiguous(order), ascending(&walk(&model, order)), "{:?}", order);
            let resolved = layout.resolve(order);
            prop_assert_eq!(walk(&model, resolved), walk(&model, order));
            let (c, f) = (ascending(&model.values), ascending(&model.column_major()));
            let expected = match order {
                Order::A | Order::K if f && !c => Order::F,
                Order::K if !c => Order::K,
                Order::F => Order::F,
                _ => Order::C,
            };
            prop_assert_eq!(resolved, expected);
        }
    }

    #[test]
    fn dense_copies(layout in layouts()) {
        let model = Model::of(&layout);
        for order in ORDERS {
            let dense = layout.dense_like(order).unwrap();
            prop_assert_eq!(dense.shape(), layout.shape());
            let places = Model::of(&dense).permute(&axes_in(&model, order)).values;
            prop_assert_eq!(places, (0..model.values.len()).collect::<Vec<_>>());
            prop_assert!(dense.strides().iter().all(|&stride| stride > 0));
        }
    }

    /// A copy for a ravel is dense, and its ravel is a view. Where no axis repeats elements, it
    /// equals any other copy.
    #[test]
    fn copies_to_ravel(layout in layouts()) {
        let model = Model::of(&layout);
        for order in ORDERS {
            let dense = layout.dense_to_ravel(order).unwrap();
            prop_assert_eq!(dense.shape(), layout.shape());
            let mut places = Model::of(&dense).values;
            places.sort_unstable();
            prop_assert_eq!(places, (0..model.values.len()).collect::<Vec<_>>());
            prop_assert!(dense.ravel(Order::K).is_ok());
            let repeats = layout.shape().iter().zip(layout.strides()).any(|(&n, &stride)| n > 1 && stride == 0);
            prop_assert!(repeats || Model::of(&dense) == Model::of(&layout.dense_like(order).unwrap()));
        }
    }

    #[test]
    fn ravel(layout in layouts()) {
        let model = Model::of(&layout);
        for order in ORDERS {
            let walked = walk(&model, order);
            match layout.ravel(order) {
                Ok(line) => {
                    prop_assert!(line.rank() == 1 && line.is_c_contiguous());
                    prop_assert_eq!(Model::of(&line).values, walked);
                }
                Err(error) => {
                    prop_assert_eq!(error, LayoutError::NeedsCopy);
                    prop_assert!(!ascending(&walked));
                }
            }
        }
    }

    #[test]
    fn reshape(
        layout in layouts(),
        digits in prop::collection::vec(0..9_usize, 0..6),
        inferred in prop::option::of(0..6_usize),
        own in 0..4_usize,
    ) {
        let model = Model::of(&layout);
        let mut shape = match own {
            // Takes its own shape with two axes merged and one divided: a view is possible more
            // often than not.
            0.. if own < layout.rank() => {
                let mut shape = layout.shape()[..own].to_vec();
                shape.extend(factors(layout.shape()[own..].iter().product(), &digits[..digits.len().min(2)]));
                shape
            }
            _ => factors(layout.len(), &digits),
        };
        if layout.is_empty() && !shape.contains(&0) {
            shape.push(0);
        }
        let mut asked: Vec<isize> = shape.iter().copied().map(signed).collect();
        if let Some(axis) = inferred && axis < shape.len() {
            asked[axis] = -1;
            let known: isize = asked.iter().filter(|&&extent| extent != -1).product();
            if known == 0 {
                for order in [Order::C, Order::F, Order::A] {
                    let (from, to) = (layout.shape().iter().copied().collect(), asked.iter().copied().collect());
                    let error = LayoutError::CannotInfer { from, to };
                    prop_assert_eq!(layout.reshape(&asked, order), Err(error));
                }
                return Ok(());
            }
            shape[axis] = model.values.len() / usize::try_from(known).unwrap();
        }
        for order in [Order::C, Order::F, Order::A] {
            let only_f = ascending(&model.column_major()) && !ascending(&model.values);
            let column_major = order == Order::F || order == Order::A && only_f;
            let expected = if column_major { model.reshape_column_major(&shape) } else { model.reshape(&shape) };
            match layout.reshape(&asked, order) {
                Ok(view) => prop_assert_eq!(Model::of(&view), expected),
                Err(error) => {
                    prop_assert_eq!(error, LayoutError::NeedsCopy);
                    prop_assert!(!expected.values.is_empty() && expected.strides().is_none());
                }
            }
            // The copy that is made in that case has a view of that shape.
            let resolved = layout.resolve(order);
            prop_assert!(layout.dense_like(resolved).unwrap().reshape(&shape, resolved).is_ok());
        }
        prop_assert_eq!(layout.reshape(&asked, Order::K), Err(LayoutError::UnsupportedOrder { order: Order::K }));
    }

    #[test]
    fn reshape_refusals(layout in layouts(), extents in prop::collection::vec(-3..4_isize, 0..5)) {
        let product: isize = extents.iter().filter(|&&extent| extent >= 0).product();
        let (len, negative) = (signed(layout.len()), extents.iter().filter(|&&extent| extent < 0).count());
        let fits = match negative {
            0 => product == len,
            1 => extents.contains(&-1) && product != 0 && len % product == 0,
            _ => false,
        };
        let found = layout.reshape(&extents[..], Order::C);
        prop_assert_eq!(fits, matches!(found, Ok(_) | Err(LayoutError::NeedsCopy)));
    }

    #[test]
    fn broadcast(
        layout in layouts(),
        added in prop::collection::vec(0..3_usize, 0..3),
        grown in prop::collection::vec(0..4_usize, 8),
        other in any::<bool>(),
    ) {
        let ours = layout.shape().iter().zip(grown).map(|(&extent, to)| if extent == 1 || other { to } else { extent });
        let shape: Vec<usize> = added.iter().copied().chain(ours).collect();
        let pairs = || shape[added.len()..].iter().zip(layout.shape());
        let expected = pairs().all(|(&to, &from)| from == to || from == 1).then(|| {
            let model = Model::of(&layout);
            Model::from_fn(&shape, |index| {
                let own = index[added.len()..].iter().zip(layout.shape());
                model.at(&own.map(|(&i, &extent)| if extent == 1 { 0 } else { i }).collect::<Vec<_>>())
            })
        });
        match (layout.broadcast_to(&shape), expected) {
            (Ok(found), Some(expected)) => prop_assert_eq!(Model::of(&found), expected),
            (Err(LayoutError::NotBroadcastable { .. }), None) => {}
            (found, expected) => prop_assert!(false, "found {found:?}, expected {expected:?}"),
        }
        if let Some(fewer) = layout.rank().checked_sub(1) {
            let found = layout.broadcast_to(&layout.shape()[..fewer]);
            let refused = matches!(found, Err(LayoutError::NotBroadcastable { .. }));
            prop_assert!(refused);
        }
    }

    #[test]
    fn item_bytes(layout in layouts(), item_bytes in 1..50_usize) {
        let (units, width) = layout.with_item_bytes(item_bytes).unwrap();
        let bytes = |places: Vec<usize>, size: usize| {
            places.into_iter().flat_map(|place| place * size..(place + 1) * size).collect::<Vec<_>>()
        };
        prop_assert_eq!(bytes(Model::of(&units).values, width), bytes(Model::of(&layout).values, item_bytes));
        let widest = [1, 2, 4, 8, 16].into_iter().rfind(|width| item_bytes.is_multiple_of(*width));
        prop_assert_eq!(Some(width), widest);
        prop_assert_eq!(units == layout, width == item_bytes);
    }
}

/// The property above sees both outcomes often enough to mean something.
#[test]
fn views_and_copies_are_both_common() {
    let mut runner = TestRunner::new(config(1));
    let (mut views, mut copies) = (0, 0);
    for _ in 0..2000 {
        let layout = layouts().new_tree(&mut runner).unwrap().current();
        match layout.reshape(&[-1], Order::C) {
            Ok(_) if layout.rank() > 1 && layout.len() > 1 => views += 1,
            Err(LayoutError::NeedsCopy) => copies += 1,
            _ => {}
        }
    }
    assert!(views > 300 && copies > 300, "{views} views, {copies} copies");
}

/// A stride that is never used may be anything, also one that would overflow.
#[test]
fn unused_strides_do_not_overflow() {
    let layout = Layout::new(&[1, 2], &[isize::MIN, 1], 0).unwrap();
    let (units, width) = layout.with_item_bytes(12).unwrap();
    assert_eq!((units.shape(), units.span(), width), (&[1, 2, 3][..], 0..6, 4));
    let layout = Layout::new(&[2], &[isize::MAX / 4], 0).unwrap();
    assert_eq!(layout.with_item_bytes(20), Err(LayoutError::Overflow));
}

#[test]
fn a_shape_may_be_written_in_many_ways() {
    let layout = Layout::contiguous(&[6], Order::C).unwrap();
    let expected = layout.reshape(&[2_usize, 3], Order::C).unwrap();
    assert_eq!(expected.shape(), [2, 3]);
    assert_eq!(layout.reshape(&[2, -1], Order::C), Ok(expected.clone()));
    assert_eq!(layout.reshape(&[-1_isize, 3], Order::C), Ok(expected.clone()));
    assert_eq!(layout.reshape(&vec![2, 3], Order::C), Ok(expected.clone()));
    assert_eq!(layout.reshape(expected.shape(), Order::C), Ok(expected.clone()));
    assert_eq!(layout.reshape(&devarray::Axes::<usize>::from_slice(&[2, 3]), Order::C), Ok(expected));
}
