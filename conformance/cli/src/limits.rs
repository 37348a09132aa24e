//! The limits of a command's input, all in one place: input beyond them gives one line of error,
//! and neither a hang nor an abort.
//!
//! Memory of devices is different: input that does not fit there is out of memory, as in any
//! program.

use anyhow::{Result, ensure};

use crate::steps::{Cut, Step};

/// The most bytes in a line of a file of cases or programs.
pub const LINE_BYTES: usize = 16 << 20;

/// The most axes of an array in a file, a case or a measurement: NumPy's limit.
pub const AXES: usize = 64;

/// The most steps in a chain, together with their arguments.
pub const STEPS: usize = 4096;

/// The most elements of the base, and of the result, of a golden case.
pub const CASE_ELEMENTS: usize = 16 << 20;

/// The device memory that a golden case may use on the simulator, in bytes.
pub const CASE_BYTES: usize = 1 << 30;

/// The device memory that a program may use on the simulator, in bytes; it is played under many
/// schedules.
pub const PROGRAM_BYTES: usize = 1 << 30;

/// The pinned memory that a program may use there, in bytes, which are printed.
pub const PROGRAM_HOST_BYTES: usize = 64 << 20;

/// The most random schedules of a program, and the most generated cases of a law.
pub const TRIES: u64 = 1_000_000;

/// The most bytes in an array of a call or an exchange that is measured: its elements are made on the host.
pub const MEASURED_BYTES: usize = 64 << 30;

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

/// Refuses a chain that is too long.
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
