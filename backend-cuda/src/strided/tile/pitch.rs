//! The distance between rows in shared memory.
//!
//! Three things depend on it:
//!
//! - **Alignment.** Whole chunks of 16 bytes are copied, so a row has the same address modulo 16 as
//!   in memory.
//! - **Sectors.** A sector of 32 bytes that is copied to parts of two sectors in shared memory is
//!   requested twice. So a row has the same address as in memory modulo 32 or, so that lines are
//!   requested as a whole, modulo 128.
//! - **Banks.** Eight neighbouring threads read neighbouring vectors of a run, each from its own
//!   row. These should begin in different 16-byte parts of the 128 bytes that all banks have. Rows
//!   that are an odd multiple of 16 bytes apart do. Other rows are swizzled: the row's number moves
//!   the 16 bytes within the line.

use super::{
    load_and_store::Tile,
    rotate::bank_accesses,
    sizes::{CHUNK_BYTES, SECTOR_BYTES},
};
use crate::strided::strided_launch::LINE_BYTES;

/// The room to align a tile as a whole, before and after its rows.
pub(super) const MARGIN: u32 = LINE_BYTES + SECTOR_BYTES;

/// The smallest number that is at least `least` and equals `stride` modulo `modulus`.
pub(super) fn at_least(least: u32, stride: i64, modulus: u32) -> u32 {
    least + u32::try_from((stride - i64::from(least)).rem_euclid(modulus.into())).unwrap_or(0)
}

/// The distance in bytes between rows in order: of four candidates, the first with the fewest bank
/// conflicts between neighbouring threads. A candidate that keeps sectors whole is preferred if its
/// conflicts are few.
pub(super) fn in_order(tile: &Tile<'_>, axis: usize) -> u32 {
    let stride = tile.shape.axis(axis).src;
    let least = at_least(tile.p.chunks.divisor * CHUNK_BYTES, stride, CHUNK_BYTES);
    let (width, scattered) = (tile.copy.width, tile.copy.is_scattered());
    let step = if scattered { 1 } else { tile.copy.vector() };
    let cost = |&pitch: &u32| {
        let conflicts = conflicts(pitch * step, width);
        let keeps = at_least(pitch, stride, SECTOR_BYTES) == pitch && conflicts <= 2;
        (!keeps, conflicts)
    };
    (0..4).map(|chunks| least + chunks * CHUNK_BYTES).min_by_key(cost).unwrap_or(least)
}

/// The number of accesses of one bank by eight threads that are `stride` bytes apart.
fn conflicts(stride: u32, width: u32) -> u32 {
    let words = |lane: u32| (0..width.div_ceil(4)).map(move |word| i64::from(lane * stride + 4 * word));
    bank_accesses((0..8).flat_map(words))
}

/// Sets the distance between rows in `classes` classes, and how their chunks are swizzled. After
/// the end of a fused axis, the last rows of a class are further apart.
pub(super) fn in_classes(tile: &mut Tile<'_>, classes: u32) {
    let (shape, width) = (tile.shape, tile.copy.width);
    let p = &mut tile.p;
    let rows = p.rows.div_ceil(classes);
    let bytes = p.chunks.divisor * CHUNK_BYTES;
    let fused = shape.fused.map(|fused| fused.src);
    let strides = || tile.across_rows.iter().map(|&axis| shape.axis(axis).src).chain(fused);
    let single = strides().next().filter(|_| tile.across_rows.len() == 1);
    // Neighbours in a class are `classes` rows of the source apart. If that is an odd multiple of
    // 16 bytes, rows that keep their place in a line begin in different banks.
    if let Some(stride) = single {
        let next = stride * i64::from(classes);
        if next.rem_euclid(SECTOR_BYTES.into()) == i64::from(CHUNK_BYTES) {
            p.row_pitch = at_least(bytes, next, LINE_BYTES);
            p.class_pitch = at_least(rows * p.row_pitch + p.fused_x, stride, LINE_BYTES);
            return;
        }
    }
    // Otherwise the distance is a multiple of a power of two that divides all strides: a line if
    // possible, or a part of a line. Excluded are vectors that start anywhere: they reach from row
    // to row of a class, which a swizzle does not allow.
    let keeps = |&granule: &u32| strides().all(|stride| stride % i64::from(granule) == 0);
    let granule = [LINE_BYTES, LINE_BYTES / 2, SECTOR_BYTES].into_iter().find(keeps);
    if let Some(granule) = granule.filter(|_| !tile.kernel.shifted) {
        let begins = shape.rows_keep(granule.into()) && p.at.src.is_multiple_of(granule.into());
        let granules = (if begins { bytes } else { bytes + granule - CHUNK_BYTES }).div_ceil(granule);
        // Eight rows an odd number of granules apart begin at as many places as a line has
        // granules. The remaining bits of their number choose a place within the granule.
        p.row_pitch = granule * if granule == LINE_BYTES { granules } else { granules | 1 };
        p.class_pitch = rows * p.row_pitch;
        p.swizzle_shift = CHUNK_BYTES.ilog2() - (LINE_BYTES / granule).ilog2();
        p.swizzle_mask = granule - CHUNK_BYTES;
        return;
    }
    // Otherwise sectors matter more than banks, except for elements of one byte, for which a vector
    // needs sixteen accesses.
    let keep = if single.is_some() && width > 1 { SECTOR_BYTES } else { CHUNK_BYTES };
    p.row_pitch = keep * (bytes.div_ceil(keep) | 1);
    p.class_pitch = at_least(rows * p.row_pitch + p.fused_x, single.unwrap_or(0), keep);
}
