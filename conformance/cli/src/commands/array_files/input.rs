//! The file that is read, and its way to the device in pieces.

use std::{fs::File, ops::Range, path::Path};

use anyhow::Result;
use devarray::{Device, ErasedArray, Order, StreamHandle};

use super::Stage;
use crate::{
    npy::{ArrayReader, Header, NpyError},
    output::Progress,
};

/// Bytes of a piece, if an element is not larger: a transfer and a write of them cost next to nothing to begin.
const PIECE_BYTES: usize = 8 << 20;

/// An array file whose header was read.
pub(in crate::commands) struct Input {
    file: ArrayReader<File>,
    /// Whether all elements are known to be there.
    is_whole: bool,
}

impl Input {
    pub(in crate::commands) fn open(path: &Path) -> Result<Self, NpyError> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        let is_whole = metadata.is_file();
        Ok(Self { file: ArrayReader::open(file, is_whole.then_some(metadata.len()))?, is_whole })
    }

    pub(in crate::commands) fn header(&self) -> &Header {
        self.file.header()
    }

    /// Reads all elements, and brings them to the device as they lie in the file.
    ///
    /// From a file of known length they go piece by piece, and no host memory holds more than one. What may end early, as a pipe may, is read
    /// to its end first: nothing vouches for the size that its header promises.
    pub(in crate::commands) fn upload<D: Device>(
        mut self,
        stream: &StreamHandle<D>,
        (read, upload): (&mut Stage, &mut Stage),
        is_quiet: bool,
    ) -> Result<ErasedArray<D>> {
        let Header { item_bytes, order, shape, .. } = self.file.header().clone();
        let len_bytes = self.file.len_bytes();
        let progress = Progress::new("read", len_bytes as u64, is_quiet);
        if !self.is_whole {
            let elements =
                read.time(len_bytes, || self.file.read_rest(|done_bytes| progress.at(done_bytes)))?;
            self.file.finish()?;
            let mut array = ErasedArray::uninit_in(stream, &shape, item_bytes, order)?;
            for piece in pieces(len_bytes / item_bytes, item_bytes) {
                let bytes = &elements[piece.start * item_bytes..piece.end * item_bytes];
                upload.time(bytes.len(), || put(&mut array, order, piece, stream, bytes))?;
            }
            return Ok(array);
        }
        let mut buffer = piece_buffer(len_bytes, item_bytes)?;
        let mut array = upload.time(0, || ErasedArray::uninit_in(stream, &shape, item_bytes, order))?;
        for piece in pieces(len_bytes / item_bytes, item_bytes) {
            let bytes = &mut buffer[..piece.len() * item_bytes];
            read.time(bytes.len(), || self.file.read_piece(bytes))?;
            progress.at(piece.end * item_bytes);
            upload.time(bytes.len(), || put(&mut array, order, piece, stream, bytes))?;
        }
        self.file.finish()?;
        Ok(array)
    }
}

/// Copies host bytes to some elements of a dense array, counted as they lie.
fn put<D: Device>(
    array: &mut ErasedArray<D>,
    order: Order,
    elements: Range<usize>,
    stream: &StreamHandle<D>,
    bytes: &[u8],
) -> devarray::Result<()> {
    array.view_mut().ravel(order)?.slice_axis(0, elements)?.copy_from_bytes(stream, bytes)
}

/// So many elements in pieces.
pub(in crate::commands) fn pieces(len: usize, item_bytes: usize) -> impl Iterator<Item = Range<usize>> {
    let each = (PIECE_BYTES / item_bytes).max(1);
    (0..len).step_by(each).map(move |start| start..len.min(start.saturating_add(each)))
}

/// Room for the largest piece.
pub(in crate::commands) fn piece_buffer(len_bytes: usize, item_bytes: usize) -> Result<Vec<u8>, NpyError> {
    let len_bytes = len_bytes.min(PIECE_BYTES.max(item_bytes));
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(len_bytes).map_err(|_| NpyError::NoMemory { len_bytes })?;
    buffer.resize(len_bytes, 0);
    Ok(buffer)
}
