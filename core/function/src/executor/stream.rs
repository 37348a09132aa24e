//! Memory beyond the caches: writes results past them, and fetches operands early.
#![allow(unsafe_code)] // stores that go past the caches, to memory that the caller vouches for

use std::ops::Range;

use super::machine::LINE_BYTES;

/// Results of at least this size are not kept in a cache. Their lines are not read before they are
/// written, which saves a third of the traffic of a sum. Results of the tests are small.
pub(super) const STREAMED_BYTES: usize = if cfg!(test) { 256 } else { 16 << 20 };

/// Copies like `copy_to_nonoverlapping`, past the caches. Other threads see the bytes after
/// [`fence`].
///
/// # Safety
///
/// The bytes may be read and be written, and do not overlap.
pub(super) unsafe fn stream(from: *const u8, to: *mut u8, len_bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};

        // Whole lines are stored, so that none leaves in parts. The bytes before the first line and
        // after the last share a line with other blocks.
        let ahead = (to.addr().wrapping_neg() % 64).min(len_bytes);
        // SAFETY: inside, as the caller promises
        unsafe { from.copy_to_nonoverlapping(to, ahead) };
        let whole = ahead + (len_bytes - ahead) / 64 * 64;
        for at in (ahead..whole).step_by(64) {
            for at in [at, at + 16, at + 32, at + 48] {
                // SAFETY: inside, as the caller promises
                let bytes = unsafe { _mm_loadu_si128(from.wrapping_add(at).cast()) };
                // SAFETY: inside and aligned
                unsafe { _mm_stream_si128(to.wrapping_add(at).cast(), bytes) };
            }
        }
        let (from, to) = (from.wrapping_add(whole), to.wrapping_add(whole));
        // SAFETY: the bytes after the whole lines, which the caller promises
        unsafe { from.copy_to_nonoverlapping(to, len_bytes - whole) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: as the caller promises
    unsafe {
        from.copy_to_nonoverlapping(to, len_bytes)
    };
}

/// Must be called after the last [`stream`].
pub(super) fn fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has the instruction
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// If a result has at least this size, operands are fetched ahead: together they exceed the caches.
/// Otherwise elements in the last cache arrive soon enough.
pub(super) const FETCHED_BYTES: usize = if cfg!(test) { 64 } else { 8 << 20 };

/// Fetches bytes after an address into the first cache, and does not wait. No byte is accessed.
pub(super) fn fetch(start: *const u8, bytes: Range<usize>) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for at in bytes.step_by(LINE_BYTES) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction may be given any address
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(at).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (start, bytes, LINE_BYTES);
}
