//! The launches for all lists of the bench, all widths and sizes, and random layouts: a change of
//! one parameter of one launch is seen.
//!
//! `tests/strided/lists.txt` holds the layouts (`bench/layouts.py`), `tests/strided/digests.txt`
//! one digest for each list, width and scale. With `DEVARRAY_WRITE_DIGESTS=1` the test writes that
//! file anew.
#![allow(unsafe_code)] // reads parameters byte by byte

use std::{collections::BTreeMap, convert::Infallible, ffi::c_void, fmt::Write as _, ptr};

use devarray::Layout;

use super::{
    super::{
        Addresses, LaunchCache, MemorySpeed, Step, StridedLaunch, fill, join, params::FillParams, select,
        tile::Scale,
    },
    AT, EXTENTS, Random, SCALES, any_gap, even_gap,
    joined::concatenation,
    launches, layout, plan, repeated,
};

const LISTS: &str = include_str!("../../../tests/strided/lists.txt");
const DIGESTS: &str = include_str!("../../../tests/strided/digests.txt");
const WIDTHS: [usize; 5] = [1, 2, 4, 8, 16];

/// A 64-bit FNV-1a hash, and the number of launches in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Digest {
    hash: u64,
    launches: usize,
}

impl Digest {
    const EMPTY: Self = Self { hash: 0xcbf2_9ce4_8422_2325, launches: 0 };

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn launch<P>(&mut self, launch: &StridedLaunch<P>, params: &[u8]) {
        self.launches += 1;
        self.bytes(launch.kernel.module().name().as_bytes());
        self.bytes(launch.kernel.name().unwrap().to_bytes_with_nul());
        for number in [launch.grid, launch.threads, launch.shared_bytes] {
            self.bytes(&number.to_le_bytes());
        }
        self.bytes(params);
    }
}

/// A parameter block as the device gets it, byte by byte.
fn block((at, len_bytes): (*const c_void, usize)) -> Vec<u8> {
    // SAFETY: the block is alive, of that length, and has no padding.
    unsafe { std::slice::from_raw_parts(at.cast::<u8>(), len_bytes) }.to_vec()
}

fn bytes(launch: &StridedLaunch) -> Vec<u8> {
    block(launch.params.as_ptr())
}

/// Digests by the names of their subjects.
#[derive(Debug, Default)]
struct Digests(BTreeMap<String, Digest>);

impl Digests {
    fn of(&mut self, name: String) -> &mut Digest {
        self.0.entry(name).or_insert(Digest::EMPTY)
    }

    /// Adds the launches of a copy at every scale: its own, and those for other sizes.
    fn copy(&mut self, list: &str, (dst, src): (&Layout, &Layout), width: usize, at: Addresses) {
        let plan = plan(dst, src, width);
        for scale in SCALES {
            let digest = self.of(format!("{list} w{width} {scale:?}"));
            launches(scale, &plan, at).iter().for_each(|launch| digest.launch(launch, &bytes(launch)));
        }
        for memory in [MemorySpeed::Even, MemorySpeed::Fast] {
            let digest = self.of(format!("{list} w{width} as it is on {memory:?}"));
            let done: Result<(), ()> = select(memory, &plan, at, &mut LaunchCache::default(), |launch| {
                digest.launch(launch, &bytes(launch));
                Ok(())
            });
            done.unwrap();
        }
    }

