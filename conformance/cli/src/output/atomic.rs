//! Files that appear whole or not at all.

use std::{
    ffi::OsString,
    fs::{self, File, Permissions},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use tempfile::{Builder, TempPath};

/// A file that is being written. Until [`commit`](Self::commit), its path keeps its old content or
/// stays absent.
///
/// The new content is written to a file next to it, which is then renamed; if this is dropped
/// before that, nothing is left behind. A symbolic link is followed, and an existing file keeps its
/// permissions. A pipe, a device or any other file that is not regular is written in place.
#[derive(Debug)]
pub struct AtomicFile {
    writer: BufWriter<File>,
    /// The path of the new content, and the path where it belongs; `None` if the file is not
    /// regular.
    rename: Option<(TempPath, PathBuf)>,
}

impl AtomicFile {
    /// Begins to write the file at `path`.
    ///
    /// # Errors
    ///
    /// The directory does not exist or may not be written to, or `path` is a directory, a read-only
    /// file, or a link that leads nowhere.
    pub fn create(path: &Path) -> io::Result<Self> {
        // The metadata of a path is read before its location is resolved: a link to a pipe leads to
        // a file without a location.
        let old = match fs::metadata(path) {
            Ok(old) => old,
            // A link that leads nowhere must not be mistaken for an unused name.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
                return Self::beside(path.to_owned(), None);
            }
            Err(error) => return Err(error),
        };
        if old.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else if !old.is_file() {
            let file = File::options().write(true).open(path)?;
            Ok(Self { writer: BufWriter::new(file), rename: None })
        } else if old.permissions().readonly() {
            Err(io::ErrorKind::PermissionDenied.into())
        } else {
            Self::beside(fs::canonicalize(path)?, Some(old.permissions()))
        }
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    ///
    /// The last bytes could not be written, or the file could not be renamed; nothing is left
    /// behind.
    pub fn commit(self) -> io::Result<()> {
        self.writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        match self.rename {
            Some((temporary, path)) => temporary.persist(path).map_err(|error| error.error),
            None => Ok(()),
        }
    }

    fn beside(path: PathBuf, permissions: Option<Permissions>) -> io::Result<Self> {
        let mut prefix = OsString::from(".");
        prefix.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
        let directory = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".part");
        if permissions.is_none()
            && let Some(permissions) = new_file_permissions()
        {
            builder.permissions(permissions);
        }
        let (file, temporary) = builder.tempfile_in(directory)?.into_parts();
        // Until here nobody else may open the file. The user's mask limits the permissions of a file that is made, but
        // not a change of them.
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        Ok(Self { writer: BufWriter::new(file), rename: Some((temporary, path)) })
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The permissions of a new file, on systems with permission bits: everything that the user's mask
/// allows.
fn new_file_permissions() -> Option<Permissions> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    #[cfg(not(unix))]
    return None;
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _};

    use super::AtomicFile;

    #[test]
    fn a_file_appears_when_it_is_committed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert!(!path.exists());
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_file_given_up_leaves_the_old_one_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        fs::write(&path, b"old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.flush().unwrap();
        drop(file);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_kept() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("out"), directory.path().join("link"));
        fs::write(&path, b"old").unwrap();
        symlink(&path, &link).unwrap();
        // The first has a bit that a usual mask takes from new files.
        for mode in [0o666, 0o640] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let mut file = AtomicFile::create(&link).unwrap();
            file.write_all(b"new").unwrap();
            file.commit().unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_nowhere_is_refused_and_stays() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(AtomicFile::create(&link).is_err());
        assert!(link.is_symlink());
    }
}
