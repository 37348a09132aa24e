//! Emulates several copies at once, and compares them with the runs of their plans.

use std::{collections::BTreeMap, convert::Infallible};

use devarray::{Layout, Order, copy::Plan};

use super::{
    super::{Addresses, JoinParams, Part, Step, emulate, join},
    AT, GUARD, Host, Random, Scale, any_gap, layout, name_of, plan, repeated, seeds,
};

/// The addresses of the destination and of the first source, and the bytes from source to source.
const DST: u64 = AT.dst;
const SRC: u64 = AT.src;
const APART: usize = 1 << 16;

/// Copies from sources to one destination: each has a plan, and the number of bytes by which its
/// source is misaligned.
pub(super) struct Copies {
    parts: Vec<(Plan, u64)>,
    dst_len: usize,
    odd: u64,
}

impl Copies {
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        let parts = self.parts.iter().enumerate().map(|(number, (plan, odd))| {
            let src = SRC + (number * APART) as u64 + odd;
            Part { plan, addresses: Addresses { dst: DST + self.odd, src } }
        });
        parts.collect()
    }

    /// Carries them out together and one by one. Returns the names of the kernels that made several
    /// copies, and how many copies were left alone.
    fn check(&self, random: &mut Random, what: &str) -> (Vec<&'static str>, usize) {
        let mut byte = || u8::try_from(random.below(256)).unwrap();
        let source: Vec<u8> = (0..APART * self.parts.len()).map(|_| byte()).collect();
        let before: Vec<u8> = (0..self.dst_len + 2 * GUARD).map(|_| byte()).collect();
        let start = |number: usize, odd: u64| number * APART + usize::try_from(odd).unwrap();
        let mut expected = before.clone();
        for (number, (plan, odd)) in self.parts.iter().enumerate() {
            for (from, to, len) in plan.runs() {
                let from = start(number, *odd) + from;
                let to = GUARD + usize::try_from(self.odd).unwrap() + to;
                expected[to..to + len].copy_from_slice(&source[from..from + len]);
            }
        }
        let parts = self.parts();
        let mut found = before;
        let mut memory = Host { src: &source, src_base: SRC, dst: &mut found, dst_base: DST - GUARD as u64 };
        let (mut names, mut alone) = (Vec::new(), Vec::new());
        let Ok(()) = join::<Infallible>(&parts, |step| {
            match step {
                Step::Alone(number) => alone.push(number),
                Step::Together(launch) => {
                    names.push(name_of(launch));
                    assert!(launch.params.as_ptr().1 <= 4096, "the most that a launch takes");
                    emulate::join::join(launch, &mut memory);
                }
            }
            Ok(())
        });
        for &number in &alone {
            let Part { plan, addresses } = &parts[number];
            super::launches(Scale::Small, plan, *addresses)
                .iter()
                .for_each(|launch| emulate::run(launch, &mut memory));
        }
        assert!(found == expected, "{what}: {names:?}, alone {alone:?}");
        (names, alone.len())
    }
}

/// Parts along an axis, each with any layout.
pub(super) fn concatenation(random: &mut Random, width: usize) -> Copies {
    let rank = 1 + random.below(4);
    let axis = if random.one_in(3) { random.below(rank) } else { rank - 1 };
    let most = [1, 1, 3, 9, 40, 300][random.below(6)];
    let equal = random.one_in(2).then(|| 1 + random.below(most));
    let count = if random.one_in(3) { [2, 4, 8, 16][random.below(4)] } else { 2 + random.below(39) };
    let extents: Vec<usize> = (0..count).map(|_| equal.unwrap_or_else(|| random.below(most + 1))).collect();
    let along = extents.iter().sum::<usize>().max(1);
    let mut left = 6_000 / along;
    let other = |_| {
        let most = [12, 200][random.below(2)];
        let extent = (1 + random.below(most)).min(left.max(1));
        left /= extent;
        extent
    };
    let mut shape: Vec<usize> = (0..rank).map(other).collect();
    shape[axis] = along;
    let gap: &dyn Fn(&mut Random) -> usize = &any_gap;
    let dst = if random.one_in(3) {
        layout(random, &shape, Some(gap))
    } else {
        Layout::contiguous(&shape, Order::C).unwrap()
    };
    let odd = |random: &mut Random| if random.one_in(4) { (width * random.below(5)) as u64 } else { 0 };
    let plain = random.one_in(2);
    let (mut start, mut parts) = (0, Vec::new());
    for extent in extents {
        let to = dst.slice_axis(axis.cast_signed(), start..start + extent).unwrap();
        start += extent;
        let mut shape = shape.clone();
        shape[axis] = extent;
        let mut src = Layout::contiguous(&shape, Order::C).unwrap();
        if !plain && extent > 0 && random.one_in(2) {
            let gap = random.one_in(2).then_some(gap);
            src = layout(random, &shape, gap);
            if random.one_in(4) {
                src = repeated(random, &src, &shape);
            }
        }
        let plan = plan(&to, &src, width);
        if plan.len_bytes() > 0 && plan.src_span().end < APART - 100 {
            parts.push((plan, odd(random)));
        }
    }
    let odd = odd(random);
    Copies { parts, dst_len: 4096 + (dst.span().end + 4) * width, odd }
}

