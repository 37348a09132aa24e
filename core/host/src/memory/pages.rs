//! Pages of the system.
#![allow(unsafe_code)] // maps and unmaps memory

use std::ptr::NonNull;

/// The bytes of a huge page, and the smallest block that asks for huge pages.
pub(crate) const HUGE_BYTES: usize = 2 << 20;

/// Lengths are multiples of this.
const PAGE_BYTES: usize = 4 << 10;

/// Lengths of at least [`HUGE_BYTES`] are multiples of this, so of every system's page size.
const LARGE_PAGE_BYTES: usize = 64 << 10;

/// Whole pages of memory that nobody else has; zeroed when they are new. Given back on drop.
#[derive(Debug)]
pub(crate) struct Pages {
    start: NonNull<u8>,
    len_bytes: usize,
}

// SAFETY: the value owns the pages and only tells where they lie.
unsafe impl Send for Pages {}
// SAFETY: as for `Send`.
unsafe impl Sync for Pages {}

impl Pages {
    /// At least `len_bytes` bytes, not 0, that hold zeros; none if the system has no more. From
    /// [`HUGE_BYTES`] on, they begin at a multiple of it, and the system is asked for huge pages. Pages are
    /// committed when they are first touched.
    pub(crate) fn new(len_bytes: usize) -> Option<Self> {
        let page_bytes = if len_bytes < HUGE_BYTES { PAGE_BYTES } else { LARGE_PAGE_BYTES };
        let len_bytes = len_bytes.checked_next_multiple_of(page_bytes)?;
        let start = system::map(len_bytes)?;
        Some(Self { start, len_bytes })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: mapped with this length, and given back once.
        unsafe { system::unmap(self.start, self.len_bytes) }
    }
}

/// The bytes of the machine's memory, if the system tells.
pub(crate) fn machine_bytes() -> Option<usize> {
    system::machine_bytes()
}

/// Whether memory of other code is mapped, as far as the system tells; checks its first and last page.
pub(crate) fn are_mapped(start: usize, len_bytes: usize) -> bool {
    let last = len_bytes.checked_sub(1).and_then(|more| start.checked_add(more));
    last.is_some_and(|last| system::is_mapped(start) && system::is_mapped(last))
}

#[cfg(unix)]
mod system {
    use std::ptr::{self, NonNull};

    use super::HUGE_BYTES;

    pub(super) fn is_mapped(address: usize) -> bool {
        let page_bytes = sysconf(libc::_SC_PAGESIZE).unwrap_or(super::PAGE_BYTES);
        let page = ptr::without_provenance_mut(address - address % page_bytes);
        // SAFETY: this starts writing the page back to a file, if it belongs to one, and changes nothing. It
        // fails if the page is not mapped.
        unsafe { libc::msync(page, page_bytes, libc::MS_ASYNC) == 0 }
    }

    pub(super) fn machine_bytes() -> Option<usize> {
        sysconf(libc::_SC_PHYS_PAGES)?.checked_mul(sysconf(libc::_SC_PAGESIZE)?)
    }

    /// None for a name that the system does not know.
    fn sysconf(name: libc::c_int) -> Option<usize> {
        // SAFETY: reads a number.
        usize::try_from(unsafe { libc::sysconf(name) }).ok()
    }

    pub(super) fn map(len_bytes: usize) -> Option<NonNull<u8>> {
        if len_bytes < HUGE_BYTES {
            return map_anywhere(len_bytes);
        }
        // Maps one huge page more than needed, so that some part of that length begins at a huge page.
        let all_bytes = len_bytes.checked_add(HUGE_BYTES)?;
        let all = map_anywhere(all_bytes)?;
        let before = all.as_ptr().align_offset(HUGE_BYTES);
        let start = all.as_ptr().wrapping_add(before);
        for (part, part_bytes) in
            [(all.as_ptr(), before), (start.wrapping_add(len_bytes), HUGE_BYTES - before)]
        {
            if part_bytes > 0 {
                // SAFETY: whole pages of the mapping that nobody uses.
                unsafe { libc::munmap(part.cast(), part_bytes) };
            }
        }
        #[cfg(target_os = "linux")]
        // SAFETY: a hint about pages of ours. Without it, pages are small.
        unsafe {
            libc::madvise(start.cast(), len_bytes, libc::MADV_HUGEPAGE)
        };
        NonNull::new(start)
    }

    fn map_anywhere(len_bytes: usize) -> Option<NonNull<u8>> {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
        // SAFETY: a new mapping, wherever there is room.
        let start = unsafe { libc::mmap(ptr::null_mut(), len_bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
    }

    /// # Safety
    ///
    /// Mapped by [`map`] with this length, and no longer used.
    pub(super) unsafe fn unmap(start: NonNull<u8>, len_bytes: usize) {
        // SAFETY: as the caller promises. It does not fail for a mapping of ours; if it did, the memory would
        // be lost.
        unsafe { libc::munmap(start.as_ptr().cast(), len_bytes) };
    }
}

#[cfg(not(unix))]
mod system {
    use std::{
        alloc::{Layout, alloc_zeroed, dealloc},
        ptr::NonNull,
    };

    use super::PAGE_BYTES;

    /// Systems keep the lowest addresses free; about other addresses nothing is known.
    pub(super) fn is_mapped(address: usize) -> bool {
        address >= 64 << 10
    }

    pub(super) fn machine_bytes() -> Option<usize> {
        None
    }

    pub(super) fn map(len_bytes: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(len_bytes, PAGE_BYTES).ok()?;
        // SAFETY: the size is not 0.
        NonNull::new(unsafe { alloc_zeroed(layout) })
    }

    /// # Safety
    ///
    /// Mapped by [`map`] with this length, and no longer used.
    pub(super) unsafe fn unmap(start: NonNull<u8>, len_bytes: usize) {
        let Ok(layout) = Layout::from_size_align(len_bytes, PAGE_BYTES) else { return };
        // SAFETY: the address and layout of the allocation.
        unsafe { dealloc(start.as_ptr(), layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zeroed_and_aligned() {
        for len_bytes in [1, PAGE_BYTES, PAGE_BYTES + 1, HUGE_BYTES, HUGE_BYTES + 1] {
            let pages = Pages::new(len_bytes).expect("the system has some");
            assert!(pages.len_bytes() >= len_bytes && pages.len_bytes() < len_bytes + LARGE_PAGE_BYTES);
            let align = if cfg!(unix) && len_bytes >= HUGE_BYTES { HUGE_BYTES } else { PAGE_BYTES };
            assert_eq!(pages.start().addr().get() % align, 0);
            for at in [0, pages.len_bytes() / 2, pages.len_bytes() - 1] {
                let place = pages.start().as_ptr().wrapping_add(at);
                // SAFETY: it is inside the pages, which nobody else has.
                let before = unsafe { place.replace(7) };
                assert_eq!(before, 0);
            }
        }
    }

    #[test]
    fn what_is_mapped_is_known() {
        let pages = Pages::new(3 * PAGE_BYTES).expect("some");
        assert!(are_mapped(pages.start().addr().get(), pages.len_bytes()));
        assert!(!are_mapped(1 << 13, 16) && !are_mapped(usize::MAX, 2) && !are_mapped(0, 0));
    }

    #[test]
    fn too_much_is_none() {
        assert!(Pages::new(usize::MAX).is_none());
        assert!(Pages::new(usize::MAX / 2).is_none());
    }
}
