//! The elements of a file as bytes, in pieces.

use std::{
    fmt,
    fs::File,
    io::{ErrorKind, Read, Seek, SeekFrom},
    path::Path,
};

use super::{Header, NpyError, write::MAGIC};

/// Bytes on the host at a time, if one element is not larger.
pub(super) const PIECE_BYTES: usize = 8 << 20;

/// Elements that fit a piece; at least one.
pub(super) fn piece_len(item_bytes: usize) -> usize {
    (PIECE_BYTES / item_bytes).max(1)
}

/// An array file of any element type, read in pieces: first the header, then the elements as bytes,
/// as they lie in the file.
///
/// Host memory holds one piece of 8 MiB, or one element if that is larger.
///
/// A file may hold several arrays, one behind the other, as `numpy.save` writes them into one open
/// file. This reads the first, as `numpy.load` does; [`finish`](Self::finish) says whether another
/// follows. Anything else behind the elements is an error.
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
    /// refused here, before an element is read, unless another array follows; only files without a
    /// length, such as pipes, show that later.
    ///
    /// # Errors
    ///
    /// [`NpyError::Io`], [`NpyError::Truncated`], [`NpyError::TooLong`], and as [`new`](Self::new).
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
    /// Reads the header, and no further.
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

    /// Reads the next elements: whole ones, as many as fit a piece; `None` after the last. The
    /// bytes are the caller's to change.
    ///
    /// After an error the reader is of no further use.
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
            // An element may be large; missing data must take no memory.
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

    /// Reads the rest, and makes sure that the file ends with its last element, or that another
    /// array follows: the answer is whether one does. Some bytes of its header are read then.
    ///
    /// # Errors
    ///
    /// [`NpyError::TooLong`], and as [`next_piece`](Self::next_piece).
    #[track_caller]
    pub fn finish(mut self) -> Result<bool, NpyError> {
        while self.next_piece()?.is_some() {}
        self.check_rest()
    }

    /// Whether another array follows the elements, behind which the reader is.
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
