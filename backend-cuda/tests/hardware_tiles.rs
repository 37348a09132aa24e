//! Proves on a real device that copies of every size and alignment move the right bytes and no
//! others, with every kernel; and that kernels are loaded soon.
//!
//! Needs a CUDA device, so each test is ignored by default:
//! `cargo test -p devarray-cuda --test card -- --ignored hardware_tiles:: --nocapture --test-threads=1`.
//! The sanitizers run this, too:
//! `compute-sanitizer --tool racecheck <this binary> hardware_tiles::sizes --ignored`.
#![expect(clippy::unwrap_used, reason = "tests")]

#[allow(dead_code, reason = "shared with other tests")]
use super::cases;
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use cases::{Pair, Rng, copy, upload};
use devarray::{
    Layout, Order,
    backend::{Device as _, Quiesced, Stream as _},
    layout::Slice,
};
use devarray_cuda::{CudaDevice, MemorySpeed, explain_copy};

/// Copies `permute(axes)` of a contiguous array to a destination in C order, whose rows are `pad` elements
/// further apart than contiguous rows.
fn permuted(shape: &[usize], axes: &[usize], pad: usize, item_bytes: usize) -> Pair {
    let contiguous = |shape: &[usize], pad: usize| {
        let mut strides = vec![1_isize; shape.len()];
        for axis in (1..shape.len()).rev() {
            let extra = if axis + 1 == shape.len() { pad } else { 0 };
            strides[axis - 1] = strides[axis] * (shape[axis] + extra).cast_signed();
        }
        strides
    };
    let from = contiguous(shape, 0);
    let result: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
    let strides: Vec<isize> = axes.iter().map(|&axis| from[axis]).collect();
    Pair {
        dst: Layout::new(&result, &contiguous(&result, pad), 0).unwrap(),
        src: Layout::new(&result, &strides, 0).unwrap(),
        item_bytes,
    }
}

/// Shapes for each kernel, of about `len_bytes`: even and odd extents, rows of multiples of 8 and 4 bytes, short
/// runs, runs over several axes, pixels of three elements, so few rows that runs continue along them, and rows
/// so short that they end before the axis of the run.
fn pairs(len_bytes: usize) -> Vec<Pair> {
    let mut all = Vec::new();
    for item_bytes in [1_usize, 2, 4, 8, 16] {
        let edge = (len_bytes / item_bytes).isqrt().next_multiple_of(16);
        let cube = (edge / 2).isqrt() * 2;
        for (rows, columns) in
            [(edge, edge), (edge + 8, edge + 24), (edge + 4, edge + 12), (edge - 1, edge + 1)]
        {
            all.push(permuted(&[rows, columns], &[1, 0], 0, item_bytes));
        }
        all.push(permuted(&[edge, edge - 3], &[1, 0], 5, item_bytes));
        all.push(permuted(&[cube, 7, cube + 1, 3], &[3, 1, 0, 2], 0, item_bytes));
        all.push(permuted(&[cube, cube, 3], &[2, 0, 1], 0, item_bytes));
        all.push(permuted(&[3, cube, cube], &[1, 2, 0], 0, item_bytes));
        all.push(permuted(&[109 / item_bytes, len_bytes / 109 / 16 * 16], &[1, 0], 0, item_bytes));
        all.push(permuted(&[len_bytes / 96, 96 / item_bytes], &[1, 0], 0, item_bytes));
    }
    all
}

