//! Boxes that become tiles, and the memory traffic and bank conflicts that they avoid.

use std::collections::{BTreeMap, BTreeSet};

use devarray::Layout;

use super::{
    super::{
        Params, StridedLaunch,
        emulate::{Memory, measure, tile},
        strided_launch::LINE_BYTES,
        tile::Scale,
    },
    AT, Addresses, Host, Random, SCALES, check, launches, plan,
    selected::{few_rows, tile_between, tile_of, usual},
    sides, sides_at, transposed,
};

/// The number of sectors that two tiles write a part of, inside stretches of `stretch_bytes` of the
/// destination.
pub(super) fn shared_sectors(
    scale: Scale,
    layouts: &(Layout, Layout),
    width: usize,
    stretch_bytes: usize,
) -> usize {
    sectors_shared_by(&usual(scale, layouts, width), layouts, width, stretch_bytes)
}

/// Like [`shared_sectors`], for one launch.
pub(super) fn sectors_shared_by(
    launch: &StridedLaunch,
    layouts: &(Layout, Layout),
    width: usize,
    stretch_bytes: usize,
) -> usize {
    const SECTOR_BYTES: usize = 32;
    let source = vec![1; layouts.1.len() * width];
    let mut owners = BTreeMap::<usize, u32>::new();
    let mut shared = BTreeSet::new();
    for block in 0..launch.grid {
        let mut found = vec![0; source.len()];
        let mut memory = Host { src: &source, src_base: AT.src, dst: &mut found, dst_base: AT.dst };
        tile::run_block(launch, block, &mut memory);
        for (sector, bytes) in found.chunks(SECTOR_BYTES).enumerate() {
            let (first, last) = (sector * SECTOR_BYTES, sector * SECTOR_BYTES + bytes.len() - 1);
            let inside = first / stretch_bytes == last / stretch_bytes;
            if inside && bytes.contains(&1) && *owners.entry(sector).or_insert(block) != block {
                shared.insert(sector);
            }
        }
    }
    shared.len()
}

/// Such sectors would be read from memory, for each run.
#[test]
fn tiles_of_large_copies_share_no_sector_of_a_run() {
    // Words of 16, 8 and 4 bytes; sources that are not made of words; elements that start anywhere.
    for (rows, columns, width) in [
        (400, 160, 1),
        (392, 160, 1),
        (396, 124, 1),
        (200, 136, 2),
        (100, 100, 4),
        (102, 130, 8),
        (400, 159, 1),
        (200, 137, 2),
        (397, 163, 1),
        (197, 137, 2),
    ] {
        let shared = |scale| shared_sectors(scale, &transposed(rows, columns), width, rows * width);
        assert_eq!(shared(Scale::Large), 0, "{rows} x {columns}, {width} bytes");
        assert_eq!(shared(Scale::Stream), 0, "{rows} x {columns}, {width} bytes");
        // Tiles of smaller copies may share sectors: caches merge the parts of a sector there, so
        // tiles do not overlap unless elements start anywhere.
        let any = !(rows * width).is_multiple_of(4);
        assert_eq!(shared(Scale::Middle) == 0, any, "{rows} x {columns}, {width} bytes");
    }
}

/// A cube whose axes are reversed.
fn turned_round(side: usize) -> (Layout, Layout) {
    let [n, square] = [side, side * side].map(usize::cast_signed);
    sides([side; 3], [1, n, square], [square, n, 1])
}

