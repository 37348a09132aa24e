//! Compares sets with the bytes themselves.

use std::collections::HashSet;

use super::{
    align::{Aligned, align},
    *,
};
use crate::rng::SplitMix64;

/// All bytes of a set, by its definition.
pub(in crate::judge) fn every_byte(set: &Strided) -> Vec<usize> {
    let mut starts = vec![set.start];
    for level in set.levels.iter().rev() {
        let inner = std::mem::take(&mut starts);
        starts = inner
            .iter()
            .flat_map(|start| (0..level.count).map(move |index| start + index * level.stride))
            .collect();
    }
    starts.into_iter().flat_map(|start| start..start + set.run).collect()
}

fn bytes_of<'a>(parts: impl IntoIterator<Item = &'a Strided>) -> HashSet<usize> {
    let mut all = HashSet::new();
    for part in parts {
        for byte in every_byte(part) {
            assert!(all.insert(byte), "{byte} is in two parts");
        }
    }
    all
}

/// A set of up to three levels; all its numbers are multiples of `grain`.
fn random_set(rng: &mut SplitMix64, grain: usize) -> Strided {
    let mut set = Strided::of(0..(1 + rng.below(4)) * grain).moved(0, rng.below(24) * grain);
    for _ in 0..rng.below(4) {
        let extent = set.extent().div_ceil(grain) + rng.below(6);
        let stride = (extent + usize::from(set.levels.is_empty())).max(1) * grain;
        if stride > 120 {
            break;
        }
        set.repeat(stride, 2 + rng.below(5));
    }
    set
}

/// A flag for each byte that a random set can have.
type Flags = [bool; 1024];

/// The bytes of valid sets that share none.
fn flags_of(parts: &[Strided]) -> Flags {
    let mut flags = [false; 1024];
    for part in parts {
        assert!(part.run > 0 && part.levels.iter().all(|level| level.count > 1), "{part:?}");
        assert!(part.levels.first().is_none_or(|level| level.stride > part.run), "{part:?}");
        let mut next = 0;
        for_each_run(part, part.levels.len(), part.start, &mut |start| {
            assert!(next <= start, "runs are ascending: {part:?}");
            next = start + part.run;
            for flag in &mut flags[start..next] {
                assert!(!*flag, "a byte is in two parts: {parts:?}");
                *flag = true;
            }
        });
    }
    flags
}

fn for_each_run(set: &Strided, levels: usize, start: usize, run: &mut impl FnMut(usize)) {
    let Some(level) = levels.checked_sub(1).map(|at| set.levels[at]) else { return run(start) };
    (0..level.count).for_each(|index| for_each_run(set, levels - 1, start + index * level.stride, run));
}

fn both(one: &Flags, two: &Flags, keep: fn(bool, bool) -> bool) -> Flags {
    std::array::from_fn(|at| keep(one[at], two[at]))
}

fn pairs_of_sets(seed: u64, cases: usize) {
    let mut rng = SplitMix64::new(seed);
    let (mut common_cases, mut parts_seen) = (0, 0);
    for case in 0..cases {
        let grain = [1, 1, 2, 4][case % 4];
        let (one, two) = (random_set(&mut rng, grain), random_set(&mut rng, 1 + case % 3));
        let (ones, twos) = (flags_of(std::slice::from_ref(&one)), flags_of(std::slice::from_ref(&two)));

        let (mut common, mut left) = (Parts::new(), Parts::new());
        one.common(&two, &mut common);
        one.without(&two, &mut left);
        let shared = both(&ones, &twos, |one, two| one && two);
        assert_eq!(flags_of(&common), shared, "{one:?} {two:?}");
        assert_eq!(flags_of(&left), both(&ones, &twos, |one, two| one && !two), "{one:?} {two:?}");
        common_cases += usize::from(!common.is_empty() && !left.is_empty());
        parts_seen += common.len() + left.len();

        let first = shared.iter().position(|flag| *flag);
        let end = first.map(|first| first + shared[first..].iter().take_while(|flag| **flag).count());
        assert_eq!(first_range(&common), first.zip(end).map(|(first, end)| first..end), "{common:?}");

        let range = rng.below(60)..60 + rng.below(100);
        let mut within = Parts::new();
        one.within(&range, &mut within);
        let inside: Flags = std::array::from_fn(|at| ones[at] && range.contains(&at));
        assert_eq!(flags_of(&within), inside, "{one:?} {range:?}");

        // The rest and the common bytes together are the set again, also after merging.
        let mut all: Parts = common.into_iter().chain(left).collect();
        all.sort_unstable_by_key(Strided::start);
        joined(&mut all);
        assert_eq!(flags_of(&all), ones, "{one:?} {two:?}");
        compress(&mut all, 0);
        assert_eq!(flags_of(&all), ones, "{one:?} {two:?}");
    }
    assert!(common_cases > cases / 3, "{common_cases}");
    assert!(parts_seen < cases * 12, "{parts_seen}");
}

