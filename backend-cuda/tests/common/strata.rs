//! Functions and reductions in strata, so that no kind of them is rare: every primitive, every pair
//! and every triple of primitives, on operands of every kind; random functions with mostly booleans,
//! integers of all widths, selections, halves, or `f32` with booleans; and reductions of
//! such.
//!
//! A number names a function, with the arrays that it is computed on: so a seed and a range of
//! numbers name a run.

#[path = "strata/batch.rs"]
pub(crate) mod batch;
#[path = "strata/check.rs"]
pub(crate) mod check;
#[path = "strata/families.rs"]
pub(crate) mod families;
#[path = "strata/layouts.rs"]
mod layouts;
#[path = "strata/module.rs"]
pub(crate) mod module;
#[path = "strata/primitives.rs"]
pub(crate) mod primitives;
#[path = "strata/shown.rs"]
pub(crate) mod shown;
#[path = "strata/shrink.rs"]
pub(crate) mod shrink;
#[path = "strata/sums.rs"]
mod sums;
#[path = "strata/trees.rs"]
pub(crate) mod trees;
#[path = "strata/work.rs"]
pub(crate) mod work;

use devarray_conformance::Rng;

use families::{Family, Wanted};
use trees::{Joined, Trees};
use work::Work;

/// A kind of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stratum {
    Primitives,
    Pairs,
    Triples,
    Family(Family),
    Reductions(Family),
}

impl Stratum {
    /// All of them, each with how many of [`CYCLE`] numbers are its.
    pub(crate) const ALL: [(Self, u64); 15] = [
        (Self::Primitives, 1),
        (Self::Pairs, 4),
        (Self::Triples, 32),
        (Self::Family(Family::Booleans), 4),
        (Self::Family(Family::Integers), 2),
        (Self::Family(Family::Selects), 3),
        (Self::Family(Family::Halves), 2),
        (Self::Family(Family::F32AndBooleans), 3),
        (Self::Family(Family::Mixed), 1),
        (Self::Reductions(Family::Booleans), 3),
        (Self::Reductions(Family::Integers), 1),
        (Self::Reductions(Family::Selects), 1),
        (Self::Reductions(Family::Halves), 1),
        (Self::Reductions(Family::F32AndBooleans), 1),
        (Self::Reductions(Family::Mixed), 1),
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Self::Primitives => "each primitive".to_owned(),
            Self::Pairs => "pairs of primitives".to_owned(),
            Self::Triples => "triples of primitives".to_owned(),
            Self::Family(family) => format!("functions: {family:?}"),
            Self::Reductions(family) => format!("reductions: {family:?}"),
        }
    }

    /// Layouts of a function, and contents of each.
    const fn variants(self) -> (u64, u64) {
        match self {
            Self::Triples => (1, 2),
            Self::Reductions(_) => (2, 1),
            _ => (2, 2),
        }
    }

    /// The number of pairs of a function and arrays that a number names.
    pub(crate) const fn pairs(self) -> u64 {
        let (layouts, contents) = self.variants();
        layouts * contents
    }
}

/// Numbers after which the strata come again.
pub(crate) const CYCLE: u64 = {
    let (mut sum, mut at) = (0, 0);
    while at < Stratum::ALL.len() {
        sum += Stratum::ALL[at].1;
        at += 1;
    }
    sum
};

/// The pairs that the numbers of a cycle name.
pub(crate) const CYCLE_PAIRS: u64 = {
    let (mut sum, mut at) = (0, 0);
    while at < Stratum::ALL.len() {
        sum += Stratum::ALL[at].1 * Stratum::ALL[at].0.pairs();
        at += 1;
    }
    sum
};

/// All functions, by number.
#[derive(Debug)]
pub(crate) struct Strata {
    pub(crate) trees: Trees,
    seed: u64,
}

impl Strata {
    pub(crate) fn new(seed: u64) -> Self {
        Self { trees: Trees::all(), seed }
    }

    /// The stratum of a number, and the place in it.
    pub(crate) fn place(number: u64) -> (Stratum, u64) {
        let (cycle, mut rest) = (number / CYCLE, number % CYCLE);
        for (stratum, count) in Stratum::ALL {
            if rest < count {
                return (stratum, cycle * count + rest);
            }
            rest -= count;
        }
        unreachable!("the rest is below the sum")
    }

    /// The primitives that a number of these strata joins.
    pub(crate) fn joined(&self, number: u64) -> Option<Joined> {
        let (stratum, place) = Self::place(number);
        let all = match stratum {
            Stratum::Primitives => &self.trees.ones,
            Stratum::Pairs => &self.trees.pairs,
            Stratum::Triples => &self.trees.triples,
            _ => return None,
        };
        // Every one before any comes again, in an order that looks random: the step has no factor
        // in common with the number of them.
        let count = all.len() as u64;
        let step = (count / 3 * 2 + 1..).find(|step| greatest_divisor(*step, count) == 1)?;
        let at = u128::from(place % count) * u128::from(step) + u128::from(self.seed);
        all.get(usize::try_from(at % u128::from(count)).ok()?).copied()
    }

    /// The works that a number names.
    pub(crate) fn works(&self, number: u64) -> Vec<Work> {
        let (stratum, _) = Self::place(number);
        let rng = &mut Rng::new((self.seed << 40) ^ number);
        let made = match stratum {
            Stratum::Reductions(family) => {
                let cases = sums::cases(rng, family, stratum.variants().0);
                return cases.into_iter().map(Work::Reduce).collect();
            }
            Stratum::Family(family) => {
                let of = families::result_type(rng, family);
                families::made(rng, family, Wanted::Elements(of))
            }
            _ => self.joined(number).expect("a stratum of primitives").made(rng),
        };
        layouts::cases(rng, &made, stratum.variants()).into_iter().map(Work::Map).collect()
    }
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
