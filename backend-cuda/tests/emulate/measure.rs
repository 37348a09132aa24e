//! Costs of a launch of tiles that bytes do not show: sectors that are fetched twice, and threads
//! that meet in a bank.

use devarray_cuda::strided::{kernel::Find, strided_launch::LINE_BYTES};

use super::{
    Params, StridedLaunch, TileParams,
    tile::{byte, chunks, does, find, find_run, pad, swizzle},
};

/// Sectors of memory whose two chunks go to different sectors of shared memory.
pub(crate) fn torn_sectors(p: &TileParams) -> u32 {
    const SECTOR_BYTES: u64 = 32;
    let (mut torn, mut before) = (0, (0, 0));
    for block in 0..p.tiles {
        chunks(p, &find(p, block), |from, to| {
            let sectors = (from / SECTOR_BYTES, to as u64 / SECTOR_BYTES);
            torn += u32::from(sectors.0 == before.0 && sectors.1 != before.1);
            before = sectors;
        });
    }
    torn
}

/// Chunks that all blocks load.
pub(crate) fn chunks_loaded(p: &TileParams) -> usize {
    let mut count = 0;
    (0..p.tiles).for_each(|block| chunks(p, &find(p, block), |_, _| count += 1));
    count
}

/// The number of eight neighbouring rows of a class that begin in different 16 bytes of the banks.
pub(crate) fn rows_apart(p: &TileParams) -> u32 {
    apart(p, i64::from(p.row_pitch))
}

/// The number of eight neighbouring vectors of a run that begin so.
pub(crate) fn vectors_apart(p: &TileParams) -> u32 {
    apart(p, i64::from(p.vector_x))
}

fn apart(p: &TileParams, pitch: i64) -> u32 {
    let at = |slot: u32| (i64::from(slot) * pitch + pad(p, i64::from(slot))) ^ swizzle(p, slot);
    let banks = (0..8).map(|slot| 1 << (at(slot) / 16 % 8));
    banks.fold(0_u32, |seen, bank| seen | bank).count_ones()
}

/// How often the first warp of a block accesses shared memory for one byte of each of its vectors,
/// those from number `from` of their runs on, in the mean: words that differ and are in one bank
/// are read one after the other. For elements of one byte, a step apart.
pub(crate) fn accesses(launch: &StridedLaunch, block: u32, from: u32) -> f64 {
    const VECTOR: u32 = 16;
    let Params::Tile(p) = &launch.params else { panic!("a launch of tiles") };
    let (kernel, tile) = (does(launch), find(p, block));
    let periodic = kernel.find == Find::Periodic;
    assert!(periodic || (kernel.find == Find::Linear && kernel.shifted), "{kernel:?}");
    let start = tile.x + i64::from(p.store_x) + (tile.src % u64::from(LINE_BYTES)).cast_signed();
    let accesses = (0..VECTOR).map(|step| {
        let mut words: Vec<i64> = (0..32)
            .map(|thread| {
                let (run, chunk) = (thread >> p.lanes_log2, from + thread % (1 << p.lanes_log2));
                let chunk = chunk + run * p.share;
                let (to, x) = find_run(p, &tile, start, run);
                let over = i64::try_from(to & u64::from(p.start_mask)).unwrap();
                let back = i64::from(p.overlap * p.run_inner) - over;
                let by_vector = chunk * p.rotate_by_vector / if periodic { 4 } else { 1 };
                let word = (step / 4 + run * p.rotate_by_run + by_vector) % 4;
                let byte_of = step + chunk * p.rotate_bytes;
                let (j, chunk) = (i64::from(word * 4 + byte_of % 4), i64::from(chunk));
                byte(kernel.find, p, 1, x, (chunk, back, j), chunk * i64::from(VECTOR) + back).div_euclid(4)
            })
            .collect();
        words.sort_unstable();
        words.dedup();
        (0..32).map(|bank| words.iter().filter(|word| word.rem_euclid(32) == bank).count()).max().unwrap()
    });
    accesses.sum::<usize>() as f64 / f64::from(VECTOR)
}
