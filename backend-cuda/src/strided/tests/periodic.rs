//! Runs that go over all rows of a tile and then along them.

use std::collections::BTreeSet;

use devarray::Layout;

use super::{
    super::{Params, StridedLaunch, emulate::measure, params::TileParams, tile::Scale},
    Random,
    boxes::shared_sectors,
    check, copied, name_of, seeds,
    selected::{few_rows, usual},
    sides_at, transposed,
};

fn is_periodic(launch: &StridedLaunch) -> bool {
    name_of(launch).starts_with("tile_periodic")
}

/// Matrices of bytes that follow each other, each transposed: at any alignment, with gaps between
/// rows, and with either side of the source reversed.
fn any(random: &mut Random, [d, rows, columns]: [usize; 3]) -> (Layout, Layout) {
    let mut gap = |most: usize| if random.one_in(3) { random.below(most) } else { 0 };
    let (pitch, matrix, run, to) = (columns + gap(40), gap(40), rows * columns + gap(40), gap(40));
    let matrix = rows * pitch + matrix;
    let mut from = random.below(3);
    let mut axis = |extent: usize, stride: usize| {
        let backwards = random.one_in(4);
        from += if backwards { (extent - 1) * stride } else { 0 };
        if backwards { -stride.cast_signed() } else { stride.cast_signed() }
    };
    let src = [axis(d, matrix), axis(columns, 1), axis(rows, pitch)];
    let shape = [d, columns, rows];
    let dst = [run, rows, 1].map(usize::cast_signed);
    sides_at(&shape, (&dst, to), (&src, from))
}

#[test]
fn runs_over_all_rows_are_right() {
    let mut kernels = BTreeSet::new();
    let mut found = Vec::new();
    for seed in seeds(100) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let rows = [17 + random.below(80), 96 + random.below(300)][random.below(2)];
        let shape = [1 + random.below(3), rows, 2 + random.below(100_000 / rows)];
        let layouts = any(&mut random, shape);
        for scale in [Scale::Small, Scale::Middle, Scale::Large] {
            let launch = usual(scale, &layouts, 1);
            found.push(is_periodic(&launch));
            kernels.insert(name_of(&launch));
        }
        check(&mut random, &layouts, 1, seed);
    }
    assert!(kernels.contains("tile_periodic") && kernels.contains("tile_periodic_shifted"), "{kernels:?}");
    let periodic = found.iter().filter(|&&is| is).count();
    assert!(periodic > found.len() / 3, "{periodic} of {}", found.len());
}

/// Periods end where the parameters say.
#[test]
fn a_period_that_ends_elsewhere_is_wrong() {
    let (rows, columns) = (141, 301);
    let source: Vec<u8> = (0..rows * columns).map(|i| u8::try_from(i % 251).unwrap()).collect();
    let is_right = |change: fn(&mut TileParams)| {
        let mut launch = usual(Scale::Middle, &transposed(rows, columns), 1);
        assert!(is_periodic(&launch), "{}", launch.explain());
        let Params::Tile(params) = &mut launch.params else { panic!("a tile") };
        change(params);
        let right = |(i, &byte): (usize, &u8)| byte == source[i % rows * columns + i / rows];
        copied(&launch, &source, source.len()).iter().enumerate().all(right)
    };
    assert!(is_right(|_| ()));
    assert!(!is_right(|params| params.fused_x = params.fused_x.wrapping_add(1)));
    assert!(!is_right(|params| params.period_x += 1));
}

/// The mean number of accesses for one byte of each vector of a warp, all over a tile.
fn accesses(launch: &StridedLaunch) -> f64 {
    let Params::Tile(p) = &launch.params else { panic!("a tile") };
    let chunks = (0..p.run_chunks - 32).step_by(32);
    let count = chunks.len() as f64;
    chunks.map(|from| measure::accesses(launch, launch.grid / 2, from)).sum::<f64>() / count
}

/// Without rotation, the threads would read like eight groups of four.
#[test]
fn threads_read_from_different_banks() {
    let (mut rotated, mut plain) = (0, 0);
    for (rows, columns) in
        [(201, 1001), (253, 1009), (254, 1002), (317, 905), (369, 801), (130, 1601), (33, 4001)]
    {
        let mut launch = usual(Scale::Large, &transposed(rows, columns), 1);
        assert!(is_periodic(&launch), "{rows} x {columns}: {}", launch.explain());
        let found = accesses(&launch);
        assert!(found < 3.1, "{rows} x {columns}: {found}");
        let Params::Tile(params) = &mut launch.params else { panic!("a tile") };
        assert!(params.share.is_multiple_of(2), "groups of threads store whole sectors");
        if (params.rotate_by_run, params.rotate_by_vector) == (0, 0) {
            plain += 1;
            continue;
        }
        rotated += 1;
        (params.rotate_by_run, params.rotate_by_vector) = (0, 0);
        let unturned = accesses(&launch);
        assert!(unturned > 3.0 && unturned > found + 1.0, "{rows} x {columns}: {found}, {unturned}");
    }
    assert!(rotated > 2 && plain > 0, "{rotated} rotated, {plain} not");
}

