//! Plans of any two layouts, run on small slices: the public door to the host's copies.

use std::collections::BTreeSet;

use devarray::{Layout, backend::Capabilities, copy};

use crate::Rng;

fn any_layout(rng: &mut Rng, shape: &[usize], wild: bool) -> Option<Layout> {
    const WILD: [isize; 9] =
        [isize::MIN, isize::MIN + 1, -(1 << 61), -(1 << 31), 0, 1 << 31, 1 << 60, 1 << 61, isize::MAX];
    let small = |rng: &mut Rng| isize::try_from(rng.below(15)).unwrap() - 7;
    let stride = |rng: &mut Rng| if wild && rng.below(3) == 0 { WILD[rng.below(9)] } else { small(rng) };
    let strides: Vec<isize> = shape.iter().map(|_| stride(rng)).collect();
    let offset = if wild && rng.below(4) == 0 { usize::MAX >> rng.below(40) } else { rng.below(40) };
    Layout::new(shape, &strides, offset).ok()
}

/// The positions of a layout, counted off.
fn positions(layout: &Layout) -> Vec<i128> {
    use devarray::NdLayout;
    let mut all = vec![layout.offset() as i128];
    for (&extent, &stride) in layout.shape().iter().zip(layout.strides()) {
        let steps = |at: &i128| (0..extent).map(|k| at + k as i128 * stride as i128).collect::<Vec<_>>();
        all = all.iter().flat_map(steps).collect();
    }
    all
}

#[test]
fn a_plan_is_right_or_refused_on_every_pair_of_layouts() {
    let mut rng = Rng(3);
    let (mut copied, mut outside, mut refused) = (0, 0, 0);
    for case in 0..40_000 {
        let shape: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(4)).collect();
        let wild = case % 2 == 0;
        let (Some(dst), Some(src)) = (any_layout(&mut rng, &shape, wild), any_layout(&mut rng, &shape, wild))
        else {
            continue;
        };
        let item = [1, 2, 3, 4, 12, 16][rng.below(6)];
        let Ok(plan) = copy::Plan::new(&dst, &src, item, &Capabilities::default()) else {
            let places = positions(&dst);
            let distinct = places.iter().collect::<BTreeSet<_>>().len() == places.len();
            let room =
                |layout: &Layout| layout.span().end.checked_mul(item).is_some_and(|end| end < usize::MAX / 2);
            assert!(!distinct || !room(&dst) || !room(&src) || shape.len() > 1, "{dst:?} from {src:?}");
            refused += 1;
            continue;
        };
        // Slices of just the right size, so that a sanitizer sees one byte too many; and of one byte less.
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
