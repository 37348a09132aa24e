//! Pages that other processes open, if the system has them: on Linux, a file in memory that they
//! find among the files of this process. The file is gone when the last process that has it ends.
#![allow(unsafe_code)] // maps and unmaps memory

use std::{ptr::NonNull, sync::atomic::AtomicU8};

/// Whether the system has such pages.
pub(crate) const ARE_THERE: bool = cfg!(target_os = "linux");

/// The data by which another process finds pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PagesName {
    /// The process that made them, and that process's number of the file.
    pub(crate) process: u64,
    pub(crate) file: u64,
    /// A number that no other file has at the same time.
    pub(crate) identity: u64,
    pub(crate) len_bytes: u64,
}

/// Whole pages of memory that several processes have. This process gives them up on drop.
#[derive(Debug)]
pub(crate) struct SharedPages {
    start: NonNull<u8>,
    name: PagesName,
    _file: system::File,
}

// SAFETY: the value only tells where the pages lie.
unsafe impl Send for SharedPages {}
// SAFETY: as for `Send`.
unsafe impl Sync for SharedPages {}

impl SharedPages {
    /// `len_bytes` bytes, not 0, that hold zeros; none if the system has no memory, or cannot share
    /// it.
    pub(crate) fn new(len_bytes: usize) -> Option<Self> {
        let (file, name) = system::create(len_bytes)?;
        Self::map(file, name)
    }

    /// Opens pages of a process; none if that process no longer has them.
    pub(crate) fn open(name: &PagesName) -> Option<Self> {
        Self::map(system::open(name)?, *name)
    }

    fn map(file: system::File, name: PagesName) -> Option<Self> {
        let start = system::map(&file, usize::try_from(name.len_bytes).ok()?)?;
        Some(Self { start, name, _file: file })
    }

    pub(crate) fn name(&self) -> PagesName {
        self.name
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// A byte that all processes use only as an atomic.
    ///
    /// # Panics
    ///
    /// If the byte lies beyond the pages.
    pub(crate) fn flag(&self, at: usize) -> &AtomicU8 {
        assert!((at as u64) < self.name.len_bytes, "a flag of the pages");
        let place = self.start.as_ptr().wrapping_add(at);
        // SAFETY: it is mapped as long as this lives, and every process uses it as an atomic.
        unsafe { AtomicU8::from_ptr(place) }
    }
}

impl PagesName {
    /// Whether the process that made the pages still has them.
    pub(crate) fn is_there(&self) -> bool {
        system::is_there(self)
    }
}

impl Drop for SharedPages {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and given back once.
        unsafe { system::unmap(self.start, self.name.len_bytes) }
    }
}

#[cfg(target_os = "linux")]
mod system {
    pub(super) use std::fs::File;
    use std::{
        fs,
        os::{
            fd::{AsRawFd as _, FromRawFd as _},
            unix::fs::MetadataExt as _,
        },
        process,
        ptr::{self, NonNull},
    };

    use super::PagesName;

    fn path(name: &PagesName) -> String {
        format!("/proc/{}/fd/{}", name.process, name.file)
    }

    pub(super) fn create(len_bytes: usize) -> Option<(File, PagesName)> {
        // SAFETY: the name ends with a zero.
        let number = unsafe { libc::memfd_create(c"devarray".as_ptr(), libc::MFD_CLOEXEC) };
        if number < 0 {
            return None;
        }
        // SAFETY: a file that was just made, and that nobody else closes.
        let file = unsafe { File::from_raw_fd(number) };
        let len_bytes = u64::try_from(len_bytes).ok()?;
        file.set_len(len_bytes).ok()?;
        let identity = file.metadata().ok()?.ino();
        let file_number = u64::try_from(file.as_raw_fd()).ok()?;
        Some((file, PagesName { process: process::id().into(), file: file_number, identity, len_bytes }))
    }

    /// Also checked before the file is opened: by now the number may belong to another file, and
    /// opening some files has effects.
    pub(super) fn is_there(name: &PagesName) -> bool {
        fs::metadata(path(name)).is_ok_and(|found| is_named(name, &found))
    }

    fn is_named(name: &PagesName, found: &fs::Metadata) -> bool {
        found.is_file() && found.ino() == name.identity && found.len() == name.len_bytes
    }

    pub(super) fn open(name: &PagesName) -> Option<File> {
        if !is_there(name) {
            return None;
        }
        let file = File::options().read(true).write(true).open(path(name)).ok()?;
        is_named(name, &file.metadata().ok()?).then_some(file)
    }

    pub(super) fn map(file: &File, len_bytes: usize) -> Option<NonNull<u8>> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, wherever there is room.
        let start = unsafe {
            libc::mmap(ptr::null_mut(), len_bytes, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
    }

    /// # Safety
    ///
    /// Mapped by [`map`] with this length, and no longer used.
    pub(super) unsafe fn unmap(start: NonNull<u8>, len_bytes: u64) {
        let Ok(len_bytes) = usize::try_from(len_bytes) else { return };
        // SAFETY: as the caller promises.
        unsafe { libc::munmap(start.as_ptr().cast(), len_bytes) };
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::{convert::Infallible, ptr::NonNull};

    use super::PagesName;

    /// Other systems have none.
    pub(super) type File = Infallible;

    pub(super) fn create(_: usize) -> Option<(File, PagesName)> {
        None
    }

    pub(super) fn is_there(_: &PagesName) -> bool {
        false
    }

    pub(super) fn open(_: &PagesName) -> Option<File> {
        None
    }

    pub(super) fn map(file: &File, _: usize) -> Option<NonNull<u8>> {
        match *file {}
    }

    /// # Safety
    ///
    /// Never called: nothing is mapped.
    pub(super) unsafe fn unmap(_: NonNull<u8>, _: u64) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;

    #[test]
    fn pages_are_found_by_name_while_they_are_there() {
        let pages = SharedPages::new(5000).expect("the system has some");
        let other = SharedPages::open(&pages.name()).expect("they are there");
        assert_ne!(pages.start(), other.start());
        pages.flag(4999).store(7, SeqCst);
        assert_eq!((other.flag(4999).load(SeqCst), other.flag(0).load(SeqCst)), (7, 0));

        let name = pages.name();
        for wrong in [
            PagesName { identity: name.identity + 1, ..name },
            PagesName { len_bytes: name.len_bytes + 1, ..name },
            PagesName { file: u64::MAX, ..name },
            PagesName { process: u64::MAX, ..name },
        ] {
            assert!(!wrong.is_there() && SharedPages::open(&wrong).is_none(), "{wrong:?}");
        }
        drop(pages);
        assert!(!name.is_there() && SharedPages::open(&name).is_none());
        assert_eq!(other.flag(4999).load(SeqCst), 7, "who has opened them keeps them");
    }
}