#[test]
fn what_is_common_and_what_is_left_are_those_of_the_bytes() {
    pairs_of_sets(5, 60_000);
}

#[test]
#[ignore = "takes half a minute: cargo test --release -p devarray-mock --lib strided -- --ignored"]
fn millions_of_pairs() {
    pairs_of_sets(6, 5_000_000);
}

/// Takes many sets away from one, as shadows do.
#[test]
fn what_many_leave_is_what_none_has() {
    let mut rng = SplitMix64::new(6);
    for _ in 0..3_000 {
        let one = random_set(&mut rng, 1);
        let mut others: Vec<Strided> = (0..rng.below(6)).map(|_| random_set(&mut rng, 1)).collect();
        others.sort_by_key(Strided::start);
        let mut left = Left::of(one.clone());
        others.iter().for_each(|other| left.take(other));
        let taken: HashSet<usize> = others.iter().flat_map(every_byte).collect();
        let expected: HashSet<usize> =
            every_byte(&one).into_iter().filter(|at| !taken.contains(at)).collect();
        assert_eq!(bytes_of(&left.parts().collect::<Vec<_>>()), expected, "{one:?} {others:?}");
    }
}

#[test]
fn cuts_and_halves_are_the_set() {
    let mut rng = SplitMix64::new(7);
    for _ in 0..3_000 {
        let set = random_set(&mut rng, 1);
        let whole: HashSet<usize> = every_byte(&set).into_iter().collect();
        let halves: Vec<usize> = set.halves().iter().flat_map(every_byte).collect();
        assert_eq!(halves.len(), whole.len());
        assert_eq!(HashSet::from_iter(halves), whole);
        let first = rng.below(set.run) + usize::from(set.run == 1);
        let cuts: Vec<usize> =
            set.cuts(first.min(set.run), 1 + rng.below(3)).iter().flat_map(every_byte).collect();
        assert_eq!(cuts.len(), whole.len());
        assert_eq!(HashSet::from_iter(cuts), whole);
    }
}

/// Axes in any relation: one set if they nest or continue each other, and then the right one.
#[test]
fn axes_make_the_set_of_their_runs() {
    let (mut rng, mut sets) = (SplitMix64::new(8), 0);
    for _ in 0..20_000 {
        let (start, run) = (rng.below(10), 1 + rng.below(4));
        let mut axes: Vec<(usize, usize)> =
            (0..rng.below(4)).map(|_| (1 + rng.below(24), 2 + rng.below(3))).collect();
        axes.sort_unstable();
        let Some(set) = Strided::along(start, run, &axes) else { continue };
        let mut starts = vec![start];
        for &(stride, count) in &axes {
            starts = starts.iter().flat_map(|at| (0..count).map(move |k| at + k * stride)).collect();
        }
        assert_eq!(bytes_of([&set]), starts.into_iter().flat_map(|at| at..at + run).collect(), "{axes:?}");
        sets += 1;
    }
    assert!(sets > 12_000, "{sets}");
}