/// Shapes of at least `len_bytes` whose runs begin inside a sector of memory: at multiples of 16 bytes (and of 8
/// and 4 bytes for elements of 1 byte), where a copy can move words; likewise, where it cannot move words; at
/// one position in the sectors for all runs of a tile; and anywhere, in matrices of few columns.
fn split_sectors(len_bytes: usize) -> Vec<Pair> {
    let mut all = Vec::new();
    for item_bytes in [1_usize, 2, 4, 8] {
        let edge = (len_bytes / item_bytes).isqrt().next_multiple_of(32);
        let starts = if item_bytes == 1 { &[16, 8, 4][..] } else { &[16][..] };
        for start in starts {
            all.push(permuted(&[edge + start / item_bytes, edge], &[1, 0], 0, item_bytes));
        }
        all.push(permuted(&[edge + 16 / item_bytes, edge + 1], &[1, 0], 0, item_bytes));
        all.push(permuted(&[edge / 16 + 16 / item_bytes, 17, edge], &[2, 1, 0], 0, item_bytes));
        all.push(permuted(&[(len_bytes / 51 / item_bytes) | 1, 51], &[1, 0], 0, item_bytes));
    }
    all
}

/// Shapes of about `len_bytes` whose axes are reversed. Rows end inside a sector of memory, so runs continue
/// over the ends of rows.
fn ends_in_sectors(len_bytes: usize) -> Vec<Pair> {
    let mut all = Vec::new();
    for item_bytes in [1_usize, 2, 4, 8] {
        let cells = len_bytes / item_bytes;
        let edge = (1..).find(|edge| edge * edge * edge >= cells).unwrap();
        // Rows end at multiples of 8 and of 4 bytes with runs of 16 bytes over the ends; then with runs of 8 and of 4
        // bytes; then anywhere.
        let even = edge.next_multiple_of(16);
        let shapes = [
            [even + 8 / item_bytes.min(4), even + 8 / item_bytes.min(4), even + 8],
            [even + 4, even + 4, even + 4],
            [even + 4, even + 6, even],
            [even + 4, even + 1, even + 4],
            [even + 2, even + 2, even + 2],
            [even + 1, even + 1, even - 1],
            [even + 1, even + 1, even],
            [even + 1, even + 1, even + 1],
        ];
        all.extend(shapes.map(|shape| permuted(&shape, &[2, 1, 0], 0, item_bytes)));
        all.push(permuted(&[3, edge | 1, edge / 3, edge], &[0, 3, 2, 1], 0, item_bytes));
        // The planes have gaps between their rows, and begin at an odd position.
        let wide = permuted(&[edge | 1, even, even], &[2, 1, 0], 0, item_bytes);
        let part = |layout: &Layout| layout.slice_axis(0, 3..even - 7).unwrap().slice_axis(1, 1..).unwrap();
        let dst = permuted(&[edge | 1, even - 1, even - 10], &[2, 1, 0], 0, item_bytes).dst;
        all.push(Pair { dst, src: part(&wide.src), item_bytes });
    }
    all
}

/// Matrices of at least `len_bytes` for tiles that hold all rows: few and many rows, which spread over banks or are
/// rotated; one matrix, and several in a row; reversed columns or
/// rows.
fn all_rows(len_bytes: usize) -> Vec<Pair> {
    let mut all = Vec::new();
    for (rows, item_bytes) in [(101, 2), (131, 2), (199, 2), (101, 4), (150, 4), (49, 8), (101, 8)] {
        let columns = len_bytes / rows / item_bytes;
        let apart = [columns | 1, (columns | 3) - 1, columns.next_multiple_of(16)];
        all.extend(apart.map(|columns| permuted(&[rows, columns], &[1, 0], 0, item_bytes)));
        all.push(permuted(&[3, rows, (columns / 3) | 1], &[0, 2, 1], 0, item_bytes));
    }
    for rows in [17, 33, 50, 77, 101, 131, 150, 201, 202, 212, 248, 254, 285, 301, 317, 318, 369] {
        let columns = len_bytes / rows;
        // The distance between rows of the source is an odd number of bytes, an even one, or a multiple of 4 or 16.
        let apart = [columns | 1, (columns | 3) - 1, (columns | 7) - 3, columns.next_multiple_of(16)];
        all.extend(apart.map(|columns| permuted(&[rows, columns], &[1, 0], 0, 1)));
        all.push(permuted(&[3, rows, (columns / 3) | 1], &[0, 2, 1], 0, 1));
        let Pair { dst, src, .. } = permuted(&[rows, columns | 1], &[1, 0], 0, 1);
        all.push(Pair { dst: dst.clone(), src: src.flip(&[0]).unwrap(), item_bytes: 1 });
        all.push(Pair { dst, src: src.flip(&[1]).unwrap(), item_bytes: 1 });
    }
    all
}

