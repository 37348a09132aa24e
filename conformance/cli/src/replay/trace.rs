//! Traces a program on the simulator, operation by operation.

use anyhow::Result;
use devarray::timeline::Timeline;
use devarray_mock::{Finding, Schedule, program::Program};

use super::{
    Tries,
    explain::{Witness, witness_schedule},
};

/// The timeline of a program: under the first schedule that shows its mistake; or, if there is no
/// mistake or no such schedule, as on an idle device.
///
/// # Errors
///
/// There is not enough memory for it.
pub fn traced_on_mock(
    program: &Program,
    played: &Result<Vec<Vec<u8>>, Finding>,
    tries: Tries,
) -> Result<Timeline> {
    let witness = match played {
        Ok(_) => None,
        Err(finding) => witness_schedule(program, finding, tries)?,
    };
    let (schedule, seed) =
        witness.map_or((Schedule::Eager, 0), |Witness { schedule, seed, .. }| (schedule, seed));
    let name = format!("{} on mock: schedule {schedule:?}", program.id());
    let name = if matches!(schedule, Schedule::Random) { format!("{name}, seed {seed}") } else { name };
    let device = tries.device(schedule, seed).record_timeline(true).build();
    // The mistake is known, and is marked in the timeline.
    let _ = program.play_on_mock(&device)?;
    let mut timeline = device.timeline().unwrap_or_default();
    timeline.name = name;
    program.annotate(&mut timeline);
    Ok(timeline)
}
