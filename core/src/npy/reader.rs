//! Reads the elements of a file as bytes, in pieces.

use std::{
    fmt,
    fs::File,
    io::{ErrorKind, Read, Seek, SeekFrom},
    path::Path,
};

use super::{Header, NpyError, write::MAGIC};

/// The most bytes on the host at a time, unless one element is larger.
pub(super) const PIECE_BYTES: usize = 8 << 20;

/// The number of elements in a piece; at least one.
pub(super) fn piece_len(item_bytes: usize) -> usize {
    (PIECE_BYTES / item_bytes).max(1)
}

/// Reads an array file of any element type in pieces: first the header, then the elements as bytes,
/// as they are in the file.
///
/// Host memory holds one piece of 8 MiB, or one element if that is larger.
///
/// A file may hold several arrays, one after the other, as `numpy.save` writes them into one open
/// file. This reads the first, as `numpy.load` does; [`finish`](Self::finish) says whether another
/// follows. Anything else after the elements is an error.
///
/// ```
/// use devarray::{HostArray, npy::{self, NpyReader}};
///
/// let mut file = Vec::new();
/// npy::write(&mut file, &HostArray::new(&[3], vec![1_u16, 2, 3])?)?;
///
/// let mut reader = NpyReader::new(&file[..])?;
/// assert_eq!((&reader.header().descr[..], &reader.header().shape[..]), ("'<u2'", &[3][..]));
/// let mut bytes = Vec::new();
/// while let Some(piece) = reader.next_piece()? {
///     bytes.extend_from_slice(piece);
/// }
/// assert!(!reader.finish()?);
/// assert_eq!(bytes, [1, 0, 2, 0, 3, 0]);
/// # Ok::<(), npy::NpyError>(())
/// ```
pub struct NpyReader<R> {
    reader: R,
    header: Header,
    len_bytes: usize,
    read_bytes: usize,
    piece: Vec<u8>,
}

impl NpyReader<File> {
    /// Opens a file and reads its header. A file that is shorter or longer than the header says is
    /// refused here, before an element is read, unless another array follows. Files without a
    /// length, such as pipes, are refused only when that shows.
    ///
    /// # Errors
    ///
    /// [`NpyError::Io`], [`NpyError::Truncated`], [`NpyError::TooLong`], and the errors of
    /// [`new`](Self::new).
    #[track_caller]
    pub fn open(path: impl AsRef<Path>) -> Result<Self, NpyError> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let mut opened = Self::new(file)?;
        if metadata.is_file() {
            let found = metadata.len().saturating_sub(opened.reader.stream_position()?);
            let found = usize::try_from(found).unwrap_or(usize::MAX);
            let expected = opened.len_bytes;
            if found < expected {
                return Err(NpyError::Truncated { expected, found });
            }
            if found > expected {
                let start = opened.reader.stream_position()?;
                opened.reader.seek(SeekFrom::Start(start.saturating_add(expected as u64)))?;
                opened.check_rest()?;
                opened.reader.seek(SeekFrom::Start(start))?;
            }
        }
        Ok(opened)
    }
}

impl<R: Read> NpyReader<R> {
    /// Reads only the header.
    ///
    /// # Errors
    ///
    /// The errors of [`Header::read`] and [`Header::len_bytes`].
    #[track_caller]
    pub fn new(mut reader: R) -> Result<Self, NpyError> {
        let header = Header::read(&mut reader)?;
        let len_bytes = header.len_bytes()?;
        Ok(Self { reader, header, len_bytes, read_bytes: 0, piece: Vec::new() })
    }

    /// The header of the file.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes of all elements.
    #[must_use]
    pub fn len_bytes(&self) -> usize {
        self.len_bytes
    }

    /// Reads the next elements: whole ones, as many as fit a piece. Returns `None` after the last.
    /// The caller may change the bytes.
    ///
    /// After an error the reader must not be used again.
    ///
    /// # Errors
    ///
    /// - [`NpyError::Truncated`]: the file ends before its last element.
    /// - [`NpyError::NoMemory`], [`NpyError::Io`].
    #[track_caller]
    pub fn next_piece(&mut self) -> Result<Option<&mut [u8]>, NpyError> {
        let item_bytes = self.header.item_bytes;
        let due = (piece_len(item_bytes) * item_bytes).min(self.len_bytes - self.read_bytes);
        let mut filled = 0;
        while filled < due {
            // An element may be large, so memory grows only with the data that is there.
            let end = due.min(filled + PIECE_BYTES);
            if self.piece.len() < end {
                let more = self.piece.try_reserve(end - self.piece.len());
                more.map_err(|_| NpyError::NoMemory { len_bytes: due })?;
                self.piece.resize(end, 0);
            }
            match self.reader.read(&mut self.piece[filled..end]) {
                Ok(0) => {
                    let found = self.read_bytes + filled;
                    return Err(NpyError::Truncated { expected: self.len_bytes, found });
                }
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.read_bytes += due;
        Ok(if due == 0 { None } else { Some(&mut self.piece[..due]) })
    }

    /// Reads the rest, and checks that the file ends after its last element, or that another array
    /// follows. Returns whether one follows; some bytes of its header have been read then.
    ///
    /// # Errors
    ///
    /// [`NpyError::TooLong`], and the errors of [`next_piece`](Self::next_piece).
    #[track_caller]
    pub fn finish(mut self) -> Result<bool, NpyError> {
        while self.next_piece()?.is_some() {}
        self.check_rest()
    }

    /// Whether another array follows. The reader is at the end of the elements.
    fn check_rest(&mut self) -> Result<bool, NpyError> {
        let mut rest = Vec::new();
        self.reader.by_ref().take(MAGIC.len() as u64).read_to_end(&mut rest)?;
        match &rest[..] {
            [] => Ok(false),
            rest if rest == MAGIC => Ok(true),
            _ => Err(NpyError::TooLong { expected: self.len_bytes }),
        }
    }
}

impl<R> fmt::Debug for NpyReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NpyReader")
            .field("header", &self.header)
            .field("read_bytes", &self.read_bytes)
            .finish_non_exhaustive()
    }
}
