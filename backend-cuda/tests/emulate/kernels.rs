//! The kernels once more, on host memory: what the device does with a launch, thread by thread.
//!
//! Follows `kernels/strided/*.cu` statement by statement where an index is computed, and panics
//! where the device would read outside the source's span, misalign an access to shared memory, or
//! leave it.

use devarray_cuda::strided::{
    Params, StridedLaunch,
    kernel::Entry,
    params::{FastDiv, FillLoop, FillParams, Loop, Operands, RowsParams, TileParams},
    rows::{CHUNKS, REPEATS},
};

#[allow(dead_code, reason = "what several copies cost is measured nowhere")]
pub(crate) mod join;
pub(crate) mod measure;
pub(crate) mod tile;

/// The memory of the device, which may hold nothing at an address.
pub(crate) trait Memory {
    fn read(&self, at: u64) -> u8;

    fn write(&mut self, at: u64, bytes: &[u8]);

    /// The 16 bytes at an aligned address, those outside the span as 0.
    fn chunk(&self, at: u64, operands: &Operands) -> [u8; 16] {
        assert!(at.is_multiple_of(16), "an aligned chunk");
        let span = operands.src_begin..operands.src_end;
        std::array::from_fn(|i| if span.contains(&(at + i as u64)) { self.read(at + i as u64) } else { 0 })
    }
}

/// Carries out one launch of a copy.
pub(crate) fn run(launch: &StridedLaunch, memory: &mut impl Memory) {
    let (entry, width) = (launch.kernel.entry, launch.kernel.width);
    match &launch.params {
        Params::Gather(p) => {
            for item in 0..p.total {
                let (src, dst) = walk(&p.axis[..p.axes as usize], item, p.at.src, p.at.dst);
                let aligned = src.is_multiple_of(width.into()) && dst.is_multiple_of(width.into());
                assert!(aligned, "aligned elements");
                let element: Vec<u8> = (0..u64::from(width)).map(|i| memory.read(src + i)).collect();
                memory.write(dst, &element);
            }
        }
        Params::Rows(p) if entry == Entry::RowsTable => table(launch, p, memory),
        Params::Rows(p) => {
            let several = matches!(entry, Entry::RowsAgain | Entry::RowsRepeat);
            let chunks = u64::from(launch.grid)
                * u64::from(launch.threads)
                * u64::from(if several { REPEATS } else { 1 });
            assert!(chunks >= p.total.into(), "threads enough for all chunks");
            for item in 0..p.total {
                let row = item / p.chunks.divisor;
                let (src, dst) = walk(&p.axis[..p.axes as usize], row, p.at.src, p.at.dst);
                let chunk = i64::from(item % p.chunks.divisor);
                let first = chunk * 16 - i64::try_from(dst % 16).unwrap();
                rows(entry, width.into(), p, memory, (src, dst), first);
            }
        }
        Params::Tile(p) => tile::run(launch, p, memory),
    }
}

/// Carries out one launch of a fill.
pub(crate) fn fill(launch: &StridedLaunch<FillParams>, memory: &mut impl Memory) {
    let (p, wide) = (&launch.params, launch.kernel.entry == Entry::Fill64);
    assert!(launch.threads == 256 && p.unused_after_axes == 0);
    assert!(wide || p.total <= u64::from(launch.grid) * 256, "a thread for each element");
    let loops = &p.axis[..p.axes as usize];
    let near = |pair: &[FillLoop]| pair[0].dst.abs() < pair[1].dst.abs();
    assert!(loops.windows(2).all(near), "neighbouring threads write near each other");
    let pattern: Vec<u8> = p.pattern.iter().flat_map(|word| word.to_le_bytes()).collect();
    for item in 0..p.total {
        let (mut dst, mut n) = (p.dst, item);
        for (k, axis) in loops.iter().enumerate() {
            let by = FastDiv { divisor: 0, multiplier: axis.multiplier, shift: axis.shift };
            let rest = match () {
                () if k + 1 == loops.len() => 0,
                () if wide => n / axis.extent,
                () => by.divide(u32::try_from(n).unwrap()).into(),
            };
            dst = dst.wrapping_add_signed((n - rest * axis.extent).cast_signed() * axis.dst);
            n = rest;
        }
        assert!(dst.is_multiple_of(launch.kernel.width.into()), "an aligned element");
        memory.write(dst, &pattern[..launch.kernel.width as usize]);
    }
}

