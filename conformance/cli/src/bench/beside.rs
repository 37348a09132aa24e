//! Work on the device, timed next to a contiguous copy.

use anyhow::Result;
use devarray::StreamHandle;

use super::{Target, interleaved, repeated};

/// More bytes, on both sides together, than any cache holds; smaller copies cycle through several
/// buffers of this total size.
const COLD_BYTES: usize = 256 << 20;
/// The most buffers that a small copy cycles through.
const MAX_SETS: usize = 32;
/// The number of rounds from which the median is taken.
const ROUNDS: usize = 11;
/// The shortest duration of a round in seconds, and the most copies in it.
const ROUND_SECONDS: f64 = 2e-3;
const MAX_REPEATS: usize = 256;

/// The number of pairs of source and result to cycle through, so that no cache holds them all.
#[must_use]
pub fn cold_sets(result_bytes: usize) -> usize {
    (COLD_BYTES / result_bytes.saturating_mul(2).max(1)).clamp(1, MAX_SETS)
}

/// The median seconds of `work` and of a contiguous copy of `len_bytes`, measured in turn. `work`
/// gets the number of a set, and takes it modulo the number of its sets.
///
/// # Errors
///
/// The errors of the work, and of the device.
pub fn beside_memcpy<D: Target>(
    stream: &StreamHandle<D>,
    len_bytes: usize,
    sets: usize,
    work: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<[f64; 2]> {
    let mut reference = D::reference(stream, len_bytes, sets)?;
    // Uses every buffer once, so that pages are mapped and kernels loaded.
    repeated(sets, &mut *work)?;
    let once = D::seconds(stream, &mut || repeated(4, &mut *work))? / 4.0;
    let mut repeats = 1;
    while repeats < MAX_REPEATS && repeats as f64 * once < ROUND_SECONDS {
        repeats *= 2;
    }
    let mut copies = || {
        // One before the clock starts, so that the device is busy while the others are enqueued.
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
