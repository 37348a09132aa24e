//! A file by which rank 0 tells the other ranks of its machine where it listens.
//!
//! It is in a folder of the user, which nobody else may read or write, and is named by the job. It holds the address and
//! a secret that was made for the job. It is there only until all ranks have come.

use std::{
    env, fs,
    io::{self, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
};

use super::{ProcessError, secret::hex};
use crate::collective::{Find, Place, Secret, random};

const FIRST_LINE: &str = "devarray rank 0, 1";
/// Bytes of a file.
const MOST_BYTES: u64 = 4096;
/// Another program may remove the folder, when it is empty, between two steps.
const ATTEMPTS: usize = 20;

/// The file, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Published(PathBuf);

/// A file that is looked up.
#[derive(Debug)]
pub(super) struct InFile(pub(super) PathBuf);

/// The file of a job.
pub(super) fn path(job: &str) -> PathBuf {
    let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let user = own_number().map(|number| number.to_string()).or_else(|| {
        let user = ["USER", "LOGNAME", "USERNAME"].into_iter().find_map(env::var_os)?;
        Some(user.to_string_lossy().chars().filter(plain).take(32).collect())
    });
    let user = user.unwrap_or_default();
    env::temp_dir().join(format!("devarray-{user}")).join(job)
}

impl Published {
    pub(super) fn new(path: PathBuf, address: SocketAddr, secret: &Secret) -> Result<Self, ProcessError> {
        let hex = hex(secret.bytes());
        let text = format!("{FIRST_LINE}\n{address}\n{hex}\n");
        let mut written = Err(io::ErrorKind::NotFound.into());
        for _ in 0..ATTEMPTS {
            written = write(&path, &text);
            if !matches!(&written, Err(error) if error.kind() == io::ErrorKind::NotFound) {
                break;
            }
        }
        let error = |error: io::Error| ProcessError::system(format!("write {}", path.display()), &error);
        written.map_err(error)?;
        Ok(Self(path))
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
        if let Some(folder) = self.0.parent() {
            // If it is empty.
            drop(fs::remove_dir(folder));
        }
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Before anything is written there.
    check_folder(folder)?;
    let number = u64::from_le_bytes(random().map_err(|_| io::ErrorKind::Other)?);
    let new = path.with_extension(format!("{number:x}.new"));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    let done = file.write_all(text.as_bytes()).and_then(|()| check_file(folder, &file.metadata()?));
    // In one step, so that nobody reads a part of it.
    let done = done.and_then(|()| fs::rename(&new, path));
    if done.is_err() {
        drop(fs::remove_file(&new));
    }
    done
}

/// The number of this user, where the system tells it without a call of C.
#[cfg(target_os = "linux")]
fn own_number() -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").ok().map(|own| own.uid())
}

#[cfg(not(target_os = "linux"))]
fn own_number() -> Option<u32> {
    None
}

/// Refuses a folder that is another user's, or that others may reach. All in one that passes is the user's own.
fn check_folder(folder: &Path) -> io::Result<fs::Metadata> {
    // A link may lead to a folder that another user swaps.
    let of = fs::symlink_metadata(folder)?;
    if of.is_dir() && is_private(&of) { Ok(of) } else { Err(reached_by_others()) }
}

/// Refuses all but a file that only the user of the folder may read.
fn check_file(folder: &Path, file: &fs::Metadata) -> io::Result<()> {
    let of = check_folder(folder)?;
    if file.is_file() && is_private(file) && is_of_one_user(&of, file) {
        Ok(())
    } else {
        Err(reached_by_others())
    }
}

fn reached_by_others() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "other users can reach the folder or the file")
}

#[cfg(unix)]
fn is_private(of: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    of.mode() & 0o077 == 0 && own_number().is_none_or(|own| own == of.uid())
}

#[cfg(unix)]
fn is_of_one_user(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    one.uid() == other.uid()
}

#[cfg(not(unix))]
fn is_private(_: &fs::Metadata) -> bool {
    true
}

#[cfg(not(unix))]
fn is_of_one_user(_: &fs::Metadata, _: &fs::Metadata) -> bool {
    true
}