/// Bytes of runs that start anywhere: if both strides are odd, four runs would read the same words
/// of their 16 bytes.
#[test]
fn threads_begin_with_words_in_different_banks() {
    let mut random = Random(53);
    let odd = [161, 211, 285, 301, 313, 331, 333, 351, 365].map(turned_round);
    for layouts in odd.iter().chain([&transposed(2049, 24)]) {
        let mut launch = usual(Scale::Large, layouts, 1);
        let block = launch.grid / 2;
        assert_eq!(measure::accesses(&launch, block, 0), 1.0, "{:?}", layouts.0);
        let Params::Tile(params) = &mut launch.params else { panic!("a tile") };
        (params.rotate_by_run, params.rotate_by_vector) = (0, 0);
        assert!(measure::accesses(&launch, block, 0) >= 4.0, "{:?}", layouts.0);
    }
    // Vectors of one run would begin at two places, so fewer threads share a run.
    for layouts in [250, 282, 310, 358].map(turned_round) {
        let mut launch = usual(Scale::Large, &layouts, 1);
        let block = launch.grid / 2;
        assert_eq!(measure::accesses(&launch, block, 0), 2.0, "{:?}", layouts.0);
        let Params::Tile(params) = &mut launch.params else { panic!("a tile") };
        assert_eq!((params.rotate_by_run, params.rotate_by_vector, params.lanes_log2), (0, 0, 2));
        params.lanes_log2 = 3;
        assert!(measure::accesses(&launch, block, 0) >= 4.0, "{:?}", layouts.0);
    }
    // Runs over two axes and along one, in words rotated by each number.
    for shape in [[67, 65, 63], [65, 67, 71], [66, 61, 65], [69, 131, 67]] {
        let [a, b, c] = shape.map(usize::cast_signed);
        for source in [[b * c, c, 1], [c, a * c, 1], [1, a, a * b]] {
            check(&mut random, &sides(shape, [1, a, a * b], source), 1, 0);
        }
    }
}

/// Otherwise the row would be the whole tile, and vectors of runs along it would begin in one bank.
#[test]
fn rows_end_where_runs_would_begin_in_one_bank() {
    let mut random = Random(43);
    for (columns, width) in [(96, 1), (24, 2), (48, 2), (16, 4), (56, 4), (8, 8), (24, 8)] {
        let layouts = transposed(2049, columns);
        let mut params = tile_between(Scale::Large, &layouts, width);
        assert_eq!(params.span as usize, columns * width, "{columns} of {width} bytes");
        assert!(measure::vectors_apart(&params) >= 4, "{columns} of {width} bytes");
        check(&mut random, &layouts, width, 0);
        // Without the row's end, vectors begin in one bank.
        params.vector_x = i32::try_from(columns * 16).unwrap();
        params.swizzle_mask = 0;
        assert_eq!(measure::vectors_apart(&params), 1, "{columns} of {width} bytes");
    }
    // Other vectors begin in different banks, and few short runs begin at few places anyway.
    for (rows, columns, width) in [(2049, 25, 1), (2049, 20, 4), (48, 16, 1)] {
        let params = tile_of(Scale::Large, rows, columns, width);
        assert!(params.span as usize > columns * width, "{columns} of {width} bytes");
    }
}

/// Runs along a row cannot begin at whole sectors; if rows end, tiles overlap.
#[test]
fn rows_end_where_runs_along_them_would_tear_sectors() {
    let mut random = Random(59);
    for (columns, width) in [(36, 1), (51, 1), (100, 1), (101, 1), (36, 2), (101, 2), (51, 4), (50, 8)] {
        let layouts = transposed(4001, columns);
        let shared = |scale| shared_sectors(scale, &layouts, width, 4001 * width);
        for scale in [Scale::Middle, Scale::Large, Scale::Stream] {
            let params = tile_between(scale, &layouts, width);
            assert!(params.span as usize <= columns * width, "{columns} of {width} bytes");
            assert!(params.overlap > 0, "{columns} of {width} bytes");
            assert_eq!(shared(scale), 0, "{columns} of {width} bytes at {scale:?}");
        }
        check(&mut random, &layouts, width, 0);
    }
    // Rows do not end in small copies, whose results stay in the cache, nor if runs are long with
    // few columns, nor if runs are whole sectors.
    let (small, large) = (Scale::Small, Scale::Large);
    for (scale, rows, columns, width) in [
        (small, 4001, 36, 1),
        (small, 4001, 51, 1),
        (large, 4001, 31, 1),
        (large, 4001, 31, 2),
        (large, 4096, 101, 1),
    ] {
        let params = tile_of(scale, rows, columns, width);
        assert!(params.span as usize > columns * width, "{columns} of {width} bytes at {scale:?}");
    }
    assert!(shared_sectors(large, &transposed(4001, 31), 1, 4001) > 0);
    // Nor do rows end if a tile holds whole matrices.
    let matrices = sides([300, 61, 121], [121 * 61, 121, 1], [121 * 61, 1, 61]);
    assert_eq!(tile_between(large, &matrices, 1).span % (121 * 61), 0);
}

