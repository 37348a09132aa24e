//! Finds a run in which the unordered operations did run in the wrong order, as evidence of a
//! mistake.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    Wrong,
    options::{FIXED, Options},
};
use crate::{Finding, MockDevice, Schedule, panics};

/// The number of seeds that are tried, if no fixed schedule shows it.
const SEEDS: u64 = 16;

/// The number of operations that are shown on either side.
const AROUND: usize = 3;

/// The mistake, with a note about the first schedule that shows it happening.
pub(super) fn added<R>(wrong: Wrong, options: &Options, program: &impl Fn(MockDevice) -> R) -> Wrong {
    let Wrong::Found(mut finding) = wrong else { return wrong };
    if finding.operation.stream.is_some() && !finding.with.is_empty() {
        let random = (0..SEEDS).map(|seed| (Schedule::Random, seed));
        let schedules = FIXED.map(|schedule| (schedule, 0)).into_iter().chain(random);
        let shown = |(schedule, seed)| {
            let options = Options { schedule, seed, ..options.clone() };
            overtaken(&finding, &order(&options, &finding, program)?).map(|what| (options, what))
        };
        if let Some((Options { schedule, seed, .. }, what)) = schedules.into_iter().find_map(shown) {
            let seed = if schedule == Schedule::Random { format!(", seed {seed}") } else { String::new() };
            finding.notes.push(format!("witness: schedule {schedule:?}{seed} {what}"));
        }
    }
    Wrong::Found(finding)
}

/// The order in which operations ran, if the run has the same mistake.
fn order<R>(options: &Options, finding: &Finding, program: &impl Fn(MockDevice) -> R) -> Option<Vec<u64>> {
    let device = options.builder().record_order(true).build();
    // After a panic, nothing of the program is relied on.
    let ended = panics::quietly(|| catch_unwind(AssertUnwindSafe(|| drop(program(device.clone())))));
    let _ = ended.map_err(panics::message);
    let names = |finding: &Finding| {
        let with: Vec<u64> = finding.with.iter().map(|(operation, _)| operation.number).collect();
        (finding.code, finding.operation.number, with)
    };
    let same = device.report().findings.first().is_some_and(|found| names(found) == names(finding));
    if same { device.order() } else { None }
}

/// Tells in words how an operation that should have come before came after.
fn overtaken(finding: &Finding, order: &[u64]) -> Option<String> {
    let place = |number: u64| order.iter().position(|&ran| ran == number);
    let later = finding.operation.number;
    let at = place(later)?;
    let earlier = |&(operation, _): &(crate::Operation, _)| {
        let number = operation.number;
        place(number).filter(|&place| place > at).map(|place| (number, place))
    };
    let (earlier, end) = finding.with.iter().find_map(earlier)?;
    let numbers = |range: std::ops::Range<usize>| -> String {
        let words: Vec<String> = order[range].iter().map(u64::to_string).collect();
        words.join(" ")
    };
    let (first, last) = (at.saturating_sub(AROUND), (end + AROUND + 1).min(order.len()));
    let dots = |are: bool| if are { "... " } else { "" };
    let ran = if end - at > 2 * AROUND {
        format!("{} ... {}", numbers(first..at + AROUND), numbers(end - AROUND..last))
    } else {
        numbers(first..last)
    };
    let tail = if last < order.len() { " ..." } else { "" };
    Some(format!("ran [{}{ran}{tail}]: #{later} did not wait for #{earlier}", dots(first > 0)))
}
