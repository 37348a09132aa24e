//! Decides whether a number is a sum of bounded multiples of given steps: exactly, with bounded
//! work.

use std::cmp::Reverse;

use smallvec::SmallVec;

/// The number of candidates after which the question is given up.
pub(super) const WORK: u32 = 10_000;

/// The answer, or that it would cost too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    TooCostly,
}

/// The sums `x0 * step0 + x1 * step1 + …` with each `x` in `0..=last`.
///
/// A layout whose axes are all longer than 1 and have no stride 0 has at most 62 axes, so two
/// layouts give at most 124 terms, and the depth of the search is bounded by that. The greatest sum
/// must fit `usize`.
pub(super) struct SubsetSum {
    terms: SmallVec<[Term; 12]>,
}

/// One step, and facts about what the later, smaller steps can reach.
struct Term {
    step: usize,
    last: usize,
    /// The greatest sum of the later terms.
    rest: usize,
    /// The greatest common divisor of this step and all later ones, which must divide the target
    /// when this step is chosen.
    divisor: usize,
    /// Sums of the later terms are multiples of the later divisor. One choice in `period` leaves such
    /// a multiple.
    period: usize,
    /// The inverse of `step / divisor` modulo `period`.
    inverse: usize,
}

impl SubsetSum {
    /// Makes the sums of these (step, last) pairs; no step is 0. Equal steps are merged.
    pub(super) fn new(terms: impl Iterator<Item = (usize, usize)>) -> Self {
        let new = |(step, last)| Term { step, last, rest: 0, divisor: 0, period: 1, inverse: 0 };
        let mut terms: SmallVec<[Term; 12]> = terms.map(new).collect();
        terms.sort_unstable_by_key(|term| Reverse(term.step));
        terms.dedup_by(|next, kept| {
            let same = next.step == kept.step;
            kept.last += if same { next.last } else { 0 };
            same
        });
        let (mut rest, mut divisor) = (0, 0);
        for term in terms.iter_mut().rev() {
            term.rest = rest;
            rest += term.last * term.step;
            let (common, inverse) = euclid(term.step, divisor);
            term.period = divisor / common;
            term.inverse = inverse;
            term.divisor = common;
            divisor = common;
        }
        Self { terms }
    }

    /// Whether `target` is one of the sums.
    pub(super) fn reach(&self, target: usize) -> Answer {
        search(&self.terms, target, false, &mut WORK.to_owned())
    }

    /// Whether the sum in which each number is `last / 2` can be reached in another way. All `last`
    /// must be even, and all steps different.
    pub(super) fn reach_middle_otherwise(&self) -> Answer {
        let middle = self.terms.iter().map(|term| term.last / 2 * term.step).sum();
        search(&self.terms, middle, true, &mut WORK.to_owned())
    }
}

/// Searches depth first, the largest step first. Each choice leaves a remainder that the later
/// terms may reach. With `middle`, choosing every `last / 2` does not count.
fn search(terms: &[Term], target: usize, middle: bool, work: &mut u32) -> Answer {
    let Some((term, later)) = terms.split_first() else {
        return if target == 0 && !middle { Answer::Yes } else { Answer::No };
    };
    if !target.is_multiple_of(term.divisor) {
        return Answer::No;
    }
    let low = target.saturating_sub(term.rest).div_ceil(term.step);
    let high = term.last.min(target / term.step);
    // Without later terms the period is 0, and the only choice is exact.
    let (first, period) = if later.is_empty() {
        (target / term.step, 1)
    } else {
        let rest = multiply_modulo(target / term.divisor, term.inverse, term.period);
        let ahead = (rest + term.period - low % term.period) % term.period;
        (low.saturating_add(ahead), term.period)
    };
    let mut choice = first;
    while choice <= high {
        if *work == 0 {
            return Answer::TooCostly;
        }
        *work -= 1;
        match search(later, target - choice * term.step, middle && choice == term.last / 2, work) {
            Answer::No => choice = choice.saturating_add(period),
            found => return found,
        }
    }
    Answer::No
}

/// The greatest common divisor of `step` and `divisor`, and the inverse of `step` modulo `divisor`,
/// both divided by it. A `divisor` of 0, which stands for no later terms, leaves the step itself.
fn euclid(step: usize, divisor: usize) -> (usize, usize) {
    let (mut common, mut rest) = (step, divisor);
    // Steps fit `isize`, and no factor exceeds a step.
    let (mut factor, mut next) = (1_isize, 0_isize);
    while rest != 0 {
        let quotient = common / rest;
        (common, rest) = (rest, common % rest);
        (factor, next) = (next, factor - quotient.cast_signed() * next);
    }
    let period = (divisor / common).cast_signed();
    (common, factor.checked_rem_euclid(period).unwrap_or(0).cast_unsigned())
}

/// The product of two numbers modulo a third, also where the product does not fit.
fn multiply_modulo(a: usize, b: usize, modulus: usize) -> usize {
    let product = (a as u128) * (b as u128) % (modulus as u128);
    usize::try_from(product).expect("a remainder is less than its modulus")
}
