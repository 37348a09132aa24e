//! Every selection, emulated, against the plan's own runs; and what is selected for known kinds of copies.

use std::convert::Infallible;

use devarray::{Layout, backend::Capabilities, copy::Plan};

use super::{
    Addresses, Launch,
    emulate::{Memory, run},
    select_at,
    tile::Scale,
};

/// Bytes no copy may touch, around the destination.
const GUARD: usize = 64;

/// xorshift64*, so that a failure names its seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next()).unwrap() % n
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

fn launches(scale: Scale, plan: &Plan, addresses: Addresses) -> Vec<Launch> {
    let mut all = Vec::new();
    let done: Result<(), Infallible> = select_at(scale, plan, addresses, |launch| {
        all.push(launch.clone());
        Ok(())
    });
    done.unwrap();
    all
}

/// Elements left free: few, if any.
fn any_gap(random: &mut Random) -> usize {
    if random.one_in(3) { random.below(6) } else { 0 }
}

/// Elements left free: often a vector, or a part of one.
fn even_gap(random: &mut Random, width: usize) -> usize {
    let bytes = [0, 0, 0, 4, 8, 12, 16, 32, 48, 64, 128][random.below(11)];
    if random.one_in(12) { random.below(9) } else { bytes / width }
}

/// A layout of `shape` in some axis order; with gaps before and between, some axes are stepped or reversed too.
fn layout(random: &mut Random, shape: &[usize], gap: Option<&dyn Fn(&mut Random) -> usize>) -> Layout {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i + 1));
    }
    let mut strides = vec![0_isize; shape.len()];
    let (mut offset, mut below) = (gap.map_or(0, |gap| gap(random)), 1_usize);
    for axis in order {
        let step = if gap.is_some() && random.one_in(9) { 2 + random.below(2) } else { 1 };
        strides[axis] = (below * step).cast_signed();
        if gap.is_some() && random.one_in(9) {
            offset += (shape[axis] - 1) * below * step;
            strides[axis] = -strides[axis];
        }
        let free = gap.map_or(0, |gap| gap(random));
        // Of single elements, or of all that lies below.
        let of_all = random.one_in(2) && free * below < 20_000;
        below = below * shape[axis] * step + if of_all { free * below } else { free };
    }
    Layout::new(shape, &strides, offset).unwrap()
}

/// The same with some axes repeated.
fn repeated(random: &mut Random, layout: &Layout, shape: &[usize]) -> Layout {
    use devarray::NdLayout as _;
    let strides: Vec<isize> =
        layout.strides().iter().map(|&stride| if random.one_in(3) { 0 } else { stride }).collect();
    let low: isize = shape.iter().zip(&strides).map(|(&n, &s)| (n.cast_signed() - 1) * s.min(0)).sum();
    Layout::new(shape, &strides, low.unsigned_abs()).unwrap()
}

fn check(random: &mut Random, dst: &Layout, src: &Layout, width: usize, seed: u64) -> &'static str {
    let plan = Plan::new(dst, src, width, &Capabilities::default()).unwrap();
    let source: Vec<u8> =
        (0..plan.src_span().end).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
    let before: Vec<u8> =
        (0..plan.dst_span().end + 2 * GUARD).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
    let mut expected = before.clone();
    for (from, to, len) in plan.runs() {
        expected[GUARD + to..GUARD + to + len].copy_from_slice(&source[from..from + len]);
    }
    // Memory from elsewhere may be aligned to less than an allocation.
    let odd = if random.one_in(8) { width as u64 } else { 0 };
    let addresses = Addresses { dst: 1 << 41, src: (1 << 40) + odd };
    let mut name = "none";
    // What is laid out for large copies must be right for small ones too.
    for scale in [Scale::Small, Scale::Middle, Scale::Large, Scale::Stream, Scale::FastStream] {
        let mut found = before.clone();
        for launch in launches(scale, &plan, addresses) {
            name = launch.kernel.name.to_str().unwrap();
            let mut memory = Memory {
                src: &source,
                src_base: addresses.src,
                dst: &mut found,
                dst_base: addresses.dst - GUARD as u64,
            };
            run(&launch, &mut memory);
            assert!(launch.shared_bytes < 48 << 10 && launch.params.len_bytes() <= 4096);
            assert!(launch.threads.is_multiple_of(32) && (32..=512).contains(&launch.threads));
            assert!(
                found == expected,
                "seed {seed}: {dst:?} from {src:?}, {width} bytes, {scale:?}: {}",
                launch.explain()
            );
        }
    }
    name
}

