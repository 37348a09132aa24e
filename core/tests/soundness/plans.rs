//! Plans of any two layouts, run on small slices through the public function for host copies.

use std::collections::BTreeSet;

use devarray::{Layout, backend::Capabilities, copy, copy::Plan};
use devarray_conformance::Rng;

fn any_layout(rng: &mut Rng, shape: &[usize], wild: bool) -> Option<Layout> {
    const WILD: [isize; 9] =
        [isize::MIN, isize::MIN + 1, -(1 << 61), -(1 << 31), 0, 1 << 31, 1 << 60, 1 << 61, isize::MAX];
    let small = |rng: &mut Rng| isize::try_from(rng.below(15)).unwrap() - 7;
    let stride = |rng: &mut Rng| if wild && rng.below(3) == 0 { WILD[rng.below(9)] } else { small(rng) };
    let strides: Vec<isize> = shape.iter().map(|_| stride(rng)).collect();
    let offset = if wild && rng.below(4) == 0 { usize::MAX >> rng.below(40) } else { rng.below(40) };
    Layout::new(shape, &strides, offset).ok()
}

/// The positions of a layout, by enumeration.
fn positions(layout: &Layout) -> Vec<i128> {
    let mut all = vec![layout.offset() as i128];
    for (&extent, &stride) in layout.shape().iter().zip(layout.strides()) {
        let steps = |at: &i128| (0..extent).map(|k| at + k as i128 * stride as i128).collect::<Vec<_>>();
        all = all.iter().flat_map(steps).collect();
    }
    all
}

#[test]
fn a_plan_is_right_or_refused_on_every_pair_of_layouts() {
    let mut rng = Rng::new(3);
    let (mut copied, mut outside, mut refused) = (0, 0, 0);
    for case in 0..40_000 {
        let shape: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(4)).collect();
        let wild = case % 2 == 0;
        let (Some(dst), Some(src)) = (any_layout(&mut rng, &shape, wild), any_layout(&mut rng, &shape, wild))
        else {
            continue;
        };
        let item = [1, 2, 3, 4, 12, 16][rng.below(6)];
        let Ok(plan) = Plan::new(&dst, &src, item, &Capabilities::default()) else {
            let places = positions(&dst);
            let distinct = places.iter().collect::<BTreeSet<_>>().len() == places.len();
            let room =
                |layout: &Layout| layout.span().end.checked_mul(item).is_some_and(|end| end < usize::MAX / 2);
            assert!(!distinct || !room(&dst) || !room(&src) || shape.len() > 1, "{dst:?} from {src:?}");
            refused += 1;
            continue;
        };
        // Slices of just the right size, so that a sanitizer detects one byte too many, and of one
        // byte less.
        let (to_len, from_len) = (plan.dst_span().end, plan.src_span().end);
        if to_len.max(from_len) > 10_000 {
            let none = copy::copy_bytes(&plan, &[1; 64], &mut [0; 64]);
            assert!(none.is_err(), "{dst:?} from {src:?} on 64 bytes");
            outside += 1;
            continue;
        }
        let from: Vec<u8> = (0..=250).cycle().take(from_len).collect();
        for max_bytes in [0, 1, 7, 64, usize::MAX] {
            let mut to = vec![255_u8; to_len];
            for block in plan.blocks(max_bytes) {
                let mut staged = vec![0; block.len_bytes()];
                copy::copy_bytes(&block.pack(), &from, &mut staged).unwrap();
                copy::copy_bytes(&block.unpack(), &staged, &mut to).unwrap();
            }
            let mut due = vec![255_u8; to_len];
            for (to_at, from_at) in positions(&dst).into_iter().zip(positions(&src)) {
                let at = |position: i128| usize::try_from(position).unwrap() * item;
                due[at(to_at)..][..item].copy_from_slice(&from[at(from_at)..][..item]);
            }
            assert_eq!(to, due, "{dst:?} from {src:?}, {item} bytes, blocks of {max_bytes}");
            if to_len > 0 {
                assert!(copy::copy_bytes(&plan, &from, &mut to[..to_len - 1]).is_err());
            }
        }
        copied += 1;
    }
    assert!(copied > 1000 && outside > 100 && refused > 100, "{copied} {outside} {refused}");
}

