//! Barriers and splits: calls by which the threads of all ranks wait for each other.

use super::{Communicator, CommunicatorId, RankCall, link::Agreement, meeting::Waiting};
#[cfg(doc)]
use crate::Error;
use crate::{Result, backend::Collects};

impl<D: Collects> Communicator<D> {
    /// Blocks until all ranks make this call. It is about host threads: it neither waits for streams
    /// nor enqueues anything.
    ///
    /// # Errors
    ///
    /// [`Error::Collective`]: [the ranks do not agree](super#errors).
    #[track_caller]
    pub fn barrier(&mut self) -> Result<()> {
        let call = self.next_call("barrier");
        self.meet(&call, None).map(drop)
    }

    /// Joins a new communicator with the ranks that give the same color, in the order of their ranks
    /// here; none for a rank without a color. Blocks until all ranks make this call. This communicator
    /// stays.
    ///
    /// # Errors
    ///
    /// - [`Error::Collective`]: [the ranks do not agree](super#errors).
    /// - The errors of [`join`](Self::join).
    #[track_caller]
    pub fn split(&mut self, color: Option<usize>) -> Result<Option<Self>> {
        let call = self.next_call("split");
        match self.meet(&call, color)?.group {
            Some((way, rank, ranks)) => {
                let id = CommunicatorId::of(way, self.time_limit);
                Ok(Some(Self::join(&self.context, &id, rank, ranks)?))
            }
            None => Ok(None),
        }
    }

    #[track_caller]
    fn meet(&mut self, call: &RankCall, color: Option<usize>) -> Result<Agreement> {
        self.check_runs(call.operation)?;
        let meeting = self.link.meeting(self.meetings);
        self.meetings += 1;
        let waiting = Waiting::begin(self.turns.as_deref(), meeting);
        waiting.end(self.agree(call, color))
    }
}