/// Rows that fill whole cache lines, transposed and not.
fn whole_lines(len_bytes: usize) -> Vec<Pair> {
    let of_width = |item_bytes: usize| {
        let edge = (len_bytes / item_bytes).isqrt().next_multiple_of(128);
        let half = permuted(&[edge, edge], &[0, 1], 0, item_bytes);
        let wide = permuted(&[edge, 2 * edge], &[0, 1], 0, item_bytes);
        [
            permuted(&[edge, edge + 128], &[1, 0], 0, item_bytes),
            permuted(&[8, edge / 8, edge], &[0, 2, 1], 16 / item_bytes, item_bytes),
            // The source is the left half, and then every second column.
            Pair { dst: half.dst.clone(), src: wide.src.slice_axis(1, ..edge).unwrap(), item_bytes },
            Pair {
                dst: half.dst,
                src: wide.src.slice_axis(1, Slice::from(..).step_by(2)).unwrap(),
                item_bytes,
            },
        ]
    };
    [1, 2, 4, 8, 16].into_iter().flat_map(of_width).collect()
}

/// Short rows that change their order, in one group and in several, of about `len_bytes` in all. Rows are
/// whole, or cut off on both sides.
fn rows_that_change_places(len_bytes: usize) -> Vec<Pair> {
    let mut all = Vec::new();
    for item_bytes in [1, 2, 4, 8] {
        for row_bytes in [24, 40, 72, 104, 202, 333, 1000, 5000] {
            let row = (row_bytes / item_bytes) | 1;
            let rows = len_bytes / (row * item_bytes) / 11;
            all.push(permuted(&[rows, 11, row], &[1, 0, 2], 0, item_bytes));
            let whole = permuted(&[rows, 11, row + 2], &[1, 0, 2], 0, item_bytes).src;
            let src = whole.slice_axis(2, 1..row + 1).unwrap().slice_axis(1, 1..).unwrap();
            let dst = permuted(&[rows - 1, 11, row], &[1, 0, 2], 0, item_bytes).dst;
            all.push(Pair { dst: dst.clone(), src: src.clone(), item_bytes });
            // The parts leave out the first row of each group.
            let part = |layout: &Layout| layout.slice_axis(1, 1..).unwrap();
            all.push(Pair { dst: part(&dst), src: part(&src), item_bytes });
        }
    }
    all
}

