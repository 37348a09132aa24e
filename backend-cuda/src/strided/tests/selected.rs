//! The launches selected for known kinds of copies.

use devarray::Layout;

use super::{
    super::{
        Params, StridedLaunch,
        emulate::measure,
        params::TileParams,
        strided_copy::StridedCopy,
        strided_launch::LINE_BYTES,
        tile::{self, Scale},
    },
    AT, Random, check, copied, launches, name_of, plan, sides, sides_at, transposed,
};

/// The one launch of a copy, given as its destination and source.
pub(super) fn launch(scale: Scale, (dst, src): &(Layout, Layout), width: usize) -> StridedLaunch {
    let mut all = launches(scale, &plan(dst, src, width), AT);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// The launch with the usual boxes, whether or not others are cheaper.
pub(super) fn usual(scale: Scale, layouts: &(Layout, Layout), width: usize) -> StridedLaunch {
    let launch = launch(scale, layouts, width);
    let copy = StridedCopy::of(&plan(&layouts.0, &layouts.1, width), AT).unwrap();
    match launch.params {
        Params::Tile(_) => tile::usual(&copy, scale).unwrap(),
        _ => launch,
    }
}

/// The parameters of the usual tiles of a transposed matrix.
pub(super) fn tile_of(scale: Scale, rows: usize, columns: usize, width: usize) -> TileParams {
    tile_between(scale, &transposed(rows, columns), width)
}

/// The parameters of any copy, given as its destination and source.
pub(super) fn tile_between(scale: Scale, layouts: &(Layout, Layout), width: usize) -> TileParams {
    match usual(scale, layouts, width).params {
        Params::Tile(params) => params,
        other => panic!("{other:?} instead of tiles"),
    }
}

#[test]
fn rows_of_multiples_of_few_bytes_are_transposed_in_words() {
    let mut random = Random(17);
    let mut kernels = std::collections::BTreeSet::<(usize, &str)>::new();
    for width in [1, 2, 4, 8] {
        for (step, other) in [(4, 4), (8, 8), (16, 16)] {
            for (rows, columns) in [(61, 14), (14, 61)] {
                let layouts = transposed(rows * step, columns * other);
                check(&mut random, &layouts, width, 0);
                for scale in [Scale::Middle, Scale::Large] {
                    kernels.insert((width, name_of(&launch(scale, &layouts, width))));
                }
            }
        }
    }
    let narrow = ["packed_8", "packed_4", "packed_overlap_8", "packed_overlap_4"].map(|name| (1, name));
    let whole = [1, 2, 4, 8].map(|width| (width, "packed")).into_iter();
    for (width, name) in whole.chain([1, 2, 4].map(|width| (width, "packed_overlap"))).chain(narrow) {
        let name = format!("tile_{name}");
        assert!(
            kernels.contains(&(width, name.as_str())),
            "{name}, {width} bytes, was never selected: {kernels:?}"
        );
    }
}

/// Copies larger than the caches keep in the cache the lines that they read whole, and only those.
#[test]
fn whole_lines_of_large_copies_stay_in_the_cache() {
    let of = |scale: Scale, layouts: (Layout, Layout), width: usize| name_of(&launch(scale, &layouts, width));
    for width in [1, 2, 4, 8] {
        let square = || transposed(1024, 512);
        assert_eq!(of(Scale::Stream, square(), width), "tile_packed_evict_last", "{width}");
        assert_eq!(of(Scale::Large, square(), width), "tile_packed", "{width}");
        assert_eq!(of(Scale::FastStream, square(), width), "tile_packed", "{width}");
        // A row that begins within a line shares it with the tile beside.
        assert_ne!(
            of(Scale::Stream, transposed(1024, 528 / width), width),
            "tile_packed_evict_last",
            "{width}"
        );
    }
    assert_eq!(of(Scale::Stream, transposed(512, 512), 16), "tile_linear_evict_last");
}

/// Few rows make short runs. If the rows fill whole vectors, a run ends with the last row instead
/// of going on with the next element of each row.
#[test]
fn runs_that_fill_vectors_end_where_rows_go_on() {
    let mut random = Random(23);
    let mut kernel = |rows, width| check(&mut random, &transposed(rows, 1024), width, 0);
    for (rows, width, expected) in
        [(48, 2, "tile_packed"), (40, 1, "tile_table"), (16, 4, "tile_packed"), (4, 8, "tile_linear")]
    {
        assert_eq!(kernel(rows, width), expected, "{rows} rows of {width} bytes");
    }
    // An axis between the rows, with several steps in the tile, belongs to the run and stays in it.
    let layouts = sides_at(&[94, 5, 12], (&[5, 1, 470], 0), (&[1, 14256, -198], 2178));
    check(&mut random, &layouts, 16, 0);
}

/// Runs of one element each, too short for the kernels of rows, that start anywhere in the
/// destination.
#[test]
fn elements_repeat_in_runs_of_any_alignment() {
    let mut random = Random(31);
    for width in [1, 2, 4] {
        for (elements, repeats, padding, between) in
            [(64, 32, 4, 0), (64, 48, 4, 0), (64, 32, 0, 4), (100, 40, 8, 0), (64, 16, 4, 4), (63, 32, 12, 8)]
        {
            let run: isize = repeats + padding;
            let block = run * elements + between;
            let shape = [3, elements.unsigned_abs(), repeats.unsigned_abs()];
            check(&mut random, &sides(shape, [block, run, 1], [elements, 1, 0]), width, 0);
        }
    }
}

/// The last vector of such a run is gathered from below the run's first element.
#[test]
fn runs_whose_source_goes_backwards_stay_in_shared_memory() {
    let layouts = sides_at(&[15, 20, 7], (&[147, -7, 1], 136), (&[7, 105, 1], 0));
    assert_eq!(check(&mut Random(3), &layouts, 4, 0), "tile_table_shifted");
}

/// The last vector of a run reads on after the last row; the block has just enough memory there.
#[test]
fn runs_that_end_before_their_vectors_stay_in_shared_memory() {
    let layouts = sides([201, 12, 39], [12 * 39, 39, 1], [1, 39 * 209 + 13, 209]);
    check(&mut Random(5), &layouts, 1, 0);
    let launch = usual(Scale::Large, &layouts, 1);
    let Params::Tile(params) = &launch.params else { panic!("a tile") };
    assert!(params.period.divisor < params.run && params.row_axes > 1, "{}", launch.explain());
    let source = vec![0; plan(&layouts.0, &layouts.1, 1).src_span().end];
    let copied_with = |shared_bytes| {
        let launch = StridedLaunch { shared_bytes, ..launch.clone() };
        std::panic::catch_unwind(|| copied(&launch, &source, layouts.0.len())).is_ok()
    };
    // 14 rows of at least 64 bytes are read after the last one.
    assert!(copied_with(launch.shared_bytes) && !copied_with(launch.shared_bytes - 14 * 64));
}

#[test]
fn elements_that_take_turns_are_picked_apart() {
    let mut random = Random(0x0dd_ba11);
    for (width, pixels, channels) in [
        (1, 6000, 3),
        (1, 4096, 4),
        (2, 5000, 2),
        (2, 3001, 3),
        (4, 4100, 3),
        (4, 1999, 4),
        (8, 2050, 2),
        (8, 777, 3),
        (8, 1030, 4),
    ] {
        let layouts = transposed(pixels, channels);
        let name = name_of(&launch(Scale::Large, &layouts, width));
        let whole = (pixels * width).is_multiple_of(16);
        assert_eq!(name == format!("tile_split_{channels}"), whole, "{name}: {pixels} of {width} bytes");
        check(&mut random, &layouts, width, 0);
        let backwards = Layout::new(&[channels, pixels], &[-1, channels.cast_signed()], channels - 1);
        check(&mut random, &(layouts.0, backwards.unwrap()), width, 0);
    }
}

#[test]
fn rows_lie_as_in_their_sectors_and_begin_in_different_banks() {
    // Rows that are whole lines, halves or quarters of lines, or an odd number of elements apart.
    for (rows, columns, width) in [
        (1024, 512, 1),
        (512, 512, 2),
        (256, 1000, 4),
        (256, 1008, 4),
        (250, 336, 8),
        (511, 513, 2),
        (301, 257, 4),
        (301, 257, 8),
    ] {
        let mut params = tile_of(Scale::Large, rows, columns, width);
        assert!(params.classes_log2 > 0, "rows in classes");
        assert_eq!(measure::torn_sectors(&params), 0, "{rows} x {columns}, {width} bytes");
        assert_eq!(measure::rows_apart(&params), 8, "{rows} x {columns}, {width} bytes");
        // Other pitches tear sectors, and put rows elsewhere.
        params.class_pitch += 16;
        assert!(measure::torn_sectors(&params) > 0, "{rows} x {columns}, {width} bytes");
        params.row_pitch += if params.swizzle_mask > 0 { 0 } else { 16 };
        params.swizzle_mask = 0;
        assert!(measure::rows_apart(&params) < 8, "{rows} x {columns}, {width} bytes");
    }
}

/// Few rows, with runs that continue along them: matrices of `rows` by `columns` that follow each
/// other, each transposed.
pub(super) fn few_rows(rows: usize, columns: usize) -> (Layout, Layout) {
    let [c, r] = [columns, rows].map(usize::cast_signed);
    sides([9, columns, rows], [c * r, r, 1], [c * r, 1, c])
}

#[test]
fn tables_are_as_long_as_what_repeats() {
    let mut random = Random(37);
    // Tables for runs that start anywhere; other runs find their entries aligned, in whole vectors.
    for (rows, columns, width, period) in
        [(13, 301, 1, 13), (37, 301, 2, 37), (37, 320, 1, 37 * 16), (36, 320, 2, 36 * 2)]
    {
        let layouts = few_rows(rows, columns);
        let params = tile_between(Scale::Large, &layouts, width);
        assert_eq!(params.period.divisor, period, "{rows} x {columns}, {width} bytes");
        let room = params.data - params.run_table;
        assert!(room < 2 * (period + 2 * 16) + LINE_BYTES && room < 2 * params.run, "{room} bytes");
        check(&mut random, &layouts, width, 0);
    }
}

#[test]
fn vectors_of_few_rows_begin_in_different_banks() {
    let mut random = Random(41);
    // All vectors begin in one bank, or in two.
    for (rows, columns, width, places) in
        [(104, 1032, 1, 1), (50, 1000, 2, 1), (50, 1004, 2, 2), (30, 1004, 4, 2)]
    {
        let mut params = tile_of(Scale::Large, rows, columns, width);
        assert_eq!((params.run_in_classes, measure::rows_apart(&params)), (1, 8), "{rows} of {width} bytes");
        check(&mut random, &transposed(rows, columns), width, 0);
        params.row_pitch -= 16;
        assert_eq!(measure::rows_apart(&params), places, "{rows} of {width} bytes without the gap");
    }
    // Rows an odd number of bytes apart need no gaps.
    assert_eq!(tile_of(Scale::Large, 109, 1033, 1).run_in_classes, 0);
}

#[test]
fn a_wrong_pitch_is_seen() {
    let layouts = transposed(128, 128);
    let plan = plan(&layouts.0, &layouts.1, 4);
    let mut launch = launch(Scale::Large, &layouts, 4);
    let Params::Tile(params) = &mut launch.params else { panic!("a tile") };
    params.element_at = params.element_at.map(|x| x + 16);
    params.element_x += 16;
    let source: Vec<u8> = (0..=255).cycle().take(plan.len_bytes()).collect();
    let mut expected = vec![0; plan.len_bytes()];
    for (from, to, len) in plan.runs() {
        expected[to..to + len].copy_from_slice(&source[from..from + len]);
    }
    assert!(copied(&launch, &source, expected.len()) != expected);
}

#[test]
fn the_choice_is_explained() {
    let text = launch(Scale::Large, &transposed(1024, 1024), 4).explain();
    assert!(text.starts_with("tile_4:tile_packed 64 rows of 256 B to 64 runs of 64 elements"), "{text}");
}
