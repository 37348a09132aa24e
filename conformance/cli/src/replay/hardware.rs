//! Programs on hardware.
#![allow(unsafe_code)] // plays programs through raw streams

use std::ops::Range;

use anyhow::Result;
use devarray::Device;
use devarray_mock::{
    Access,
    program::{Door, Program},
};

use super::judge;

/// Plays a program, unless the simulator finds a mistake in it: hardware might then do anything.
///
/// # Errors
///
/// A device fails.
pub fn on_hardware<D: Device>(program: &Program, device: &D) -> Result<Option<Vec<Vec<u8>>>> {
    if judge(program, 0, 0)?.played.is_err() {
        return Ok(None);
    }
    // SAFETY: the judge of the simulator found the program right, whatever the schedule.
    Ok(Some(unsafe { program.play(device, &mut Hardware) }?))
}

/// Hardware, which has nothing to say.
struct Hardware;

impl<D: Device> Door<D> for Hardware {
    fn begin(&mut self) {}

    fn next(&mut self, _: usize) {}

    fn twin(&mut self, _: &D::Buffer) -> Option<D::Buffer> {
        None
    }

    fn host_access(&mut self, _: &D::HostBuffer, _: Range<usize>, _: Access) {}

    fn is_over(&self) -> bool {
        false
    }
}
