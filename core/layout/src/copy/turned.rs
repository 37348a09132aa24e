//! Transposes in vector registers: reads a cache line from each of several rows, and writes whole
//! lines.
//!
//! A block has as many rows as a line has elements, and one line of each row. A register takes 16
//! bytes from each of several rows. Rounds of interleaving turn the parts, and each register is
//! then a line of the other side, or half a line. Reading goes along the rows of a band, which
//! processors fetch ahead. Lines that are written whole may go past the caches.
#![allow(unsafe_code)] // moves bytes between raw pointers that the caller vouches for

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::x86_64::*;

#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::Runs;
use super::loops::Loops;

/// Bytes of a cache line.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const LINE_BYTES: usize = 64;

/// The number of lines of a destination row that are written from one band. The source rows of a
/// band are read side by side.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const BAND_LINES: usize = 4;

/// A set of instructions that turns blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turner {
    /// A register holds half a line.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2,
    /// A register holds a line.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512,
}

impl Turner {
    /// The turners that this processor supports, the best first.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        let known = [
            (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"), Self::Avx512),
            (is_x86_feature_detected!("avx2"), Self::Avx2),
        ];
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let known: [(bool, Self); 0] = [];
        known.into_iter().filter_map(|(has, turner)| has.then_some(turner))
    }

    /// Executes loops of single elements that lie side by side along one axis of each side, and
    /// returns true. Returns false without doing anything if the elements do not lie so, or are
    /// fewer than a block.
    ///
    /// # Safety
    ///
    /// The conditions of [`execute`](super::execute) for the runs of the loops, which lie along the
    /// two axes.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    pub(super) unsafe fn carries_out(
        self,
        loops: &Loops,
        [dst_axis, src_axis]: [usize; 2],
        [src, dst]: [*mut u8; 2],
        past_caches: bool,
    ) -> bool {
        let (rows, columns) = (loops.axes[dst_axis], loops.axes[src_axis]);
        let item = loops.run_bytes;
        let is_dense =
            rows.dst_stride_bytes == item.cast_signed() && columns.src_stride_bytes.unsigned_abs() == item;
        if !is_dense || !matches!(item, 1 | 2 | 4 | 8 | 16) {
            return false;
        }
        let side = LINE_BYTES / item;
        if rows.extent < side || columns.extent < side {
            return false;
        }
        // Columns of the source are made to go forward. Columns of the destination, which are its rows,
        // then go backward.
        let is_backward = columns.src_stride_bytes < 0;
        let last = (columns.extent - 1).cast_signed();
        let (src_first, dst_first) = match is_backward {
            true => (last * columns.src_stride_bytes, last * columns.dst_stride_bytes),
            false => (0, 0),
        };
        let dst_pitch = if is_backward { -columns.dst_stride_bytes } else { columns.dst_stride_bytes };
        let steps = Steps { src_pitch: rows.src_stride_bytes, dst_pitch };
        let block = self.block(item);
        let mut outer = loops.axes.clone();
        outer.remove(dst_axis.max(src_axis));
        outer.remove(dst_axis.min(src_axis));
        for (src_offset, dst_offset, _) in Runs::new(loops, &outer) {
            let from = src.wrapping_add(src_offset).wrapping_offset(src_first).cast_const();
            let to = dst.wrapping_add(dst_offset).wrapping_offset(dst_first);
            for band in (0..rows.extent).step_by(BAND_LINES * side) {
                for column in starts(columns.extent, side) {
                    let band_rows = (BAND_LINES * side).min(rows.extent - band);
                    for row in starts(band_rows.max(side), side) {
                        // The last band may have fewer rows than a block.
                        let row = (band + row).min(rows.extent - side);
                        let from = from.wrapping_offset(row.cast_signed() * steps.src_pitch);
                        let from = from.wrapping_add(column * item);
                        let to = to.wrapping_offset(column.cast_signed() * steps.dst_pitch);
                        let to = to.wrapping_add(row * item);
                        let lines = to.addr() | steps.dst_pitch.cast_unsigned();
                        let past_caches = past_caches && lines.is_multiple_of(LINE_BYTES);
                        // SAFETY: the block lies inside the loops, whose bytes the caller vouches
                        // for; the processor has the instructions.
                        unsafe { block(from, to, steps, past_caches) }
                    }
                }
            }
        }
        if past_caches {
            // SAFETY: every x86-64 processor has the instruction.
            unsafe { _mm_sfence() };
        }
        true
    }

    /// This processor turns no blocks.
    ///
    /// # Safety
    ///
    /// None, because nothing is done.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    pub(super) unsafe fn carries_out(
        self,
        _loops: &Loops,
        _axes: [usize; 2],
        _sides: [*mut u8; 2],
        _past_caches: bool,
    ) -> bool {
        match self {}
    }

    #[cfg(all(target_arch = "x86_64", not(miri)))]
    fn block(self, item: usize) -> Block {
        match (self, item) {
            (Self::Avx2, 1) => block_avx2::<1>,
            (Self::Avx2, 2) => block_avx2::<2>,
            (Self::Avx2, 4) => block_avx2::<4>,
            (Self::Avx2, 8) => block_avx2::<8>,
            (Self::Avx2, _) => block_avx2::<16>,
            (Self::Avx512, 1) => block_avx512::<1>,
            (Self::Avx512, 2) => block_avx512::<2>,
            (Self::Avx512, 4) => block_avx512::<4>,
            (Self::Avx512, 8) => block_avx512::<8>,
            (Self::Avx512, _) => block_avx512::<16>,
        }
    }
}

