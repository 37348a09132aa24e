//! Reading a whole file.

use std::io::Read;

use super::{Header, NpyError};

/// Bytes read between two reports of progress.
const CHUNK_BYTES: usize = 8 << 20;

/// Reads an array file to its end: the header, and the elements in the order it says.
///
/// `file_bytes` is the length of the file where that is known; a header that promises more is then refused before any
/// memory is taken for it. Where it is unknown, memory grows with what was read. `progress` hears of bytes done.
///
/// # Errors
///
/// As [`NpyError`] lists them.
pub fn read(
    reader: &mut impl Read,
    file_bytes: Option<u64>,
    mut progress: impl FnMut(usize),
) -> Result<(Header, Vec<u8>), NpyError> {
    let mut counted = Counted { reader, bytes: 0 };
    let header = Header::read(&mut counted)?;
    let expected = header.len_bytes()?;
    let mut elements = Vec::new();
    if let Some(file_bytes) = file_bytes {
        let found = usize::try_from(file_bytes.saturating_sub(counted.bytes)).unwrap_or(usize::MAX);
        if found < expected {
            return Err(NpyError::Truncated { expected, found });
        }
        elements.try_reserve_exact(expected).map_err(|_| NpyError::NoMemory { len_bytes: expected })?;
    }
    while elements.len() < expected {
        let chunk = CHUNK_BYTES.min(expected - elements.len());
        elements.try_reserve(chunk).map_err(|_| NpyError::NoMemory { len_bytes: expected })?;
        let read = reader.take(chunk as u64).read_to_end(&mut elements)?;
        if read == 0 {
            return Err(NpyError::Truncated { expected, found: elements.len() });
        }
        progress(elements.len());
    }
    if reader.take(1).read_to_end(&mut Vec::new())? > 0 {
        return Err(NpyError::TooLong { expected });
    }
    Ok((header, elements))
}

/// A reader that knows how far it came.
struct Counted<'a, R> {
    reader: &'a mut R,
    bytes: u64,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}
