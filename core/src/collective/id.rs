//! The id under which ranks find each other.

use std::{fmt, sync::Arc, time::Duration};

use super::{
    SharedPlace,
    channel::{Remote, Service},
    link::Way,
};

/// The time for which a call waits for other ranks, unless told otherwise.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(600);

/// The id of a communicator, which all its ranks are given: made once, and cloned to the thread of each
/// rank. Each id is for one communicator.
///
/// Ranks that are processes find each other by [`Communicator::from_environment`], or by an id that
/// [`listen`](Self::listen) made in one of them and that travels [as bytes](Self::to_bytes).
///
/// [`Communicator::from_environment`]: super::Communicator::from_environment
#[derive(Clone)]
pub struct CommunicatorId(pub(super) Arc<Meeting>);

/// The parts that the ranks of an id have in common.
pub(super) struct Meeting {
    pub(super) way: Way,
    /// Counts if the board is in another process; one of this process has its own.
    place: SharedPlace,
    pub(super) time_limit: Duration,
}

impl Meeting {
    /// The object that backends of the ranks of this process share.
    pub(super) fn place(&self) -> &SharedPlace {
        match &self.way {
            Way::Here { board, .. } => &board.place,
            Way::There(_) => &self.place,
        }
    }
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
        Self::of(Way::Here { board: Arc::default(), service: None }, time_limit)
    }

    /// The id of the first communicator of a service of this process.
    pub(crate) fn of_service(service: &Arc<Service>) -> Self {
        let way = Way::Here { board: service.board(), service: Some(Arc::clone(service)) };
        Self::of(way, service.time_limit())
    }

    /// The id of a communicator of another process.
    pub(crate) fn of_remote(remote: Remote, time_limit: Duration) -> Self {
        Self::of(Way::There(remote), time_limit)
    }

    pub(super) fn of(way: Way, time_limit: Duration) -> Self {
        Self(Arc::new(Meeting { way, place: SharedPlace::default(), time_limit }))
    }

    /// The service of this process, or the way to another's. None for an id of threads.
    pub(crate) fn service(&self) -> Option<Result<&Arc<Service>, &Remote>> {
        match &self.0.way {
            Way::Here { service, .. } => service.as_ref().map(Ok),
            Way::There(remote) => Some(Err(remote)),
        }
    }

    /// The time for which a call waits until all ranks have come. Where ranks are processes, the limit of the
    /// process that [listens](Self::listen) counts.
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
