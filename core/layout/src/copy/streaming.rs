//! Copies of long runs that leave the caches to others.
#![allow(unsafe_code)] // moves bytes with stores that go past the caches

use std::ptr;

/// Copies like [`ptr::copy_nonoverlapping`], but neither reads the destination into a cache first,
/// nor keeps it there. This saves a third of the traffic for memory that is not read again soon.
/// Other threads see the bytes as if ordinary stores wrote them.
///
/// # Safety
///
/// The conditions of [`ptr::copy_nonoverlapping`] for bytes.
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub unsafe fn copy_streaming(src: *const u8, dst: *mut u8, len_bytes: usize) {
    // SAFETY: the caller's promise; the processor was asked for AVX-512.
    unsafe { copy_by_lines(src, dst, len_bytes, std::arch::is_x86_feature_detected!("avx512f")) }
}

/// A cache line, aligned so that its stores leave together.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const LINE_BYTES: usize = 64;

/// Does what [`copy_streaming`] does, with one store per line or several.
///
/// # Safety
///
/// The conditions of [`copy_streaming`]; `at_once` only on a processor with AVX-512.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn copy_by_lines(src: *const u8, dst: *mut u8, len_bytes: usize, at_once: bool) {
    let head = dst.align_offset(LINE_BYTES).min(len_bytes);
    let body = (len_bytes - head) / LINE_BYTES * LINE_BYTES;
    // SAFETY: the head lies inside both sides.
    unsafe { ptr::copy_nonoverlapping(src, dst, head) };
    let (from, to) = (src.wrapping_add(head), dst.wrapping_add(head));
    let stream = if at_once { stream_lines_at_once } else { stream_lines };
    // SAFETY: the body lies inside both sides, the destination is aligned after `head`, and the
    // caller knows the processor.
    unsafe { stream(from, to, body) };
    let (from, to) = (from.wrapping_add(body), to.wrapping_add(body));
    // SAFETY: the rest lies inside both sides.
    unsafe { ptr::copy_nonoverlapping(from, to, len_bytes - head - body) };
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_mm_sfence() };
}

/// Copies whole lines, 16 bytes per store. A fence must follow before another thread is told.
///
/// # Safety
///
/// The conditions of [`ptr::copy_nonoverlapping`] for bytes; the destination begins with a line, and
/// the length is a whole number of lines.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn stream_lines(src: *const u8, dst: *mut u8, len_bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};

    let (src, dst) = (src.cast::<__m128i>(), dst.cast::<__m128i>());
    for word in 0..len_bytes / size_of::<__m128i>() {
        // SAFETY: the word lies inside the source, and needs no alignment.
        let bytes = unsafe { _mm_loadu_si128(src.wrapping_add(word)) };
        // SAFETY: as for the source; the destination is aligned to lines.
        unsafe { _mm_stream_si128(dst.wrapping_add(word), bytes) };
    }
}

/// Does what [`stream_lines`] does with one store per line, so that no line leaves in parts.
/// Several threads together copy up to a third faster in this way.
///
/// # Safety
///
/// The conditions of [`stream_lines`]; the processor has AVX-512.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn stream_lines_at_once(src: *const u8, dst: *mut u8, len_bytes: usize) {
    /// The number of loads before the first store, so that neither waits for the other.
    const GROUP: usize = 4;

    #[target_feature(enable = "avx512f")]
    unsafe fn groups(src: *const u8, dst: *mut u8, groups: usize) {
        use std::arch::x86_64::{__m512i, _mm512_loadu_si512, _mm512_setzero_si512, _mm512_stream_si512};

        let (src, dst) = (src.cast::<__m512i>(), dst.cast::<__m512i>());
        for first in (0..groups).map(|group| group * GROUP) {
            let mut held = [_mm512_setzero_si512(); GROUP];
            for (k, line) in held.iter_mut().enumerate() {
                // SAFETY: the line lies inside the source, and needs no alignment.
                *line = unsafe { _mm512_loadu_si512(src.wrapping_add(first + k)) };
            }
            for (k, &line) in held.iter().enumerate() {
                // SAFETY: as for the source; the destination is aligned to lines.
                unsafe { _mm512_stream_si512(dst.wrapping_add(first + k), line) };
            }
        }
    }

    let whole = len_bytes / (GROUP * LINE_BYTES);
    // SAFETY: the caller's promise.
    unsafe { groups(src, dst, whole) };
    let done = whole * GROUP * LINE_BYTES;
    // SAFETY: the caller's promise, for the rest.
    unsafe { stream_lines(src.wrapping_add(done), dst.wrapping_add(done), len_bytes - done) }
}

/// Copies like [`ptr::copy_nonoverlapping`]: for this processor no streaming stores are known here.
///
/// # Safety
///
/// The conditions of [`ptr::copy_nonoverlapping`] for bytes.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
pub unsafe fn copy_streaming(src: *const u8, dst: *mut u8, len_bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { ptr::copy_nonoverlapping(src, dst, len_bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries any alignment of both sides, and any length around a few lines; the bytes around the
    /// destination stay.
    fn moves_the_bytes_it_is_given_and_no_others(copy: impl Fn(&[u8], &mut [u8])) {
        const REACH: usize = 80;
        let src: Vec<u8> = (0..=250).cycle().take(20 + 650).map(|byte| byte + 1).collect();
        for (src_start, dst_start) in (0..20).flat_map(|src| (0..REACH).map(move |dst| (src, dst))) {
            for len_bytes in [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 200, 319, 384, 650] {
                let mut dst = [0_u8; 2 * REACH + 650];
                copy(&src[src_start..src_start + len_bytes], &mut dst[dst_start..dst_start + len_bytes]);
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

    #[test]
    fn any_processor_moves_the_bytes() {
        moves_the_bytes_it_is_given_and_no_others(|src, dst| {
            // SAFETY: two slices of one length, of arrays of their own.
            unsafe { copy_streaming(src.as_ptr(), dst.as_mut_ptr(), src.len()) }
        });
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[test]
    fn a_processor_without_wide_stores_moves_the_bytes() {
        moves_the_bytes_it_is_given_and_no_others(|src, dst| {
            // SAFETY: as above.
            unsafe { copy_by_lines(src.as_ptr(), dst.as_mut_ptr(), src.len(), false) }
        });
    }
}
