//! The tile kernels.

use devarray_cuda::strided::{
    kernel::{Find, TileKernel as Does},
    strided_launch::LINE_BYTES,
};

use super::{Memory, Params, StridedLaunch, TileParams};

/// A byte of shared memory that nothing was loaded to.
const UNSET: u8 = 0xcd;

/// The work of one block; `Tile` in `tile.cuh`.
pub(super) struct Tile {
    pub(super) src: u64,
    dst: u64,
    rows: std::ops::Range<u32>,
    span: u32,
    stores: u32,
    low: i64,
    high: i64,
    pub(super) x: i64,
    /// The first row, and element, after the end of the run's first axis.
    axis_end: u32,
    /// Elements of a run until the next tile's part begins, if one does.
    part: Option<u32>,
}

pub(super) fn run(launch: &StridedLaunch, p: &TileParams, memory: &mut impl Memory) {
    if p.row_step > 0 {
        let classes = 1 << p.classes_log2;
        assert!(
            launch.threads == p.row_step * p.chunks.divisor && p.row_step.is_multiple_of(classes),
            "rows dealt out evenly"
        );
        assert!(p.row_axes <= 1 && p.pad_chunks.divisor == 0, "rows one stride describes");
    }
    assert!(launch.threads.is_multiple_of(1 << p.lanes_log2), "whole groups of threads along a run");
    if does(launch).evict_last {
        let lines = p.span.is_multiple_of(LINE_BYTES) && p.at.src.is_multiple_of(LINE_BYTES.into());
        assert!(p.row_step > 0 && lines, "whole lines, dealt out evenly");
    }
    for block in 0..launch.grid {
        run_block(launch, block, memory);
    }
}

/// The work of the kernel of a launch of tiles.
pub(super) fn does(launch: &StridedLaunch) -> Does {
    launch.kernel.entry.tile().expect("a kernel of tiles")
}

/// Carries out one block of a launch of tiles.
pub(crate) fn run_block(launch: &StridedLaunch, block: u32, memory: &mut impl Memory) {
    let Params::Tile(p) = &launch.params else { panic!("a launch of tiles") };
    let tile = find(p, block);
    let mut shared = vec![UNSET; (launch.shared_bytes - p.data) as usize];
    load(p, &tile, memory, &mut shared);
    store(&does(launch), p, launch.kernel.width, &tile, memory, &shared);
}

pub(super) fn find(p: &TileParams, block: u32) -> Tile {
    let (mut src, mut dst, mut rest) = (p.at.src, p.at.dst, block);
    let (mut a_index, mut b_index, mut c_index) = (0, 0, 0);
    for (k, axis) in (0..p.outer_axes).zip(&p.outer) {
        let next = axis.extent.divide(rest);
        let c = rest - next * axis.extent.divisor;
        src = src.wrapping_add_signed(i64::from(c).wrapping_mul(axis.src));
        dst = dst.wrapping_add_signed(i64::from(c).wrapping_mul(axis.dst));
        a_index = if k == p.a_outer { c } else { a_index };
        b_index = if k == p.b_outer { c } else { b_index };
        c_index = if k == p.c_outer { c } else { c_index };
        rest = next;
    }
    let (span, stores, high) = (p.span, p.stores, i64::from(p.run));
    let mut tile =
        Tile { src, dst, rows: 0..p.rows, span, stores, low: 0, high, x: 0, axis_end: u32::MAX, part: None };
    if p.a_extent != 0 {
        let steps = p.a_piece.min(p.a_extent - a_index * p.a_piece);
        let stride = u32::try_from(p.a_src.unsigned_abs()).unwrap();
        tile.span = p.span_inner + (steps - 1) * stride;
        if p.a_src < 0 {
            let missing = i64::from((p.a_piece - steps) * stride);
            tile.src = tile.src.wrapping_add_signed(missing);
            tile.x -= missing;
        }
        if p.a_in_run != 0 {
            tile.high = i64::from(steps * p.run_inner);
        } else {
            tile.stores = steps * p.stores_inner;
        }
    }
    if p.c_extent != 0 {
        let steps = p.c_piece.min(p.c_extent - c_index * p.c_piece);
        tile.rows.end = steps * p.rows_inner;
        tile.stores = steps * p.stores_inner;
    }
    if p.b_extent != 0 && p.a_in_run == 0 {
        let start = b_index * p.b_piece;
        let first = p.overlap.saturating_sub(start);
        let steps = (p.b_piece + p.overlap).min(p.b_extent + p.overlap - start);
        tile.low = i64::from(first * p.run_inner);
        tile.high = i64::from(steps * p.run_inner);
        let next = p.overlap > 0 && start + p.b_piece < p.b_extent;
        tile.part = next.then_some(p.b_piece * p.run_inner);
        if p.b_in_rows != 0 {
            tile.rows = first * p.rows_inner..steps * p.rows_inner;
        }
        if p.fused.divisor != 0 {
            let first = start.saturating_sub(p.overlap);
            let times = p.fused.divide(first);
            tile.src = tile.src.wrapping_add_signed(i64::from(times) * p.fused_src);
            tile.axis_end = tile.rows.start + p.fused.divisor - (first - times * p.fused.divisor);
        }
    }
    tile
}

