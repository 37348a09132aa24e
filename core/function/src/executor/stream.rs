//! Memory beyond the caches: results that are written past them, and operands that are fetched
//! early.
#![allow(unsafe_code)] // stores that go past the caches, to memory that the caller vouches for

use std::ops::Range;

use super::machine::LINE_BYTES;

/// Results from this size on are not kept in a cache: a line of them is not read before it is
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

        // Whole lines, so that none leaves in parts. Bytes ahead of the first and behind the
        // last share a line with other blocks.
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
        // SAFETY: the bytes behind the whole lines, which the caller promises
        unsafe { from.copy_to_nonoverlapping(to, len_bytes - whole) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: as the caller promises
    unsafe {
        from.copy_to_nonoverlapping(to, len_bytes)
    };
}

/// After the last [`stream`].
pub(super) fn fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has the instruction
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Operands of results of this size and more are fetched ahead: together they exceed the caches,
/// and elements in the last one would come soon enough.
pub(super) const FETCHED_BYTES: usize = if cfg!(test) { 64 } else { 8 << 20 };

/// Has some bytes behind an address fetched into the first cache, and does not wait. No byte is accessed.
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