#[test]
fn random_copies_move_the_bytes_of_the_plan_and_no_others() {
    let mut kernels = std::collections::BTreeMap::<&str, usize>::new();
    for seed in 1..=700_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let width = 1 << random.below(5);
        let rank = 1 + random.below(if seed % 2 == 0 { 3 } else { 7 });
        let mut shape = Vec::new();
        let mut left = 6_000;
        for _ in 0..rank {
            let most = if random.one_in(2) { 200 } else { 9 };
            let extent = (1 + random.below(most)).min(left);
            left = (left / extent).max(1);
            shape.push(extent);
        }
        let plain = random.one_in(2);
        let dense = plain || random.one_in(2);
        let gap: &dyn Fn(&mut Random) -> usize = &any_gap;
        let dst = layout(&mut random, &shape, (!dense).then_some(gap));
        let mut src = layout(&mut random, &shape, (!plain).then_some(gap));
        if random.one_in(9) {
            src = repeated(&mut random, &src, &shape);
        }
        *kernels.entry(check(&mut random, &dst, &src, width, seed)).or_default() += 1;
    }
    let families = ["rows_aligned", "rows_realign", "rows_join", "tile_linear", "tile_table", "tile_scatter"];
    let shifted = ["tile_linear_shifted", "tile_table_shifted"];
    for name in families.iter().chain(&shifted) {
        assert!(kernels.contains_key(name), "{name} was never selected: {kernels:?}");
    }
}

/// What extents, strides and starts have in common decides more than their sizes.
#[test]
fn random_copies_of_even_extents_move_the_bytes_of_the_plan_and_no_others() {
    const EXTENTS: [usize; 20] = [1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 24, 31, 32, 33, 48, 64, 96, 100, 128, 256];
    for seed in 1..=500_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let width = 1 << random.below(5);
        let mut left = 12_000;
        let mut shape = Vec::new();
        for _ in 0..1 + random.below(5) {
            let extent = EXTENTS[random.below(EXTENTS.len())].min(left);
            left = (left / extent).max(1);
            shape.push(extent);
        }
        let gap: &dyn Fn(&mut Random) -> usize = &|random| even_gap(random, width);
        let (dst_gap, src_gap) = (random.one_in(2).then_some(gap), random.one_in(2).then_some(gap));
        let dst = layout(&mut random, &shape, dst_gap);
        let mut src = layout(&mut random, &shape, src_gap);
        if random.one_in(3) {
            src = repeated(&mut random, &src, &shape);
        }
        check(&mut random, &dst, &src, width, seed);
    }
}

/// A transposition of a matrix, both contiguous.
fn transposed(rows: usize, columns: usize) -> (Layout, Layout) {
    let shape = [columns, rows];
    let dst = Layout::new(&shape, &[rows.cast_signed(), 1], 0).unwrap();
    (dst, Layout::new(&shape, &[1, columns.cast_signed()], 0).unwrap())
}

#[test]
fn matrices_of_every_width_and_alignment_are_transposed() {
    let mut random = Random(7);
    for width in [1, 2, 4, 8, 16] {
        for (rows, columns) in [(256, 256), (131, 257), (160, 95), (33, 300), (512, 3), (3, 512), (64, 1)] {
            let (dst, src) = transposed(rows, columns);
            check(&mut random, &dst, &src, width, 0);
        }
    }
}

