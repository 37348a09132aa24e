//! Connections between all ranks that are processes, for backends whose devices cannot reach each other.

use std::{
    fmt, io,
    io::{Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use super::{
    bytes::{Garbled, Reader, Writer},
    door::Door,
    handshake::{self, Failed},
    secret::Secret,
};
use crate::{
    Result,
    backend::{Joining, Network},
    collective::CollectiveError,
    lock::lock,
    processes::ProcessError,
};

const PURPOSE: [u8; 8] = *b"elements";
/// One attempt to reach a rank may take as long.
const ATTEMPT: Duration = Duration::from_secs(5);
/// A rank that waits for connections looks as often whether others are gone.
const LOOK: Duration = Duration::from_millis(20);
/// A rank whose connection broke waits as long to be told why.
const TOLD_LIMIT: Duration = Duration::from_secs(2);
/// Bytes that fit into the buffers of a connection whose other side has read what came before.
const SMALL_BYTES: usize = 8 << 10;

/// A connection to each other rank, made when all [join](Self::join).
///
/// The ranks do the same exchanges in the same order. Only ranks of the communicator can connect: they have a key
/// that the process of rank 0 gave them. Nothing is encrypted.
pub struct Mesh {
    rank: usize,
    peers: Vec<Option<TcpStream>>,
    time_limit: Duration,
    aborted: Mutex<bool>,
    changed: Condvar,
}

impl Mesh {
    /// Connects to all other ranks. Blocks until all have, up to the time limit. None if all ranks are threads of this
    /// process, and need no connection.
    ///
    /// # Errors
    ///
    /// [`Error::Collective`](crate::Error::Collective): another rank is gone, did not come in time, or is not reached.
    #[track_caller]
    pub fn join(joining: &Joining<'_>) -> Result<Option<Self>> {
        match joining.network().map(|network| Self::of(joining, &network)) {
            None => Ok(None),
            Some(Ok(mesh)) => {
                // Nobody goes on before all are connected.
                joining.gather(&[])?;
                Ok(Some(mesh))
            }
            Some(Err(error)) => Err(joining.error(error)),
        }
    }

    fn of(joining: &Joining<'_>, network: &Network) -> Result<Self, CollectiveError> {
        let (rank, ranks, limit) = (joining.rank(), joining.ranks(), joining.time_limit());
        let secret = Secret::new(&network.token);
        let (came, comes) = mpsc::channel();
        let enter = move |stream: &Arc<TcpStream>, hello: &[u8]| {
            let rank = Reader::new(hello).usize();
            if let (Ok(rank), Ok(stream)) = (rank, stream.try_clone()) {
                drop(came.send((rank, stream)));
            }
        };
        let system = |error: io::Error| ProcessError::system("listen for ranks", &error);
        let listener = network.listen().map_err(system)?;
        let door = Door::open(listener, secret.clone(), PURPOSE, Box::new(enter)).map_err(system)?;
        let all = joining.try_gather(&own_address(network, door.address().port()))?;
        let ends = Instant::now().checked_add(limit);
        let mut peers: Vec<Option<TcpStream>> = (0..ranks).map(|_| None).collect();
        for (other, bytes) in all.iter().enumerate().take(rank) {
            let broken = |reason: String| ProcessError::Connection { rank: other, reason };
            let address = their_address(network, bytes).map_err(|_| broken("it gave no address".into()))?;
            peers[other] = Some(loop {
                let error = match visit(address, &secret, rank) {
                    Ok(stream) => break stream,
                    Err(Failed::Refused) => "it has another key".into(),
                    Err(Failed::Broken(error)) => error.to_string(),
                };
                if let Some(error) = joining.broken() {
                    return Err(error);
                }
                if ends.is_some_and(|ends| Instant::now() >= ends) {
                    return Err(broken(format!("{address}: {error}")).into());
                }
                thread::sleep(LOOK);
            });
        }
        while let Some(missing) = (rank + 1..ranks).find(|&other| peers[other].is_none()) {
            match comes.recv_timeout(LOOK) {
                Ok((other, stream)) if other > rank && other < ranks => peers[other] = Some(stream),
                _ => {
                    if let Some(error) = joining.broken() {
                        return Err(error);
                    }
                    if ends.is_some_and(|ends| Instant::now() >= ends) {
                        let reason = "it did not connect in time".into();
                        return Err(ProcessError::Connection { rank: missing, reason }.into());
                    }
                }
            }
        }
        for (other, peer) in peers.iter().enumerate() {
            let broken =
                |error: io::Error| ProcessError::Connection { rank: other, reason: error.to_string() };
            let Some(peer) = peer else { continue };
            let limit = Some(limit.max(Duration::from_millis(1)));
            peer.set_nodelay(true).map_err(broken)?;
            peer.set_read_timeout(limit).map_err(broken)?;
            peer.set_write_timeout(limit).map_err(broken)?;
        }
        Ok(Self { rank, peers, time_limit: limit, aborted: Mutex::new(false), changed: Condvar::new() })
    }

    /// Sends bytes to other ranks and receives bytes of them, all at once. Blocks until all is done, unless no byte moves
    /// on a connection that is waited for, for as long as the time limit. The limit counts from the last byte, so a long
    /// exchange is in time; but a rank that is done waits for one that is busy with others, and that sends it nothing
    /// meanwhile. At most one entry a rank in each list; `number` is the same for all.
    ///
    /// # Errors
    ///
    /// The mesh was aborted, a rank is gone, or it did not come in time. The received bytes are anything; the mesh is over.
    pub fn exchange(
        &self,
        number: u64,
        sends: &[(usize, &[u8])],
        receives: &mut [(usize, &mut [u8])],
    ) -> Result<(), CollectiveError> {
        if *lock(&self.aborted) {
            return Err(CollectiveError::Aborted);
        }
        let first = Mutex::new(None);
        let is_done = |done: Result<(), (usize, io::Error)>| {
            let is_done = done.is_ok();
            if let Err(error) = done {
                lock(&first).get_or_insert(error);
                // Other threads wait for ranks that may be gone.
                self.cut();
            }
            is_done
        };
        let is_alone = receives.len() == 1;
        thread::scope(|scope| {
            let begin = |rank, begun: io::Result<_>| is_done(begun.map(drop).map_err(|error| (rank, error)));
            let is_begun = sends.iter().all(|&(rank, bytes)| {
                let send = move || is_done(self.send(number, rank, bytes));
                // A large one could fill the buffers of both sides, while both send.
                if bytes.len() <= SMALL_BYTES {
                    return send();
                }
                begin(rank, thread::Builder::new().spawn_scoped(scope, send))
            });
            let receive =
                |(rank, bytes): &mut (usize, &mut [u8])| is_done(self.receive(number, *rank, bytes));
            if !is_begun {
                return;
            }
            // The sender of a large one that is read after another would wait for that, too.
            let (small, large): (Vec<_>, Vec<_>) =
                receives.iter_mut().partition(|(_, bytes)| is_alone || bytes.len() <= SMALL_BYTES);
            let is_begun = large.into_iter().all(|one| {
                let rank = one.0;
                begin(rank, thread::Builder::new().spawn_scoped(scope, move || receive(one)))
            });
            if is_begun {
                small.into_iter().all(receive);
            }
        });
        match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((rank, error)) => Err(self.failed(rank, &error)),
        }
    }

    /// Ends it: exchanges fail, now and later. Does not block.
    pub fn abort(&self) {
        *lock(&self.aborted) = true;
        self.changed.notify_all();
        self.cut();
    }

    fn cut(&self) {
        for peer in self.peers.iter().flatten() {
            drop(peer.shutdown(Shutdown::Both));
        }
    }

    fn peer(&self, rank: usize) -> Result<&TcpStream, (usize, io::Error)> {
        let peer = self.peers.get(rank).and_then(Option::as_ref);
        peer.ok_or_else(|| (rank, io::ErrorKind::NotConnected.into()))
    }

    fn send(&self, number: u64, rank: usize, bytes: &[u8]) -> Result<(), (usize, io::Error)> {
        let mut peer = self.peer(rank)?;
        let mut head = [0; 16];
        head[..8].copy_from_slice(&number.to_le_bytes());
        head[8..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        let sent = if bytes.len() <= SMALL_BYTES {
            peer.write_all(&[&head[..], bytes].concat())
        } else {
            peer.write_all(&head).and_then(|()| peer.write_all(bytes))
        };
        sent.map_err(|error| (rank, error))
    }

    fn receive(&self, number: u64, rank: usize, bytes: &mut [u8]) -> Result<(), (usize, io::Error)> {
        let mut peer = self.peer(rank)?;
        let mut head = [0; 16];
        peer.read_exact(&mut head).map_err(|error| (rank, error))?;
        let mut reader = Reader::new(&head);
        if (reader.u64(), reader.usize()) != (Ok(number), Ok(bytes.len())) {
            return Err((rank, io::ErrorKind::InvalidData.into()));
        }
        peer.read_exact(bytes).map_err(|error| (rank, error))
    }

    /// The error of a connection that broke. A rank that is gone breaks its connections, and the process of rank 0 says
    /// so a little later: that is the better error.
    fn failed(&self, rank: usize, error: &io::Error) -> CollectiveError {
        self.cut();
        if super::frames::is_timeout(error) {
            let reason = format!("no byte moved for {:?}", self.time_limit);
            return ProcessError::Connection { rank, reason }.into();
        }
        let ends = Instant::now() + TOLD_LIMIT;
        let mut aborted = lock(&self.aborted);
        while !*aborted {
            let left = ends.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return ProcessError::Connection { rank, reason: error.to_string() }.into();
            }
            (aborted, _) = self.changed.wait_timeout(aborted, left).unwrap_or_else(PoisonError::into_inner);
        }
        CollectiveError::Aborted
    }
}

impl Network {
    /// Listens at the address of this machine, or at all of them if ranks are on several.
    fn listen(&self) -> io::Result<TcpListener> {
        if self.is_local {
            return TcpListener::bind((self.own_ip.unwrap_or(self.service_ip), 0));
        }
        // Where there is IPv6, it takes both kinds of addresses.
        let any = [(Ipv6Addr::UNSPECIFIED.into(), 0), (IpAddr::from(Ipv4Addr::UNSPECIFIED), 0)];
        TcpListener::bind(any.map(SocketAddr::from).as_slice())
    }
}

/// The address at which other ranks reach this one. A rank on the machine of rank 0 is where that is, which has an address
/// of its own for each machine.
fn own_address(network: &Network, port: u16) -> Vec<u8> {
    let mut to = Writer::default();
    to.u32(u32::from(port));
    if let Some(ip) = network.own_ip.filter(|ip| !ip.is_loopback()) {
        to.bytes(ip.to_string().as_bytes());
    }
    to.into_bytes()
}

fn their_address(network: &Network, bytes: &[u8]) -> Result<SocketAddr, Garbled> {
    let mut of = Reader::new(bytes);
    let port = u16::try_from(of.u32()?).map_err(|_| Garbled)?;
    if of.end().is_ok() {
        return Ok((network.service_ip, port).into());
    }
    let ip: IpAddr = of.text(64)?.parse().map_err(|_| Garbled)?;
    Ok((ip, port).into())
}

fn visit(address: SocketAddr, secret: &Secret, rank: usize) -> Result<TcpStream, Failed> {
    let stream = TcpStream::connect_timeout(&address, ATTEMPT)?;
    let mut hello = Writer::default();
    hello.usize(rank);
    handshake::visit(&stream, (secret, &PURPOSE), &hello.into_bytes(), Instant::now() + ATTEMPT)?;
    Ok(stream)
}

/// Open to the ranks of the communicator, and to nobody else.
impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mesh(rank {} of {})", self.rank, self.peers.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ends of a connection, with many bytes each way at once.
    fn pair(limit: Duration) -> [Mesh; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let other = listener.accept().unwrap().0;
        let mesh = |rank, peers: [Option<TcpStream>; 2]| {
            for peer in peers.iter().flatten() {
                peer.set_read_timeout(Some(limit)).unwrap();
                peer.set_write_timeout(Some(limit)).unwrap();
            }
            let (aborted, changed) = (Mutex::new(false), Condvar::new());
            Mesh { rank, peers: peers.into(), time_limit: limit, aborted, changed }
        };
        [mesh(0, [None, Some(one)]), mesh(1, [Some(other), None])]
    }

    #[test]
    fn both_send_more_than_connections_buffer() {
        let [one, other] = pair(Duration::from_secs(60));
        assert_eq!(format!("{one:?}"), "Mesh(rank 0 of 2)");
        let (len, ranks) = (20 << 20, [(&one, 1, 7_u8), (&other, 0, 9)]);
        thread::scope(|scope| {
            for (mesh, to, byte) in ranks {
                scope.spawn(move || {
                    for number in 0..3 {
                        let mut come = vec![0; len];
                        mesh.exchange(number, &[(to, &vec![byte; len])], &mut [(to, &mut come)]).unwrap();
                        assert!(come.iter().all(|&come| come == 16 - byte));
                    }
                });
            }
        });
    }

    #[test]
    fn the_time_limit_counts_from_the_last_byte() {
        let limit = Duration::from_millis(300);
        let [[one, slow], [two, fast]] = [pair(limit), pair(limit)];
        // Ranks 1 and 2 send to rank 0, the first of them byte by byte.
        let [mut one, mut two] = [one, two].map(|mesh| mesh.peers);
        let peers = vec![None, one[1].take(), two[1].take()];
        let mesh =
            Mesh { rank: 0, peers, time_limit: limit, aborted: Mutex::default(), changed: Condvar::new() };
        let [slowly, len] = [SMALL_BYTES + 30, 64 << 20];
        let (mut come, mut more) = (vec![0; slowly], vec![0; len]);
        thread::scope(|scope| {
            let sends = scope.spawn(|| fast.exchange(0, &[(0, &vec![7; len])], &mut []));
            scope.spawn(|| {
                let mut stream = slow.peers[0].as_ref().unwrap();
                let head = [0_u64, slowly as u64].map(u64::to_le_bytes).concat();
                stream.write_all(&[&head[..], &[9; SMALL_BYTES]].concat()).unwrap();
                // A write gives up only after a few limits, when all buffers are full.
                for _ in 0..30 {
                    thread::sleep(limit / 3);
                    stream.write_all(&[9]).unwrap();
                }
            });
            mesh.exchange(0, &[], &mut [(1, &mut come), (2, &mut more)]).unwrap();
            sends.join().unwrap().unwrap();
        });
        assert!(come.iter().all(|&come| come == 9) && more.iter().all(|&more| more == 7));
    }

    #[test]
    fn ranks_that_do_different_exchanges_are_told() {
        let [one, other] = pair(Duration::from_secs(60));
        other.exchange(1, &[(0, b"four")], &mut []).unwrap();
        let error = one.exchange(2, &[], &mut [(1, &mut [0; 4])]).unwrap_err();
        assert!(matches!(error, CollectiveError::Processes(_)), "{error}");
        assert!(one.exchange(3, &[(2, b"")], &mut []).is_err(), "no such rank, and it is over");
    }

    #[test]
    fn who_waits_is_woken_by_an_abort_or_by_the_time_limit() {
        let [one, other] = pair(Duration::from_secs(60));
        thread::scope(|scope| {
            let waits = scope.spawn(|| one.exchange(0, &[], &mut [(1, &mut [0])]));
            thread::sleep(Duration::from_millis(50));
            one.abort();
            assert_eq!(waits.join().unwrap(), Err(CollectiveError::Aborted));
        });
        assert_eq!(one.exchange(1, &[], &mut []), Err(CollectiveError::Aborted));
        drop(other);
        let [one, _other] = pair(Duration::from_millis(50));
        let error = one.exchange(0, &[], &mut [(1, &mut [0])]).unwrap_err().to_string();
        assert!(error.contains("no byte moved for 50ms"), "{error}");
    }
}