/// The vectors of one row then begin in different banks, which is possible for runs of whole
/// sectors.
#[test]
fn gaps_are_left_between_vectors_that_would_begin_in_one_bank() {
    let mut random = Random(47);
    for (columns, width, pad_log2) in [(8, 1, 0), (24, 1, 0), (12, 1, 1), (20, 2, 1), (10, 4, 2), (16, 2, 0)]
    {
        let layouts = transposed(4096, columns);
        let mut params = tile_between(Scale::Large, &layouts, width);
        assert_eq!(
            (params.pad_log2, params.pad_chunks.divisor > 0),
            (pad_log2, true),
            "{columns} of {width} bytes"
        );
        assert_eq!(measure::vectors_apart(&params), 8, "{columns} of {width} bytes");
        check(&mut random, &layouts, width, 0);
        params.pad_chunks.divisor = 0;
        assert_eq!(measure::vectors_apart(&params), 1 << pad_log2, "{columns} of {width} bytes");
    }
    // These begin in different banks without gaps.
    assert_eq!(tile_of(Scale::Large, 4096, 9, 1).pad_chunks.divisor, 0);
}

/// A matrix alone is a box, if it is large enough for a block: in a box of several matrices, every
/// element would need a table entry.
#[test]
fn small_matrices_are_boxes_of_their_own() {
    let mut random = Random(53);
    let of = |rows: usize, columns: usize, width| {
        let layouts = few_rows(rows, columns);
        (tile_between(Scale::Large, &layouts, width), layouts)
    };
    for (rows, columns, width) in [(44, 40, 2), (72, 48, 1), (100, 24, 1), (120, 64, 1), (60, 64, 2)] {
        let (params, layouts) = of(rows, columns, width);
        assert_eq!((params.rows as usize, params.c_extent), (rows, 0), "{rows} x {columns} of {width} bytes");
        assert!((params.period.divisor as usize) < rows * columns / 2, "{rows} x {columns} of {width} bytes");
        check(&mut random, &layouts, width, 0);
    }
    // This matrix is too small.
    let (params, _) = of(20, 16, 1);
    assert!(params.rows * params.span > 2 * 20 * 16, "{params:?}");
}

/// Bytes that nobody reads are not fetched: the rest of the lines of short rows that are far apart.
#[test]
fn lines_of_lone_rows_are_not_fetched_ahead() {
    let cut = |columns: usize, pitch: isize| {
        tile_between(Scale::Large, &sides([columns, 4096], [4096, 1], [1, pitch]), 1).ahead
    };
    assert_eq!([cut(24, 128), cut(8, 200), cut(64, 256)], [0, 0, 0]);
    // Here little is left of the line, or another tile reads it.
    assert!([cut(96, 128), cut(40, 80), cut(1024, 4096)].iter().all(|&ahead| ahead >= LINE_BYTES));
}

