//! The first words on a connection: both sides prove that they have the secret.
//!
//! The one that comes sends a random number, the one that is visited sends another. Each proves over both that it
//! has the secret, so what was once recorded proves nothing later. All is of fixed length but the *hello*, which
//! says who comes, and has at most [`MOST_HELLO`] bytes. All must be over by a given time, however slowly bytes come.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::{Duration, Instant},
};

use super::secret::{PROOF_BYTES, Secret, random};

/// Bytes by which a visitor says who it is.
pub(super) const MOST_HELLO: usize = 32;

/// The name and version of the words.
const MAGIC: [u8; 8] = *b"devarr\0\x01";
const NONCE_BYTES: usize = 32;
const WELCOME: u8 = 1;
const REFUSED: u8 = 0;

/// Why a visit failed.
#[derive(Debug)]
pub(super) enum Failed {
    /// The other side has another secret, or speaks of something else.
    Refused,
    /// The connection broke, or it took too long.
    Broken(io::Error),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// Visits: proves who one is, and that the other side may ask.
pub(super) fn visit(
    stream: &TcpStream,
    (secret, purpose): (&Secret, &[u8; 8]),
    hello: &[u8],
    ends: Instant,
) -> Result<(), Failed> {
    let own: [u8; NONCE_BYTES] = random().map_err(|_| Failed::Refused)?;
    write(stream, &[&MAGIC[..], purpose, &own].concat(), ends)?;
    let (magic, other): ([u8; 8], [u8; NONCE_BYTES]) = (read(stream, ends)?, read(stream, ends)?);
    if magic != MAGIC {
        return Err(Failed::Refused);
    }
    let len = u8::try_from(hello.len()).ok().filter(|_| hello.len() <= MOST_HELLO).ok_or(Failed::Refused)?;
    let proof = secret.proof(&[b"visitor", purpose, &own, &other, hello]);
    write(stream, &[&[len][..], hello, &proof].concat(), ends)?;
    let [answer] = read(stream, ends)?;
    if answer != WELCOME {
        return Err(Failed::Refused);
    }
    let proof: [u8; PROOF_BYTES] = read(stream, ends)?;
    if secret.accepts(&[b"visited", purpose, &own, &other, hello], &proof) {
        Ok(())
    } else {
        Err(Failed::Refused)
    }
}

/// Is visited. Returns the hello of who has the secret. `come_in` gives it its place before it is told to come in, and may
/// still send it away.
pub(super) fn receive(
    stream: &TcpStream,
    (secret, purpose): (&Secret, &[u8; 8]),
    ends: Instant,
    come_in: impl FnOnce() -> bool,
) -> Result<Vec<u8>, Failed> {
    let (magic, asked): ([u8; 8], [u8; 8]) = (read(stream, ends)?, read(stream, ends)?);
    if magic != MAGIC || asked != *purpose {
        return Err(Failed::Refused);
    }
    let other: [u8; NONCE_BYTES] = read(stream, ends)?;
    let own: [u8; NONCE_BYTES] = random().map_err(|_| Failed::Refused)?;
    write(stream, &[&MAGIC[..], &own].concat(), ends)?;
    let [len] = read(stream, ends)?;
    let mut hello = vec![0; usize::from(len)];
    if hello.len() > MOST_HELLO {
        return Err(Failed::Refused);
    }
    read_into(stream, &mut hello, ends)?;
    let proof: [u8; PROOF_BYTES] = read(stream, ends)?;
    if !secret.accepts(&[b"visitor", purpose, &other, &own, &hello], &proof) {
        write(stream, &[REFUSED], ends)?;
        return Err(Failed::Refused);
    }
    if !come_in() {
        return Err(Failed::Broken(ErrorKind::ConnectionAborted.into()));
    }
    let proof = secret.proof(&[b"visited", purpose, &other, &own, &hello]);
    write(stream, &[&[WELCOME][..], &proof].concat(), ends)?;
    Ok(hello)
}

fn read<const N: usize>(stream: &TcpStream, ends: Instant) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    read_into(stream, &mut bytes, ends)?;
    Ok(bytes)
}

fn read_into(mut stream: &TcpStream, mut bytes: &mut [u8], ends: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_read_timeout(Some(left(ends)?))?;
        match stream.read(bytes) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => bytes = &mut bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write(mut stream: &TcpStream, bytes: &[u8], ends: Instant) -> io::Result<()> {
    stream.set_write_timeout(Some(left(ends)?))?;
    stream.write_all(bytes)
}

fn left(ends: Instant) -> io::Result<Duration> {
    let left = ends.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, thread};

    use super::*;

    const PURPOSE: [u8; 8] = *b"testing.";

    type Met = (Result<(), Failed>, Result<Vec<u8>, Failed>);

    fn meet(one: &Secret, other: &Secret, purpose: [u8; 8]) -> Met {
        meet_at(one, other, purpose, true)
    }

    /// The visited has a place, or none.
    fn meet_at(one: &Secret, other: &Secret, purpose: [u8; 8], has_place: bool) -> Met {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ends = Instant::now() + Duration::from_secs(20);
        let visitor = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let visited = listener.accept().unwrap().0;
        thread::scope(|scope| {
            // Moved, so that the connection ends with the answer.
            let answer = scope.spawn(move || receive(&visited, (other, &PURPOSE), ends, || has_place));
            (visit(&visitor, (one, &purpose), b"rank", ends), answer.join().unwrap())
        })
    }

    #[test]
    fn who_has_the_secret_comes_in() {
        let (visitor, visited) = meet(&Secret::new(b"same"), &Secret::new(b"same"), PURPOSE);
        visitor.unwrap();
        assert_eq!(visited.unwrap(), b"rank");
    }

    #[test]
    fn who_finds_no_place_may_come_again() {
        let met = meet_at(&Secret::new(b"same"), &Secret::new(b"same"), PURPOSE, false);
        assert!(matches!(met, (Err(Failed::Broken(_)), Err(Failed::Broken(_)))), "{met:?}");
    }

    #[test]
    fn who_has_another_secret_or_errand_does_not() {
        let (visitor, visited) = meet(&Secret::new(b"wrong"), &Secret::new(b"right"), PURPOSE);
        assert!(matches!((visitor, visited), (Err(Failed::Refused), Err(Failed::Refused))));
        let (visitor, visited) = meet(&Secret::new(b"same"), &Secret::new(b"same"), *b"other...");
        assert!(matches!((visitor, visited), (Err(_), Err(Failed::Refused))));
    }

    #[test]
    fn who_is_slow_is_sent_away() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut visitor = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let visited = listener.accept().unwrap().0;
        let begun = Instant::now();
        let slow = thread::spawn(move || {
            // One byte at a time: no single read takes long.
            while visitor.write_all(&MAGIC[..1]).is_ok() && begun.elapsed() < Duration::from_secs(10) {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let ends = begun + Duration::from_millis(200);
        assert!(receive(&visited, (&Secret::open(), &PURPOSE), ends, || true).is_err());
        assert!(begun.elapsed() < Duration::from_secs(5));
        drop(visited);
        slow.join().unwrap();
    }
}