#[test]
fn rows_of_multiples_of_few_bytes_are_turned_in_words() {
    let mut random = Random(17);
    let mut kernels = std::collections::BTreeMap::<(usize, &str), usize>::new();
    for width in [1, 2, 4, 8] {
        for (step, other) in [(4, 4), (8, 8), (16, 16)] {
            for (rows, columns) in [(45, 38), (38, 45)] {
                let (dst, src) = transposed(rows * step, columns * other);
                *kernels.entry((width, check(&mut random, &dst, &src, width, 0))).or_default() += 1;
            }
        }
    }
    let narrow = [(1, "tile_pairs_8"), (1, "tile_pairs_4")];
    for kernel in [1, 2, 4, 8].map(|width| (width, "tile_pairs")).into_iter().chain(narrow) {
        assert!(kernels.contains_key(&kernel), "{kernel:?} was never selected: {kernels:?}");
    }
}

/// Copies larger than caches hold lines that they read whole, and those alone.
#[test]
fn whole_lines_of_large_copies_are_held() {
    let of = |scale: Scale, (dst, src): (Layout, Layout), width: usize| {
        let plan = Plan::new(&dst, &src, width, &Capabilities::default()).unwrap();
        let launch = launches(scale, &plan, Addresses { dst: 1 << 41, src: 1 << 40 }).remove(0);
        let hold = matches!(&launch.params.0, super::launch::Block::Rows(params) if params.hold != 0);
        (launch.kernel.name.to_str().unwrap(), hold)
    };
    for width in [1, 2, 4, 8] {
        let square = || transposed(1024, 512);
        assert_eq!(of(Scale::Stream, square(), width).0, "tile_pairs_held", "{width}");
        assert_eq!(of(Scale::Large, square(), width).0, "tile_pairs", "{width}");
        assert_eq!(of(Scale::FastStream, square(), width).0, "tile_pairs", "{width}");
        // Rows that begin within a line are shared with the tile beside.
        assert_ne!(of(Scale::Stream, transposed(1024, 528 / width), width).0, "tile_pairs_held", "{width}");
    }
    assert_eq!(of(Scale::Stream, transposed(512, 512), 16).0, "tile_linear_held");
    let rows = |strides: [isize; 2], first: usize| {
        (Layout::new(&[256, 512], &[512, 1], 0).unwrap(), Layout::new(&[256, 512], &strides, first).unwrap())
    };
    assert_eq!(of(Scale::Stream, rows([1024, 1], 4), 4), ("rows_aligned", true));
    assert_eq!(of(Scale::Large, rows([1024, 1], 4), 4), ("rows_aligned", false));
    assert_eq!(of(Scale::FastStream, rows([1024, 1], 4), 4), ("rows_aligned", false));
    assert_eq!(of(Scale::Stream, rows([0, 1], 0), 4), ("rows_again", false));
    assert_eq!(of(Scale::Stream, rows([2048, 2], 0), 4), ("rows_stride_4", true));
    // The line before the first element is nobody's to let go.
    assert_eq!(of(Scale::Stream, rows([2048, 2], 1), 4), ("rows_stride_4", false));
    assert_eq!(of(Scale::Stream, rows([2049, 2], 0), 4), ("rows_stride_4", false));
}

/// Few rows make short runs. These end with the last row, if vectors fill them, instead of going on with the next element of each.
#[test]
fn runs_that_fill_vectors_end_where_rows_go_on() {
    let mut random = Random(23);
    let mut kernel = |rows, width| {
        let (dst, src) = transposed(rows, 1024);
        check(&mut random, &dst, &src, width, 0)
    };
    for (rows, width, expected) in
        [(48, 2, "tile_pairs"), (40, 1, "tile_table"), (16, 4, "tile_pairs"), (4, 8, "tile_linear")]
    {
        assert_eq!(kernel(rows, width), expected, "{rows} rows of {width} bytes");
    }
    // An axis between the rows, which the tile takes several steps of, is of the run and stays there.
    let dst = Layout::new(&[94, 5, 12], &[5, 1, 470], 0).unwrap();
    let src = Layout::new(&[94, 5, 12], &[1, 14256, -198], 2178).unwrap();
    check(&mut random, &dst, &src, 16, 0);
}