/// The first positions of blocks along an axis of a side. The last block may overlap the one before
/// it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn starts(extent: usize, side: usize) -> impl Iterator<Item = usize> {
    (0..extent.div_ceil(side)).map(move |block| (block * side).min(extent - side))
}

/// Bytes from one row to the next on each side.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[derive(Debug, Clone, Copy)]
struct Steps {
    src_pitch: isize,
    dst_pitch: isize,
}

/// Turns a block.
///
/// # Safety
///
/// The processor has the instructions. On both sides there is a row for each element of a line. One
/// line of each source row may be read, and one line of each destination row may be written; they
/// share no byte. If `past_caches`, rows of the destination begin with lines.
#[cfg(all(target_arch = "x86_64", not(miri)))]
type Block = unsafe fn(src: *const u8, dst: *mut u8, steps: Steps, past_caches: bool);

/// The lines of a block.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[repr(align(64))]
struct Lines([[u8; LINE_BYTES]; LINE_BYTES]);

/// A register with parts of two rows.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx2")]
#[inline]
fn joined_by_two(parts: [__m128i; 2]) -> __m256i {
    _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(parts[0]), parts[1])
}

/// A register with parts of four rows.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn joined_by_four(parts: [__m128i; 4]) -> __m512i {
    let two = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(parts[0]), parts[1]);
    _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(two, parts[2]), parts[3])
}

