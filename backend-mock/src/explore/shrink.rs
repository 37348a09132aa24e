//! Reduces the choices of a wrong run to the fewest that keep it wrong.

use super::Wrong;
use crate::Trace;

/// The most runs that are tried.
const MOST_TRIES: usize = 500;

/// Changes choices to 0, the harmless one, as long as the run stays wrong in the same way: first
/// everything from some place on, by halves, then one by one from the end. Deterministic. The kept
/// trace is always one that a run recorded.
pub(super) fn shrink(
    mut wrong: Wrong,
    trace: Trace,
    run: impl Fn(Trace) -> Option<(Wrong, Trace)>,
) -> (Wrong, Trace) {
    let mut best = trimmed(&trace);
    let mut tries = 0;
    let mut attempt = |best: &mut Vec<usize>, candidate: Vec<usize>| {
        tries += 1;
        if tries > MOST_TRIES {
            return false;
        }
        match run(candidate.into()) {
            Some((again, recorded)) if again.is_like(&wrong) && size(&trimmed(&recorded)) < size(best) => {
                *best = trimmed(&recorded);
                wrong = again;
                true
            }
            _ => false,
        }
    };
    let mut keep = 0;
    while keep < best.len() {
        let candidate = best[..keep].to_vec();
        if attempt(&mut best, candidate) {
            continue;
        }
        keep += (best.len() - keep).div_ceil(2);
    }
    // A choice may become unnecessary when a later one is gone, so rounds are repeated until
    // nothing changes.
    loop {
        let before = best.clone();
        let mut at = best.len();
        while at > 0 {
            at = (at - 1).min(best.len().saturating_sub(1));
            if best.get(at).is_some_and(|&choice| choice != 0) {
                let mut candidate = best.clone();
                candidate[at] = 0;
                attempt(&mut best, candidate);
            }
        }
        if best == before {
            break;
        }
    }
    (wrong, best.into())
}

/// The choices without the zeros at the end, which mean nothing.
pub(super) fn trimmed(trace: &Trace) -> Vec<usize> {
    let choices = trace.choices();
    let len = choices.iter().rposition(|&choice| choice != 0).map_or(0, |last| last + 1);
    choices[..len].to_vec()
}

/// The size to reduce: the number of choices that are not 0, then the length.
fn size(choices: &[usize]) -> (usize, usize) {
    (choices.iter().filter(|&&choice| choice != 0).count(), choices.len())
}
