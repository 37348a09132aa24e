//! Random cases: runs, classes, spans, blocks and staging are compared with the map, and the coverage of the
//! cases is checked.

use std::{collections::BTreeMap, ops::Range};

use devarray::copy::{Class, Plan};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngSeed, TestRunner},
};

use super::{
    cases::{Case, cases},
    executors::by_class,
    oracle::{Image, Piece, image, judge},
};

/// `cases` of a fixed seed.
pub(crate) fn fixed(cases: u32) -> Config {
    Config { cases, rng_seed: RngSeed::Fixed(0x9E37_79B9), failure_persistence: None, ..Config::default() }
}

proptest! {
    #![proptest_config(fixed(2_000))]

    #[test]
    fn runs_are_the_layouts(case in cases()) {
        let (image, plan) = (image(&case), case.plan());
        prop_assert_eq!(judge(&image, plan.runs()), Ok(()));
        prop_assert_eq!(plan.len_bytes(), image.len());
        prop_assert_eq!(plan.runs().len(), plan.runs().count());
        let longest = plan.runs().all(|(_, _, len)| len == plan.run_bytes());
        prop_assert!(longest);
    }

    #[test]
    fn class_is_the_layouts(case in cases()) {
        let plan = case.plan();
        prop_assert_eq!(judge(&image(&case), by_class(&plan)), Ok(()), "{:?}", plan);
        within_limits(&case, plan.class())?;
    }

    #[test]
    fn spans_are_exact(case in cases()) {
        let (image, plan) = (image(&case), case.plan());
        prop_assert_eq!(plan.dst_span(), hull(image.keys().copied()));
        prop_assert_eq!(plan.src_span(), hull(image.values().copied()));
    }

    #[test]
    fn width_is_the_widest_word(case in cases()) {
        let plan = case.plan();
        let divides = |width: usize| {
            let strides = plan.axes().iter().flat_map(|axis| [axis.dst_stride_bytes, axis.src_stride_bytes]);
            let ends = [plan.run_bytes(), plan.dst_offset_bytes(), plan.src_offset_bytes()];
            ends.into_iter().chain(strides.map(isize::unsigned_abs)).all(|bytes| bytes.is_multiple_of(width))
        };
        prop_assert_eq!([16, 8, 4, 2, 1].into_iter().find(|&width| divides(width)), Some(plan.width_bytes()));
    }

    #[test]
    fn blocks_are_the_plan(case in cases(), max_bytes in 0..200_usize) {
        let (image, plan) = (image(&case), case.plan());
        let blocks: Vec<Plan> = plan.blocks(max_bytes).collect();
        prop_assert_eq!(judge(&image, blocks.iter().flat_map(Plan::runs)), Ok(()));
        prop_assert_eq!(judge(&image, blocks.iter().flat_map(by_class)), Ok(()));
        prop_assert_eq!(plan.blocks(max_bytes).len(), blocks.len());
        let room = max_bytes.max(plan.width_bytes());
        prop_assert!(blocks.iter().all(|block| (1..=room).contains(&block.len_bytes())));
        prop_assert!(blocks.len() <= 1 + 3 * plan.len_bytes() / room, "{} blocks of {:?}", blocks.len(), plan);
        let in_order = plan.runs().flat_map(bytes).eq(blocks.iter().flat_map(Plan::runs).flat_map(bytes));
        prop_assert!(in_order, "{:?}", blocks);
    }

    #[test]
    fn staging_is_the_plan(case in cases()) {
        let (image, plan) = (image(&case), case.plan());
        staged(&image, &plan)?;
        for block in plan.blocks(64) {
            let part = block.runs().flat_map(bytes).map(|(src, dst)| (dst, src)).collect();
            staged(&part, &block)?;
        }
    }

    #[test]
    fn dense_sides_need_no_staging(case in cases()) {
        let (image, plan) = (image(&case), case.plan());
        // The runs follow the order of the dense memory, so an image in that order shows which bytes lie side
        // by side.
        let order: Vec<(usize, usize)> = plan.runs().flat_map(bytes).collect();
        let dense = |side: fn(&(usize, usize)) -> usize| {
            let consecutive = order.windows(2).all(|pair| side(&pair[0]) + 1 == side(&pair[1]));
            consecutive.then(|| order.first().map_or(0..0, |first| side(first)..side(first) + image.len()))
        };
        prop_assert_eq!(plan.dense_src_range(), dense(|pair| pair.0));
        prop_assert_eq!(plan.dense_dst_range(), dense(|pair| pair.1));
    }
}

