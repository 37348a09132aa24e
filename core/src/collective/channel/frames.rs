//! Messages on a connection: each behind its length, which is limited.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
};

/// Bytes that are read at a time.
const CHUNK: usize = 16 << 10;

/// The messages that come in on a connection.
pub(super) struct Frames {
    stream: Arc<TcpStream>,
    /// Bytes of a message.
    most: usize,
    come: Vec<u8>,
}

impl Frames {
    pub(super) fn new(stream: Arc<TcpStream>, most: usize) -> Self {
        Self { stream, most, come: Vec::new() }
    }

    /// Lets messages be as long as this from now on.
    pub(super) fn allow(&mut self, most: usize) {
        self.most = most;
    }

    /// The next message; none if the read timed out before it was complete. Its bytes are kept.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut chunk = [0; CHUNK];
        loop {
            if let Some(frame) = self.complete()? {
                return Ok(Some(frame));
            }
            match (&*self.stream).read(&mut chunk) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                // Memory grows with what has come, never with what a length promises.
                Ok(count) => self.come.extend_from_slice(&chunk[..count]),
                Err(error) if is_timeout(&error) => return Ok(None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn complete(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some((&len, rest)) = self.come.split_first_chunk() else { return Ok(None) };
        let len = usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX);
        if len == 0 || len > self.most {
            return Err(ErrorKind::InvalidData.into());
        }
        let Some(frame) = rest.get(..len).map(<[u8]>::to_vec) else { return Ok(None) };
        self.come.drain(..size_of::<u32>() + len);
        Ok(Some(frame))
    }
}

/// Sends a message. It blocks up to the write timeout of the connection.
pub(super) fn send(mut stream: &TcpStream, frame: &[u8]) -> io::Result<()> {
    let len = u32::try_from(frame.len()).map_err(|_| io::Error::from(ErrorKind::InvalidInput))?;
    // In one piece, so that it is one packet.
    let bytes: Vec<u8> = len.to_le_bytes().into_iter().chain(frame.iter().copied()).collect();
    stream.write_all(&bytes)
}

/// Whether the time of a read or write ran out.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, time::Duration};

    use super::*;

    fn pair() -> (TcpStream, Arc<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, Arc::new(listener.accept().unwrap().0))
    }

    #[test]
    fn a_message_may_come_in_pieces() {
        let (mut one, other) = pair();
        other.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let mut frames = Frames::new(other, 100);
        one.write_all(&[3, 0, 0, 0, 7]).unwrap();
        assert_eq!(frames.next().unwrap(), None);
        one.write_all(&[8, 9]).unwrap();
        send(&one, &[1]).unwrap();
        assert_eq!(frames.next().unwrap(), Some(vec![7, 8, 9]));
        assert_eq!(frames.next().unwrap(), Some(vec![1]));
        drop(one);
        assert_eq!(frames.next().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_giant_length_is_refused_before_memory_is_taken() {
        let (mut one, other) = pair();
        let mut frames = Frames::new(other, 100);
        one.write_all(&u32::MAX.to_le_bytes()).unwrap();
        assert_eq!(frames.next().unwrap_err().kind(), ErrorKind::InvalidData);
        assert!(frames.come.capacity() <= CHUNK);
    }
}
