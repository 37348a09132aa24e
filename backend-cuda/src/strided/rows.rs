//! Rows: the destination is contiguous along its innermost axis, and no axis of the source is faster.

mod ways;

pub use self::ways::CHUNKS;
pub(super) use self::ways::MIN_ROW_BYTES;
use self::ways::Table;
use super::{
    kernel::Entry,
    params::{FastDiv, MAX_ROW_AXES, RowsParams},
    strided_copy::{StridedCopy, chunks, loops, starts_aligned},
    strided_launch::{Params, StridedLaunch, THREADS},
    tile::Scale,
};

/// Joined rows are at least this long, so that a chunk has parts of at most two rows.
const LEAST_JOINED_BYTES: u32 = 16;
/// If fewer bytes follow each other without a gap, too many chunks are partial.
const LEAST_GROUP_BYTES: u64 = 1024;
/// The largest step, in bytes, at which bytes are picked from vectors; `NEAR` in `rows.cu`.
pub(super) const NEAR: u32 = 4;
/// Few chunks of longer rows are partial.
const LONG_ROW_BYTES: u32 = 4 * MIN_ROW_BYTES;
/// The number of chunks of a thread if the source repeats; `REPEATS` in `rows.cu`.
pub const REPEATS: u32 = 4;

/// The launch that copies row by row, if the copy has rows.
pub(super) fn select(copy: &StridedCopy, scale: Scale) -> Option<StridedLaunch> {
    let (inner, outer) = copy.axes.split_first()?;
    let step = copy.step();
    let row_bytes = inner.extent.checked_mul(copy.width)?;
    let mut at = copy.at;
    let whole = row_bytes.is_multiple_of(16) && starts_aligned(at.dst, outer);
    // The rows follow each other without a gap, and do not all start at a multiple of 16 bytes.
    let follows = outer.first().is_some_and(|next| next.dst == i64::from(row_bytes));
    let follow = follows && !starts_aligned(at.dst, outer);
    // Short rows are copied as rows, too, if the source has them in the same order and chunks are whole:
    // either chunks of each row, or chunks of joined narrow rows. Wide elements are as fast by tiles.
    let in_order = outer.is_sorted_by_key(|axis| axis.src.unsigned_abs());
    let long_group = || u64::from(row_bytes) * u64::from(outer[0].extent) >= LEAST_GROUP_BYTES;
    let joined = row_bytes >= LEAST_JOINED_BYTES && copy.width <= 2 && inner.src == step;
    let whole_chunks = in_order && ((follow && joined && long_group()) || (whole && inner.src != 0));
    let short = row_bytes < MIN_ROW_BYTES && !outer.is_empty() && !whole_chunks;
    if copy.is_scattered() || outer.len() > MAX_ROW_AXES || short {
        return None;
    }
    // Whether every loop around rows moves by a multiple of `bytes` in the source.
    let goes_by = |bytes: u32| outer.iter().all(|axis| axis.src % i64::from(bytes) == 0);
    let comes_back = outer.iter().any(|axis| axis.src == 0);
    let mut table = None;
    let entry = if inner.src == step {
        if whole && at.src.is_multiple_of(16) && goes_by(16) {
            if comes_back { Entry::RowsAgain } else { Entry::RowsAligned }
        } else {
            table = if follow { Table::of(copy, row_bytes, outer) } else { None };
            ways::cheapest(copy, scale, follow, table.as_ref())
        }
    } else if inner.src == -step && copy.width < 16 {
        at.src = at.src.wrapping_add_signed(i64::from(inner.extent - 1) * inner.src);
        Entry::RowsReverse
    } else if inner.src == 0 {
        Entry::RowsRepeat
    } else if strided_fits(copy, whole || row_bytes >= LONG_ROW_BYTES) {
        Entry::RowsStride
    } else {
        return None;
    };
    let (outer, group_bytes, step) = match entry {
        Entry::RowsJoin => (&outer[1..], row_bytes * outer[0].extent, outer[0].src),
        Entry::RowsTable => (outer, table.as_ref()?.group_bytes, 0),
        _ => (outer, 0, inner.src),
    };
    let (total, chunks, grid) = match table.filter(|_| entry == Entry::RowsTable) {
        Some(Table { rows, groups, blocks, .. }) => (rows, blocks, groups * blocks),
        None => {
            let chunks = chunks(group_bytes.max(row_bytes), copy.width, starts_aligned(at.dst, outer));
            let rows: u32 = outer.iter().map(|axis| axis.extent).product();
            let total = rows.checked_mul(chunks).filter(|&total| total < 1 << 31)?;
            let each = if matches!(entry, Entry::RowsAgain | Entry::RowsRepeat) { REPEATS } else { 1 };
            (total, chunks, total.div_ceil(THREADS * each))
        }
    };
    let params = RowsParams {
        at,
        axes: u32::try_from(outer.len()).ok()?,
        total,
        chunks: FastDiv::new(chunks),
        row_bytes,
        row: FastDiv::new(row_bytes),
        group_bytes,
        step,
        axis: loops(outer),
    };
    Some(StridedLaunch::new(entry, copy.width, grid, Params::Rows(params)))
}

/// Whether picking the elements of a row is fastest: no axis of the source is faster, and the source is not
/// so dense that reading all of it through shared memory is cheaper. A kernel that steps forward over at most
/// three bytes also reads all of it, and is as fast if few chunks are partial.
fn strided_fits(copy: &StridedCopy, few_partial: bool) -> bool {
    let (inner, outer) = (&copy.axes[0], &copy.axes[1..]);
    let stride = inner.src.unsigned_abs();
    let fastest = outer
        .iter()
        .map(|axis| axis.src.unsigned_abs())
        .filter(|&other| other > 0)
        .all(|other| stride < other);
    let dense = copy.width == 1 && stride <= u64::from(NEAR);
    fastest && (!dense || (inner.src > 0 && few_partial))
}
