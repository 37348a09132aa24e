//! Ids that travel as bytes.

use std::{
    net::{SocketAddr, TcpListener, ToSocketAddrs},
    sync::Arc,
    time::Duration,
};

use super::ProcessError;
use crate::collective::{CommunicatorId, Known, Place, Remote, Secret, Service, TIME_LIMIT};

const FIRST_BYTES: &[u8; 8] = b"devarr\0i";
const SECRET_BYTES: usize = 32;
/// Bytes of an id: the first ones, the number of the board, the secret and an address.
const MOST_BYTES: usize = 8 + 8 + SECRET_BYTES + 64;

impl CommunicatorId {
    /// A new id for ranks that are processes. This process, which should have rank 0, listens at the address until it
    /// has dropped the id and its communicator. The others are given [`to_bytes`](Self::to_bytes), by whatever means the
    /// program has.
    ///
    /// The address is one at which the other processes reach this one; with port 0 it is a free port. The bytes hold a
    /// secret that is made here: who has them can join.
    ///
    /// ```
    /// use std::{thread, time::Duration};
    /// use devarray::{Context, Result, collective::{Communicator, CommunicatorId}};
    /// use devarray_host::HostDevice;
    ///
    /// fn rank(id: &CommunicatorId, rank: usize) -> Result<()> {
    ///     Communicator::join(&Context::new(HostDevice::new())?, id, rank, 2)?.barrier()
    /// }
    ///
    /// let id = CommunicatorId::listen("127.0.0.1:0", Duration::from_secs(60))?;
    /// let bytes = id.to_bytes().unwrap();
    /// // Another process would do this.
    /// let other = thread::spawn(move || rank(&CommunicatorId::from_bytes(&bytes).unwrap(), 1));
    /// rank(&id, 0)?;
    /// other.join().unwrap()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The address is none of this machine, its port is taken, or it says all addresses.
    pub fn listen(address: impl ToSocketAddrs, time_limit: Duration) -> Result<Self, ProcessError> {
        let listener =
            TcpListener::bind(address).map_err(|error| ProcessError::system("listen for ranks", &error))?;
        if listener.local_addr().is_ok_and(|address| address.ip().is_unspecified()) {
            let reason = "other processes need one address".into();
            return Err(ProcessError::System { what: "listen for ranks".into(), reason });
        }
        let secret = Secret::random()?;
        Ok(Self::of_service(&Arc::new(Service::start(listener, secret, time_limit)?)))
    }

    /// The id as bytes, at most 112. None for an id of threads. They hold a secret.
    #[must_use]
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let (place, board) = match self.service()? {
            Ok(service) => (service.place(), 0),
            Err(remote) => (remote.find.find().ok()?, remote.board),
        };
        let address = place.addresses.first()?.to_string();
        let secret = place.secret.bytes();
        let parts = [FIRST_BYTES, &board.to_le_bytes()[..], secret, address.as_bytes()];
        (secret.len() == SECRET_BYTES).then(|| parts.concat())
    }

    /// The id of these bytes, from [`to_bytes`](Self::to_bytes) in another process.
    ///
    /// # Errors
    ///
    /// [`ProcessError::NoId`]: they are none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ProcessError> {
        let read = || {
            let rest = bytes.strip_prefix(FIRST_BYTES).filter(|_| bytes.len() <= MOST_BYTES)?;
            let (board, rest) = rest.split_first_chunk()?;
            let (secret, address) = rest.split_at_checked(SECRET_BYTES)?;
            let address: SocketAddr = str::from_utf8(address).ok()?.parse().ok()?;
            Some((
                u64::from_le_bytes(*board),
                Place { addresses: vec![address], secret: Secret::new(secret) },
            ))
        };
        let (board, place) = read().ok_or(ProcessError::NoId)?;
        Ok(Self::of_remote(Remote::new(Arc::new(Known(place)), board), TIME_LIMIT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_travels_as_bytes() {
        let id = CommunicatorId::listen("127.0.0.1:0", Duration::from_secs(5)).unwrap();
        let bytes = id.to_bytes().unwrap();
        let other = CommunicatorId::from_bytes(&bytes).unwrap();
        assert_eq!(other.to_bytes(), Some(bytes.clone()));
        for len in 0..=48 {
            assert_eq!(CommunicatorId::from_bytes(&bytes[..len]).err(), Some(ProcessError::NoId), "{len}");
        }
        assert_eq!(CommunicatorId::from_bytes(&[0; 1000]).err(), Some(ProcessError::NoId));
        assert_eq!(CommunicatorId::new().to_bytes(), None, "threads have no address");
        assert!(
            CommunicatorId::listen("0.0.0.0:0", Duration::from_secs(5)).is_err(),
            "all addresses are none"
        );
    }
}
