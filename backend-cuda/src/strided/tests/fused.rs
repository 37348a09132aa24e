//! Runs that go over two axes as if they were one.

use std::collections::BTreeSet;

use devarray::Layout;

use super::{
    super::{Params, params::TileParams, tile::Scale},
    Random,
    boxes::shared_sectors,
    check, copied, name_of, seeds,
    selected::usual,
    sides_at,
};

/// Arrays of shape (d, c, b, a) from arrays of shape (d, a, b, c), contiguous except for gaps after
/// rows and planes of the source.
fn reversed([d, c, b, a]: [usize; 4], (row_gap, gap): (usize, usize), backwards: bool) -> (Layout, Layout) {
    let row = c + row_gap;
    let [plane, rows] = [row * b * a + gap, row * b].map(usize::cast_signed);
    let shape = [d, c, b, a];
    let dst = [c * b * a, b * a, a, 1].map(usize::cast_signed);
    let (last, offset) = if backwards { (-rows, row * b * (a - 1)) } else { (rows, 0) };
    let src = [plane, 1, row.cast_signed(), last];
    sides_at(&shape, (&dst, 0), (&src, offset))
}

/// Any copy of that kind: with gaps on both sides, from and to any place, with the other axes of
/// the source repeated, stepped or reversed.
fn any(random: &mut Random, [d, c, b, a]: [usize; 4]) -> (Layout, Layout) {
    let shape = [d, c, b, a];
    let mut gap = |most: usize| if random.one_in(3) { random.below(most) } else { 0 };
    let (row_gap, plane_gap, to) = (gap(9), gap(40), gap(20));
    let run = b * a + 16 * gap(3);
    let dst = [c * run + gap(30), run, a, 1].map(usize::cast_signed);
    let step = if random.one_in(6) { 2 + random.below(2) } else { 1 };
    let row = c * step + row_gap;
    let mut from = random.below(3);
    let mut axis = |extent: usize, stride: usize| match random.below(8) {
        0 => {
            from += (extent - 1) * stride;
            -stride.cast_signed()
        }
        _ => stride.cast_signed(),
    };
    let (columns, mut rows) = (axis(c, step), axis(b, row));
    if random.one_in(8) {
        rows = 0;
    }
    let planes = [row * b * a + plane_gap, row * b].map(usize::cast_signed);
    let src = [planes[0], columns, rows, planes[1]];
    sides_at(&shape, (&dst, to), (&src, from))
}

#[test]
fn runs_over_two_axes_are_right() {
    let mut kernels = BTreeSet::new();
    for seed in seeds(500) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let width = [1, 1, 2, 4, 8][random.below(5)];
        let unit = [1, 2, 4, 8][random.below(4)];
        let a = (60 + random.below(250)).next_multiple_of(unit);
        let b = 2 + random.below(4);
        let c = (4 + random.below(80_000 / a / b)).next_multiple_of(unit);
        let shape = [1 + random.below(2), c, b, a];
        let layouts = if random.one_in(2) { any(&mut random, shape) } else { reversed(shape, (0, 0), false) };
        for scale in [Scale::Middle, Scale::Large] {
            let launch = usual(scale, &layouts, width);
            kernels.insert(name_of(&launch));
        }
        if seed % 4 == 0 {
            check(&mut random, &layouts, width, seed);
        }
    }
    for name in ["packed", "packed_8", "packed_4", "linear_shifted", "table_shifted", "table_shifted_wide"] {
        let name = match name.strip_prefix("packed") {
            Some(store) => format!("tile_packed_fused{store}"),
            None => format!("tile_{name}_fused"),
        };
        assert!(kernels.contains(name.as_str()), "{name} was never selected: {kernels:?}");
    }
}

/// A run wraps at the place that the parameters give.
#[test]
fn a_run_that_wraps_elsewhere_is_wrong() {
    let shape = [1, 100, 4, 200];
    let layouts = reversed(shape, (0, 0), false);
    let source: Vec<u8> = (0..80_000_u32).map(|i| (i % 251) as u8).collect();
    let copied = |change: fn(&mut TileParams)| {
        let mut launch = usual(Scale::Large, &layouts, 1);
        assert_eq!(name_of(&launch), "tile_packed_fused");
        let Params::Tile(params) = &mut launch.params else { panic!("tiles") };
        change(params);
        copied(&launch, &source, source.len())
    };
    let right = copied(|_| ());
    let expected = |i: usize| source[i % 200 * 400 + i / 200 % 4 * 100 + i / 800];
    assert!(right.iter().enumerate().all(|(i, &byte)| byte == expected(i)));
    assert_ne!(copied(|params| params.fused_src -= 32), right);
}

#[test]
fn tiles_share_no_sector_at_the_ends_of_an_axis() {
    for (a, b, c, width) in [
        (200, 4, 100, 1),
        (204, 6, 100, 1),
        (205, 4, 101, 1),
        (212, 6, 60, 2),
        (209, 4, 61, 2),
        (202, 4, 30, 4),
    ] {
        let stretch_bytes = a * b * width;
        let shared = |scale, backwards| {
            let layouts = reversed([1, c, b, a], (0, 0), backwards);
            shared_sectors(scale, &layouts, width, stretch_bytes)
        };
        assert_eq!(shared(Scale::Large, false), 0, "{a} x {b} x {c}, {width} bytes");
        // A source that runs backwards has no fused axis, so its tiles share sectors.
        assert!(shared(Scale::Large, true) > 0, "{a} x {b} x {c}, {width} bytes");
    }
}

#[test]
fn runs_end_with_their_axis_where_nothing_is_gained() {
    let fuses = |scale, shape, gaps, width| {
        name_of(&usual(scale, &reversed(shape, gaps, false), width)).contains("_fused")
    };
    assert!(fuses(Scale::Large, [1, 200, 200, 200], (0, 0), 1));
    assert!(fuses(Scale::Middle, [1, 200, 200, 200], (0, 0), 1));
    // No axis is fused for small results; whole sectors; an axis shorter than a tile; rows that
    // continue along the other axis.
    assert!(!fuses(Scale::Small, [1, 200, 200, 200], (0, 0), 1));
    assert!(!fuses(Scale::Large, [1, 256, 256, 256], (0, 0), 1));
    assert!(!fuses(Scale::Large, [1, 200, 200, 104], (0, 0), 1));
    assert!(!fuses(Scale::Large, [1, 24, 500, 600], (0, 0), 1));
}

/// Layouts may reach further than any memory.
#[test]
fn strides_as_far_as_numbers_go_do_not_overflow() {
    let layouts = sides_at(&[200_000, 4], (&[4, 1], 1), (&[1, 312_500_000_000_000_000], 0));
    for scale in [Scale::Middle, Scale::Large] {
        let name = name_of(&usual(scale, &layouts, 8));
        assert!(!name.contains("_fused"), "{name:?}");
    }
}