/// Pack fills dense memory without a hole, unpack empties it, and both together give the image.
fn staged(image: &Image, plan: &Plan) -> Result<(), TestCaseError> {
    let dense: Image = plan.pack().runs().flat_map(bytes).map(|(src, dst)| (dst, src)).collect();
    prop_assert!(dense.keys().copied().eq(0..image.len()));
    prop_assert_eq!(judge(&dense, by_class(&plan.pack())), Ok(()));
    let through = by_class(&plan.unpack()).into_iter().flat_map(bytes).map(|(at, dst)| (dense[&at], dst, 1));
    prop_assert_eq!(judge(image, through), Ok(()));
    Ok(())
}

/// A piece as (source, destination) bytes.
fn bytes((src, dst, len): Piece) -> impl Iterator<Item = (usize, usize)> {
    (src..src + len).zip(dst..dst + len)
}

fn hull(bytes: impl Iterator<Item = usize> + Clone) -> Range<usize> {
    bytes.clone().min().map_or(0..0, |first| first..bytes.max().unwrap() + 1)
}

fn within_limits(case: &Case, class: Class) -> Result<(), TestCaseError> {
    if let Class::Pitched { width_bytes, height, dst_pitch_bytes, src_pitch_bytes }
    | Class::Pitched3 { width_bytes, height, dst_pitch_bytes, src_pitch_bytes, .. } = class
    {
        prop_assert!(width_bytes <= case.limits.width_bytes);
        prop_assert!(height <= case.limits.height);
        prop_assert!(dst_pitch_bytes.max(src_pitch_bytes) <= case.limits.pitch_bytes);
    }
    Ok(())
}

#[test]
fn cases_cover_what_they_claim() {
    const SAMPLES: usize = 4_000;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut runner = TestRunner::new(fixed(1));
    for _ in 0..SAMPLES {
        let case = cases().new_tree(&mut runner).unwrap().current();
        let plan = case.plan();
        let mut count = |what: &str| *counts.entry(what.to_owned()).or_default() += 1;
        let class = format!("{:?}", plan.class());
        count(class.split(' ').next().unwrap());
        count(&format!("rank {}", case.shape.len()));
        count(&format!("item {}", case.item_bytes));
        let moves = |side: &[isize], sign: isize| {
            let mut axes = side.iter().zip(&case.shape);
            axes.any(|(stride, &extent)| extent > 1 && stride.signum() == sign)
        };
        let backwards = [&case.dst, &case.src].map(|side| moves(&side.strides, -1));
        let facts = [
            ("negative", backwards[0] || backwards[1]),
            ("negative on one side", backwards[0] != backwards[1]),
            ("repeated source", moves(&case.src.strides, 0)),
            ("unit axis", case.shape.contains(&1)),
            ("gap in the destination", plan.dst_span().len() > plan.len_bytes()),
            ("several axes", plan.axes().len() > 2),
        ];
        facts.iter().filter(|(_, holds)| *holds).for_each(|(what, _)| count(what));
    }
    let floors = [
        ("Empty", 5),
        ("rank 0", 5),
        ("negative", 15),
        ("negative on one side", 10),
        ("repeated source", 10),
        ("unit axis", 15),
        ("gap in the destination", 15),
        ("several axes", 5),
        ("rank 6", 1),
        ("rank 7", 1),
        ("Linear", 3),
        ("Pitched", 3),
        ("Pitched3", 3),
        ("Batched", 3),
        ("Transpose", 3),
        ("Broadcast", 3),
        ("Gather", 3),
    ];
    for (what, percent) in floors {
        let found = counts.get(what).copied().unwrap_or(0);
        assert!(found * 100 >= percent * SAMPLES, "{what}: {found} of {SAMPLES}, all: {counts:#?}");
    }
}
