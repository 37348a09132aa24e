//! Reading an array file in pieces, or whole.

use std::io::Read;

use super::{Header, NpyError};

/// Bytes read between two reports of progress.
const CHUNK_BYTES: usize = 8 << 20;

/// An array file whose header was read: the elements follow, in pieces as large as the caller likes.
#[derive(Debug)]
pub struct ArrayReader<R> {
    reader: R,
    header: Header,
    expected: usize,
    found: usize,
}

impl<R: Read> ArrayReader<R> {
    /// Reads the header.
    ///
    /// `file_bytes` is the length of the file where that is known; a header that promises more or less is then refused before any element
    /// is read.
    ///
    /// # Errors
    ///
    /// As [`NpyError`] lists them.
    pub fn open(reader: R, file_bytes: Option<u64>) -> Result<Self, NpyError> {
        let mut counted = Counted { reader, bytes: 0 };
        let header = Header::read(&mut counted)?;
        let expected = header.len_bytes()?;
        if let Some(file_bytes) = file_bytes {
            let found = usize::try_from(file_bytes.saturating_sub(counted.bytes)).unwrap_or(usize::MAX);
            if found < expected {
                return Err(NpyError::Truncated { expected, found });
            }
            if found > expected {
                return Err(NpyError::TooLong { expected });
            }
        }
        Ok(Self { reader: counted.reader, header, expected, found: 0 })
    }

    /// What the file says of its elements.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes of all elements.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.expected
    }

    /// Reads the next bytes of the elements, as many as `piece` holds.
    ///
    /// # Errors
    ///
    /// The file ends before, or cannot be read.
    pub fn read_piece(&mut self, piece: &mut [u8]) -> Result<(), NpyError> {
        let mut done = 0;
        while done < piece.len() {
            match self.reader.read(&mut piece[done..]) {
                Ok(0) => return Err(NpyError::Truncated { expected: self.expected, found: self.found }),
                Ok(read) => (done, self.found) = (done + read, self.found + read),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads all elements that are left. Memory grows with what was read. `progress` hears of bytes done.
    ///
    /// # Errors
    ///
    /// As [`read_piece`](Self::read_piece), and no memory.
    pub fn read_rest(&mut self, mut progress: impl FnMut(usize)) -> Result<Vec<u8>, NpyError> {
        let mut elements = Vec::new();
        while self.found < self.expected {
            let chunk = CHUNK_BYTES.min(self.expected - self.found);
            elements.try_reserve(chunk).map_err(|_| NpyError::NoMemory { len_bytes: self.expected })?;
            let read = self.reader.by_ref().take(chunk as u64).read_to_end(&mut elements)?;
            if read == 0 {
                return Err(NpyError::Truncated { expected: self.expected, found: self.found });
            }
            self.found += read;
            progress(self.found);
        }
        Ok(elements)
    }

    /// Makes sure that nothing follows the elements, all of which were read.
    ///
    /// # Errors
    ///
    /// The file goes on, or cannot be read.
    pub fn finish(mut self) -> Result<(), NpyError> {
        if self.reader.by_ref().take(1).read_to_end(&mut Vec::new())? > 0 {
            return Err(NpyError::TooLong { expected: self.expected });
        }
        Ok(())
    }
}

/// A reader that knows how far it came.
struct Counted<R> {
    reader: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// Reads an array file to its end: the header, and the elements in the order it says.
///
/// `file_bytes` as for [`ArrayReader::open`]; `progress` hears of bytes done.
///
/// # Errors
///
/// As [`NpyError`] lists them.
pub fn read(
    reader: &mut impl Read,
    file_bytes: Option<u64>,
    progress: impl FnMut(usize),
) -> Result<(Header, Vec<u8>), NpyError> {
    let mut file = ArrayReader::open(reader, file_bytes)?;
    let header = file.header().clone();
    let elements = file.read_rest(progress)?;
    file.finish()?;
    Ok((header, elements))
}