/// The place of a row among the rows of all classes; `row_position` in `tile.cuh`.
fn in_class(p: &TileParams, row: u32) -> i64 {
    let classes = 1 << p.classes_log2;
    i64::from(row % classes * p.class_pitch + row / classes * p.row_pitch)
}

/// The distance by which the chunks of a slot's rows are moved.
pub(super) fn swizzle(p: &TileParams, slot: u32) -> i64 {
    i64::from((slot << p.swizzle_shift) & p.swizzle_mask)
}

/// Calls `visit(source, byte of shared memory)` for each chunk that a block copies to shared
/// memory.
pub(super) fn chunks(p: &TileParams, tile: &Tile, mut visit: impl FnMut(u64, usize)) {
    for row in tile.rows.clone() {
        let (mut from, mut x, mut rest) = (tile.src, (tile.src % u64::from(LINE_BYTES)).cast_signed(), row);
        for axis in &p.row[..p.row_axes as usize] {
            let next = axis.extent.divide(rest);
            let c = i64::from(rest - next * axis.extent.divisor);
            from = from.wrapping_add_signed(c * axis.src);
            x += if p.classes_log2 != 0 || p.row_axes == 1 { 0 } else { c * i64::from(axis.x) };
            rest = next;
        }
        if p.classes_log2 != 0 || p.row_axes <= 1 {
            x += in_class(p, row);
        }
        if row >= tile.axis_end {
            from = from.wrapping_add_signed(p.fused_src);
            x += i64::from(p.fused_x);
        }
        let shift = u32::try_from(from % 16).unwrap();
        for chunk in (0..p.chunks.divisor).take_while(|chunk| chunk * 16 < tile.span + shift) {
            let pad = if p.pad_chunks.divisor == 0 { 0 } else { p.pad_chunks.divide(chunk) * 16 };
            let to = x + i64::from(chunk * 16) - i64::from(shift) + i64::from(pad);
            let to = usize::try_from(to ^ swizzle(p, row >> p.classes_log2)).unwrap();
            assert!(to.is_multiple_of(16), "an aligned chunk of shared memory");
            visit(from + u64::from(chunk * 16) - u64::from(shift), to);
        }
        assert!((p.chunks.divisor * 16) >= tile.span + shift, "chunks enough for a row");
    }
}

fn load(p: &TileParams, tile: &Tile, memory: &impl Memory, shared: &mut [u8]) {
    let (span, unchecked) = (p.at.src_begin..=p.at.src_end, inside(p, tile));
    chunks(p, tile, |from, to| {
        assert!(!unchecked || (span.contains(&from) && span.contains(&(from + 16))), "inside the source");
        shared[to..to + 16].copy_from_slice(&memory.chunk(from, &p.at));
    });
}

/// Whether chunks are loaded without looking where each of them is.
fn inside(p: &TileParams, tile: &Tile) -> bool {
    let reaches = |low: i64, high: i64| {
        let (begin, end) = (tile.src.wrapping_add_signed(low - 15), tile.src.wrapping_add_signed(high + 15));
        begin.cast_signed() >= p.at.src_begin.cast_signed() && end.cast_signed() <= p.at.src_end.cast_signed()
    };
    if p.fused.divisor == 0 {
        return reaches(p.low, p.high);
    }
    let rows = |rows: std::ops::Range<u32>, moved: i64| {
        let at = |row: u32| moved + i64::from(row) * p.row[0].src;
        rows.is_empty() || reaches(at(rows.start), at(rows.end - 1) + i64::from(p.span))
    };
    let (start, end) = (tile.rows.start, tile.rows.end);
    rows(start..tile.axis_end.min(end), 0) && rows(tile.axis_end..end, p.fused_src)
}

