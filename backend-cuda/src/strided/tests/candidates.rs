//! Boxes of other proportions: the cheapest is taken, and the cost counts the work that is done.

use super::{
    super::{
        Params, StridedLaunch,
        emulate::measure,
        kernel::Find,
        params::Loop,
        strided_copy::StridedCopy,
        tile::{self, cost},
    },
    AT, Layout, Random, Scale,
    boxes::sectors_shared_by,
    check, plan,
    selected::launch,
    sides,
};

/// A permuted array of rank 5 with odd extents, into a contiguous one.
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
fn both(layouts: &(Layout, Layout), width: usize, scale: Scale) -> Option<[StridedLaunch; 2]> {
    let copy = StridedCopy::of(&plan(&layouts.0, &layouts.1, width), AT)?;
    let usual = tile::usual(&copy, scale)?;
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
        // Small copies keep the usual boxes.
        let [usual, taken] = both(&layouts, width, Scale::Small).unwrap();
        assert_eq!(usual, taken, "{layouts:?}");
    }
}

/// Many images of few pixels, channels last, become channels first. A run over all channels needs
/// a table as long as an image.
#[test]
fn runs_end_early_where_tables_would_be_long() {
    let (mut random, images, pixels) = (Random(79), 61, 432);
    let images_of = |channels: usize| {
        let all = [images, channels, pixels];
        let image = (channels * pixels).cast_signed();
        let channels = channels.cast_signed();
        sides(all, [image, pixels.cast_signed(), 1], [image, 1, channels])
    };
    let entries = |launch: &StridedLaunch| match (&launch.params, launch.kernel.entry.tile()) {
        (Params::Tile(p), Some(kernel)) if kernel.find == Find::Table => p.period.divisor,
        _ => 0,
    };
    for scale in [Scale::Middle, Scale::Large, Scale::Stream] {
        for channels in [3, 4] {
            let layouts = images_of(channels);
            let [usual, taken] = both(&layouts, 1, scale).unwrap();
            assert!(entries(&usual) >= 432 && entries(&taken) < 100, "{scale:?}, {channels} channels");
            check(&mut random, &layouts, 1, 0);
        }
    }
    // Small copies are not worth the choice.
    let [usual, taken] = both(&images_of(4), 1, Scale::Small).unwrap();
    assert!(usual == taken && entries(&taken) >= 432);
}

/// Runs over two axes of the source, cut within a sector.
#[test]
fn tiles_that_reach_back_share_no_sector_of_a_run() {
    let mut random = Random(73);
    let mut reaching = 0;
    for _ in 0..3000 {
        let (layouts, width) = (permuted(&mut random), 1 << random.below(3));
        if layouts.0.len() * width > 100_000 {
            continue;
        }
        let Some([_, mut taken]) = both(&layouts, width, Scale::Large) else { continue };
        let Params::Tile(p) = &mut taken.params else { continue };
        if p.overlap == 0 || p.run_inner == 1 {
            continue;
        }
        let run_bytes = (p.b_extent * p.run_inner) as usize * width;
        assert_eq!(sectors_shared_by(&taken, &layouts, width, run_bytes), 0, "{layouts:?}");
        // Parts that begin at a vector instead of a sector do share sectors.
        let Params::Tile(p) = &mut taken.params else { continue };
        p.start_mask = 15;
        reaching += usize::from(sectors_shared_by(&taken, &layouts, width, run_bytes) > 0);
    }
    assert!(reaching >= 10, "{reaching}");
}

#[test]
fn rows_whose_lines_come_late_cost_more() {
    let mut random = Random(83);
    let (layouts, width) = (permuted(&mut random), 1);
    let [mut launch, _] = both(&layouts, width, Scale::Large).unwrap();
    // Rows lie side by side, and many bytes are read before or after them.
    let (near, far) = (Loop::new(2, 16, 0), Loop::new(1 << 20, 1 << 30, 0));
    let mut cost = |outer: [Loop; 2]| {
        let Params::Tile(p) = &mut launch.params else { panic!("tiles") };
        assert_eq!(p.overlap, 0);
        (p.outer[0], p.outer[1], p.outer_axes) = (outer[0], outer[1], 2);
        cost::below(f64::MAX, &launch).unwrap()
    };
    let [soon, late] = [cost([near, far]), cost([far, near])];
    assert!(late > soon, "{late} and {soon}");
    // Rows far from all others share no lines.
    let alone = Loop::new(2, 1 << 20, 0);
    assert_eq!(cost([far, alone]), soon);
}

/// Elements of one byte: the cost examines a few elements of two warps, the emulation all elements
/// of the first warp.
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
