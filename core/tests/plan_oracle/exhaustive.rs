//! Every pair of nested layouts of some small shapes: all axis orders, all directions, gaps and
//! repeats.

use std::collections::BTreeSet;

use devarray::{LayoutError, backend::Capabilities, copy::Plan};

use super::{
    cases::{Case, Limits, Side},
    executors::by_class,
    oracle::{image, indices, judge},
};

/// All orders of `0..rank`.
fn orders(rank: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for axis in 0..rank {
        let at = |order: &[usize], place: usize| {
            let mut order = order.to_vec();
            order.insert(place, axis);
            order
        };
        orders = orders
            .iter()
            .flat_map(|order| (0..=axis).map(|place| at(order, place)).collect::<Vec<_>>())
            .collect();
    }
    orders
}

/// Every side of the shape: innermost stride 1 or 2, outer axes with `pads` elements between, each
/// axis forward or backward and, for a source, repeated.
fn sides(shape: &[usize], is_source: bool) -> Vec<Side> {
    let rank = shape.len();
    let directions: &[isize] = if is_source { &[1, -1, 0] } else { &[1, -1] };
    let choices = directions.len().pow(u32::try_from(rank).unwrap());
    let mut sides = Vec::new();
    for order in orders(rank) {
        for (step, pad) in [(1, 0), (1, 1), (2, 0)] {
            for choice in 0..choices {
                let (mut side, mut stride, mut digits) =
                    (Side { strides: vec![0; rank], offset: 0 }, step, choice);
                for &axis in &order {
                    let direction = directions[digits % directions.len()];
                    digits /= directions.len();
                    side.strides[axis] = direction * isize::try_from(stride).unwrap();
                    if direction < 0 {
                        side.offset += shape[axis].saturating_sub(1) * stride;
                    }
                    stride *= shape[axis].max(1) + pad;
                }
                if !sides.contains(&side) {
                    sides.push(side);
                }
            }
        }
    }
    sides
}

#[test]
fn small_shapes() {
    let shapes: [&[usize]; 15] = [
        &[],
        &[0],
        &[1],
        &[2],
        &[3],
        &[0, 2],
        &[1, 2],
        &[2, 1],
        &[2, 2],
        &[2, 3],
        &[3, 2],
        &[2, 0, 2],
        &[1, 2, 2],
        &[2, 2, 2],
        &[2, 3, 2],
    ];
    let mut cases = 0;
    for shape in shapes {
        let sources = sides(shape, true);
        for dst in sides(shape, false) {
            for src in &sources {
                let (dst, src) = (dst.clone(), src.clone());
                // Three bytes: no power of two, so that words and elements cannot be confused.
                let case = Case { shape: shape.to_vec(), dst, src, item_bytes: 3, limits: Limits::NONE };
                let (image, plan) = (image(&case), case.plan());
                assert_eq!(judge(&image, plan.runs()), Ok(()), "{case:?}");
                assert_eq!(judge(&image, by_class(&plan)), Ok(()), "{case:?}");
                cases += 1;
            }
        }
    }
    assert!(cases > 10_000, "{cases}");
}

/// Every destination of some shape with small strides, nested or interleaved: it is planned if and
/// only if no two indices meet.
#[test]
fn small_destinations() {
    let shape = [2, 3, 2];
    let src = Side { strides: vec![1, 2, 6], offset: 0 };
    let (mut interleaved, mut refused) = (0, 0);
    for strides in indices(&[9, 9, 9]) {
        let positions: BTreeSet<usize> = indices(&shape)
            .iter()
            .map(|index| index.iter().zip(&strides).map(|(i, stride)| i * stride).sum())
            .collect();
        let strides: Vec<isize> = strides.into_iter().map(usize::cast_signed).collect();
        let case = Case {
            shape: shape.to_vec(),
            dst: Side { strides: strides.clone(), offset: 0 },
            src: src.clone(),
            item_bytes: 1,
            limits: Limits::NONE,
        };
        if positions.len() < shape.iter().product() {
            let plan = Plan::new(&case.dst_layout(), &case.src_layout(), 1, &Capabilities::default());
            assert_eq!(plan, Err(LayoutError::AliasedDestination), "{strides:?}");
            refused += 1;
            continue;
        }
        let (image, plan) = (image(&case), case.plan());
        assert_eq!(judge(&image, plan.runs()), Ok(()), "{case:?}");
        assert_eq!(judge(&image, by_class(&plan)), Ok(()), "{case:?}");
        for max_bytes in 1..5 {
            let blocks: Vec<Plan> = plan.blocks(max_bytes).collect();
            assert_eq!(judge(&image, blocks.iter().flat_map(Plan::runs)), Ok(()), "{case:?}");
        }
        let mut nested: Vec<_> =
            shape.iter().zip(&strides).map(|(&extent, &stride)| (stride, extent)).collect();
        nested.sort_unstable();
        interleaved += usize::from(nested.windows(2).any(|pair| {
            let (stride, extent) = pair[0];
            pair[1].0 < stride * extent.cast_signed()
        }));
    }
    assert!(interleaved > 50 && refused > 50, "{interleaved} interleaved, {refused} refused");
}