/// The next tile then finds its shared sectors in the cache, and each page is left once all of it
/// was read. This is not done if the next tile comes soon anyway, nor if the destination would be
/// scattered over all memory.
#[test]
fn tiles_follow_each_other_along_rows_if_the_next_would_come_late() {
    let first = |layouts: &(Layout, Layout), width| {
        let params = tile_between(Scale::FastStream, layouts, width);
        assert!(params.a_outer.min(params.b_outer) == 0 && params.a_outer != params.b_outer);
        if params.a_outer == 0 { "row" } else { "run" }
    };
    for (rows, columns, width) in
        [(1_249_984, 208, 1), (300_000, 211, 4), (100_000, 1001, 8), (64_960, 1000, 4)]
    {
        let first = first(&transposed(rows, columns), width);
        assert_eq!(first, "row", "{rows} x {columns} of {width} bytes");
    }
    // These write whole lines at many places; the next tile comes soon.
    for (rows, columns, width) in [(126_912, 2048, 1), (9001, 7013, 4)] {
        let first = first(&transposed(rows, columns), width);
        assert_eq!(first, "run", "{rows} x {columns} of {width} bytes");
    }
    // These are scattered on both sides, in whole lines and in parts of lines.
    let turned = |columns: isize| {
        let shape = [columns.cast_unsigned(), 384, 512];
        sides(shape, [384 * 512, 512, 1], [1, columns, 384 * columns])
    };
    assert_eq!([first(&turned(640), 4), first(&turned(648), 4)], ["run", "row"]);
}

/// This also holds if the next tile's rows are different ones that share lines with this tile's.
#[test]
fn tiles_that_share_lines_of_rows_follow_each_other_if_the_next_would_come_late() {
    // Two outer axes of the destination, then rows of 110 B, five of them side by side.
    let first = |outer: usize| {
        let shape = [55, 5, 8, 77, outer, 34];
        let dst = [5 * 8 * 77 * outer * 34, 8 * 77 * outer * 34, 77 * outer * 34, outer * 34, 34, 1];
        let src = [1, 55, 34 * 5 * 55, 8 * 34 * 5 * 55, 77 * 8 * 34 * 5 * 55, 5 * 55];
        let layouts = sides(shape, dst.map(usize::cast_signed), src.map(usize::cast_signed));
        let p = tile_between(Scale::FastStream, &layouts, 2);
        p.outer[..p.outer_axes as usize].iter().position(|axis| axis.src < 1000).unwrap()
    };
    assert_eq!(first(10), 0);
    // With fewer steps in between, the next tile comes soon anyway.
    assert!(first(1) > 0);
}

/// The last tile along a row has fewer steps, and its last vector gathers elements after them:
/// below the row, if the run goes backwards.
#[test]
fn short_pieces_of_backward_runs_stay_in_shared_memory() {
    let mut random = Random(79);
    for (shape, dst, src, offset, width) in [
        ([5, 43, 3], [129, 3, 1], [-258, 6, 1], 1032, 8),
        ([5, 57, 5], [285, 5, 1], [-513, 9, 1], 2052, 8),
        ([7, 47, 3], [141, 3, 1], [-517, 11, 1], 3102, 4),
        ([9, 99, 5], [495, 5, 1], [-891, 9, 1], 7128, 8),
    ] {
        check(&mut random, &sides_at(&shape, (&dst, 0), (&src, offset)), width, 0);
    }
}

/// Rows are so far apart that the first tile, which overlaps, would begin below address 0.
#[test]
fn tiles_that_begin_below_all_memory_read_only_the_source() {
    struct Nothing;
    impl Memory for Nothing {
        fn read(&self, _: u64) -> u8 {
            0
        }

        fn write(&mut self, _: u64, _: &[u8]) {}
    }
    for stride in [450_000_001, -450_000_001] {
        let offset = 1 + if stride < 0 { 149 * 450_000_001 } else { 0 };
        let layouts = sides_at(&[100, 150], (&[150, 1], 0), (&[1, stride], offset));
        let at = Addresses { src: 0x3_0200_0000, ..AT };
        for scale in SCALES {
            for launch in launches(scale, &plan(&layouts.0, &layouts.1, 1), at) {
                // Asserts that unchecked reads are inside the source.
                (0..launch.grid).for_each(|block| tile::run_block(&launch, block, &mut Nothing));
            }
        }
    }
}