fn check(pairs: Vec<Pair>) -> BTreeSet<String> {
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let stream = device.open_stream().unwrap();
    let mut rng = Rng::new(5);
    let mut kernels = BTreeSet::new();
    for pair in pairs {
        let memory = MemorySpeed::of(&device.info().properties);
        let lines = explain_copy(memory, &pair.plan(&device.info().capabilities), 0, 1 << 40);
        kernels.extend(
            lines.iter().find_map(|line| line.strip_prefix("kernel ")?.split(' ').next().map(str::to_owned)),
        );
        pair.check(&device, &stream, &mut rng);
    }
    kernels
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn sizes_small_and_middle_are_right() {
    let mut kernels = check(pairs(1 << 18));
    kernels.append(&mut check(pairs(5 << 20)));
    println!("{kernels:?}");
    for kernel in ["packed", "packed_8", "packed_4", "linear_shifted", "split_3"] {
        assert!(kernels.contains(&format!("tile_1:tile_{kernel}")), "{kernel} did not run: {kernels:?}");
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn sizes_large_are_right() {
    let kernels = check(pairs(17 << 20));
    println!("{kernels:?}");
    for (width, kernel) in [2, 4, 8].into_iter().flat_map(|width| [(width, "packed"), (width, "split_3")]) {
        assert!(kernels.contains(&format!("tile_{width}:tile_{kernel}")), "width {width}: {kernels:?}");
    }
}

/// Copies with tiles that overlap along runs over several axes, which begin inside sectors of memory.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn sizes_whose_tiles_reach_back_are_right() {
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let memory = MemorySpeed::of(&device.info().properties);
    let cases: [(&[usize], &[usize], usize); 5] = [
        (&[86, 19, 5, 5, 8, 13, 7], &[6, 5, 3, 4, 1, 2, 0], 1),
        (&[17, 11, 75, 59, 63], &[4, 3, 1, 2, 0], 1),
        (&[15, 81, 19, 19, 67], &[4, 1, 0, 3, 2], 2),
        (&[11, 13, 15, 17, 19, 21], &[5, 2, 0, 4, 1, 3], 4),
        (&[35, 5, 35, 17, 14, 5], &[4, 0, 3, 2, 5, 1], 8),
    ];
    let pairs = cases.map(|(shape, axes, item_bytes)| permuted(shape, axes, 0, item_bytes));
    // The tiles overlap by whole steps of the second axis, which are longer than a sector.
    let reaches = |pair: &&Pair| {
        let lines = explain_copy(memory, &pair.plan(&device.info().capabilities), 0, 1 << 40);
        let before = lines.iter().find_map(|line| line.split_once(" elements of overlap"));
        let elements = before.and_then(|(before, _)| before.rsplit(' ').next()?.parse::<usize>().ok());
        elements.is_some_and(|elements| elements * pair.item_bytes > 31)
    };
    let reaching = pairs.iter().filter(reaches).count();
    assert!(reaching >= 3, "{reaching}");
    check(pairs.into());
}

/// Copies the smallest results that need tiles that overlap.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn sizes_whose_tiles_overlap_are_right() {
    let kernels = check(split_sectors((16 << 20) + 1));
    println!("{kernels:?}");
    let narrow = ["packed_overlap_8", "packed_overlap_4"].map(|kernel| (1, kernel));
    for (width, kernel) in [1, 2, 4, 8].map(|width| (width, "packed_overlap")).into_iter().chain(narrow) {
        assert!(
            kernels.contains(&format!("tile_{width}:tile_{kernel}")),
            "{kernel}, width {width}: {kernels:?}"
        );
    }
}

fn check_ends(len_bytes: usize) {
    let kernels = check(ends_in_sectors(len_bytes));
    println!("{kernels:?}");
    let bytes = ["packed_fused_8", "packed_fused_4", "linear_shifted_fused", "table_shifted_wide_fused"];
    let wider =
        [2, 4, 8].into_iter().flat_map(|width| [(width, "packed_fused"), (width, "table_shifted_fused")]);
    for (width, kernel) in wider.chain(bytes.map(|kernel| (1, kernel))).chain([(1, "packed_fused")]) {
        assert!(
            kernels.contains(&format!("tile_{width}:tile_{kernel}")),
            "{kernel}, width {width}: {kernels:?}"
        );
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn middle_sizes_whose_runs_go_over_ends_are_right() {
    check_ends(5 << 20);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn large_sizes_whose_runs_go_over_ends_are_right() {
    check_ends(17 << 20);
}

fn check_all_rows(len_bytes: usize, every: usize) {
    let kernels = check(all_rows(len_bytes).into_iter().step_by(every).collect());
    println!("{kernels:?}");
    for kernel in
        ["tile_1:tile_periodic", "tile_1:tile_periodic_shifted", "tile_2:tile_table", "tile_8:tile_table"]
    {
        assert!(kernels.contains(kernel), "{kernel} did not run: {kernels:?}");
    }
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn tiles_of_all_rows_are_right() {
    check_all_rows(5 << 20, 1);
    check_all_rows(17 << 20, 1);
    check(all_rows(1 << 18));
}

/// Takes few enough shapes for the sanitizers.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn some_tiles_of_all_rows_are_right() {
    check_all_rows(5 << 20, 7);
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn rows_that_change_places_are_right() {
    let kernels = check(rows_that_change_places(17 << 20));
    println!("{kernels:?}");
    for width in [4, 8] {
        assert!(kernels.contains(&format!("rows:rows_table_{width}")), "width {width}: {kernels:?}");
    }
}

/// Copies every second, third and fourth byte of rows of many lengths, from every position in a vector to the last
/// byte of the source. Also copies many small matrices, whose runs end early.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn sizes_of_steps_and_of_many_matrices_are_right() {
    let mut all = Vec::new();
    for (step, row) in [(2_usize, 16), (2, 48), (2, 257), (3, 64), (3, 300), (4, 16), (4, 1024), (4, 333)] {
        for first in 0..19 {
            let base = Layout::contiguous(&[61, (row - 1) * step + 1 + first], Order::C).unwrap();
            let src = base.slice_axis(1, Slice::from(first..).step_by(step.cast_signed())).unwrap();
            let dst = Layout::contiguous(&[61, row], Order::C).unwrap();
            all.push(Pair { dst, src, item_bytes: 1 });
        }
    }
    let kernels = check(all);
    assert!(kernels.contains("rows:rows_stride_1"), "{kernels:?}");
    let images = |len_bytes: usize| {
        let images = [[432, 4], [351, 3], [77, 32], [624, 8]].into_iter();
        images.map(move |[pixels, channels]| {
            permuted(&[len_bytes / pixels / channels, pixels, channels], &[0, 2, 1], 0, 1)
        })
    };
    check(images(9 << 20).chain(images(40 << 20)).collect());
}

#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn sizes_that_stream_through_are_right() {
    let kernels = check(whole_lines(65 << 20));
    println!("{kernels:?}");
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let suffix = match MemorySpeed::of(&device.info().properties) {
        MemorySpeed::Even => "_evict_last",
        _ => "",
    };
    for width in [1, 2, 4, 8] {
        assert!(kernels.contains(&format!("tile_{width}:tile_packed{suffix}")), "width {width}: {kernels:?}");
    }
    assert!(kernels.contains(&format!("tile_16:tile_linear{suffix}")), "{kernels:?}");
    for name in ["rows:rows_aligned", "rows:rows_stride_4"] {
        assert!(kernels.contains(name), "{name} did not run: {kernels:?}");
    }
}

/// Alone in a process and with `CUDA_CACHE_DISABLE=1`, this test shows the time of a fresh process.
#[test]
#[ignore = "needs a CUDA device: run with --ignored"]
fn kernels_are_there_soon() {
    let device = CudaDevice::open(0).expect("a CUDA device is needed");
    let stream = device.open_stream().unwrap();
    for item_bytes in [1, 2, 4, 8, 16] {
        let pair = permuted(&[256, 256], &[1, 0], 0, item_bytes);
        let bytes = vec![1; pair.src_len_bytes()];
        let (dst, src) = (upload(&stream, &bytes), upload(&stream, &bytes));
        let plan = pair.plan(&device.info().capabilities);
        let mut times = [Duration::ZERO; 2];
        for time in &mut times {
            let begun = Instant::now();
            copy(&stream, &dst, &src, &plan);
            assert_eq!(stream.synchronize(), Quiesced::Done);
            *time = begun.elapsed();
        }
        println!("{item_bytes} bytes: the first copy {:?}, the second {:?}", times[0], times[1]);
        assert!(times[0] < Duration::from_millis(30), "{times:?}");
        cases::free(&stream, dst);
        cases::free(&stream, src);
    }
}
