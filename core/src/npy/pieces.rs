//! The elements of a file, some at a time.

use std::io::Read;

use super::{Header, NpyError, element::Words};

/// Bytes on the host at a time.
pub(super) const PIECE_BYTES: usize = 8 << 20;

/// Elements that fit a piece; at least one.
pub(super) fn piece_len(item_bytes: usize) -> usize {
    (PIECE_BYTES / item_bytes).max(1)
}

/// The elements after a header, read in order.
pub(super) struct Pieces<'a, R: ?Sized> {
    reader: &'a mut R,
    item_bytes: usize,
    words: Words,
    expected: usize,
    found: usize,
}

impl<'a, R: Read + ?Sized> Pieces<'a, R> {
    pub(super) fn new(reader: &'a mut R, header: &Header, words: Words) -> Result<Self, NpyError> {
        let expected = header.len_bytes()?;
        Ok(Self { reader, item_bytes: header.item_bytes, words, expected, found: 0 })
    }

    /// Appends the next elements to `bytes`, at most a piece; false if there are no more. The memory they need was read.
    pub(super) fn append_to(&mut self, bytes: &mut Vec<u8>) -> Result<bool, NpyError> {
        if self.found == self.expected {
            return Ok(false);
        }
        let piece = (piece_len(self.item_bytes) * self.item_bytes).min(self.expected - self.found);
        let start = bytes.len();
        while bytes.len() - start < piece {
            let left = piece - (bytes.len() - start);
            // An element may be large; what is not there takes no memory.
            let most = left.min(PIECE_BYTES);
            bytes.try_reserve(most).map_err(|_| NpyError::NoMemory { len_bytes: self.expected })?;
            let read = self.reader.take(most as u64).read_to_end(bytes)?;
            if read < most {
                let found = self.found + (bytes.len() - start);
                return Err(NpyError::Truncated { expected: self.expected, found });
            }
        }
        self.words.settle(&mut bytes[start..]);
        self.found += piece;
        Ok(true)
    }
}
