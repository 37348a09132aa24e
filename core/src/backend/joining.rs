//! The way of a rank into a communicator, for backends.

use std::{
    any::Any,
    fmt::{self, Debug},
    net::IpAddr,
    sync::Arc,
    time::Duration,
};

use crate::{
    Result,
    collective::{CollectiveError, SharedPlace},
};

/// The way of one rank into a communicator.
pub struct Joining<'j> {
    pub(crate) backend: &'static str,
    pub(crate) place: &'j SharedPlace,
    pub(crate) together: &'j dyn Together,
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    pub(crate) time_limit: Duration,
}

/// The ranks that join together.
pub(crate) trait Together {
    /// Gives all ranks these bytes, and waits for theirs.
    fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError>;

    /// The error of all calls, if there is one.
    fn broken(&self) -> Option<CollectiveError>;

    /// The needs of connections between ranks. None if all are threads of this process.
    fn network(&self) -> Option<Network>;
}

/// The needs of connections between ranks.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    /// A key that all ranks have, and nobody else.
    pub(crate) token: [u8; 32],
    /// Whether all ranks are on this machine.
    pub(crate) is_local: bool,
    /// The address of this rank; none in the process that others come to.
    pub(crate) own_ip: Option<IpAddr>,
    /// The address of that process.
    pub(crate) service_ip: IpAddr,
}

impl Joining<'_> {
    /// The number of this rank, below [`ranks`](Self::ranks).
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The time for which a call may wait for other ranks.
    #[must_use]
    pub fn time_limit(&self) -> Duration {
        self.time_limit
    }

    /// Whether all ranks are threads of this process, so that they can reach each other by
    /// [`shared`](Self::shared). Otherwise they may be in other processes.
    #[must_use]
    pub fn is_one_process(&self) -> bool {
        self.together.network().is_none()
    }

    /// Gives all ranks these bytes, and returns everyone's, in the order of ranks: addresses, or the id of a
    /// library. Blocks until all ranks make this call, as many times as this one, up to the time limit.
    ///
    /// # Errors
    ///
    /// [`Error::Collective`](crate::Error::Collective): these are more than 65,536 bytes, [or the ranks do not
    /// agree](crate::collective#errors).
    #[track_caller]
    pub fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>> {
        // `map_err` would hide the caller.
        match self.together.gather(own) {
            Ok(all) => Ok(all),
            Err(error) => Err(self.error(error)),
        }
    }

    pub(crate) fn try_gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError> {
        self.together.gather(own)
    }

    pub(crate) fn broken(&self) -> Option<CollectiveError> {
        self.together.broken()
    }

    pub(crate) fn network(&self) -> Option<Network> {
        self.together.network()
    }

    #[track_caller]
    pub(crate) fn error(&self, error: CollectiveError) -> crate::Error {
        error.of(self.backend, "join")
    }

    /// An object that all ranks of the communicator share in this process, made by the first that asks. None if
    /// another asked for another type. Ranks of other processes have others.
    pub fn shared<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        self.place.get(make)
    }
}

impl Debug for Joining<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joining")
            .field("place", self.place)
            .field("rank", &self.rank)
            .field("ranks", &self.ranks)
            .field("time_limit", &self.time_limit)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Alone;

    impl Together for Alone {
        fn gather(&self, own: &[u8]) -> Result<Vec<Vec<u8>>, CollectiveError> {
            Ok(vec![own.to_vec()])
        }

        fn broken(&self) -> Option<CollectiveError> {
            None
        }

        fn network(&self) -> Option<Network> {
            None
        }
    }

    #[test]
    fn it_is_shown_in_one_line_and_shares_one_object() {
        let place = SharedPlace::default();
        let (place, time_limit) = (&place, Duration::from_secs(1));
        let joining = Joining { backend: "mock", place, together: &Alone, rank: 1, ranks: 2, time_limit };
        let text = format!("{joining:?}");
        assert_eq!(text, "Joining { place: SharedPlace(free), rank: 1, ranks: 2, time_limit: 1s }");
        assert_eq!(joining.shared(|| 5_u8).as_deref(), Some(&5));
        assert_eq!(joining.shared(|| 6_u8).as_deref(), Some(&5), "made once");
        assert!(joining.shared(|| 6_u16).is_none(), "of one type");
    }
}
