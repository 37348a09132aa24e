//! Emulates every selection, and compares it with the plan's own runs.

mod boxes;
mod candidates;
mod division;
mod explain;
mod fields;
mod frozen;
mod fused;
mod images;
mod joined;
mod launch_cache;
mod memory_speed;
mod periodic;
mod rows;
mod selected;

use std::{convert::Infallible, ops::RangeInclusive};

use devarray::{Layout, backend::Capabilities, copy::Plan};

use super::{
    Addresses, LaunchCache, StridedLaunch,
    emulate::{Memory, run},
    select::select_at,
    tile::Scale,
};

const SCALES: [Scale; 5] = [Scale::Small, Scale::Middle, Scale::Large, Scale::Stream, Scale::FastStream];
/// Extents, some with common divisors.
const EXTENTS: [usize; 20] = [1, 2, 3, 4, 5, 7, 8, 12, 16, 20, 24, 31, 32, 33, 48, 64, 96, 100, 128, 256];

/// The bytes around the destination that no copy may touch.
const GUARD: usize = 64;

/// Addresses of the memory.
const AT: Addresses = Addresses { dst: 1 << 41, src: 1 << 40 };

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

/// The seeds to try. A release build is faster, so it tries five times as many.
fn seeds(count: u64) -> RangeInclusive<u64> {
    1..=if cfg!(debug_assertions) { count } else { 5 * count }
}

/// Host memory in place of the device's.
struct Host<'a> {
    src: &'a [u8],
    src_base: u64,
    dst: &'a mut [u8],
    dst_base: u64,
}

impl Memory for Host<'_> {
    fn read(&self, at: u64) -> u8 {
        self.src[usize::try_from(at - self.src_base).unwrap()]
    }

    fn write(&mut self, at: u64, bytes: &[u8]) {
        let at = usize::try_from(at - self.dst_base).unwrap();
        self.dst[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

fn plan(dst: &Layout, src: &Layout, width: usize) -> Plan {
    Plan::new(dst, src, width, &Capabilities::default()).unwrap()
}

fn name_of<P>(launch: &StridedLaunch<P>) -> &'static str {
    launch.kernel.name().unwrap().to_str().unwrap()
}

fn launches(scale: Scale, plan: &Plan, addresses: Addresses) -> Vec<StridedLaunch> {
    let mut all = Vec::new();
    let done: Result<(), Infallible> =
        select_at(scale, plan, addresses, &mut LaunchCache::default(), |launch| {
            all.push(launch.clone());
            Ok(())
        });
    done.unwrap();
    all
}

/// The number of elements left free: few, if any.
fn any_gap(random: &mut Random) -> usize {
    if random.one_in(3) { random.below(6) } else { 0 }
}

/// The number of elements left free: often a vector, or a part of one.
fn even_gap(random: &mut Random, width: usize) -> usize {
    let bytes = [0, 0, 0, 4, 8, 12, 16, 32, 48, 64, 128][random.below(11)];
    if random.one_in(12) { random.below(9) } else { bytes / width }
}

/// A layout of `shape` in some order of axes. With gaps before and between, some axes are also
/// stepped or reversed.
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
        // A gap of single elements, or of whole subarrays.
        let of_all = random.one_in(2) && free * below < 20_000;
        below = below * shape[axis] * step + if of_all { free * below } else { free };
    }
    Layout::new(shape, &strides, offset).unwrap()
}

/// This layout, with some axes repeated.
fn repeated(random: &mut Random, layout: &Layout, shape: &[usize]) -> Layout {
    let strides: Vec<isize> =
        layout.strides().iter().map(|&stride| if random.one_in(3) { 0 } else { stride }).collect();
    let low: isize = shape.iter().zip(&strides).map(|(&n, &s)| (n.cast_signed() - 1) * s.min(0)).sum();
    Layout::new(shape, &strides, low.unsigned_abs()).unwrap()
}