impl InFile {
    fn read(&self) -> io::Result<Place> {
        use io::Read as _;
        let folder = self.0.parent().unwrap_or(Path::new(""));
        // Before it is opened: a pipe, say, blocks who opens it.
        check_file(folder, &fs::symlink_metadata(&self.0)?)?;
        let file = fs::File::open(&self.0)?;
        check_file(folder, &file.metadata()?)?;
        let mut text = String::new();
        file.take(MOST_BYTES).read_to_string(&mut text)?;
        let mut lines = text.lines();
        let garbled = || io::Error::from(io::ErrorKind::InvalidData);
        if lines.next() != Some(FIRST_LINE) {
            return Err(garbled());
        }
        let address = lines.next().and_then(|line| line.parse().ok()).ok_or_else(garbled)?;
        let secret = lines.next().and_then(from_hex).ok_or_else(garbled)?;
        Ok(Place { addresses: vec![address], secret: Secret::new(&secret) })
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.bytes().map(|digit| char::from(digit).to_digit(16)).collect::<Option<Vec<u32>>>()?;
    digits.chunks_exact(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect()
}

impl Find for InFile {
    fn find(&self) -> Result<Place, ProcessError> {
        let reason = |error: io::Error| ProcessError::Unreachable {
            address: self.address(),
            reason: error.to_string(),
        };
        self.read().map_err(reason)
    }

    fn address(&self) -> String {
        format!("the address in {}", self.0.display())
    }

    /// A job that was killed before all ranks had come leaves its file.
    fn may_be_old(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_found_and_goes() {
        let path = path(&format!("test-{}", std::process::id()));
        let (address, secret) = ("[::1]:9".parse().unwrap(), Secret::new(b"\x00secret\xff"));
        let found = InFile(path.clone());
        assert!(found.find().is_err());
        let published = Published::new(path.clone(), address, &secret).unwrap();
        let place = found.find().unwrap();
        assert_eq!((place.addresses, place.secret.bytes()), (vec![address], secret.bytes()));
        // A newer one replaces it.
        let again = Published::new(path.clone(), "127.0.0.1:7".parse().unwrap(), &secret).unwrap();
        assert_eq!(found.find().unwrap().addresses, ["127.0.0.1:7".parse().unwrap()]);
        drop((published, again));
        assert!(found.find().is_err() && !path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let path = path(&format!("open-{}", std::process::id()));
        let published =
            Published::new(path.clone(), "127.0.0.1:7".parse().unwrap(), &Secret::new(b"x")).unwrap();
        assert!(InFile(path.clone()).find().is_ok());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = InFile(path).find().unwrap_err();
        assert!(matches!(error, ProcessError::Unreachable { .. }), "{error}");
        drop(published);
    }

    /// A folder with a pipe of the job's name, where the user's folder would be.
    #[cfg(unix)]
    fn pipe(of: &str, mode: u32) -> (PathBuf, PathBuf) {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = env::temp_dir().join(format!("devarray-{of}-{mode:o}-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("job");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_refused_and_never_opened() {
        for mode in [0o755, 0o700] {
            let (folder, path) = pipe("read", mode);
            let (tells, told) = std::sync::mpsc::channel();
            let file = InFile(path);
            std::thread::spawn(move || tells.send(file.find().map_err(|error| error.to_string())));
            let found = told.recv_timeout(std::time::Duration::from_secs(10));
            fs::remove_dir_all(folder).unwrap();
            let error = found.expect("nobody waits for a pipe").unwrap_err();
            assert!(error.contains("other users can reach"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_into_a_folder_of_others() {
        let (folder, path) = pipe("written", 0o755);
        let changed = || fs::metadata(&folder).unwrap().modified().unwrap();
        let before = changed();
        std::thread::sleep(std::time::Duration::from_millis(50)); // times of files are coarse
        let published = Published::new(path.clone(), "127.0.0.1:7".parse().unwrap(), &Secret::new(b"x"));
        let after = changed();
        fs::remove_dir_all(folder).unwrap();
        assert!(published.is_err());
        assert_eq!(before, after, "not even for a moment");
    }
}