/// Emits a function that turns blocks, in registers with this number of 16-byte parts.
#[cfg(all(target_arch = "x86_64", not(miri)))]
macro_rules! turner {
    ($name:ident, $features:literal, $parts:literal, $joined:ident, $store:ident, $stream:ident,
     $([$item:pat => $low:ident, $high:ident])*) => {
        /// # Safety
        ///
        /// The conditions of [`Block`].
        #[target_feature(enable = $features)]
        unsafe fn $name<const ITEM: usize>(
            src: *const u8,
            dst: *mut u8,
            steps: Steps,
            past_caches: bool,
        ) {
            // The number of registers that make up a line, and of rows that are turned together.
            const OF_LINE: usize = 4 / $parts;
            let turned = 16 / ITEM;
            // Small elements need several reads of each line, and rows of many pitches share places
            // in a cache. So each line is read once, and turned in other memory.
            let (mut src, mut src_pitch) = (src, steps.src_pitch);
            let mut near = Lines([[0; LINE_BYTES]; LINE_BYTES]);
            if ITEM <= 2 {
                for (row, near) in near.0[..LINE_BYTES / ITEM].iter_mut().enumerate() {
                    let from = src.wrapping_offset(row.cast_signed() * src_pitch).cast::<[u8; LINE_BYTES]>();
                    // SAFETY: a line of a row of the block.
                    *near = unsafe { from.read() };
                }
                (src, src_pitch) = (near.0.as_ptr().cast(), LINE_BYTES.cast_signed());
            }
            for group in 0..4 {
                let from = src.wrapping_add(16 * group);
                let mut lines = [[$joined([_mm_setzero_si128(); $parts]); 16]; OF_LINE];
                for (number, line) in lines.iter_mut().enumerate() {
                    for (row, register) in line[..turned].iter_mut().enumerate() {
                        let mut parts = [_mm_setzero_si128(); $parts];
                        for (part, bytes) in parts.iter_mut().enumerate() {
                            let row = ((number * $parts + part) * turned + row).cast_signed();
                            let from = from.wrapping_offset(row * src_pitch);
                            // SAFETY: 16 bytes of a row of the block.
                            *bytes = unsafe { _mm_loadu_si128(from.cast()) };
                        }
                        *register = $joined(parts);
                    }
                    // Each round interleaves the first half of the rows with the second half.
                    for _ in 0..turned.ilog2() {
                        let before = *line;
                        for row in 0..turned / 2 {
                            let (a, b) = (before[row], before[row + turned / 2]);
                            (line[2 * row], line[2 * row + 1]) = match ITEM {
                                $($item => ($low(a, b), $high(a, b)),)*
                            };
                        }
                    }
                }
                for row in 0..turned {
                    let row_of = (group * turned + row).cast_signed();
                    let to = dst.wrapping_offset(row_of * steps.dst_pitch);
                    for (number, line) in lines.iter().enumerate() {
                        let to = to.wrapping_add(number * LINE_BYTES / OF_LINE).cast();
                        if past_caches {
                            // SAFETY: a part of a line of the block, aligned as the caller promises.
                            unsafe { $stream(to, line[row]) }
                        } else {
                            // SAFETY: a part of a line of the block.
                            unsafe { $store(to, line[row]) }
                        }
                    }
                }
            }
        }
    };
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
turner! {
    block_avx2, "avx2", 2, joined_by_two, _mm256_storeu_si256, _mm256_stream_si256,
    [1 => _mm256_unpacklo_epi8, _mm256_unpackhi_epi8]
    [2 => _mm256_unpacklo_epi16, _mm256_unpackhi_epi16]
    [4 => _mm256_unpacklo_epi32, _mm256_unpackhi_epi32]
    [_ => _mm256_unpacklo_epi64, _mm256_unpackhi_epi64]
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
turner! {
    block_avx512, "avx512f,avx512bw", 4, joined_by_four, _mm512_storeu_si512, _mm512_stream_si512,
    [1 => _mm512_unpacklo_epi8, _mm512_unpackhi_epi8]
    [2 => _mm512_unpacklo_epi16, _mm512_unpackhi_epi16]
    [4 => _mm512_unpacklo_epi32, _mm512_unpackhi_epi32]
    [_ => _mm512_unpacklo_epi64, _mm512_unpackhi_epi64]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Layout,
        copy::{Class, Limits, Plan},
    };

    /// Copies between layouts of two or three axes, with extents around the side of a block,
    /// forwards and backwards. Returns whether blocks were turned, after checking that the bytes
    /// equal a copy by runs.
    fn turns(turner: Turner, item: usize, extents: [usize; 3], case: usize, spoil: bool) -> bool {
        let [outer, rows, columns] = extents.map(usize::cast_signed);
        let (gap, start) = ((case % 3).cast_signed() * 5, 3 * (case % 2));
        let (dst_pitch, src_pitch) = (rows + gap, columns + gap / 5);
        // In memory the source is (outer, rows, columns) and the destination (columns, outer,
        // rows).
        let dst = [dst_pitch, 1, outer * dst_pitch];
        let sign = |bit: usize| if case >> bit & 1 == 1 { -1 } else { 1 };
        let src = [rows * src_pitch, src_pitch * sign(2), sign(3)];
        let reach: isize = (0..3)
            .filter(|&axis| src[axis] < 0)
            .map(|axis| -src[axis] * (extents[axis].cast_signed() - 1))
            .sum();
        let dst = Layout::new(&extents, &dst, start).unwrap();
        let src = Layout::new(&extents, &src, start + reach.cast_unsigned()).unwrap();
        let plan = Plan::new(&dst, &src, item, Limits::default()).unwrap();
        let from: Vec<u8> =
            (0..src.span().end * item).map(|at| (at * 167 / 64 + at).to_le_bytes()[0] | 1).collect();
        let mut expected = vec![0_u8; dst.span().end * item + 64];
        // Rows begin with a line, where the pitch allows it.
        let ahead = if case.is_multiple_of(5) { expected.as_ptr().align_offset(LINE) } else { 0 };
        let mut found = expected.clone();
        let ahead_found = if case.is_multiple_of(5) { found.as_ptr().align_offset(LINE) } else { 0 };
        for (src, dst, len) in plan.runs() {
            expected[ahead + dst..][..len].copy_from_slice(&from[src..][..len]);
        }
        let Class::Transpose { dst_axis, src_axis } = plan.class() else { return false };
        let sides = [from.as_ptr().cast_mut(), found[ahead_found..].as_mut_ptr()];
        // SAFETY: both sides are memory of this test that is as long as the layouts reach; the
        // source is only read.
        let done =
            unsafe { turner.carries_out(&plan.loops, [dst_axis, src_axis], sides, case.is_multiple_of(2)) };
        if !done {
            assert!(found.iter().all(|&byte| byte == 0), "nothing is done");
            return false;
        }
        if spoil {
            found[ahead_found + plan.dst_offset_bytes()] ^= 2;
        }
        let len = dst.span().end * item;
        assert!(
            found[ahead_found..][..len] == expected[ahead..][..len],
            "{turner:?} {item} {extents:?} {case}"
        );
        let around = found[..ahead_found].iter().chain(&found[ahead_found + len..]);
        assert!(around.copied().all(|byte| byte == 0), "bytes around are not touched");
        true
    }

    const LINE: usize = 64;

    #[test]
    fn blocks_are_turned_like_runs() {
        for turner in Turner::all() {
            for item in [1, 2, 4, 8, 16] {
                let side = LINE / item;
                let mut turned = 0;
                for (case, rows) in [1, side - 1, side, side + 1, 2 * side, 4 * side + 1, 9 * side + 3]
                    .into_iter()
                    .enumerate()
                {
                    for (more, columns) in [side - 1, side, side + 3, 3 * side].into_iter().enumerate() {
                        for direction in 0..16 {
                            let outer = [1, 3][direction % 2];
                            let case = 4 * direction + (case + more) * 64 + (case + more) % 4;
                            turned += usize::from(turns(turner, item, [outer, rows, columns], case, false));
                        }
                    }
                }
                assert!(turned >= 200, "{turner:?} {item}: only {turned} were turned");
            }
        }
    }

    #[test]
    fn a_wrong_byte_is_found() {
        for turner in Turner::all() {
            let found = std::panic::catch_unwind(|| turns(turner, 4, [1, 16, 16], 0, true));
            assert!(found.is_err(), "{turner:?}");
        }
    }
}