/// The bytes that tiles load, in chunks, for each byte of the source.
fn loaded(launch: &StridedLaunch, len_bytes: usize) -> f64 {
    let Params::Tile(p) = &launch.params else { panic!("a tile") };
    measure::chunks_loaded(p) as f64 * 16.0 / len_bytes as f64
}

/// If a run is cut, every piece but the first loads rows that its neighbour loads as well.
#[test]
fn no_row_is_loaded_twice() {
    let mut random = Random(67);
    let bytes = [(201, 1001), (253, 1009), (317, 905), (369, 801)].map(|(rows, columns)| (rows, columns, 1));
    let wider = [(101, 1201, 2), (131, 1101, 2), (199, 501, 2), (101, 601, 4), (181, 401, 4), (49, 801, 8)];
    for (rows, columns, width) in bytes.into_iter().chain(wider) {
        let layouts = transposed(rows, columns);
        let launch = usual(Scale::Large, &layouts, width);
        let times = loaded(&launch, rows * columns * width);
        assert!(times < 1.25, "{rows} x {columns} of {width} bytes: {times}");
        // Each run is within a tile; one of two neighbouring tiles may end within a sector.
        let shared = shared_sectors(Scale::Large, &layouts, width, rows * columns * width);
        assert!(shared <= launch.grid as usize, "{rows} x {columns} of {width} bytes: {shared}");
        check(&mut random, &layouts, width, 0);
    }
    // These have more rows than a tile, or its table, has room for.
    for (rows, columns, width) in [(641, 901, 1), (601, 301, 2)] {
        let launch = usual(Scale::Large, &transposed(rows, columns), width);
        let times = loaded(&launch, rows * columns * width);
        assert!(times > 1.25, "{rows} x {columns} of {width} bytes: {times}");
    }
}

/// Rows whose distance is a multiple of 8 bytes begin in one bank or two: bytes are rotated as
/// well.
#[test]
fn bytes_are_turned_where_vectors_begin_in_one_bank() {
    let mut random = Random(61);
    for (rows, columns) in [(252, 1008), (253, 1000), (301, 1024), (140, 1608), (222, 800)] {
        let layouts = transposed(rows, columns);
        let mut launch = usual(Scale::Large, &layouts, 1);
        assert!(is_periodic(&launch), "{rows} x {columns}: {}", launch.explain());
        let found = accesses(&launch);
        assert!(found < 4.6, "{rows} x {columns}: {found}");
        let Params::Tile(params) = &mut launch.params else { panic!("a tile") };
        assert_eq!((params.rotate_bytes, params.row_pitch % 8), (1, 0), "{rows} x {columns}");
        params.rotate_bytes = 0;
        let unturned = accesses(&launch);
        assert!(unturned > found + 1.5, "{rows} x {columns}: {found}, {unturned}");
        check(&mut random, &layouts, 1, 0);
    }
    // Rows of 256 bytes would all begin in one bank.
    let launch = usual(Scale::Large, &transposed(77, 3200), 1);
    let Params::Tile(params) = &launch.params else { panic!("a tile") };
    assert_eq!((is_periodic(&launch), params.span, params.row_pitch % 32), (true, 256, 16));
}

/// With a power of two, quarters of the columns would also be in the same banks.
#[test]
fn quarters_of_the_columns_are_in_different_banks() {
    let span_of = |launch: &StridedLaunch| {
        let Params::Tile(params) = &launch.params else { panic!("a tile") };
        (is_periodic(launch), params.span)
    };
    let span = |rows, columns| span_of(&usual(Scale::Large, &transposed(rows, columns), 1));
    assert_eq!([span(130, 1600), span(101, 2000), span(171, 1200)], [(true, 112); 3]);
    // Here whole matrices fit in a tile.
    assert_eq!(span_of(&usual(Scale::Large, &few_rows(97, 176), 1)), (false, 176));
}

#[test]
fn others_are_found_otherwise() {
    let name = |scale, layouts: &(Layout, Layout), width| name_of(&usual(scale, layouts, width));
    // Vectors that end with their period; elements of two bytes; periods shorter than a vector;
    // short tables; words of middle-sized results; and small results whose tile has all rows
    // anyway.
    for (scale, rows, columns, width) in [
        (Scale::Large, 256, 1001, 1),
        (Scale::Large, 253, 1009, 2),
        (Scale::Large, 13, 4001, 1),
        (Scale::Large, 72, 4000, 1),
        (Scale::Large, 76, 3200, 1),
        (Scale::Middle, 248, 1000, 1),
        (Scale::Small, 253, 1009, 1),
    ] {
        let found = name(scale, &transposed(rows, columns), width);
        assert!(!found.starts_with("tile_periodic"), "{rows} x {columns} of {width} bytes: {found}");
    }
    assert_eq!(name(Scale::Large, &few_rows(53, 301), 1), "tile_periodic_shifted");
    // Here whole matrices fit in a tile, with rows in one bank.
    assert_eq!(name(Scale::Large, &few_rows(77, 160), 1), "tile_table");
}
