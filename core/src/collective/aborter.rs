//! The end of a communicator, from any thread.

use std::{fmt, sync::Arc};

use super::{CollectiveError, RankCall, link::Link, waits::Waits};
use crate::{
    Context,
    backend::{Collects, RankTurns},
    debug_text::DeviceName,
};

/// Aborts a communicator from any thread; from [`Communicator::aborter`](super::Communicator::aborter).
pub struct Aborter<D: Collects> {
    pub(super) context: Context<D>,
    pub(super) raw: Arc<D::Communicator>,
    pub(super) link: Arc<Link>,
    pub(super) turns: Option<Arc<dyn RankTurns>>,
}

impl<D: Collects> Aborter<D> {
    /// Ends the communicator for all ranks: their calls that wait fail, and so do later ones. Exchanges
    /// that all ranks have come to are carried out, unless they are by NCCL or [between processes on the
    /// CPU](crate::manual::_j_collectives#mistakes) and not over. Does not block.
    pub fn abort(&self) {
        let call = RankCall::new("abort", 0);
        let waits = Waits::new(&call, self.turns.as_deref(), None);
        self.link.break_off(CollectiveError::Aborted, &waits);
        self.context.device().abort(&self.raw);
    }
}

impl<D: Collects> Clone for Aborter<D> {
    fn clone(&self) -> Self {
        let (raw, link, turns) = (Arc::clone(&self.raw), Arc::clone(&self.link), self.turns.clone());
        Self { context: self.context.clone(), raw, link, turns }
    }
}

impl<D: Collects> fmt::Debug for Aborter<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Aborter(on {})", DeviceName(self.context.device()))
    }
}
