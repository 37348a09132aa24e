//! Rows that change places: the way that is taken, and that it moves the right bytes.

use devarray::{Layout, Order};

use super::{
    super::{Params, StridedLaunch, params::RowsParams},
    Random, Scale, check, name_of,
    selected::launch,
};

/// An array of `a` × `b` rows of `row` elements, with the two axes exchanged, into a destination that leaves
/// `gap` elements free after each `a` rows.
fn exchanged([a, b, row]: [usize; 3], gap: usize) -> (Layout, Layout) {
    let src = Layout::contiguous(&[a, b, row], Order::C).unwrap().permute(&[1, 0, 2]).unwrap();
    let [pitch, step] = [a * row + gap, row].map(usize::cast_signed);
    (Layout::new(&[b, a, row], &[pitch, step, 1], 0).unwrap(), src)
}

fn params(launch: &StridedLaunch) -> &RowsParams {
    match &launch.params {
        Params::Rows(params) => params,
        other => panic!("{other:?} instead of rows"),
    }
}

/// Every width, rows of any length, one group and several, starting at any place of a sector.
#[test]
fn rows_that_change_places_go_by_a_table() {
    let mut random = Random(41);
    for (width, bytes) in [(4, 100), (4, 204), (8, 328), (8, 1000), (4, 3004), (2, 502)] {
        for gap in [0, 7] {
            let row = (bytes / width) | 1;
            let rows = 150_000 / (row * width * 7);
            let name = check(&mut random, &exchanged([rows, 7, row], gap), width, 0);
            let expected = match width {
                2 => "rows_join".to_owned(),
                _ if gap > 0 && bytes > 2048 => "rows_realign".to_owned(),
                _ => format!("rows_table_{width}"),
            };
            assert!(name == expected || gap > 0, "{rows} rows of {row}, {gap}: {name}");
        }
    }
    // Cut off on each side, with more axes in another order.
    let base = Layout::contiguous(&[3, 11, 4, 5, 3, 203], Order::C).unwrap();
    let cut = base.slice_axis(5, 1..202).unwrap().slice_axis(1, 1..10).unwrap();
    let src = cut.permute(&[4, 2, 1, 3, 0, 5]).unwrap();
    let dst = Layout::contiguous(src.shape(), Order::C).unwrap();
    let layouts = (dst, src);
    assert_eq!(check(&mut random, &layouts, 2, 0), "rows_table_2");
    assert_eq!(name_of(&launch(Scale::Stream, &layouts, 2)), "rows_join", "instructions are few there");
}

/// Rows of `row` elements, `step` elements apart in the source, with `apart` elements from row to row.
fn stepped(row: usize, [step, apart]: [isize; 2]) -> (Layout, Layout) {
    let shape = [37, row];
    let offset = if step < 0 { (row - 1) * step.unsigned_abs() } else { 0 };
    (Layout::contiguous(&shape, Order::C).unwrap(), Layout::new(&shape, &[apart, step], offset).unwrap())
}

/// Steps of up to four bytes are copied as rows if chunks are whole or rows are long. Backward steps, and
/// short rows that end within chunks, go through shared memory.
#[test]
fn near_bytes_are_picked_from_vectors_where_few_chunks_are_partial() {
    let mut random = Random(43);
    for step in 2..=4_u8 {
        let apart = |row: usize| 1001 + row.cast_signed() * isize::from(step);
        for (row, rows) in [(16, true), (48, true), (50, false), (112, true), (255, false), (257, true)] {
            let name = check(&mut random, &stepped(row, [step.into(), apart(row)]), 1, 0);
            assert_eq!(name == "rows_stride_1", rows, "{row} bytes, {step} apart: {name}");
        }
        let name = check(&mut random, &stepped(256, [-isize::from(step), apart(256)]), 1, 0);
        assert!(name.starts_with("tile_"), "backwards: {name}");
    }
    assert_eq!(check(&mut random, &stepped(70, [5, 400]), 1, 0), "rows_stride_1");
    assert!(check(&mut random, &stepped(50, [2, 300]), 2, 0).starts_with("rows_stride_2"));
}