    fn fill(&mut self, dst: &Layout, pattern: &[u8], at: u64) {
        let launch = fill(&plan(dst, dst, pattern.len()), at, pattern).unwrap();
        let params = block((ptr::from_ref(&launch.params).cast(), size_of::<FillParams>()));
        // In the form in which it was first recorded.
        let digest = self.of(format!("fill w{}", pattern.len()));
        digest.launches += 1;
        digest.bytes(launch.kernel.name().unwrap().to_bytes());
        for number in [launch.grid, launch.threads, launch.shared_bytes] {
            digest.bytes(&number.to_le_bytes());
        }
        digest.bytes(&params);
    }
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Vec<T> {
    text.split(',').map(|number| number.parse().unwrap()).collect()
}

/// The lists of the bench, in every width.
fn of_lists(digests: &mut Digests) {
    for line in LISTS.lines() {
        let [list, _, shape, strides, offset, _] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let src = Layout::new(&numbers::<usize>(shape), &numbers::<isize>(strides), offset.parse().unwrap());
        let src = src.unwrap();
        let dst = Layout::contiguous(src.shape(), devarray::Order::C).unwrap();
        WIDTHS.into_iter().for_each(|width| digests.copy(list, (&dst, &src), width, AT));
    }
}

/// Permuted arrays around thresholds that no list reaches: many rows, pages, large tiles.
fn of_thresholds(digests: &mut Digests) {
    const SHAPES: [&[usize]; 18] = [
        &[481, 901],
        &[641, 901],
        &[700, 200_001],
        &[1000, 100_000],
        &[1100, 256_000],
        &[1500, 256_000],
        &[2048, 126_912],
        &[4096, 70_016],
        &[126_912, 2048],
        &[1_249_984, 208],
        &[300_000, 211],
        &[512, 384, 640],
        &[512, 384, 648],
        &[1100, 2000, 300],
        &[64, 3000, 1024],
        &[3, 700, 7, 90, 41],
        &[40, 5, 300, 6, 60],
        &[37, 11, 13, 17, 19, 5],
    ];
    for shape in SHAPES {
        let dst = Layout::contiguous(shape, devarray::Order::C).unwrap();
        let mut orders = vec![Layout::contiguous(shape, devarray::Order::F).unwrap()];
        if let [a, b, c] = *shape {
            let [a, b, c] = [a, b, c].map(usize::cast_signed);
            orders.extend(
                [[1, a, a * b], [1, a * c, a], [b, 1, a * b]]
                    .map(|strides| Layout::new(shape, &strides, 0).unwrap()),
            );
            // Few runs, pages apart.
            orders.push(Layout::new(shape, &[c, a * c * 16, 1], 0).unwrap());
            orders.push(Layout::new(shape, &[16 * b * c, 1, b], 0).unwrap());
        }
        for src in &orders {
            WIDTHS.into_iter().for_each(|width| digests.copy("thresholds", (&dst, src), width, AT));
        }
    }
}

/// Random layouts of two kinds, from few elements to many, at any addresses.
fn of_random_layouts(digests: &mut Digests) {
    for seed in 1..=6_000_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let even = random.one_in(2);
        let width = WIDTHS[random.below(5)];
        let mut left = 1 << (8 + random.below(17));
        let mut shape = Vec::new();
        for _ in 0..1 + random.below(7) {
            let most = [9, 200, 5_000][random.below(3)];
            let extent = if even { EXTENTS[random.below(20)] } else { 1 + random.below(most) };
            let extent = extent.min(left);
            left = (left / extent).max(1);
            shape.push(extent);
        }
        let gap: &dyn Fn(&mut Random) -> usize =
            if even { &|random| even_gap(random, width) } else { &any_gap };
        let (dst_gap, src_gap) = (random.one_in(2).then_some(gap), random.one_in(2).then_some(gap));
        let dst = layout(&mut random, &shape, dst_gap);
        let mut src = layout(&mut random, &shape, src_gap);
        if random.one_in(5) {
            src = repeated(&mut random, &src, &shape);
        }
        let mut away = || if random.one_in(3) { (random.below(40) * width) as u64 } else { 0 };
        let at = Addresses { dst: AT.dst + away(), src: AT.src + away() };
        let kind = if even { "random, even" } else { "random" };
        digests.copy(kind, (&dst, &src), width, at);
        digests.fill(&dst, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16][..width], at.dst);
    }
    // More elements than 32 bits can count.
    let shape = [1 << 16, 1 << 16];
    let dst = Layout::new(&shape, &[1 << 17, 1], 3).unwrap();
    digests.fill(&dst, &[7], AT.dst);
}

/// Random joins: which copies are made together, in what way, and which are made alone.
fn of_joins(digests: &mut Digests) {
    for seed in 1..=2_000_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let width = WIDTHS[random.below(5)];
        let copies = concatenation(&mut random, width);
        let digest = digests.of(format!("joins w{width}"));
        let Ok(()) = join::<Infallible>(&copies.parts(), |step| {
            match step {
                Step::Alone(number) => digest.bytes(&number.to_le_bytes()),
                Step::Together(launch) => digest.launch(launch, &block(launch.params.as_ptr())),
            }
            Ok(())
        });
    }
}

#[test]
fn every_launch_is_as_it_was() {
    let mut digests = Digests::default();
    of_lists(&mut digests);
    of_thresholds(&mut digests);
    of_random_layouts(&mut digests);
    of_joins(&mut digests);
    let mut found = String::new();
    for (name, Digest { hash, launches }) in &digests.0 {
        writeln!(found, "{hash:016x} {launches:6} {name}").unwrap();
    }
    if std::env::var_os("DEVARRAY_WRITE_DIGESTS").is_some() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/strided/digests.txt");
        return std::fs::write(file, found).unwrap();
    }
    let other: Vec<_> = found.lines().zip(DIGESTS.lines()).filter(|(found, was)| found != was).collect();
    assert!(found == DIGESTS, "{} of {} differ: {other:#?}", other.len(), found.lines().count());
}

/// Changes each byte of the parameters, and everything else of a launch.
#[test]
fn any_change_is_seen() {
    let digest = |launch: &StridedLaunch, params: &[u8]| {
        let mut digest = Digest::EMPTY;
        digest.launch(launch, params);
        digest
    };
    let (dst, src) = super::transposed(200, 300);
    let launch = launches(Scale::Large, &plan(&dst, &src, 4), AT).remove(0);
    let params = bytes(&launch);
    let was = digest(&launch, &params);
    for at in 0..params.len() {
        let mut changed = params.clone();
        changed[at] ^= 1;
        assert_ne!(digest(&launch, &changed), was, "byte {at}");
    }
    let others: [fn(&mut StridedLaunch); 3] =
        [|launch| launch.grid += 1, |launch| launch.threads += 32, |launch| launch.shared_bytes += 16];
    for change in others {
        let mut changed = launch.clone();
        change(&mut changed);
        assert_ne!(digest(&changed, &params), was);
    }
}