/// An axis that continues another one needs no level of its own.
#[test]
fn an_axis_that_continues_another_is_joined_to_it() {
    let along = |axes: &[(usize, usize)]| Strided::along(0, 1, axes);
    assert_eq!(along(&[(4, 3), (8, 2)]), along(&[(4, 5)]));
    assert_eq!(along(&[(4, 3), (12, 2)]), along(&[(4, 6)]));
    assert_eq!(along(&[(4, 3), (16, 2)]).map(|set| set.levels.len()), Some(2));
    assert_eq!(along(&[(4, 3), (6, 2)]), None);
    let mut repeated = along(&[(4, 3)]).unwrap();
    repeated.repeat(12, 2);
    assert_eq!(Some(repeated), along(&[(4, 6)]));
    // Runs that overlap or touch are one run.
    let of_four = |axes: &[(usize, usize)]| Strided::along(0, 4, axes);
    assert_eq!(of_four(&[(2, 3)]), Some(Strided::of(0..8)));
    assert_eq!(of_four(&[(4, 3)]), Some(Strided::of(0..12)));
    assert_eq!(of_four(&[(1, 2), (3, 2), (8, 2)]), Some(Strided::of(0..16)));
    assert_eq!(of_four(&[(5, 3)]).map(|set| (set.run, set.levels.len(), set.end())), Some((4, 1, 14)));
}

#[test]
fn sets_that_go_on_where_others_end_are_joined_however_many_they_are() {
    for count in [2, 3, 7] {
        let mut parts: Parts = (0..count).map(|at| Strided::of(8 * at..8 * at + 8)).collect();
        joined(&mut parts);
        assert_eq!(parts.as_slice(), [Strided::of(0..8 * count)]);
    }
    let apart: Parts = [0..4, 8..12, 13..16].map(Strided::of).into_iter().collect();
    let mut same = apart.clone();
    joined(&mut same);
    assert_eq!(flags_of(&same), flags_of(&apart));
}

/// Strides without a common period: the set with fewer elements is to be taken apart.
#[test]
fn of_two_sets_without_a_period_the_smaller_is_taken_apart() {
    let set = |stride: usize, count: usize| {
        let mut set = Strided::of(0..1);
        set.repeat(stride, count);
        set
    };
    let first = |one: (usize, usize), two: (usize, usize)| match align(&set(one.0, one.1), &set(two.0, two.1))
    {
        Aligned::Fewer { first } => Some(first),
        Aligned::Regrouped(..) => None,
    };
    assert_eq!(first((5, 3), (7, 4)), Some(true));
    assert_eq!(first((5, 4), (7, 3)), Some(false));
    assert_eq!(first((5, 3), (7, 3)), Some(true));
    assert_eq!(first((5, 14), (7, 10)), None, "two periods of each");
    assert_eq!(first((5, 13), (7, 10)), Some(false));
    // Strides of 6 and 4 meet at every multiple of 12.
    assert_eq!(first((6, 4), (4, 6)), None);
    assert_eq!(first((6, 3), (4, 6)), Some(true));
    assert_eq!(first((6, 4), (4, 5)), Some(true));
    assert_eq!(first((7, 10), (5, 13)), Some(true));
    assert_eq!(first((4, 5), (6, 4)), Some(false));
}

/// The run of each byte of a set; bytes between runs have none.
#[test]
fn the_run_of_a_byte_is_the_one_that_it_is_in() {
    let mut rng = SplitMix64::new(10);
    for _ in 0..300 {
        let set = random_set(&mut rng, 1);
        let runs = set.runs();
        assert_eq!(runs.iter().cloned().flatten().collect::<Vec<_>>(), every_byte(&set), "{set:?}");
        for at in 0..set.end() + 10 {
            let due = runs.iter().find(|run| run.contains(&at));
            assert_eq!(set.run_at(at).as_ref(), due, "{at} of {set:?}");
        }
    }
}
