//! Communicators as arguments of recorded work.

use std::sync::Arc;

use super::{Communicator, Exchanged, RankCall};
use crate::{
    Error, Result,
    backend::Collects,
    context::ContextCore,
    recorded::{
        Exchanging, Given, Kept, Part, Placed, Placement, Ranks, RecordedArgument, RecordingError, Stand,
    },
    stream::StreamCore,
};

impl<D: Collects> RecordedArgument<D> for &mut Communicator<D> {
    type Kind = Ranks;
    type Stand<'r> = &'r mut Communicator<D>;

    fn given(&mut self) -> Given<'_, D> {
        Given::Ranks(*self)
    }

    fn stand(stand: &mut Stand<D>) -> &mut Communicator<D> {
        stand.ranks().expect("made of a communicator of this type")
    }
}

impl<D: Collects> Exchanging<D> for Communicator<D> {
    fn core(&self) -> &Arc<ContextCore<D>> {
        &self.context.0
    }

    fn place(&self) -> (usize, usize) {
        (self.rank, self.ranks)
    }

    fn is_stand(&self) -> bool {
        self.part.is_some()
    }

    fn stand(&self, part: Part) -> Box<dyn Exchanging<D>> {
        Box::new(self.standing_for(part))
    }

    fn make(
        &mut self,
        stream: &StreamCore<D>,
        what: &Exchanged<Kept>,
        memory: Placement<'_, D>,
    ) -> Result<()> {
        let sides = [&what.source, &what.result];
        let [source, result] = sides.map(|side| side.as_ref().map(|kept| kept.at(memory)).transpose());
        let placed = [source?, result?];
        let [source, result] = placed.each_ref().map(|side| side.as_ref().map(Placed::elements));
        let what = what.of(source, result);
        self.check(stream, &what)?;
        let call = self.next_exchange(&what);
        self.enqueue(stream, &what, &call)
    }

    fn failed(&self, error: Error) -> Error {
        if self.is_unchecked() { self.give_up(&RankCall::new("end", self.calls), error) } else { error }
    }
}

impl<D: Collects> Communicator<D> {
    /// Refuses exchanges on the stream of a recording whose argument this does not stand for, and elsewhere if it
    /// stands for one.
    #[track_caller]
    pub(super) fn check_recording(&self, stream: &StreamCore<D>, operation: &'static str) -> Result<()> {
        let error = match (self.part, stream.recorder()) {
            (None, None) => return Ok(()),
            (Some(part), Some(recorder)) if recorder.has(part) => return Ok(()),
            (None, Some(_)) => RecordingError::OtherRanks,
            (Some(_), _) => RecordingError::Outside,
        };
        Err(error.of(operation))
    }

    /// Refuses a call that asks other ranks now, where this stands for an argument of a recording.
    #[track_caller]
    pub(super) fn check_runs(&self, operation: &'static str) -> Result<()> {
        if self.part.is_some() { Err(RecordingError::NotRecorded.of(operation)) } else { Ok(()) }
    }
}
