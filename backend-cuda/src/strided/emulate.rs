//! The kernels once more, on host memory: what the device does with a launch, thread by thread.
//!
//! Follows `kernels/strided/*.cu` statement by statement where an index is computed, and panics where the device would
//! read outside the source's span, misalign an access to shared memory, or leave it.

use super::{
    launch::{Block, Launch, Loop, Operands},
    rows::{REPEATS, RowsParams},
    tile::TileParams,
};

pub(super) mod measure;
pub(super) mod tile;

/// Host memory in the place of the device's.
pub(super) struct Memory<'a> {
    pub(super) src: &'a [u8],
    pub(super) src_base: u64,
    pub(super) dst: &'a mut [u8],
    pub(super) dst_base: u64,
}

impl Memory<'_> {
    fn read(&self, at: u64) -> u8 {
        self.src[usize::try_from(at - self.src_base).unwrap()]
    }

    fn write(&mut self, at: u64, byte: u8) {
        self.dst[usize::try_from(at - self.dst_base).unwrap()] = byte;
    }

    /// The 16 bytes at an aligned address, those outside the span as 0.
    fn chunk(&self, at: u64, operands: &Operands) -> [u8; 16] {
        assert!(at.is_multiple_of(16), "an aligned chunk");
        let span = operands.src_begin..operands.src_end;
        std::array::from_fn(|i| if span.contains(&(at + i as u64)) { self.read(at + i as u64) } else { 0 })
    }
}

/// Carries out one launch.
pub(super) fn run(launch: &Launch, memory: &mut Memory<'_>) {
    let name = launch.kernel.name.to_str().unwrap();
    let width = || name.rsplit('_').next().unwrap().parse::<i64>().unwrap();
    match &launch.params.0 {
        Block::Gather(p) => {
            for item in 0..p.total {
                let (src, dst) = walk(&p.axis[..p.axes as usize], item, p.at.src, p.at.dst);
                for i in 0..width().cast_unsigned() {
                    memory.write(dst + i, memory.read(src + i));
                }
            }
        }
        Block::Rows(p) => {
            let several = ["rows_again", "rows_repeat"].iter().any(|kind| name.starts_with(kind));
            let chunks = u64::from(launch.grid)
                * u64::from(launch.threads)
                * u64::from(if several { REPEATS } else { 1 });
            assert!(chunks >= p.total.into(), "threads enough for all chunks");
            assert!(p.hold == 0 || ["rows_aligned", "rows_stride"].iter().any(|kind| name.starts_with(kind)));
            for item in 0..p.total {
                let row = item / p.chunks.divisor;
                let (src, dst) = walk(&p.axis[..p.axes as usize], row, p.at.src, p.at.dst);
                let chunk = i64::from(item % p.chunks.divisor);
                rows(name, p, memory, (src, dst), chunk * 16 - i64::try_from(dst % 16).unwrap());
            }
        }
        Block::Tile(p) => tile::run(launch, name, p, memory),
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

/// One chunk of a row, whose first byte is `first` bytes from the row's start.
fn rows(name: &str, p: &RowsParams, memory: &mut Memory<'_>, (src, dst): (u64, u64), first: i64) {
    let joined = name == "rows_join";
    let length = i64::from(if joined { p.group_bytes } else { p.row_bytes });
    if matches!(name, "rows_aligned" | "rows_again") {
        assert!(first >= 0 && first + 16 <= length && src.is_multiple_of(16), "whole chunks");
    }
    let row_bytes = i64::from(p.row_bytes);
    for at in first.max(0)..(first + 16).min(length) {
        let from = match name {
            "rows_aligned" | "rows_again" | "rows_realign" => at,
            "rows_join" => at / row_bytes * p.step + at % row_bytes,
            _ => {
                let width = name.rsplit('_').next().unwrap().parse::<i64>().unwrap();
                let (element, byte) = (at / width, at % width);
                if name.starts_with("rows_repeat") {
                    byte
                } else if name.starts_with("rows_reverse") {
                    row_bytes - (element + 1) * width + byte
                } else {
                    element * p.step + byte
                }
            }
        };
        memory.write(dst.wrapping_add_signed(at), memory.read(src.wrapping_add_signed(from)));
    }
}