/// The start of run number `run`: in the destination, and its first element in the tile.
pub(super) fn find_run(p: &TileParams, tile: &Tile, start: i64, run: u32) -> (u64, i64) {
    let (mut to, mut x, mut rest) = (tile.dst, start, run);
    for axis in &p.store[..p.store_axes as usize] {
        let next = axis.extent.divide(rest);
        let c = i64::from(rest - next * axis.extent.divisor);
        to = to.wrapping_add_signed(c * axis.dst);
        x += c * i64::from(axis.x);
        rest = next;
    }
    (to, x)
}

fn store(does: &Does, p: &TileParams, width: u32, tile: &Tile, memory: &mut impl Memory, shared: &[u8]) {
    let start = tile.x + i64::from(p.store_x) + (tile.src % u64::from(LINE_BYTES)).cast_signed();
    let &Does { find, store_bytes, shifted, fused, .. } = does;
    let vector = i64::from(store_bytes / width);
    let tabulated = find == Find::Table;
    assert_eq!(fused, p.fused.divisor > 0, "the kernel for runs over two axes");
    let overlapping = !shifted && (fused || does.overlap);
    assert_eq!(overlapping, (p.overlap > 0 || fused) && !shifted, "the kernel for tiles that overlap");
    let threads = if overlapping { p.columns.divisor } else { p.passes << p.lanes_log2 };
    assert!(threads >= p.run_chunks, "threads for all vectors of a run");
    for run in 0..tile.stores {
        let (to, x) = find_run(p, tile, start, run);
        let chunks = i64::from(p.run_chunks);
        if find == Find::Scatter {
            for element in 0..tile.high.min(chunks) {
                let from = x + element * i64::from(p.element_x);
                put(memory, shared, width, from, to.wrapping_add_signed(element * p.run_dst));
            }
            continue;
        }
        for chunk in 0..chunks {
            let chunk = chunk + i64::from(run * p.share);
            let (mut first, mut back) = (chunk * vector, 0);
            if shifted {
                let over = u32::try_from(to & u64::from(p.start_mask)).unwrap();
                let end = tile.part.map(|part| i64::from((over + part * width) & !p.start_mask));
                if end.is_some_and(|end| chunk * 16 >= end) {
                    continue;
                }
                back = i64::from(p.overlap * p.run_inner) - i64::from(over / width);
                first += back;
            } else {
                assert!(to.is_multiple_of(store_bytes.into()), "an aligned run");
                if overlapping && (first < tile.low || !this_tiles(p, width, to, first)) {
                    continue;
                }
                let from = x + chunk * i64::from(p.vector_x);
                if find == Find::Packed {
                    aligned_words(p, width, run, from);
                }
                if let Find::Split(runs) = find {
                    assert_eq!(runs, p.stores);
                    whole_vectors(p, width, from - i64::from(run * width), shared.len());
                }
            }
            for j in 0..vector {
                let element = first + j;
                if first + vector <= tile.low || first >= tile.high {
                    continue;
                }
                let (end, wrap_x) = (next_end(find, p, tile, first), i64::from(p.fused_x.cast_signed()));
                let place = byte(find, p, width, x, (chunk, back, j), first);
                let from = if element >= end { place + wrap_x } else { place };
                // For bytes, the word in which the first of two fused axes ends is gathered from
                // both sides.
                if width == 1
                    && !tabulated
                    && (first + 1..first + vector).contains(&end)
                    && (end - first) / 4 == j / 4
                {
                    gathered(p, shared.len(), width, place);
                    gathered(p, shared.len(), width, place + wrap_x);
                }
                if element < tile.low || element >= tile.high {
                    // Gathered with the rest of its vector, and not stored: it must lie in shared
                    // memory all the same.
                    gathered(p, shared.len(), width, from);
                    continue;
                }
                let before = i64::from(p.overlap * p.run_inner);
                let at = to.wrapping_add_signed((element - before) * i64::from(width));
                put(memory, shared, width, from, at);
            }
        }
    }
}

/// Gathered elements, stored or not, lie in shared memory, which has `len_bytes` of data.
fn gathered(p: &TileParams, len_bytes: usize, width: u32, from: i64) {
    let data = -i64::from(p.data)..=len_bytes.cast_signed() as i64 - i64::from(width);
    assert!(data.contains(&from), "in shared memory");
}