#[test]
fn random_joins_move_the_bytes_of_their_plans_and_no_others() {
    let mut kernels = BTreeMap::<&str, usize>::new();
    let mut alone = 0;
    for seed in seeds(300) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let width = 1 << random.below(5);
        let copies = concatenation(&mut random, width);
        let what = format!("seed {seed}, {width} bytes, {} copies", copies.parts.len());
        let (names, others) = copies.check(&mut random, &what);
        names.into_iter().for_each(|name| *kernels.entry(name).or_default() += 1);
        alone += others;
    }
    for family in ["join_pieces_", "join_interleave_"] {
        for width in [1, 2, 4, 8, 16] {
            let name = format!("{family}{width}");
            assert!(kernels.contains_key(&name[..]), "{name} was never launched: {kernels:?}");
        }
    }
    assert!(alone > 0, "some are better made alone");
}

/// Each source gives one element of a row, at any alignment.
#[test]
fn stacks_move_the_bytes_of_their_plans_and_no_others() {
    let mut random = Random(11);
    let mut kernels = BTreeMap::<&str, usize>::new();
    for width in [1, 2, 4, 8, 16] {
        for count in [2, 3, 4, 8, 16, 40] {
            for rows in [16, 48, 1000, 1001] {
                let odd =
                    |random: &mut Random| if random.one_in(9) { (width * random.below(5)) as u64 } else { 0 };
                let src = Layout::contiguous(&[rows, 1], Order::C).unwrap();
                let dst = Layout::contiguous(&[rows, count], Order::C).unwrap();
                let part = |at| {
                    let to = dst.slice_axis(1, at..at + 1).unwrap();
                    (plan(&to, &src, width), odd(&mut random))
                };
                let parts = (0..count).map(part).collect();
                let copies = Copies { parts, dst_len: rows * count * width + 64, odd: odd(&mut random) };
                let what = format!("{rows} rows of {count} elements of {width} bytes");
                let (names, alone) = copies.check(&mut random, &what);
                assert_eq!((names.len(), alone), (1, 0), "{what}: {names:?}");
                *kernels.entry(names[0]).or_default() += 1;
            }
        }
    }
    for name in ["join_zip_1", "join_zip_2", "join_zip_4", "join_zip_8", "join_interleave_1"] {
        assert!(kernels.contains_key(name), "{name} was never launched: {kernels:?}");
    }
}

/// The steps for parts along the last axis of a contiguous destination, each with its own memory.
fn steps(rows: usize, lens: &[usize], width: usize) -> Vec<Result<(u64, u32), usize>> {
    let dst = Layout::contiguous(&[rows, lens.iter().sum()], Order::C).unwrap();
    let mut start = 0;
    let plans = lens.iter().map(|&len| {
        let to = dst.slice_axis(1, start..start + len).unwrap();
        start += len;
        plan(&to, &Layout::contiguous(&[rows, len], Order::C).unwrap(), width)
    });
    let plans: Vec<_> = plans.collect();
    let addresses = |number: usize| Addresses { dst: DST, src: SRC + ((number as u64) << 32) };
    let parts = plans.iter().enumerate().map(|(number, plan)| Part { plan, addresses: addresses(number) });
    let mut steps = Vec::new();
    let Ok(()) = join::<Infallible>(&parts.collect::<Vec<_>>(), |step| {
        steps.push(match step {
            Step::Alone(number) => Err(number),
            Step::Together(launch) => Ok(match &launch.params {
                JoinParams::Pieces(p) => (p.piece[0].at.dst - DST, launch.grid),
                JoinParams::Interleave(p) => (p.dst - DST, p.elements),
            }),
        });
        Ok(())
    });
    steps
}

#[test]
fn long_copies_go_alone_and_first() {
    let found = steps(1 << 20, &[160, 1, 170, 2], 4);
    assert_eq!(found[..2], [Err(0), Err(2)]);
    assert!(matches!(found[2..], [Ok((640, _))]), "{found:?}");
    // A joint launch for a single copy would gain nothing.
    assert_eq!(steps(1 << 20, &[160, 1], 4), [Err(0), Err(1)]);
}

#[test]
fn rows_of_more_than_a_gibibyte_are_several_launches() {
    let rows = (1 << 28) - 16;
    assert_eq!(steps(rows, &[1, 2], 2), [Ok((0, 536_870_880)), Ok((1_073_741_760, 268_435_440))]);
}

#[test]
fn many_parts_are_few_launches() {
    assert_eq!(steps(64, &[100; 40], 4).len(), 3);
    assert_eq!(steps(64, &[3; 40], 4).len(), 1);
}
