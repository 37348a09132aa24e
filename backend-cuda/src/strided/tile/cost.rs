//! The cost of a launch of tiles, counted from its parameters.
//!
//! The cost counts the differences between boxes of one copy: chunks that are loaded, lines that are read
//! twice, runs that end within sectors, pieces of runs that a warp stores, accesses to shared memory with
//! their bank conflicts, and table entries. The time that memory needs is the same for all boxes and is left
//! out. The unit is the time of a byte in a contiguous copy on an H100.

use super::{
    order::CACHED_BYTES,
    rotate::{WARP, bank_accesses},
    shape::group,
    sizes::CHUNK_BYTES,
};
use crate::strided::{
    kernel::{Find, TileKernel},
    params::{Loop, TileParams},
    strided_launch::{LINE_BYTES, Params, StridedLaunch},
};

// Fitted to the order of 7,270 launches of 397 shapes on an H100 and on an H200 (driver 580.159.04). A
// constant and a factor for each card turn the cost into a time, which differs from the measured one by 8 and
// 10 % (root mean square; only launches at most 30 % slower than the fastest).
const CHUNK: f64 = 1.3;
/// The cost of a row, if the tile that reads the rest of its lines comes after they have left the cache.
const LATE_ROW: f64 = 12.0;
const TORN_RUN: f64 = 51.0;
/// The extra cost if few threads share a run: more runs of a warp then end, each at another place.
const TORN_BY_FEW: f64 = 20.0;
const PIECE: f64 = 0.4;
/// The cost of one element, or of one entry of a table.
const ACCESS: f64 = 0.04;
const ENTRY: f64 = 0.64;
/// The number of accesses for the entries of a vector, if they are read as vectors.
const WIDE_ACCESSES: f64 = 24.0;

/// The cost of a launch of tiles, if it is less than `limit`.
pub(in crate::strided) fn below(limit: f64, launch: &StridedLaunch) -> Option<f64> {
    let (Params::Tile(p), Some(kernel)) = (&launch.params, launch.kernel.entry.tile()) else { return None };
    let width = launch.kernel.width;
    let late = if comes_late(p) { LATE_ROW } else { 0.0 };
    let loaded = f64::from(p.rows) * (CHUNK * f64::from(p.chunks.divisor) + late);
    let torn = match p.overlap {
        // Runs of whole vectors end in sectors that other tiles also write soon.
        0 if !kernel.shifted && kernel.store_bytes == CHUNK_BYTES => 0.0,
        0 if p.lanes_log2 <= 2 => TORN_RUN + TORN_BY_FEW,
        0 => TORN_RUN,
        // Only the first and the last tile along a run tear sectors.
        _ => TORN_RUN / along_run(p),
    };
    let alone = (loaded + torn * f64::from(p.stores)) * existing(p) + tables(p, kernel, width);
    let tiles = f64::from(p.tiles);
    // Counting conflicts takes longest.
    let least = tiles * (alone + stored(p, kernel, width, |_, _, _| (1.0, 1.0)));
    let cost = || tiles * (alone + stored(p, kernel, width, conflicts));
    Some(least).filter(|&least| least < limit).map(|_| cost()).filter(|&cost| cost < limit)
}

/// The part of a tile that exists, on average: the last one along an axis is shorter.
fn existing(p: &TileParams) -> f64 {
    let part = |extent: u32, piece: u32| match extent {
        0 => 1.0,
        _ => f64::from(extent) / f64::from(extent.next_multiple_of(piece)),
    };
    let of_run = match p.overlap {
        0 => part(p.b_extent, p.b_piece),
        // The first tile does not reach back.
        overlap => {
            let steps = f64::from(p.b_extent) + f64::from(overlap) * (along_run(p) - 1.0);
            steps / (along_run(p) * f64::from(p.b_piece + overlap))
        }
    };
    part(p.a_extent, p.a_piece) * of_run * part(p.c_extent, p.c_piece)
}

/// Whether many bytes are read between a tile and the tile with the nearest rows.
fn comes_late(p: &TileParams) -> bool {
    let outer = &p.outer[..p.outer_axes as usize];
    let near = |axis: &Loop| (1..u64::from(p.span + LINE_BYTES)).contains(&axis.src.unsigned_abs());
    let others = (0..outer.len()).filter(|&k| outer[k].extent.divisor > 1 && near(&outer[k]));
    let nearest = others.min_by_key(|&k| outer[k].src.unsigned_abs()).unwrap_or(0);
    let tiles: u64 = outer[..nearest].iter().map(|axis| u64::from(axis.extent.divisor)).product();
    tiles * u64::from(p.rows) * u64::from(p.span) > CACHED_BYTES
}

/// The number of tiles along the cut axis of a run.
fn along_run(p: &TileParams) -> f64 {
    f64::from(p.outer[p.b_outer as usize].extent.divisor)
}

/// The cost of gathering and storing vectors. An idle thread counts as if it had one, too.
fn stored(
    p: &TileParams,
    kernel: TileKernel,
    width: u32,
    conflicts: impl Fn(&TileParams, TileKernel, u32) -> (f64, f64),
) -> f64 {
    // The number of runs whose vectors one thread stores.
    let at_once = match kernel.find {
        Find::Packed => group(width),
        _ => 1,
    };
    let columns = if p.columns.divisor > 0 { p.columns.divisor } else { p.passes << p.lanes_log2 };
    let busy = columns * p.store_groups.divisor;
    let pieces = f64::from(busy * at_once) / f64::from(1 << p.lanes_log2);
    let elements = f64::from(CHUNK_BYTES / width);
    let accesses = match kernel.find {
        Find::Linear | Find::Periodic => elements * conflicts(p, kernel, width).0,
        Find::Table => {
            let (of_elements, of_entries) = conflicts(p, kernel, width);
            // Runs of whole vectors find their entries aligned.
            let entries = match (kernel.wide, kernel.shifted) {
                (true, _) => WIDE_ACCESSES,
                (false, true) => elements * of_entries,
                (false, false) => 0.0,
            };
            elements * of_elements + entries
        }
        _ => elements,
    };
    PIECE * pieces + ACCESS * f64::from(busy) * accesses
}

