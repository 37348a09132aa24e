//! Reads a file, and uploads it to the device in pieces.

use std::{
    fs::File,
    io::{self, Write as _},
    path::Path,
    time::Duration,
};

use anyhow::Result;
use devarray::{
    Device, ErasedArray, StreamHandle,
    npy::{NpyError, NpyReader},
};

use super::Stage;
use crate::{limits, output::Progress};

/// Opens an array file, and reads its header.
pub(in crate::commands) fn open(path: &Path) -> Result<NpyReader<File>, NpyError> {
    let file = NpyReader::open(path)?;
    limits::check_axes(file.header().shape.len()).map_err(|error| NpyError::Header(error.to_string()))?;
    Ok(file)
}

/// Reads all elements, and uploads them to the device in the order of the file.
///
/// The device memory is allocated first. That limits how much is read from a pipe, whose length
/// nothing guarantees. If more arrays follow in the file, the first one is read, like in
/// `numpy.load`, and standard error says so.
pub(in crate::commands) fn upload<D: Device>(
    mut file: NpyReader<File>,
    path: &Path,
    stream: &StreamHandle<D>,
    (read, upload): (&mut Stage, &mut Stage),
    is_quiet: bool,
) -> Result<ErasedArray<D>> {
    let (item_bytes, order, len_bytes) = (file.header().item_bytes, file.header().order, file.len_bytes());
    let progress = Progress::new("read", len_bytes as u64, is_quiet);
    let create = || ErasedArray::uninit_in(stream, &file.header().shape, item_bytes, order);
    let mut array = upload.time(0, create)?;
    let mut start = 0;
    while let Some(bytes) = read.time(0, || file.next_piece())? {
        read.lasted(Duration::ZERO, bytes.len());
        let end = start + bytes.len() / item_bytes;
        progress.at(end * item_bytes);
        upload.time(bytes.len(), || {
            array.view_mut().ravel(order)?.slice_axis(0, start..end)?.copy_from_bytes(stream, bytes)
        })?;
        start = end;
    }
    if file.finish()? && !is_quiet {
        // The reader of the result does not need this line, so errors are ignored.
        let _ = writeln!(io::stderr(), "{}: the first of several arrays is read", path.display());
    }
    Ok(array)
}