/// The element from which on elements of a vector lie further than one step, if its first is `first`.
fn next_end(find: Find, p: &TileParams, tile: &Tile, first: i64) -> i64 {
    if find == Find::Periodic {
        let period = i64::from(p.period.divisor);
        return (first.max(0) / period + 1) * period;
    }
    tile.axis_end.into()
}

/// Whether the vector from element `first` on of the run at `to` is of this tile, and not of one of
/// its neighbours along the run.
fn this_tiles(p: &TileParams, width: u32, to: u64, first: i64) -> bool {
    let over = i64::try_from(to & u64::from(p.start_mask)).unwrap();
    let offset = (first - i64::from(p.overlap)) * i64::from(width) + over;
    (0..i64::from(p.b_piece * width)).contains(&offset)
}

/// Bytes left free before a vector of a row.
pub(super) fn pad(p: &TileParams, chunk: i64) -> i64 {
    if p.pad_chunks.divisor == 0 { 0 } else { (chunk >> p.pad_log2) * 16 }
}

/// Words hold an element of each of some neighbouring runs, and are read where the first of these
/// is gathered.
fn aligned_words(p: &TileParams, width: u32, run: u32, x: i64) {
    let group = if width == 1 { 4 } else { 2 };
    let word = i64::from(width * group);
    assert!(
        !run.is_multiple_of(group) || (x % word == 0 && i64::from(p.element_x) % word == 0),
        "an aligned word"
    );
    assert!(p.store_groups.divisor * group == p.stores, "whole groups of runs");
}

/// Vectors of interleaved runs are read in place, the first from `x` on: as many as there are runs.
fn whole_vectors(p: &TileParams, width: u32, x: i64, len_bytes: usize) {
    let is_interleaved = (p.store_axes, p.store[0].x, p.element_x)
        == (1, width.cast_signed(), (p.stores * width).cast_signed());
    assert!(is_interleaved && x % 16 == 0, "aligned vectors of interleaved elements");
    assert!(
        (0..=len_bytes.cast_signed() as i64).contains(&(x + i64::from(16 * p.stores))),
        "in shared memory"
    );
}

/// The byte of element `j` of a vector of the run whose elements start at byte `x`.
pub(super) fn byte(
    find: Find,
    p: &TileParams,
    width: u32,
    x: i64,
    (chunk, back, j): (i64, i64, i64),
    first: i64,
) -> i64 {
    if find == Find::Table {
        let period = i64::from(p.period.divisor);
        let times = first.max(0) / period;
        let (number, room) = (first - times * period + j, i64::from(16 / width));
        assert!((-room..period + room).contains(&number), "in the table");
        let mut rest = u32::try_from(number.clamp(0, i64::from(p.run) - 1)).unwrap();
        let mut entry = 0;
        for (k, axis) in p.run_axis[..p.run_axes as usize].iter().enumerate() {
            let next = axis.extent.divide(rest);
            let c = rest - next * axis.extent.divisor;
            let in_classes = k == 0 && p.run_in_classes != 0;
            entry += if in_classes { in_class(p, c) } else { i64::from(c) * i64::from(axis.x) };
            rest = next;
        }
        assert!(u16::try_from(entry + i64::from(p.store_x)).is_ok(), "an entry of 16 bits");
        return x + entry + times * i64::from(p.period_x);
    }
    let step = i64::from(p.element_x);
    if find == Find::Periodic {
        let period = first.max(0) / i64::from(p.period.divisor);
        return x
            + period * i64::from(p.period_x)
            + (first + j - period * i64::from(p.period.divisor)) * step;
    }
    let vector =
        (x + chunk * i64::from(p.vector_x) + pad(p, chunk)) ^ swizzle(p, u32::try_from(chunk).unwrap());
    if find != Find::Linear {
        return vector + (back + j) * step;
    }
    // Elements of one byte are gathered word by word.
    let at = |times: i64| i64::from(p.element_at[usize::try_from(times).unwrap()]);
    let element = if width == 1 { j / 4 * at(4) + at(j % 4) } else { at(j) };
    vector + back * step + element
}

fn put(memory: &mut impl Memory, shared: &[u8], width: u32, from: i64, to: u64) {
    let from = usize::try_from(from).unwrap();
    assert!(from.is_multiple_of(width as usize) && to.is_multiple_of(width.into()), "an aligned element");
    memory.write(to, &shared[from..from + width as usize]);
}
