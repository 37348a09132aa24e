//! Operations that a profiled stream captures. The timeline names them at each launch.
#![allow(unsafe_code)] // implements an unsafe trait by forwarding; performs only the launch asked for

use std::{any::Any, ops::Range, sync::Arc};

use super::{ProfiledStream, log::Operation};
use crate::{
    Error, Result,
    backend::{Captured, Captures, Timing},
};

const OPERATION: &str = "launch";

/// The capture of the wrapped device, and the text of a timeline for its launches.
#[derive(Debug)]
struct ProfiledCapture {
    captured: Box<dyn Captured>,
    note: Arc<str>,
    len_bytes: usize,
}

impl Captured for ProfiledCapture {}

// SAFETY: every method forwards to a stream whose implementor vouches for it. Nothing but the operations is enqueued
// on a stream that captures.
unsafe impl<D: Timing> Captures for ProfiledStream<D> {
    fn capture(&self) -> Result<Option<Self>> {
        let stream = self.stream().capture()?;
        Ok(stream.map(|stream| self.capturing(stream)))
    }

    fn captures_reports(&self) -> bool {
        self.stream().captures_reports()
    }

    fn next_behind(&self, calls: &[usize]) {
        self.stream().next_behind(calls);
    }

    fn order_of_calls(&self, behind: &[Box<[usize]>]) -> Option<Vec<usize>> {
        self.stream().order_of_calls(behind)
    }

    fn end_capture(self) -> Result<Box<dyn Captured>> {
        let (stream, operations) = self.into_captured();
        let captured = stream.end_capture()?;
        let (note, len_bytes) = (operations.text().into(), operations.len_bytes);
        Ok(Box::new(ProfiledCapture { captured, note, len_bytes }))
    }

    #[track_caller]
    unsafe fn launch_captured(&self, captured: &dyn Captured, reports: Range<u64>) -> Result<()> {
        let captured: &dyn Any = captured;
        let Some(ProfiledCapture { captured, note, len_bytes }) = captured.downcast_ref() else {
            return Err(Error::DeviceMismatch { backend: self.backend(), operation: OPERATION });
        };
        let location = crate::backend::call_location();
        let operation = Operation::new(OPERATION, location).bytes(*len_bytes).note(note);
        // SAFETY: as the caller promises
        self.enqueue(operation, |stream| unsafe { stream.launch_captured(&**captured, reports) })
    }
}
