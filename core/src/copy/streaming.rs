//! Copies of long runs that leave the caches to others.
#![allow(unsafe_code)] // moves bytes with stores that go past the caches

use std::ptr;

/// Copies like [`ptr::copy_nonoverlapping`], the destination not read into a cache first, nor kept there: a third less
/// traffic for memory that is not read again soon. Other threads see the bytes as they see those of ordinary stores.
///
/// # Safety
///
/// As [`ptr::copy_nonoverlapping`] of bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(super) unsafe fn copy_streaming(src: *const u8, dst: *mut u8, len_bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    const WORD_BYTES: usize = size_of::<__m128i>();
    /// A cache line, so that its stores leave together.
    const LINE_BYTES: usize = 64;
    let head = dst.align_offset(LINE_BYTES).min(len_bytes);
    let lines = (len_bytes - head) / LINE_BYTES;
    // SAFETY: the head lies inside both sides.
    unsafe { ptr::copy_nonoverlapping(src, dst, head) };
    let (mut from, mut to) = (src.wrapping_add(head), dst.wrapping_add(head));
    for _ in 0..lines {
        for word in 0..LINE_BYTES / WORD_BYTES {
            // SAFETY: a word inside the line, which lies inside the source; needs no alignment.
            let bytes = unsafe { _mm_loadu_si128(from.cast::<__m128i>().wrapping_add(word)) };
            // SAFETY: as for the source; `head` aligned the destination; the fence below comes before anybody is told.
            unsafe { _mm_stream_si128(to.cast::<__m128i>().wrapping_add(word), bytes) };
        }
        from = from.wrapping_add(LINE_BYTES);
        to = to.wrapping_add(LINE_BYTES);
    }
    // SAFETY: what is left lies inside both sides.
    unsafe { ptr::copy_nonoverlapping(from, to, len_bytes - head - lines * LINE_BYTES) };
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { _mm_sfence() };
}

/// Copies like [`ptr::copy_nonoverlapping`]: no such stores are known here.
///
/// # Safety
///
/// As [`ptr::copy_nonoverlapping`] of bytes.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub(super) unsafe fn copy_streaming(src: *const u8, dst: *mut u8, len_bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { ptr::copy_nonoverlapping(src, dst, len_bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any alignment of both sides, any length around a few lines; the bytes around the destination stay.
    #[test]
    fn moves_the_bytes_it_is_given_and_no_others() {
        const REACH: usize = 80;
        let src: Vec<u8> = (1..=250).collect();
        for (src_start, dst_start) in (0..20).flat_map(|src| (0..REACH).map(move |dst| (src, dst))) {
            for len_bytes in [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 200] {
                let mut dst = [0_u8; 2 * REACH + 200];
                let to = dst[dst_start..dst_start + len_bytes].as_mut_ptr();
                // SAFETY: both ranges were just taken out of arrays of their own.
                unsafe { copy_streaming(src[src_start..src_start + len_bytes].as_ptr(), to, len_bytes) };
                for (at, &byte) in dst.iter().enumerate() {
                    let from = at.checked_sub(dst_start).filter(|&k| k < len_bytes);
                    assert_eq!(
                        byte,
                        from.map_or(0, |k| src[src_start + k]),
                        "{src_start} {dst_start} {len_bytes}"
                    );
                }
            }
        }
    }
}