/// Runs a plan on two slices between guard bytes, which nothing may touch.
fn copied_in_the_middle(plan: &Plan) -> Vec<u8> {
    let from = [1_u8; 96];
    let mut to = [0_u8; 96];
    let _ = copy::copy_bytes(plan, &from[32..64], &mut to[32..64]);
    to.to_vec()
}

#[test]
fn a_plan_moved_twice_as_far_as_numbers_go_reaches_nothing() {
    let bytes = |extent: usize, stride, offset| Layout::new(&[extent], &[stride], offset).unwrap();
    let plan = |dst: &Layout, src: &Layout| Plan::new(dst, src, 1, &Capabilities::default()).unwrap();
    let rows = Layout::new(&[2, 8], &[10, 1], 0).unwrap();
    let plans = [
        plan(&bytes(16, 1, 0), &bytes(16, 1, 0)),
        plan(&bytes(4, 3, 2), &bytes(4, -2, 9)),
        plan(&rows, &rows),
        plan(&bytes(0, 1, 0), &bytes(0, 1, 0)),
    ];
    for plan in plans {
        // After one far step, the next one would overflow the end, or also the start, and so come
        // back to before the slice.
        for first in [isize::MAX, isize::MAX - 16, isize::MAX - 40, isize::MIN, 1 << 62] {
            for second in [isize::MAX, isize::MAX - 15, 1 << 62, 17, 2, 1] {
                for sides in [(first, 0, second, 0), (0, first, 0, second), (first, first, second, second)] {
                    let once = plan.moved(sides.0, sides.1);
                    let Some(far) = once.and_then(|once| once.moved(sides.2, sides.3)) else { continue };
                    let empty = plan.len_bytes() == 0;
                    assert!(empty || far.dst_span().end.max(far.src_span().end) < 1 << 63, "{far:?}");
                    assert_eq!(copied_in_the_middle(&far), [0; 96], "{sides:?}: {far:?}");
                    assert_eq!(
                        far.blocks(3).flat_map(|block| copied_in_the_middle(&block)).max().unwrap_or(0),
                        0
                    );
                }
            }
        }
    }
    // The twin: a plan that was not moved away copies something.
    assert!(copied_in_the_middle(&plan(&bytes(16, 1, 0), &bytes(16, 1, 0))).contains(&1));
}

#[test]
fn a_moved_plan_is_that_of_moved_layouts_or_none() {
    let mut rng = Rng::new(5);
    let (mut moved, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let shape: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(4)).collect();
        let (Some(dst), Some(src)) = (any_layout(&mut rng, &shape, true), any_layout(&mut rng, &shape, true))
        else {
            continue;
        };
        let item = [1, 2, 12][rng.below(3)];
        let Ok(plan) = Plan::new(&dst, &src, item, &Capabilities::default()) else { continue };
        let steps = [0, 1, -1, 40, -40, isize::MAX / 2, isize::MAX, isize::MIN, -(1 << 61)];
        let by = [steps[rng.below(9)], steps[rng.below(9)]];
        // The lowest and the highest byte of each side, counted in wide integers.
        let room = [&dst, &src].iter().zip(by).all(|(side, by)| {
            let places = positions(side);
            let item = item as i128;
            let low = places.iter().min().map_or(0, |low| low * item + by as i128);
            let high = places.iter().max().map_or(0, |high| (high + 1) * item + by as i128);
            places.is_empty() || low >= 0 && high <= isize::MAX as i128
        });
        let found = plan.moved(by[0], by[1]);
        assert_eq!(found.is_some(), room, "{plan:?} by {by:?}");
        let Some(found) = found else {
            refused += 1;
            continue;
        };
        let runs = plan.runs().take(50).zip(found.runs());
        for ((src, dst, len), found) in runs {
            let due = (src.wrapping_add_signed(by[1]), dst.wrapping_add_signed(by[0]), len);
            assert_eq!(found, due, "{plan:?} by {by:?}");
        }
        assert_eq!(found.runs().len(), plan.runs().len());
        assert!(plan.len_bytes() > 0 || found == plan, "nothing to move lies nowhere: {found:?}");
        moved += 1;
    }
    assert!(moved > 1000 && refused > 1000, "{moved} {refused}");
}
