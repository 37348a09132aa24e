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
    /// A stand-in for memory of recorded work.
    pub(crate) fn recorded(core: &Arc<ContextCore<D>>, len_bytes: usize, part: Part) -> Self {
        let mut allocation = Self::empty(core);
        (allocation.len_bytes, allocation.part) = (len_bytes, Some(part));
        allocation
    }

    /// Its part in recorded work, if it is a stand-in.
    pub(crate) fn part(&self) -> Option<Part> {
        self.part
    }

    /// Says that nobody writes the memory any more.
    pub(crate) fn share(&self) {
        self.shared.store(true, Relaxed);
    }

    /// Whether nobody writes the memory any more.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.load(Relaxed)
    }

    /// Refuses memory that a stream must not use: what stands for memory of recorded work, but for its
    /// recorder; for a recorder, memory that others may write.
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
    /// Refuses memory of another context, memory of recorded work outside its recording, and in a recording
    /// memory of nothing that it is given or makes.
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

    /// Like [`check_context`](Self::check_context), of an operation that is not recorded.
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