/// Short rows of whole chunks are copied as rows if the source has them in the same order; otherwise
/// transposing is faster.
#[test]
fn short_rows_of_whole_chunks_are_rows_in_their_order() {
    let mut random = Random(47);
    for (row, width, apart, expected) in
        [(8, 2, 11, "rows_realign"), (4, 8, 6, "rows_aligned"), (4, 4, -7, "rows_realign")]
    {
        let src = Layout::new(&[37, row], &[apart, 1], if apart < 0 { 36 * 7 } else { 0 }).unwrap();
        let layouts = (Layout::contiguous(&[37, row], Order::C).unwrap(), src);
        assert_eq!(check(&mut random, &layouts, width, 0), expected);
    }
    let name = check(&mut random, &exchanged([37, 40, 12], 0), 4, 0);
    assert!(name.starts_with("tile_"), "{name}");
    // One element, repeated.
    let repeated =
        (Layout::contiguous(&[37, 4], Order::C).unwrap(), Layout::new(&[37, 4], &[1, 0], 0).unwrap());
    assert!(!check(&mut random, &repeated, 4, 0).starts_with("rows_"));
}

/// Columns of a wide array of bytes: short rows that are apart in the source and follow each other in the
/// destination.
#[test]
fn short_rows_of_narrow_elements_are_joined() {
    let mut random = Random(53);
    let columns = |count: usize, row: usize, gap: isize| {
        let src = Layout::new(&[count, row], &[row.cast_signed() + gap, 1], 0).unwrap();
        (Layout::contiguous(&[count, row], Order::C).unwrap(), src)
    };
    for row in [17, 21, 31, 47, 63] {
        for gap in [3, 83] {
            assert_eq!(
                check(&mut random, &columns(100, row, gap), 1, 0),
                "rows_join",
                "{row} bytes, {gap} apart"
            );
        }
        assert_eq!(check(&mut random, &columns(100, (row / 2) | 1, 83), 2, 0), "rows_join", "{row} bytes");
    }
    // Rows that are too short; too few rows that follow each other; elements of four bytes; gaps.
    let (mut gaps, src) = columns(100, 17, 83);
    gaps = Layout::new(gaps.shape(), &[19, 1], 0).unwrap();
    for (layouts, width) in
        [(columns(100, 13, 83), 1), (columns(20, 17, 83), 1), (columns(100, 9, 83), 4), ((gaps, src), 1)]
    {
        let name = check(&mut random, &layouts, width, 0);
        assert!(!name.starts_with("rows_"), "{name}: {layouts:?}");
    }
}

/// The cost decides: with few loops, rows of short elements are joined; with many, a table is used.
#[test]
fn the_cheapest_way_is_taken() {
    let name = |scale, shape, gap, width| name_of(&launch(scale, &exchanged(shape, gap), width));
    assert_eq!(name(Scale::Stream, [4000, 80, 79], 0, 4), "rows_table_4");
    assert_eq!(name(Scale::FastStream, [4000, 80, 213], 0, 2), "rows_join", "few loops");
    assert_eq!(name(Scale::Stream, [4000, 80, 315], 0, 1), "rows_join", "bytes");
    assert_eq!(name(Scale::Stream, [3, 4000, 75], 5, 4), "rows_join", "three rows a group");
    assert_eq!(name(Scale::Middle, [4000, 80, 79], 0, 4), "rows_realign", "the cache joins them");
    assert_eq!(name(Scale::Stream, [400, 80, 4099], 0, 4), "rows_realign", "longer than a block's piece");
    assert_eq!(name(Scale::Stream, [4000, 80, 80], 0, 4), "rows_aligned");
}

/// Checks the groups of a launch, and its blocks.
#[test]
fn a_group_is_all_that_follows_without_a_gap() {
    let one = launch(Scale::Stream, &exchanged([4000, 80, 315], 0), 4);
    let p = params(&one);
    assert_eq!((p.total, p.chunks.divisor, one.grid), (320_000, 24_610, 24_610));
    let many = launch(Scale::Stream, &exchanged([4000, 80, 315], 1), 4);
    let p = params(&many);
    assert_eq!((p.total, p.chunks.divisor, many.grid), (4000, 308, 308 * 80));
}
