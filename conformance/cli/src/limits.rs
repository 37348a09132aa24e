//! Limits of a command's input, all in one place: beyond them there is one line of error, and no
//! hang or abort.
//!
//! Memory of devices is another matter: what has no room there is out of memory, as any program is.

use anyhow::{Result, ensure};

use crate::steps::{Cut, Step};

/// Longest line of a file of cases or programs.
pub const LINE_BYTES: usize = 16 << 20;

/// Most axes of an array in a file, a case or a measurement: as many as NumPy has.
pub const AXES: usize = 64;

/// Most steps and arguments of steps together, in one chain.
pub const STEPS: usize = 4096;

/// Most elements of the base, and of the result, of a golden case.
pub const CASE_ELEMENTS: usize = 16 << 20;

/// Device memory that a golden case may use on the simulator.
pub const CASE_BYTES: usize = 1 << 30;

/// Device memory that a program may use on the simulator, which plays it under many schedules.
pub const PROGRAM_BYTES: usize = 1 << 30;

/// Pinned memory that a program may use there; its bytes are printed.
pub const PROGRAM_HOST_BYTES: usize = 64 << 20;

/// Most random schedules of a program, and generated cases of a law.
pub const TRIES: u64 = 1_000_000;

/// Most ranks of a measurement or a check.
pub const RANKS: usize = 64;

/// Refuses more axes than arrays may have.
///
/// # Errors
///
/// There are more than [`AXES`].
pub fn check_axes(count: usize) -> Result<()> {
    ensure!(count <= AXES, "{count} axes are more than the {AXES} allowed");
    Ok(())
}

/// Refuses a chain that is too long to be carried out.
///
/// # Errors
///
/// There are more than [`STEPS`].
pub fn check_steps(steps: &[Step]) -> Result<()> {
    let arguments = |step: &Step| match step {
        Step::Index(items) => items.len(),
        Step::Permute(Some(numbers)) | Step::Flip(Some(numbers)) | Step::Squeeze(Some(numbers)) => {
            numbers.len()
        }
        Step::Broadcast(shape) | Step::Reshape(shape, _) => shape.len(),
        Step::Split(Cut::At { at, .. }, _) => at.len(),
        Step::Permute(None)
        | Step::Flip(None)
        | Step::Squeeze(None)
        | Step::Ravel(_)
        | Step::Copy(_)
        | Step::Split(..) => 0,
    };
    let count: usize = steps.iter().map(|step| 1 + arguments(step)).sum();
    ensure!(count <= STEPS, "{count} steps and arguments are more than the {STEPS} allowed");
    Ok(())
}
