//! What a launch of tiles costs, counted from its parameters.
//!
//! Counted is what differs between boxes of one copy: chunks that are loaded, runs that end within
//! sectors, vectors and the threads that are idle meanwhile, accesses to shared memory with their
//! bank conflicts, table entries, and blocks. The time that memory needs is the same for all and
//! left out. The unit is the time of a byte in a contiguous copy on an H100.

use super::{
    SECTOR_BYTES,
    place::CHUNK_BYTES,
    rotate::{WARP, bank_accesses},
    shape::group,
};
use crate::strided::{
    kernel::{Find, TileKernel},
    launch::{Launch, Params},
    params::TileParams,
};

// Fitted to 3,304 launches of 346 shapes on an H100 and an H200 (driver 580.159.04), with one
// constant more for each card. It differs by 10 % (root mean square) from the measured time.
const CHUNK: f64 = 2.35;
const TORN_RUN: f64 = 39.0;
const THREAD: f64 = 0.45;
const ACCESS: f64 = 0.055;
const RUN_ENTRY: f64 = 0.27;
const ROW_ENTRY: f64 = 2.9;
const BLOCK: f64 = 130.0;

/// The cost of a launch of tiles.
pub(in crate::strided) fn of(launch: &Launch) -> Option<f64> {
    let (Params::Tile(p), Some(kernel)) = (&launch.params, launch.kernel.entry.tile()) else { return None };
    let width = launch.kernel.width;
    let loaded = CHUNK * f64::from(p.rows * p.chunks.divisor);
    let within = if kernel.shifted { p.overlap == 0 } else { !(p.run * width).is_multiple_of(SECTOR_BYTES) };
    let torn = if within { TORN_RUN * f64::from(p.stores) } else { 0.0 };
    let tile =
        (loaded + torn) * existing(p) + stored(p, kernel, width, launch.threads) + tables(p, kernel, width);
    Some((tile + BLOCK) * f64::from(p.tiles))
}

/// The part of a tile that exists, on average: the last one along an axis has less.
fn existing(p: &TileParams) -> f64 {
    let part = |extent: u32, piece: u32, overlap: u32| match extent {
        0 => 1.0,
        _ => f64::from(extent) / f64::from((extent + overlap).next_multiple_of(piece)),
    };
    part(p.a_extent, p.a_piece, 0) * part(p.b_extent, p.b_piece, p.overlap) * part(p.c_extent, p.c_piece, 0)
}

/// The cost of gathering and storing vectors. Idle threads count as if they had one, too.
fn stored(p: &TileParams, kernel: TileKernel, width: u32, threads: u32) -> f64 {
    // Runs whose vectors one thread gathers at once.
    let at_once = match kernel.find {
        Find::Packed => group(width),
        Find::Split(runs) => runs,
        _ => 1,
    };
    let columns = if p.columns.divisor > 0 { p.columns.divisor } else { p.passes << p.lanes_log2 };
    let busy = columns * p.store_groups.divisor;
    let conflicts = if at_once > 1 { 1.0 } else { conflicts(p, kernel, width) };
    let accesses = f64::from(busy * (CHUNK_BYTES / width)) * conflicts;
    THREAD * f64::from(busy.next_multiple_of(threads) * at_once) + ACCESS * accesses
}

/// The cost of filling the tables of elements, rows and runs.
fn tables(p: &TileParams, kernel: TileKernel, width: u32) -> f64 {
    let of_loops = |loops: u32, entries: u32| if loops > 1 { f64::from(loops * entries) } else { 0.0 };
    let elements = match kernel.find {
        Find::Table => of_loops(p.run_axes, p.period.divisor + 2 * CHUNK_BYTES / width),
        _ => 0.0,
    };
    RUN_ENTRY * elements + ROW_ENTRY * (of_loops(p.row_axes, p.rows) + of_loops(p.store_axes, p.stores))
}

/// Bank accesses of the first warp of a block for one element of each of its vectors, on average.
pub(in crate::strided) fn conflicts(p: &TileParams, kernel: TileKernel, width: u32) -> f64 {
    /// Elements of each vector that are looked at.
    const SAMPLES: u32 = 4;
    let elements = CHUNK_BYTES / width;
    let by_vectors = if kernel.find == Find::Periodic { 4 } else { 1 };
    let byte = |thread: u32, element: u32| {
        let (run, lane) = ((thread >> p.lanes_log2) % p.stores, thread % (1 << p.lanes_log2));
        let (mut rest, mut to, mut x) = (run, 0_i64, 0_i64);
        for store in &p.store[..p.store_axes as usize] {
            let c = i64::from(rest % store.extent.divisor);
            rest /= store.extent.divisor;
            to = to.wrapping_add(c.wrapping_mul(store.dst));
            x += c * i64::from(store.x);
        }
        let vector = run * p.share + lane;
        let word = element / 4 + run * p.rotate_by_run + vector * p.rotate_by_vector / by_vectors;
        let element = word % 4 * 4 + (element + vector * p.rotate_bytes) % 4;
        let over = if kernel.shifted { to & i64::from(p.start_mask) } else { 0 };
        x + place(p, kernel, i64::from(vector * elements + element) - over / i64::from(width), elements)
    };
    let of_element = |element| bank_accesses((0..WARP).map(|thread| byte(thread, element)));
    let step = elements.div_ceil(SAMPLES);
    let looked_at = (0..elements).step_by(step as usize);
    f64::from(looked_at.map(of_element).sum::<u32>()) / f64::from(elements.div_ceil(step))
}

/// The byte of an element of a run, swizzles apart.
fn place(p: &TileParams, kernel: TileKernel, element: i64, elements: u32) -> i64 {
    if kernel.find != Find::Table {
        // Elements one step apart, and a step from vector to vector or from period to period.
        let (inner, outer_x) = match kernel.find {
            Find::Periodic => (p.period.divisor, p.period_x),
            _ => (elements, p.vector_x),
        };
        let outer = element.max(0) / i64::from(inner);
        let rest = element - outer * i64::from(inner);
        return outer * i64::from(outer_x) + rest * i64::from(p.element_x);
    }
    let element = u32::try_from(element).unwrap_or(0);
    let (period, mut rest) = (element / p.period.divisor, element % p.period.divisor);
    let mut x = i64::from(period) * i64::from(p.period_x);
    for (k, axis) in p.run_axis[..p.run_axes as usize].iter().enumerate() {
        let c = rest % axis.extent.divisor;
        rest /= axis.extent.divisor;
        x += if k == 0 && p.run_in_classes > 0 {
            let slot = c >> p.classes_log2;
            i64::from((c - (slot << p.classes_log2)) * p.class_pitch + slot * p.row_pitch)
        } else {
            i64::from(c) * i64::from(axis.x)
        };
    }
    x
}