/// The cost of filling the tables of elements, rows and runs.
fn tables(p: &TileParams, kernel: TileKernel, width: u32) -> f64 {
    let of_loops = |loops: u32, entries: u32| if loops > 1 { loops * entries } else { 0 };
    let elements = match kernel.find {
        Find::Table => of_loops(p.run_axes, p.period.divisor + 2 * CHUNK_BYTES / width),
        _ => 0,
    };
    ENTRY * f64::from(elements + of_loops(p.row_axes, p.rows) + of_loops(p.store_axes, p.stores))
}

/// Bank accesses of a warp for one element of each of its vectors, and for the table entries that tell where
/// the elements are: the average over some warps and elements.
pub(in crate::strided) fn conflicts(p: &TileParams, kernel: TileKernel, width: u32) -> (f64, f64) {
    /// The number of warps of a block, and of elements of each vector, that are examined.
    const WARPS: u32 = 2;
    const SAMPLES: u32 = 2;
    let elements = CHUNK_BYTES / width;
    let by_vectors = if kernel.find == Find::Periodic { 4 } else { 1 };
    let all = ((p.stores * p.passes) << p.lanes_log2).div_ceil(WARP);
    let warps = WARPS.min(all);
    let (mut of_elements, mut of_entries, mut samples) = (0, 0, 0);
    for warp in (0..warps).map(|warp| all * warp / warps) {
        let mut threads = warp * WARP..;
        let vectors =
            [(); WARP as usize].map(|()| vector_of(p, kernel, width, threads.next().unwrap_or(u32::MAX)));
        for element in (0..elements).step_by(elements.div_ceil(SAMPLES) as usize) {
            let byte = |vector: &Vector| {
                let word = element / 4
                    + vector.run * p.rotate_by_run
                    + vector.number * p.rotate_by_vector / by_vectors;
                let element = word % 4 * 4 + (element + vector.number * p.rotate_bytes) % 4;
                vector.x + place(p, kernel, vector.first + i64::from(element), elements)
            };
            of_elements += bank_accesses(vectors.iter().map(byte));
            samples += 1;
        }
        if kernel.find == Find::Table {
            // The entries of the next elements are at the same distances from each other.
            let entry = |vector: &Vector| 2 * (vector.first % i64::from(p.period.divisor));
            of_entries += bank_accesses(vectors.iter().map(entry));
        }
    }
    (f64::from(of_elements) / f64::from(samples), f64::from(of_entries) / f64::from(warps))
}

/// A vector that a thread stores.
struct Vector {
    run: u32,
    number: u32,
    /// Its first element, and the byte at which its run starts.
    first: i64,
    x: i64,
}

fn vector_of(p: &TileParams, kernel: TileKernel, width: u32, thread: u32) -> Vector {
    let group = thread >> p.lanes_log2;
    let run = group % p.stores;
    let lane = ((group / p.stores) << p.lanes_log2) + thread % (1 << p.lanes_log2);
    let number = run * p.share + lane.min(p.run_chunks.saturating_sub(1));
    let (mut rest, mut to, mut x) = (run, 0_i64, 0_i64);
    for store in &p.store[..p.store_axes as usize] {
        let next = store.extent.divide(rest);
        let c = i64::from(rest - next * store.extent.divisor);
        rest = next;
        to = to.wrapping_add(c.wrapping_mul(store.dst));
        x += c * i64::from(store.x);
    }
    let over = if kernel.shifted { to & i64::from(p.start_mask) } else { 0 };
    let first =
        (i64::from(number * CHUNK_BYTES) - over) / i64::from(width) + i64::from(p.overlap * p.run_inner);
    Vector { run, number, first, x }
}

/// The byte of an element of a run, without swizzles.
fn place(p: &TileParams, kernel: TileKernel, element: i64, elements: u32) -> i64 {
    if kernel.find != Find::Table {
        // Elements are one step apart; another step leads from vector to vector, or from period to period.
        let (inner, outer_x) = match kernel.find {
            Find::Periodic => (p.period.divisor, p.period_x),
            _ => (elements, p.vector_x),
        };
        let outer = element.max(0) / i64::from(inner);
        let rest = element - outer * i64::from(inner);
        return outer * i64::from(outer_x) + rest * i64::from(p.element_x);
    }
    let element = u32::try_from(element).unwrap_or(0);
    let period = p.period.divide(element);
    let mut rest = element - period * p.period.divisor;
    let mut x = i64::from(period) * i64::from(p.period_x);
    for (k, axis) in p.run_axis[..p.run_axes as usize].iter().enumerate() {
        let next = axis.extent.divide(rest);
        let c = rest - next * axis.extent.divisor;
        rest = next;
        x += if k == 0 && p.run_in_classes > 0 {
            let slot = c >> p.classes_log2;
            i64::from((c - (slot << p.classes_log2)) * p.class_pitch + slot * p.row_pitch)
        } else {
            i64::from(c) * i64::from(axis.x)
        };
    }
    x
}
