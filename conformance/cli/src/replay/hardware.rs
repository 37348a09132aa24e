//! Plays programs on hardware.
#![allow(unsafe_code)] // plays programs through raw streams

use std::ops::Range;

use anyhow::Result;
use devarray::{
    Device,
    backend::Timing,
    timeline::{Profiled, Timeline},
};
use devarray_mock::{
    Access,
    program::{Callbacks, Program, Unjudged},
};

use super::{Tries, judge};

/// Plays a program, unless the simulator finds a mistake in it: the effect on hardware would be
/// undefined.
///
/// # Errors
///
/// A device fails.
pub fn on_hardware<D: Device>(program: &Program, device: &D) -> Result<Option<Vec<Vec<u8>>>> {
    if judge(program, Tries::default())?.played.is_err() {
        return Ok(None);
    }
    // SAFETY: the simulator's judge found the program right under every schedule.
    Ok(Some(unsafe { program.play(device, &mut Unjudged) }?))
}

/// Like [`on_hardware`], with a timeline of the run.
///
/// # Errors
///
/// The device fails.
pub fn traced_on_hardware<D: Timing>(
    program: &Program,
    device: &Profiled<D>,
) -> Result<Option<(Vec<Vec<u8>>, Timeline)>> {
    if judge(program, Tries::default())?.played.is_err() {
        return Ok(None);
    }
    // SAFETY: as in `on_hardware`.
    let hosts = unsafe { program.play(device, &mut ProfiledHardware(device)) }?;
    let mut timeline = device.timeline();
    timeline.name = format!("{} on {}", program.id(), timeline.name);
    program.annotate(&mut timeline);
    Ok(Some((hosts, timeline)))
}

/// Hardware whose operations are recorded.
struct ProfiledHardware<'a, D: Timing>(&'a Profiled<D>);

impl<D: Timing> Callbacks<Profiled<D>> for ProfiledHardware<'_, D> {
    fn begin(&mut self) {
        self.0.clear();
        self.0.set_recording(true);
    }

    fn end(&mut self) {
        self.0.set_recording(false);
    }

    fn next(&mut self, index: usize) {
        self.0.number_next(index as u64);
    }

    fn twin(&mut self, _: &D::Buffer) -> Option<D::Buffer> {
        None
    }

    fn host_access(&mut self, _: &D::HostBuffer, _: Range<usize>, _: Access) {}

    fn is_over(&self) -> bool {
        false
    }
}