/// Where the first two tiles lie: apart along the source's rows if these are the short side, or else along the destination's runs.
#[test]
fn whole_lines_are_worked_on_along_the_narrow_side_first() {
    let first = |scale: Scale, rows: usize, columns: usize, width: usize| {
        let (dst, src) = transposed(rows, columns);
        let plan = Plan::new(&dst, &src, width, &Capabilities::default()).unwrap();
        let launch = launches(scale, &plan, Addresses { dst: 1 << 41, src: 1 << 40 }).remove(0);
        let super::launch::Block::Tile(params) = launch.params.0 else { panic!("a tile") };
        params.outer[0].src.unsigned_abs() < params.outer[0].dst.unsigned_abs()
    };
    let along_the_source = |rows, columns, width| first(Scale::Stream, rows, columns, width);
    for width in [4, 8] {
        assert!(along_the_source(4096, 512, width));
        assert!(!first(Scale::FastStream, 4096, 512, width));
        assert!(!along_the_source(512, 4096, width));
        assert!(!along_the_source(1024, 1024, width));
        // Lines that two tiles share.
        assert!(!along_the_source(4096, 513, width));
        assert!(!along_the_source(4097, 512, width));
    }
    let (dst, src) = transposed(512, 256);
    assert!(along_the_source(512, 256, 4));
    check(&mut Random(29), &dst, &src, 4, 0);
    // Rows of few tiles; pieces of runs that are too short.
    assert!(!along_the_source(4096, 128, 4));
    assert!(!along_the_source(4096, 512, 2));
}

/// Runs of one element each, too short for the kernels of rows, that start anywhere in the destination.
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
            let dst = Layout::new(&shape, &[block, run, 1], 0).unwrap();
            let src = Layout::new(&shape, &[elements, 1, 0], 0).unwrap();
            check(&mut random, &dst, &src, width, 0);
        }
    }
}

/// The last vector of such a run is gathered from below its first element.
#[test]
fn runs_whose_source_goes_backwards_stay_in_shared_memory() {
    let dst = Layout::new(&[15, 20, 7], &[147, -7, 1], 136).unwrap();
    let src = Layout::new(&[15, 20, 7], &[7, 105, 1], 0).unwrap();
    assert_eq!(check(&mut Random(3), &dst, &src, 4, 0), "tile_table_shifted");
}

#[test]
fn a_wrong_pitch_is_seen() {
    let (dst, src) = transposed(128, 128);
    let plan = Plan::new(&dst, &src, 4, &Capabilities::default()).unwrap();
    let addresses = Addresses { dst: 1 << 41, src: 1 << 40 };
    let mut launch = launches(Scale::Large, &plan, addresses).remove(0);
    let super::launch::Block::Tile(params) = &mut launch.params.0 else { panic!("a tile") };
    params.element_x += 16;
    let source: Vec<u8> = (0..=255).cycle().take(plan.len_bytes()).collect();
    let mut found = vec![0; plan.len_bytes()];
    let mut expected = found.clone();
    for (from, to, len) in plan.runs() {
        expected[to..to + len].copy_from_slice(&source[from..from + len]);
    }
    let mut memory =
        Memory { src: &source, src_base: addresses.src, dst: &mut found, dst_base: addresses.dst };
    run(&launch, &mut memory);
    assert!(found != expected);
}

#[test]
fn the_choice_is_explained() {
    let (dst, src) = transposed(1024, 1024);
    let plan = Plan::new(&dst, &src, 4, &Capabilities::default()).unwrap();
    let all = launches(Scale::Large, &plan, Addresses { dst: 1 << 41, src: 1 << 40 });
    let text = all[0].explain().to_string();
    assert_eq!(all.len(), 1);
    assert!(text.starts_with("tile_4:tile_pairs 64 rows of 256 B to 64 runs of 64 elements"), "{text}");
}
