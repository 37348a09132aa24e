//! Work on the device, timed beside a contiguous copy.

use anyhow::Result;
use devarray::StreamHandle;

use super::{Target, interleaved, repeated};

/// Bytes on both sides that no cache holds; smaller copies go round over several buffers of that
/// size together.
const COLD_BYTES: usize = 256 << 20;
/// Most buffers a small copy goes round over.
const MAX_SETS: usize = 32;
/// Rounds that the median is of.
const ROUNDS: usize = 11;
/// Seconds a round lasts at least, and most copies of it.
const ROUND_SECONDS: f64 = 2e-3;
const MAX_REPEATS: usize = 256;

/// Pairs of source and result to go round over, so that no cache holds them all.
#[must_use]
pub fn cold_sets(result_bytes: usize) -> usize {
    (COLD_BYTES / result_bytes.saturating_mul(2).max(1)).clamp(1, MAX_SETS)
}

/// Median seconds of `work`, which is told the number of a set and takes it modulo their count, and
/// of a contiguous copy of `len_bytes`, in turn.
///
/// # Errors
///
/// The errors of the work, and what the device says.
pub fn beside_memcpy<D: Target>(
    stream: &StreamHandle<D>,
    len_bytes: usize,
    sets: usize,
    work: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<[f64; 2]> {
    let mut reference = D::reference(stream, len_bytes, sets)?;
    // Every buffer once: pages are mapped, kernels loaded.
    repeated(sets, &mut *work)?;
    let once = D::seconds(stream, &mut || repeated(4, &mut *work))? / 4.0;
    let mut repeats = 1;
    while repeats < MAX_REPEATS && repeats as f64 * once < ROUND_SECONDS {
        repeats *= 2;
    }
    let mut copies = || {
        // One before the clock starts: it then runs while the others are being enqueued.
        work(0)?;
        D::seconds(stream, &mut || repeated(repeats, |set| work(set + 1)))
    };
    let mut references = || {
        reference(0)?;
        D::seconds(stream, &mut || repeated(repeats, |set| reference((set + 1) % sets)))
    };
    let medians = interleaved(ROUNDS, [&mut copies, &mut references])?;
    Ok(medians.map(|seconds| seconds / repeats as f64))
}