/// Both addresses at a step of nested loops.
fn walk(axes: &[Loop], mut item: u32, mut src: u64, mut dst: u64) -> (u64, u64) {
    for axis in axes {
        let next = axis.extent.divide(item);
        let c = i64::from(item - next * axis.extent.divisor);
        src = src.wrapping_add_signed(c * axis.src);
        dst = dst.wrapping_add_signed(c * axis.dst);
        item = next;
    }
    assert_eq!(item, 0, "no more items than the loops have steps");
    (src, dst)
}

/// Rows that follow each other: each block has a piece of a group, and a table of its rows.
fn table(launch: &StridedLaunch, p: &RowsParams, memory: &mut impl Memory) {
    const PIECE_BYTES: i64 = 256 * 16 * CHUNKS as i64;
    let least_row = if launch.kernel.width < 4 { 64 } else { 16 };
    let (group_bytes, row_bytes) = (i64::from(p.group_bytes), i64::from(p.row_bytes));
    assert!(launch.threads == 256 && group_bytes == i64::from(p.total) * row_bytes, "whole rows");
    let find = |row: u32| walk(&p.axis[..p.axes as usize], row, p.at.src, p.at.dst);
    for block in 0..launch.grid {
        let group = p.chunks.divide(block);
        let (_, dst) = find(group * p.total);
        let number = i64::from(block - group * p.chunks.divisor);
        let begin = number * PIECE_BYTES - i64::try_from(dst % 16).unwrap();
        let end = (begin + PIECE_BYTES).min(group_bytes);
        let first_row = p.row.divide(u32::try_from(begin.max(0)).unwrap());
        let rows = if begin < end { (end - 1) / row_bytes - i64::from(first_row) + 1 } else { 0 };
        assert!(
            row_bytes >= least_row && rows <= PIECE_BYTES / least_row + 1,
            "the table holds the rows of a block"
        );
        let starts: Vec<u64> =
            (0..u32::try_from(rows).unwrap()).map(|row| find(group * p.total + first_row + row).0).collect();
        for at in begin.max(0)..end {
            let row = usize::try_from(at / row_bytes - i64::from(first_row)).unwrap();
            let byte = memory.read(starts[row].wrapping_add_signed(at % row_bytes));
            memory.write(dst.wrapping_add_signed(at), &[byte]);
        }
    }
}

/// One chunk of a row, whose first byte is `first` bytes from the row's start.
fn rows(
    entry: Entry,
    width: i64,
    p: &RowsParams,
    memory: &mut impl Memory,
    (src, dst): (u64, u64),
    first: i64,
) {
    let joined = entry == Entry::RowsJoin;
    let length = i64::from(if joined { p.group_bytes } else { p.row_bytes });
    if matches!(entry, Entry::RowsAligned | Entry::RowsAgain) {
        assert!(first >= 0 && first + 16 <= length && src.is_multiple_of(16), "whole chunks");
    }
    let row_bytes = i64::from(p.row_bytes);
    for at in first.max(0)..(first + 16).min(length) {
        let (element, byte) = (at / width.max(1), at % width.max(1));
        let from = match entry {
            Entry::RowsAligned | Entry::RowsAgain | Entry::RowsRealign => at,
            Entry::RowsJoin => at / row_bytes * p.step + at % row_bytes,
            Entry::RowsRepeat => byte,
            Entry::RowsReverse => row_bytes - (element + 1) * width + byte,
            Entry::RowsStride => element * p.step + byte,
            other => panic!("{other:?} is no kernel of rows"),
        };
        let byte = memory.read(src.wrapping_add_signed(from));
        memory.write(dst.wrapping_add_signed(at), &[byte]);
    }
}
