//! The way from what a launcher said to a communicator.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs as _},
    sync::Arc,
    time::Duration,
};

use super::{
    Launched, ProcessError,
    launched::Meeting,
    published::{self, InFile, Published},
};
use crate::{
    Context, Result,
    backend::Collects,
    collective::{
        CollectiveError, Communicator, CommunicatorId, Find, Place, Remote, Secret, Service, TIME_LIMIT,
    },
};

impl<D: Collects> Communicator<D> {
    /// Joins the ranks that a launcher started, as [`Launched::from_environment`] says. Blocks until all have joined, for
    /// 10 minutes at most.
    ///
    /// A program does this once; [`split`](Self::split) makes more communicators. For another time limit, join with the
    /// [id](Launched::id) of what was launched.
    ///
    /// # Errors
    ///
    /// - [`Error::Collective`](crate::Error::Collective) with [`CollectiveError::Processes`]: the environment does not say
    ///   which rank this is, rank 0 cannot listen or is not reached in time, or it has another secret.
    /// - The errors of [`join`](Self::join).
    #[track_caller]
    pub fn from_environment(context: &Context<D>) -> Result<Self> {
        let id = Launched::from_environment().and_then(|launched| Ok((launched.id(TIME_LIMIT)?, launched)));
        match id {
            Ok((id, launched)) => Self::join(context, &id, launched.rank(), launched.ranks()),
            Err(error) => {
                Err(CollectiveError::from(error).of(context.device().info().backend, "from_environment"))
            }
        }
    }
}

impl Launched {
    /// The id under which the ranks find each other, for [`Communicator::join`](crate::collective::Communicator::join);
    /// on rank 0 it begins to listen. It is for one communicator, and one id at a time.
    ///
    /// # Errors
    ///
    /// Rank 0 cannot listen, or there is no secret where one is needed.
    pub fn id(&self, time_limit: Duration) -> Result<CommunicatorId, ProcessError> {
        match &self.meeting {
            Meeting::File { job } if self.rank == 0 => {
                let listener =
                    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| not_heard(&error))?;
                let secret = Secret::random()?;
                let service = Arc::new(Service::start(listener, secret.clone(), time_limit)?);
                let published = Published::new(published::path(job), service.address(), &secret)?;
                service.keep_until_joined(Box::new(published));
                Ok(CommunicatorId::of_service(&service))
            }
            Meeting::File { job } => {
                let find = Arc::new(InFile(published::path(job)));
                Ok(CommunicatorId::of_remote(Remote::new(find, 0), time_limit))
            }
            Meeting::At { host, port } => {
                let address = AtAddress { host: host.clone(), port: *port, secret: self.secret.clone() };
                if self.rank > 0 {
                    // Without one it would be refused until the time limit.
                    address.secret(address.is_local())?;
                    let find = Arc::new(address);
                    return Ok(CommunicatorId::of_remote(Remote::new(find, 0), time_limit));
                }
                let listener = address.listen().map_err(|error| {
                    ProcessError::system(format!("listen at {}", address.address()), &error)
                })?;
                let is_local = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
                let secret = address.secret(is_local)?;
                let service = Arc::new(Service::start(listener, secret, time_limit)?);
                Ok(CommunicatorId::of_service(&service))
            }
        }
    }
}

/// A place that a launcher or the user says.
#[derive(Debug)]
struct AtAddress {
    host: String,
    port: u16,
    secret: Option<Secret>,
}

impl AtAddress {
    /// Whether only this machine can mean it. A name of this machine may stand for a loopback address here, and for
    /// another elsewhere.
    fn is_local(&self) -> bool {
        let ip: Option<IpAddr> = self.host.parse().ok();
        self.host.eq_ignore_ascii_case("localhost") || ip.is_some_and(|ip| ip.is_loopback())
    }

    /// The secret, which only ranks of one machine do not need.
    fn secret(&self, is_local: bool) -> Result<Secret, ProcessError> {
        match &self.secret {
            Some(secret) => Ok(secret.clone()),
            None if is_local => Ok(Secret::open()),
            None => Err(ProcessError::NoSecret { address: self.address() }),
        }
    }

    fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        Ok((self.host.as_str(), self.port).to_socket_addrs()?.collect())
    }

    fn listen(&self) -> io::Result<TcpListener> {
        if self.is_local() {
            return TcpListener::bind(self.resolve()?.as_slice());
        }
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            match TcpListener::bind((ip, self.port)) {
                Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {}
                bound => return bound,
            }
        }
        // Other machines may know this one by several addresses. Where there is IPv6, it takes both kinds.
        let any = [IpAddr::from(Ipv6Addr::UNSPECIFIED), Ipv4Addr::UNSPECIFIED.into()];
        TcpListener::bind(any.map(|ip| SocketAddr::new(ip, self.port)).as_slice())
    }
}

impl Find for AtAddress {
    fn find(&self) -> Result<Place, ProcessError> {
        let secret = self.secret(self.is_local())?;
        let reason = |error: io::Error| ProcessError::Unreachable {
            address: self.address(),
            reason: error.to_string(),
        };
        Ok(Place { addresses: self.resolve().map_err(reason)?, secret })
    }

    fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    fn may_be_old(&self) -> bool {
        false
    }
}

fn not_heard(error: &io::Error) -> ProcessError {
    ProcessError::system("listen for ranks", error)
}
