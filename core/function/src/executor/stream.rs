//! Results that exceed the caches, written past them.
#![allow(unsafe_code)] // stores that go past the caches, to memory that the caller vouches for

/// Results from this size on are not kept in a cache: a line of them is not read before it is
/// written, which saves a third of the traffic of a sum.
pub(super) const STREAMED_BYTES: usize = 16 << 20;

/// Copies like `copy_to_nonoverlapping`, past the caches. Other threads see the bytes after
/// [`fence`].
///
/// # Safety
///
/// The bytes may be read and be written, and do not overlap.
pub(super) unsafe fn stream(from: *const u8, to: *mut u8, len_bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if to.addr().is_multiple_of(16) {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};

        let whole = len_bytes / 64 * 64;
        for at in (0..whole).step_by(64) {
            // Whole lines, so that none leaves in parts.
            for at in [at, at + 16, at + 32, at + 48] {
                // SAFETY: inside, as the caller promises
                let bytes = unsafe { _mm_loadu_si128(from.wrapping_add(at).cast()) };
                // SAFETY: inside and aligned
                unsafe { _mm_stream_si128(to.wrapping_add(at).cast(), bytes) };
            }
        }
        let (from, to) = (from.wrapping_add(whole), to.wrapping_add(whole));
        // SAFETY: the bytes behind the whole lines, which the caller promises
        return unsafe { from.copy_to_nonoverlapping(to, len_bytes - whole) };
    }
    // SAFETY: as the caller promises
    unsafe { from.copy_to_nonoverlapping(to, len_bytes) };
}

/// After the last [`stream`].
pub(super) fn fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has the instruction
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}