/// Tries a copy, given as its destination and source, at every scale. Returns the kernel at the
/// largest scale.
fn check(random: &mut Random, (dst, src): &(Layout, Layout), width: usize, seed: u64) -> &'static str {
    let plan = plan(dst, src, width);
    let source: Vec<u8> =
        (0..plan.src_span().end).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
    let before: Vec<u8> =
        (0..plan.dst_span().end + 2 * GUARD).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
    let mut expected = before.clone();
    for (from, to, len) in plan.runs() {
        expected[GUARD + to..GUARD + to + len].copy_from_slice(&source[from..from + len]);
    }
    // Memory from elsewhere may be less aligned than an allocation.
    let odd = if random.one_in(8) { width as u64 } else { 0 };
    let addresses = Addresses { src: AT.src + odd, ..AT };
    let mut name = "none";
    // Launches for large copies must be right for small ones too. Several scales may give the same
    // launches.
    let mut checked = Vec::new();
    for scale in SCALES {
        let all = launches(scale, &plan, addresses);
        name = all.last().map_or(name, name_of);
        if checked.contains(&all) {
            continue;
        }
        let mut found = before.clone();
        for launch in &all {
            let mut memory = Host {
                src: &source,
                src_base: addresses.src,
                dst: &mut found,
                dst_base: addresses.dst - GUARD as u64,
            };
            run(launch, &mut memory);
            assert!(launch.shared_bytes < 48 << 10 && launch.params.as_ptr().1 <= 4096);
            assert!(launch.threads.is_multiple_of(32) && (32..=512).contains(&launch.threads));
            assert!(
                found == expected,
                "seed {seed}: {dst:?} from {src:?}, {width} bytes, {scale:?}: {}",
                launch.explain()
            );
        }
        checked.push(all);
    }
    name
}

#[test]
fn random_copies_move_the_bytes_of_the_plan_and_no_others() {
    let mut kernels = std::collections::BTreeMap::<&str, usize>::new();
    for seed in seeds(700) {
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
        *kernels.entry(check(&mut random, &(dst, src), width, seed)).or_default() += 1;
    }
    let families = ["rows_aligned", "rows_realign", "rows_join", "tile_linear", "tile_table", "tile_scatter"];
    let shifted = ["tile_linear_shifted", "tile_table_shifted"];
    for name in families.iter().chain(&shifted) {
        assert!(kernels.contains_key(name), "{name} was never selected: {kernels:?}");
    }
}

/// The common divisors of extents, strides and starts matter more than their sizes.
#[test]
fn random_copies_of_even_extents_move_the_bytes_of_the_plan_and_no_others() {
    for seed in seeds(300) {
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
        check(&mut random, &(dst, src), width, seed);
    }
}

/// A destination and a source of one shape, given their strides.
fn sides<const N: usize>(shape: [usize; N], dst: [isize; N], src: [isize; N]) -> (Layout, Layout) {
    sides_at(&shape, (&dst, 0), (&src, 0))
}

/// Like [`sides`], given strides and offsets.
fn sides_at(
    shape: &[usize],
    (dst, to): (&[isize], usize),
    (src, from): (&[isize], usize),
) -> (Layout, Layout) {
    (Layout::new(shape, dst, to).unwrap(), Layout::new(shape, src, from).unwrap())
}

/// A transposition of a matrix, both contiguous.
fn transposed(rows: usize, columns: usize) -> (Layout, Layout) {
    sides([columns, rows], [rows.cast_signed(), 1], [1, columns.cast_signed()])
}

/// The bytes that a launch writes over zeros.
fn copied(launch: &StridedLaunch, source: &[u8], dst_len: usize) -> Vec<u8> {
    let mut found = vec![0; dst_len];
    let mut memory = Host { src: source, src_base: AT.src, dst: &mut found, dst_base: AT.dst };
    run(launch, &mut memory);
    found
}

#[test]
fn matrices_of_every_width_and_alignment_are_transposed() {
    let mut random = Random(7);
    for width in [1, 2, 4, 8, 16] {
        for (rows, columns) in [(256, 256), (131, 257), (160, 95), (33, 300), (512, 3), (3, 512), (64, 1)] {
            check(&mut random, &transposed(rows, columns), width, 0);
        }
    }
}
