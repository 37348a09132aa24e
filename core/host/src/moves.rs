//! Copies and fills, large ones in pieces that threads share.
#![allow(unsafe_code)] // moves bytes between raw pointers that its callers vouch for

use std::ptr;

use devarray::copy::{Plan, copy_streaming, execute, execute_past_caches};

use crate::threads::Threads;

/// The bytes of the smallest copy that threads share: waking a thread takes some microseconds.
const SHARED_BYTES: usize = 1 << 20;

/// The bytes of a piece.
const PIECE_BYTES: usize = 256 << 10;

/// Copies from this size on bypass the caches: they would not stay there.
const LARGE_BYTES: usize = 16 << 20;

/// A pointer that threads share.
#[derive(Clone, Copy)]
pub(crate) struct Place(pub(crate) *mut u8);

// SAFETY: it is an address; an access is `unsafe` code of the caller.
unsafe impl Send for Place {}
// SAFETY: as for `Send`.
unsafe impl Sync for Place {}

impl Place {
    /// The address at this offset.
    pub(crate) fn at(self, offset_bytes: usize) -> *mut u8 {
        self.0.wrapping_add(offset_bytes)
    }
}

/// Carries out a copy plan.
///
/// # Safety
///
/// The conditions of [`execute`].
pub(crate) unsafe fn copy(threads: &Threads, plan: &Plan, src: *const u8, dst: *mut u8) {
    if plan.len_bytes() < SHARED_BYTES || threads.count() == 1 {
        // SAFETY: as the caller promises.
        return unsafe { execute(plan, src, dst) };
    }
    let (src, dst) = (Place(src.cast_mut()), Place(dst));
    let pieces: Vec<Plan> = plan.blocks(PIECE_BYTES).collect();
    let execute = if plan.len_bytes() >= LARGE_BYTES { execute_past_caches } else { execute };
    // SAFETY: the pieces make up the plan, each byte once.
    threads.run(pieces.len(), |piece| unsafe { execute(&pieces[piece], src.at(0), dst.at(0)) });
}

/// Copies bytes.
///
/// # Safety
///
/// `len_bytes` bytes can be read and written; the two ranges do not overlap.
pub(crate) unsafe fn copy_bytes(threads: &Threads, src: *const u8, dst: *mut u8, len_bytes: usize) {
    let copy: unsafe fn(*const u8, *mut u8, usize) =
        if len_bytes >= LARGE_BYTES { copy_streaming } else { ptr::copy_nonoverlapping };
    if len_bytes < SHARED_BYTES || threads.count() == 1 {
        // SAFETY: as the caller promises.
        return unsafe { copy(src, dst, len_bytes) };
    }
    let (src, dst) = (Place(src.cast_mut()), Place(dst));
    threads.run(len_bytes.div_ceil(PIECE_BYTES), |piece| {
        let start = piece * PIECE_BYTES;
        let piece_bytes = PIECE_BYTES.min(len_bytes - start);
        // SAFETY: a part of the bytes.
        unsafe { copy(src.at(start), dst.at(start), piece_bytes) }
    });
}

/// Repeats a pattern over the destination of a plan.
///
/// # Safety
///
/// All runs may be written, and hold whole patterns.
pub(crate) unsafe fn fill(threads: &Threads, plan: &Plan, pattern: &[u8], dst: *mut u8) {
    let dst = Place(dst);
    let all = |plan: &Plan| {
        for (_, start, len_bytes) in plan.runs() {
            // SAFETY: a run of the plan.
            unsafe { fill_run(pattern, dst.at(start), len_bytes) }
        }
    };
    if plan.len_bytes() < SHARED_BYTES || threads.count() == 1 {
        return all(plan);
    }
    // Pieces end between patterns: the length of a piece is a multiple of every pattern's.
    let pieces: Vec<Plan> = plan.blocks(PIECE_BYTES).collect();
    threads.run(pieces.len(), |piece| all(&pieces[piece]));
}

/// # Safety
///
/// `len_bytes` bytes may be written, and hold whole patterns.
unsafe fn fill_run(pattern: &[u8], dst: *mut u8, len_bytes: usize) {
    if let Some((&first, rest)) = pattern.split_first()
        && rest.iter().all(|&byte| byte == first)
    {
        // SAFETY: as the caller promises.
        return unsafe { ptr::write_bytes(dst, first, len_bytes) };
    }
    macro_rules! of {
        ($($bytes:literal)*) => {
            match pattern.len() {
                $($bytes => {
                    let mut item = [0_u8; $bytes];
                    item.copy_from_slice(pattern);
                    for at in (0..len_bytes).step_by($bytes) {
                        // SAFETY: as the caller promises.
                        unsafe { dst.wrapping_add(at).cast::<[u8; $bytes]>().write(item) }
                    }
                })*
                _ => unreachable!("patterns have 1, 2, 4, 8 or 16 bytes"),
            }
        };
    }
    of!(2 4 8 16);
}
