//! Boxes of other proportions: that the cheapest is taken, and that costs count what happens.

use super::{
    super::{
        Launch, Params,
        axes::Problem,
        emulate::measure,
        kernel::Find,
        tile::{self, cost},
    },
    AT, Layout, Random, Scale, check, plan,
    selected::launch,
    sides,
};

/// A permuted array of rank 5, of odd extents, into a contiguous one.
fn permuted(random: &mut Random) -> (Layout, Layout) {
    let shape: [usize; 5] = std::array::from_fn(|_| 3 + 2 * random.below(8));
    let mut order = [0, 1, 2, 3, 4];
    (1..5).rev().for_each(|k| order.swap(k, random.below(k + 1)));
    let strides: [usize; 5] = std::array::from_fn(|k| shape[k + 1..].iter().product());
    let of = |strides: [usize; 5]| order.map(|k| strides[k].cast_signed());
    let shape = order.map(|k| shape[k]);
    let dst = std::array::from_fn(|k| shape[k + 1..].iter().product::<usize>().cast_signed());
    sides(shape, dst, of(strides))
}

/// The launch with the usual boxes, and the one that is taken.
fn both(layouts: &(Layout, Layout), width: usize, scale: Scale) -> Option<[Launch; 2]> {
    let problem = Problem::of(&plan(&layouts.0, &layouts.1, width), AT)?;
    let usual = tile::usual(&problem, scale)?;
    Some([usual, launch(scale, layouts, width)])
}

#[test]
fn the_usual_boxes_give_way_to_clearly_cheaper_ones() {
    let mut random = Random(67);
    let (mut changed, mut all) = (0, 0);
    while changed < 40 {
        all += 1;
        assert!(all < 4000, "{changed} of {all}");
        let (layouts, width) = (permuted(&mut random), 1 << random.below(2));
        let Some([usual, taken]) = both(&layouts, width, Scale::Large) else { continue };
        let (Some(before), Some(after)) = (cost::below(f64::MAX, &usual), cost::below(f64::MAX, &taken))
        else {
            continue;
        };
        if usual == taken {
            continue;
        }
        assert!(after < 0.97 * before, "{after} after {before}: {layouts:?}");
        changed += 1;
        check(&mut random, &layouts, width, 0);
        // Small results are copied as ever.
        let [usual, taken] = both(&layouts, width, Scale::Middle).unwrap();
        assert_eq!(usual, taken, "{layouts:?}");
    }
}

/// Elements of one byte: the cost looks at a few of two warps, the emulation at all of the first.
#[test]
fn bank_conflicts_are_those_of_the_emulation() {
    let mut random = Random(71);
    let (mut linear, mut rotated, mut periodic, mut conflicting) = (0, 0, 0, 0);
    while linear < 40 || rotated < 10 || periodic < 10 {
        let layouts = permuted(&mut random);
        let launches = both(&layouts, 1, Scale::Large);
        for launch in launches.iter().flatten() {
            let (Params::Tile(p), Some(kernel)) = (&launch.params, launch.kernel.entry.tile()) else {
                continue;
            };
            match kernel.find {
                _ if p.stores << p.lanes_log2 < 32 => continue,
                Find::Periodic => periodic += 1,
                Find::Linear if kernel.shifted && p.rotate_by_run | p.rotate_by_vector > 0 => rotated += 1,
                Find::Linear if kernel.shifted => linear += 1,
                _ => continue,
            }
            let (counted, emulated) = (cost::conflicts(p, kernel, 1).0, measure::accesses(launch, 0, 0));
            conflicting += u32::from(emulated > 1.5);
            assert!((counted - emulated).abs() <= 1.5, "{counted} instead of {emulated}: {launch:?}");
        }
    }
    assert!(conflicting > 5, "{conflicting}");
}
