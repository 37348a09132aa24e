//! Explains a mistake in text for people.

use anyhow::Result;
use devarray_mock::{Finding, Operation, Schedule, program::Program};

use super::Tries;

/// The whole explanation of a mistake: the operations as the program has them, the bytes, the
/// missing edge, the nearest miss, and one of the tried schedules in which the operations did run
/// in the wrong order.
///
/// # Errors
///
/// There is not enough memory for the program.
pub fn explain(program: &Program, finding: &Finding, tries: Tries) -> Result<String> {
    let mut text = described(program, finding);
    if let Some(witness) = witness(program, finding, tries)? {
        text.push_str("\n  witness: ");
        text.push_str(&witness);
    }
    Ok(text)
}

/// The needless parts of a program that is right, or of one up to its first mistake, a paragraph
/// each.
///
/// # Errors
///
/// There is not enough memory for the program.
pub fn lints(program: &Program, tries: Tries) -> Result<String> {
    let device = tries.device(Schedule::Lazy, 0).lints(true).build();
    // Mistakes are reported elsewhere.
    let _ = program.play_on_mock(&device)?;
    let lints: Vec<_> = device.report().lints.iter().map(|lint| described(program, lint)).collect();
    Ok(lints.join("\n"))
}

/// The description of a finding, without a witness.
fn described(program: &Program, finding: &Finding) -> String {
    let mut text = format!("{}: {}", finding.code, finding.headline());
    let involved = finding.with.iter().map(|(operation, _)| operation).chain([&finding.operation]);
    for Operation { number, .. } in involved {
        if let Some(op) = usize::try_from(*number).ok().and_then(|index| program.op_text(index)) {
            text += &format!("\n  op#{number} {op}");
        }
    }
    for line in finding.notes.iter().chain(&finding.timeline) {
        text.push_str("\n  ");
        text.push_str(line);
    }
    text
}

/// The run of the first schedule in which the wrong operation did not run after one that it must
/// come after.
fn witness(program: &Program, finding: &Finding, tries: Tries) -> Result<Option<String>> {
    let later = finding.operation.number;
    Ok(witness_schedule(program, finding, tries)?.map(|Witness { schedule, seed, order, earlier }| {
        let ran: Vec<String> = order.iter().map(u64::to_string).collect();
        let seed =
            if matches!(schedule, Schedule::Random) { format!(", seed {seed}") } else { String::new() };
        let ran = ran.join(" ");
        format!("schedule {schedule:?}{seed} ran [{ran}]: #{later} did not wait for #{earlier}")
    }))
}

/// A schedule that shows a mistake.
pub(super) struct Witness {
    pub(super) schedule: Schedule,
    pub(super) seed: u64,
    /// The operations that ran, in order.
    order: Vec<u64>,
    /// The operation that should have come first.
    earlier: u64,
}

/// The first schedule in which the wrong operation did not run after one that it must come after.
pub(super) fn witness_schedule(
    program: &Program,
    finding: &Finding,
    tries: Tries,
) -> Result<Option<Witness>> {
    let later = finding.operation.number;
    for (schedule, seed) in tries.schedules() {
        let device = tries.device(schedule.clone(), seed).record_order(true).build();
        if program.play_on_mock(&device)?.is_ok() {
            continue;
        }
        let order = device.order().unwrap_or_default();
        let place = |number: u64| order.iter().position(|&ran| ran == number);
        let at = place(later);
        let overtaken = finding.with.iter().find(|(earlier, _)| match (place(earlier.number), at) {
            (Some(earlier), Some(at)) => earlier > at,
            (None, _) => true,
            _ => false,
        });
        if let Some((earlier, _)) = overtaken {
            return Ok(Some(Witness { schedule, seed, earlier: earlier.number, order }));
        }
    }
    Ok(None)
}
