//! NumPy's archives: zip files that contain array files, stored or deflated. Needs the feature
//! `npz`.

use std::{
    fmt,
    io::{Read, Seek, Write},
};

use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::{NpyElement, NpyError, NpyReader, device::read_array_from, host::read_from, write, write_array};
use crate::{Array, HostArray, array::AsArrayView, backend::Device, stream::StreamHandle};

/// The file name of an array in the archive ends with this.
const ENDING: &str = ".npy";

/// Reads an archive.
///
/// ```
/// use std::io::Cursor;
///
/// use devarray::{HostArray, npy::npz::{NpzReader, NpzWriter}};
///
/// let mut archive = NpzWriter::compressed(Cursor::new(Vec::new()));
/// archive.write("weights", &HostArray::new(&[2], vec![0.5_f32, 2.0])?)?;
/// archive.write("counts", &HostArray::new(&[], vec![7_u64])?)?;
/// let file = archive.finish()?;
///
/// let mut archive = NpzReader::new(file)?;
/// assert_eq!(archive.names(), ["weights", "counts"]);
/// assert_eq!(archive.read::<f32>("weights")?.as_slice(), [0.5, 2.0]);
/// # Ok::<(), devarray::npy::NpyError>(())
/// ```
pub struct NpzReader<R> {
    archive: ZipArchive<R>,
}

impl<R: Read + Seek> NpzReader<R> {
    /// Opens an archive and reads its table.
    ///
    /// # Errors
    ///
    /// [`NpyError::Archive`], [`NpyError::Io`]: it is not a zip file, or cannot be read.
    #[track_caller]
    pub fn new(reader: R) -> Result<Self, NpyError> {
        Ok(Self { archive: ZipArchive::new(reader).map_err(refused)? })
    }

    /// The names of the arrays, in the order of the table.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let files = self.archive.file_names().flatten();
        files.filter_map(|file| file.strip_suffix(ENDING).map(str::to_owned)).collect()
    }

    /// Reads an array to the host, like [`npy::read`](fn@super::read). The checksum is compared.
    ///
    /// # Errors
    ///
    /// [`NpyError::NoArray`], and the errors of [`npy::read`](fn@super::read).
    #[track_caller]
    pub fn read<T: NpyElement>(&mut self, name: &str) -> Result<HostArray<T>, NpyError> {
        let mut file = NpyReader::new(self.open(name)?)?;
        let array = read_from(&mut file)?;
        file.finish()?;
        Ok(array)
    }

    /// Reads an array to a device, like [`npy::read_array`](super::read_array). The checksum is
    /// compared.
    ///
    /// # Errors
    ///
    /// [`NpyError::NoArray`], and the errors of [`npy::read_array`](super::read_array).
    #[track_caller]
    pub fn read_array<T: NpyElement, D: Device>(
        &mut self,
        stream: &StreamHandle<D>,
        name: &str,
    ) -> Result<Array<T, D>, NpyError> {
        let mut file = NpyReader::new(self.open(name)?)?;
        let array = read_array_from(stream, &mut file)?;
        file.finish()?;
        Ok(array)
    }

    /// Reads the file of a named array as bytes, header first, for [`NpyReader`].
    ///
    /// # Errors
    ///
    /// [`NpyError::NoArray`], [`NpyError::Archive`], [`NpyError::Io`].
    #[track_caller]
    pub fn open(&mut self, name: &str) -> Result<impl Read + '_, NpyError> {
        match self.archive.by_name(&format!("{name}{ENDING}")) {
            Err(ZipError::FileNotFound) => Err(NpyError::NoArray(name.to_owned())),
            file => file.map_err(refused),
        }
    }
}

impl<R> fmt::Debug for NpzReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NpzReader").finish_non_exhaustive()
    }
}

/// Writes an archive. [`finish`](Self::finish) completes it.
pub struct NpzWriter<W: Write + Seek> {
    archive: ZipWriter<W>,
    method: CompressionMethod,
}

impl<W: Write + Seek> NpzWriter<W> {
    /// Begins an archive of stored arrays, like `numpy.savez`.
    #[doc(alias = "savez")]
    #[must_use]
    pub fn new(writer: W) -> Self {
        Self { archive: ZipWriter::new(writer), method: CompressionMethod::Stored }
    }

    /// Begins an archive of compressed arrays, like `numpy.savez_compressed`.
    #[doc(alias = "savez_compressed")]
    #[must_use]
    pub fn compressed(writer: W) -> Self {
        Self { archive: ZipWriter::new(writer), method: CompressionMethod::Deflated }
    }

    /// Adds an array from the host.
    ///
    /// # Errors
    ///
    /// - [`NpyError::Archive`]: the archive has an array of this name already.
    /// - The errors of [`npy::write`](fn@super::write).
    #[track_caller]
    pub fn write<T: NpyElement>(&mut self, name: &str, array: &HostArray<T>) -> Result<(), NpyError> {
        self.begin(name)?;
        write(&mut self.archive, array)
    }

    /// Adds an array from a device. Blocks until the elements are on the host.
    ///
    /// # Errors
    ///
    /// - [`NpyError::Archive`]: the archive has an array of this name already.
    /// - The errors of [`npy::write_array`](super::write_array).
    #[track_caller]
    pub fn write_array<T: NpyElement, D: Device>(
        &mut self,
        stream: &StreamHandle<D>,
        name: &str,
        array: &impl AsArrayView<T, D>,
    ) -> Result<(), NpyError> {
        self.begin(name)?;
        write_array(stream, &mut self.archive, array)
    }

    /// Writes the table, flushes the writer and returns it.
    ///
    /// # Errors
    ///
    /// [`NpyError::Io`]: the writer failed.
    #[track_caller]
    pub fn finish(self) -> Result<W, NpyError> {
        let mut writer = self.archive.finish().map_err(refused)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Begins the file of an array. Its length is not known, so the entry leaves room for any
    /// length, as in NumPy.
    #[track_caller]
    fn begin(&mut self, name: &str) -> Result<(), NpyError> {
        let options = SimpleFileOptions::default().compression_method(self.method).large_file(true);
        self.archive.start_file(format!("{name}{ENDING}"), options).map_err(refused)
    }
}

impl<W: Write + Seek> fmt::Debug for NpzWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NpzWriter").field("method", &self.method).finish_non_exhaustive()
    }
}

fn refused(error: ZipError) -> NpyError {
    match error {
        ZipError::Io(error) => error.into(),
        other => NpyError::Archive(other.to_string()),
    }
}
