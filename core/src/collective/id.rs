//! The id under which ranks find each other.

use std::{fmt, sync::Arc, time::Duration};

use super::{SharedPlace, board::Board};

/// The time for which a call waits for other ranks, unless told otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// The id of a communicator, which all its ranks are given: made once, and cloned to the thread of each
/// rank. Each id is for one communicator.
#[derive(Clone)]
pub struct CommunicatorId(pub(super) Arc<Meeting>);

/// The parts that the ranks of an id have in common.
pub(super) struct Meeting {
    pub(super) board: Board,
    pub(super) place: SharedPlace,
    pub(super) time_limit: Duration,
}

impl CommunicatorId {
    /// A new id. Calls of its ranks wait for each other for 10 minutes at most.
    #[must_use]
    pub fn new() -> Self {
        Self::with_time_limit(TIME_LIMIT)
    }

    /// A new id, with another limit: how long a call waits until all ranks have come.
    ///
    /// ```
    /// use std::time::Duration;
    /// use devarray::{Context, Error, collective::{CollectiveError, Communicator, CommunicatorId}};
    /// use devarray_host::HostDevice;
    ///
    /// let id = CommunicatorId::with_time_limit(Duration::from_millis(1));
    /// let alone = Communicator::join(&Context::new(HostDevice::new())?, &id, 0, 2);
    /// assert!(matches!(alone, Err(Error::Collective { error: CollectiveError::TimeLimit { .. }, .. })));
    /// # Ok::<(), devarray::Error>(())
    /// ```
    #[must_use]
    pub fn with_time_limit(time_limit: Duration) -> Self {
        Self(Arc::new(Meeting { board: Board::default(), place: SharedPlace::default(), time_limit }))
    }

    /// The time for which a call waits until all ranks have come.
    #[must_use]
    pub fn time_limit(&self) -> Duration {
        self.0.time_limit
    }
}

impl Default for CommunicatorId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for CommunicatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommunicatorId(time limit {:?})", self.0.time_limit)
    }
}
