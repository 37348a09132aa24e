//! Device memory as a file: `std::io` over bytes.

use std::io::{self, Read, Seek, SeekFrom, Write};

use super::{ByteView, ByteViewMut};
use crate::{Error, backend::Device, stream::StreamHandle};

/// Reads bytes of device memory. [`ByteView::reader`] returns it.
///
/// Each read is a copy that blocks: wrap it in a [`BufReader`](std::io::BufReader) for many small
/// ones. Reading at the end gives 0 bytes. Seeking past the end is an error, and changes nothing.
///
/// ```
/// use std::io::{BufRead, BufReader};
/// use devarray::{Array, Context};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let text = Array::from_slice(&stream, &[11], b"one\ntwo\nsix")?;
/// let lines: Vec<String> = BufReader::new(text.view().bytes()?.reader(&stream)).lines().collect::<Result<_, _>>()?;
/// assert_eq!(lines, ["one", "two", "six"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ByteReader<'a, D: Device> {
    bytes: ByteView<'a, D>,
    stream: StreamHandle<D>,
    position: usize,
}

/// Writes, and reads, bytes of device memory. [`ByteViewMut::writer`] returns it.
///
/// It is as long as the memory: writing at the end writes 0 bytes, so `write_all` past it is an
/// error. A write does not synchronize; [`flush`](Write::flush) waits for all. Seeking past the end
/// is an error, and changes nothing.
///
/// ```
/// use std::io::{Seek, SeekFrom, Write};
/// use devarray::{Array, Context};
///
/// let context = Context::new(devarray_mock::MockDevice::new())?;
/// let stream = context.stream()?;
/// let mut a = Array::<u8, _>::zeros(&stream, &[8])?;
/// let mut file = a.view_mut().bytes_mut()?.writer(&stream);
/// file.seek(SeekFrom::End(-3))?;
/// file.write_all(b"abc")?;
/// assert!(file.write_all(b"d").is_err());
/// file.flush()?;
/// assert_eq!(a.to_vec(&stream)?, b"\0\0\0\0\0abc");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ByteWriter<'a, D: Device> {
    bytes: ByteViewMut<'a, D>,
    stream: StreamHandle<D>,
    position: usize,
}

impl<'a, D: Device> ByteView<'a, D> {
    /// Reads the bytes from the start, as a file: for code that takes a [`Read`] or [`Seek`]. Does not
    /// synchronize: its reads do.
    #[must_use]
    #[track_caller]
    pub fn reader(self, stream: &StreamHandle<D>) -> ByteReader<'a, D> {
        ByteReader { bytes: self, stream: stream.clone(), position: 0 }
    }
}

impl<'a, D: Device> ByteViewMut<'a, D> {
    /// Writes the bytes from the start, as a file of fixed size: for code that takes a [`Write`], a
    /// [`Read`] or a [`Seek`]. Does not synchronize: its reads and `flush` do.
    #[must_use]
    #[track_caller]
    pub fn writer(self, stream: &StreamHandle<D>) -> ByteWriter<'a, D> {
        ByteWriter { bytes: self, stream: stream.clone(), position: 0 }
    }
}

impl<D: Device> Read for ByteReader<'_, D> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        read(&self.bytes, &self.stream, &mut self.position, into)
    }
}

impl<D: Device> Read for ByteWriter<'_, D> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        read(&self.bytes.as_view(), &self.stream, &mut self.position, into)
    }
}

#[track_caller]
fn read<D: Device>(
    bytes: &ByteView<'_, D>,
    stream: &StreamHandle<D>,
    position: &mut usize,
    into: &mut [u8],
) -> io::Result<usize> {
    let len_bytes = into.len().min(bytes.len() - *position);
    if len_bytes > 0 {
        bytes.copy_to_host(stream, *position, &mut into[..len_bytes]).map_err(in_io)?;
    }
    *position += len_bytes;
    Ok(len_bytes)
}

impl<D: Device> Write for ByteWriter<'_, D> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let len_bytes = from.len().min(self.bytes.len() - self.position);
        if len_bytes > 0 {
            self.bytes.copy_from_host(&self.stream, self.position, &from[..len_bytes]).map_err(in_io)?;
        }
        self.position += len_bytes;
        Ok(len_bytes)
    }

    /// Blocks until everything enqueued on the stream so far is finished.
    fn flush(&mut self) -> io::Result<()> {
        self.stream.synchronize().map_err(in_io)
    }
}

impl<D: Device> Seek for ByteReader<'_, D> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = seek(to, self.position, self.bytes.len())?;
        Ok(self.position as u64)
    }
}

impl<D: Device> Seek for ByteWriter<'_, D> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = seek(to, self.position, self.bytes.len())?;
        Ok(self.position as u64)
    }
}

/// The new position, if it is inside the bytes or at their end.
fn seek(to: SeekFrom, position: usize, len_bytes: usize) -> io::Result<usize> {
    let target = match to {
        SeekFrom::Start(at) => usize::try_from(at).ok(),
        SeekFrom::End(by) => isize::try_from(by).ok().and_then(|by| len_bytes.checked_add_signed(by)),
        SeekFrom::Current(by) => isize::try_from(by).ok().and_then(|by| position.checked_add_signed(by)),
    };
    let outside = || io::Error::new(io::ErrorKind::InvalidInput, "seek to outside of the device memory");
    target.filter(|&at| at <= len_bytes).ok_or_else(outside)
}

/// Wraps an error of the device in an error of `std::io`.
fn in_io(error: Error) -> io::Error {
    let kind = match error {
        Error::OutOfMemory { .. } => io::ErrorKind::OutOfMemory,
        Error::Layout(..) | Error::DeviceMismatch { .. } => io::ErrorKind::InvalidInput,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}
