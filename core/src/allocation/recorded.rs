//! Memory of recorded work, and which stream may use which memory.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use super::Allocation;
use crate::{
    Result,
    backend::Device,
    context::ContextCore,
    recorded::{Part, Recorder, RecordingError},
    stream::StreamCore,
};

impl<D: Device> Allocation<D> {
    /// Makes a stand-in for memory of recorded work.
    pub(crate) fn recorded(core: &Arc<ContextCore<D>>, len_bytes: usize, part: Part) -> Self {
        let mut allocation = Self::empty(core);
        (allocation.len_bytes, allocation.part) = (len_bytes, Some(part));
        allocation
    }

    /// Its part in recorded work, if it is a stand-in.
    pub(crate) fn part(&self) -> Option<Part> {
        self.part
    }

    /// Notes that nobody writes the memory any more.
    pub(crate) fn share(&self) {
        self.shared.store(true, Relaxed);
    }

    /// Whether nobody writes the memory any more.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.load(Relaxed)
    }

    /// Returns an error if a stream must not use the memory. Only its recorder may use a stand-in for
    /// memory of recorded work. A recorder must not use other memory that may still be written.
    #[track_caller]
    pub(crate) fn check_recording(
        &self,
        operation: &'static str,
        recorder: Option<&Recorder<D>>,
    ) -> Result<()> {
        let error = match (self.part, recorder) {
            (None, None) => return Ok(()),
            (Some(part), Some(recorder)) if recorder.has(part) => return Ok(()),
            (None, Some(_)) if self.len_bytes == 0 || self.is_shared() => return Ok(()),
            (None, Some(_)) => RecordingError::NoArgument,
            (Some(_), _) => RecordingError::Outside,
        };
        Err(error.of(operation))
    }
}

impl<D: Device> StreamCore<D> {
    /// Returns an error for memory of another context, for memory of recorded work outside its recording,
    /// and, in a recording, for memory that the recording neither gets nor makes.
    #[track_caller]
    pub(crate) fn check_context<const N: usize>(
        &self,
        operation: &'static str,
        allocations: [&Arc<Allocation<D>>; N],
    ) -> Result<()> {
        for allocation in allocations {
            self.check_core(operation, &allocation.core)?;
            allocation.check_recording(operation, self.recorder().map(|recorder| &**recorder))?;
        }
        Ok(())
    }

    /// Like [`check_context`](Self::check_context), for an operation that cannot be recorded.
    #[track_caller]
    pub(crate) fn check_unrecorded<const N: usize>(
        &self,
        operation: &'static str,
        allocations: [&Arc<Allocation<D>>; N],
    ) -> Result<()> {
        self.check_runs(operation)?;
        self.check_context(operation, allocations)
    }
}
