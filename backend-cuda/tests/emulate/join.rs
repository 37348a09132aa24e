//! The kernels of `join.cu`, thread by thread.

use devarray_cuda::strided::{
    JoinParams, StridedLaunch,
    kernel::Entry,
    params::{InterleaveParams, MAX_SHORT_ROW, Operands, Piece, PiecesParams},
};

use super::{Memory, walk};

/// Vectors of a thread, as `VECTORS` and `ZIP_VECTORS` in the source.
const VECTORS: u32 = 4;
const ZIP_VECTORS: u32 = 2;

/// Carries out one launch for several copies.
pub(crate) fn join(launch: &StridedLaunch<JoinParams>, memory: &mut impl Memory) {
    assert_eq!((launch.threads, launch.shared_bytes), (256, 0));
    let width = launch.kernel.width;
    for block in 0..launch.grid {
        match &launch.params {
            JoinParams::Pieces(p) => piece(p, block, width, memory),
            JoinParams::Interleave(p) if launch.kernel.entry == Entry::JoinZip => {
                zip(p, block, width, memory)
            }
            JoinParams::Interleave(p) => interleave(p, block, width, memory),
        }
    }
}

fn read(memory: &impl Memory, at: u64, len_bytes: u32) -> Vec<u8> {
    (0..u64::from(len_bytes)).map(|i| memory.read(at + i)).collect()
}

fn aligned(at: u64, to: u32) -> bool {
    at.is_multiple_of(to.into())
}

fn piece(p: &PiecesParams, block: u32, width: u32, memory: &mut impl Memory) {
    let round = p.round.divide(block);
    let block = block - round * p.round.divisor;
    let number = p.end[..p.end.len() - 1].iter().filter(|&&end| block >= end).count();
    let Piece { at, axes, total, row_bytes, share, chunks, begin, axis } = &p.piece[number];
    for thread in 0..256 {
        let item = (round * share + block - begin) * 256 + thread;
        if item >= *total {
            continue;
        }
        let row = chunks.divide(item);
        let (src, dst) = walk(&axis[..*axes as usize], row, at.src, at.dst);
        if *row_bytes == 0 {
            assert!(aligned(src, width) && aligned(dst, width), "aligned elements");
            memory.write(dst, &read(memory, src, width));
            continue;
        }
        let chunk = i64::from(item - row * chunks.divisor);
        let first = chunk * 16 - i64::try_from(dst % 16).unwrap();
        let Operands { src_begin, src_end, .. } = at;
        for at in first.max(0)..(first + 16).min((*row_bytes).into()) {
            let from = src.wrapping_add_signed(at);
            assert!((*src_begin..*src_end).contains(&from), "inside the source's span");
            let byte = memory.read(from);
            memory.write(dst.wrapping_add_signed(at), &[byte]);
        }
    }
}

/// The number of the block in its box, the bytes from the first box in the destination, and the
/// coordinates.
fn find_box(p: &InterleaveParams, block: u32) -> (u32, i64, [i64; 2]) {
    let mut rest = p.blocks.divide(block);
    let block = block - rest * p.blocks.divisor;
    let (mut dst, mut coordinates) = (0, [0; 2]);
    for (axis, coordinate) in p.outer.iter().zip(&mut coordinates) {
        let next = axis.extent.divide(rest);
        *coordinate = i64::from(rest - next * axis.extent.divisor);
        dst += *coordinate * axis.dst;
        rest = next;
    }
    assert_eq!(rest, 0, "no more boxes than the loops have steps");
    (block, dst, coordinates)
}

fn moved(src: u64, steps: impl IntoIterator<Item = i64>) -> u64 {
    src.wrapping_add_signed(steps.into_iter().sum())
}

fn interleave(p: &InterleaveParams, block: u32, width: u32, memory: &mut impl Memory) {
    let (block, box_dst, coordinates) = find_box(p, block);
    assert!(p.sources <= 256 && p.row.divisor as usize <= MAX_SHORT_ROW);
    let mut places = vec![None; MAX_SHORT_ROW];
    for source in &p.source[..p.sources as usize] {
        let outer = coordinates.iter().zip(source.outer).map(|(c, step)| c * step);
        let src = moved(source.src, outer);
        for i in 0..source.count {
            let place = &mut places[(source.first + i) as usize];
            assert!(place.is_none(), "one source for each element");
            *place = Some((moved(src, [i64::from(i) * source.step]), source.row));
        }
    }
    let dst = moved(p.dst, [box_dst]);
    let (over, count) = (u32::try_from(dst % 16).unwrap(), 16 / width);
    let (length, rows) = (p.row.divisor, p.row.divide(256));
    let rest = 256 - rows * length;
    let mut vectors = vec![None; (VECTORS * 256 * 16) as usize];
    for thread in 0..256 {
        let mut number = (block * VECTORS * count * 256 + thread).wrapping_sub(over / width);
        let mut row = p.row.divide(number.wrapping_add(16 * length));
        let mut at = number.wrapping_add(16 * length) - row * length;
        row = row.wrapping_sub(16);
        for k in 0..VECTORS * count {
            if number < p.elements {
                let (src, pitch) = places[at as usize].expect("a source for each element");
                let from = moved(src, [i64::from(row) * pitch]);
                assert!(aligned(from, width), "aligned elements");
                for (i, byte) in read(memory, from, width).into_iter().enumerate() {
                    vectors[((thread + k * 256) * width) as usize + i] = Some(byte);
                }
            }
            number = number.wrapping_add(256);
            (at, row) = (at + rest, row.wrapping_add(rows));
            if at >= length {
                (at, row) = (at - length, row.wrapping_add(1));
            }
        }
    }
    for vector in 0..VECTORS * 256 {
        let item = block * VECTORS * 256 + vector;
        let (first, bytes) = (i64::from(item * 16) - i64::from(over), i64::from(p.elements * width));
        if item < p.total {
            for at in first.max(0)..(first + 16).min(bytes) {
                let byte = vectors[usize::try_from(i64::from(vector * 16) + at - first).unwrap()];
                memory.write(moved(dst, [at]), &[byte.expect("what is stored was fetched")]);
            }
        }
    }
}

fn zip(p: &InterleaveParams, block: u32, width: u32, memory: &mut impl Memory) {
    let (block, box_dst, coordinates) = find_box(p, block);
    let sources = p.sources;
    assert!(matches!(sources, 2 | 4 | 8 | 16) && sources * width <= 16);
    assert_eq!(p.total * 16, p.elements * width, "whole vectors");
    let part = 16 / sources;
    for (vector, thread) in (0..ZIP_VECTORS).flat_map(|vector| (0..256).map(move |thread| (vector, thread))) {
        let item = block * ZIP_VECTORS * 256 + thread + vector * 256;
        if item >= p.total {
            continue;
        }
        let parts = p.source[..sources as usize].iter().map(|source| {
            let outer = coordinates.iter().zip(source.outer).map(|(c, step)| c * step);
            let from = moved(source.src, outer.chain([i64::from(item) * i64::from(part)]));
            assert!(aligned(from, part), "aligned parts");
            read(memory, from, part)
        });
        let parts: Vec<_> = parts.collect();
        let at = |byte: u32| {
            let (element, byte) = (byte / width, byte % width);
            parts[(element % sources) as usize][(element / sources * width + byte) as usize]
        };
        let dst = moved(p.dst, [box_dst, i64::from(item) * 16]);
        assert!(aligned(dst, 16), "an aligned vector");
        memory.write(dst, &(0..16).map(at).collect::<Vec<_>>());
    }
}
