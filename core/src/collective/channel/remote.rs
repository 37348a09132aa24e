//! The way to a board of another process.

use std::{
    fmt,
    net::{SocketAddr, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use super::{
    handshake::{self, Failed},
    limits::SERVICE,
    secret::Secret,
};
use crate::processes::ProcessError;

/// One attempt to reach the service may take as long.
const ATTEMPT: Duration = Duration::from_secs(5);
/// The pause between attempts: from the first to the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(200)];

/// Where a service is, and the secret to come in.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) secret: Secret,
}

/// A way to find a service, which may not be there yet.
pub(crate) trait Find: fmt::Debug + Send + Sync {
    /// Where it is now.
    fn find(&self) -> Result<Place, ProcessError>;

    /// Its address, for errors.
    fn address(&self) -> String;

    /// Whether a place that refuses may be an old one, so that it is looked up again.
    fn may_be_old(&self) -> bool;
}

/// A place that is known.
#[derive(Debug)]
pub(crate) struct Known(pub(crate) Place);

impl Find for Known {
    fn find(&self) -> Result<Place, ProcessError> {
        Ok(self.0.clone())
    }

    fn address(&self) -> String {
        self.0.addresses.first().map_or_else(String::new, ToString::to_string)
    }

    fn may_be_old(&self) -> bool {
        false
    }
}

/// A board of another process.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    pub(crate) find: Arc<dyn Find>,
    /// The number of the board.
    pub(crate) board: u64,
}

impl Remote {
    /// Connects, again and again until the time limit has passed. Only who has another secret is told at once.
    pub(super) fn reach(&self, time_limit: Duration) -> Result<(TcpStream, Place), ProcessError> {
        let ends = Instant::now().checked_add(time_limit);
        let mut pause = PAUSES[0];
        loop {
            let error = match self.try_reach() {
                Ok(reached) => return Ok(reached),
                Err(error @ ProcessError::Refused { .. }) if !self.find.may_be_old() => return Err(error),
                Err(error) => error,
            };
            if ends.is_some_and(|ends| Instant::now() + pause >= ends) {
                return Err(error);
            }
            thread::sleep(pause);
            pause = (2 * pause).min(PAUSES[1]);
        }
    }

    fn try_reach(&self) -> Result<(TcpStream, Place), ProcessError> {
        let place = self.find.find()?;
        let mut last = self.unreachable("the name has no address");
        for address in &place.addresses {
            let reached =
                TcpStream::connect_timeout(address, ATTEMPT).map_err(Failed::from).and_then(|stream| {
                    stream.set_nodelay(true)?;
                    let ends = Instant::now() + ATTEMPT;
                    handshake::visit(&stream, (&place.secret, &SERVICE), &[], ends)?;
                    Ok(stream)
                });
            last = match reached {
                Ok(stream) => {
                    let (addresses, secret) = (vec![*address], place.secret.clone());
                    return Ok((stream, Place { addresses, secret }));
                }
                Err(Failed::Refused) => return Err(ProcessError::Refused { address: address.to_string() }),
                Err(Failed::Broken(error)) => self.unreachable(&error.to_string()),
            };
        }
        Err(last)
    }

    pub(super) fn unreachable(&self, reason: &str) -> ProcessError {
        ProcessError::Unreachable { address: self.find.address(), reason: reason.into() }
    }
}
